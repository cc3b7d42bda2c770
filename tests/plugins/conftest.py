"""A registry that forgets what a test gave it."""

import copy

import pytest

from formlab import registry


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """No plug-in is named or remembered, and what the test adds is gone after it."""
    state = registry._STATE
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))
    # Set first, so that it is taken back whatever `load` makes of it.
    monkeypatch.setenv(registry.VARIABLE, "")
    for name in ("registered", "registries", "files"):
        monkeypatch.setattr(state, name, copy.copy(getattr(state, name)))
    monkeypatch.setattr(state, "named", "")
    registry._packages.cache_clear()
    yield
    registry._packages.cache_clear()


@pytest.fixture
def installed(fresh, tmp_path, monkeypatch):
    """Install a package: its name, the code of its module, and its entry points by group."""

    def install(name, code, **groups):
        site = tmp_path / "site"
        (site / f"{name}-1.0.dist-info").mkdir(parents=True)
        (site / f"{name}.py").write_text(code)
        lines = [line for g, points in groups.items() for line in (f"[formlab.{g}]", *points)]
        (site / f"{name}-1.0.dist-info" / "entry_points.txt").write_text("\n".join(lines))
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        monkeypatch.syspath_prepend(str(site))
        registry._packages.cache_clear()

    return install
