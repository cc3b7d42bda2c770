"""What comes with formlab (notebooks, samples, published tables), and its optional libraries."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from formlab.errors import NotAvailable

# The modules that each extra of pyproject.toml installs, as far as formlab imports them.
EXTRAS = {
    "ocr": ("rapidocr", "onnxruntime", "cv2"),
    "train": ("sklearn",),
    "chat": ("filelock", "openai"),
    "browser": ("playwright",),
    "inspect": ("inspect_ai",),
    "experiments": ("rapidocr", "onnxruntime", "cv2", "fontpkg_arimo"),
    "scale": ("dask", "distributed", "fsspec"),
    "arena": ("flask", "playwright", "rapidocr", "onnxruntime", "cv2"),
}


def folder(name: str) -> Path:
    """A folder that comes with formlab: of the checkout, or of the installed wheel.

    Parameters
    ----------
    name
        As in a checkout: ``notebooks``, ``data/sample``, ``data/published``.

    Examples
    --------
    >>> (folder("data/published") / "vrdu_table3.csv").is_file()
    True
    """
    package = Path(__file__).parent
    # hatch_build.py puts the folders there in a wheel; site-packages may have a `data` of others.
    shipped = package / "_shipped"
    return (shipped if shipped.is_dir() else package.parent) / name


def need(extra: str) -> None:
    """Raise `NotAvailable`, naming the command of pip, unless all of an extra is installed.

    Parameters
    ----------
    extra
        A key of `EXTRAS`.
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise _absent(missing, extra)


def optional(module: str, *, extra: str) -> Any:
    """A module of an extra, imported when it is first used.

    Without the extra only its use fails, with a `NotAvailable` that names the command of pip.

    Examples
    --------
    >>> whales = optional("no_such_module", extra="whales")
    >>> whales.count()
    Traceback (most recent call last):
    ...
    formlab.errors.NotAvailable: this needs no_such_module, which is not installed. \
Try: pip install 'formlab[whales]'
    """
    return _Optional(module, extra)


class _Optional:
    """Stands for a module until an attribute of it is asked for."""

    def __init__(self, module: str, extra: str) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(import_module(self._module), name)
        except ModuleNotFoundError as error:
            raise _absent([self._module], self._extra) from error


def _absent(modules: list[str], extra: str) -> NotAvailable:
    listed = " and ".join([", ".join(modules[:-1]), modules[-1]]) if modules[1:] else modules[0]
    which = "are" if modules[1:] else "is"
    return NotAvailable(
        f"this needs {listed}, which {which} not installed",
        remedy=f"pip install 'formlab[{extra}]'",
    )
