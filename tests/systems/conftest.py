import pytest


@pytest.fixture(autouse=True)
def as_in_reports(monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "1")
