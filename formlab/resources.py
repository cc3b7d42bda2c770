"""What comes with formlab (notebooks, samples, published tables), and its optional libraries."""

import re
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from formlab.errors import NotAvailable

# Modules that are not called like the package that has them.
_MODULES = {"opencv_python_headless": "cv2", "scikit_learn": "sklearn"}


def folder(name: str) -> Path:
    """A folder that comes with formlab: of the checkout, or of the installed wheel."""
    package = Path(__file__).parent
    # hatch_build.py puts the folders there in a wheel; site-packages may have a `data` of others.
    shipped = package / "_shipped"
    return (shipped if shipped.is_dir() else package.parent) / name


def need(extra: str) -> None:
    """Raise `NotAvailable`, naming the command of pip, unless all of an extra is installed."""
    of_extra = re.compile(rf"([\w-]+).*extra == ['\"]{extra}['\"]")
    found = filter(None, map(of_extra.match, metadata.requires("formlab") or ()))
    names = [match[1].replace("-", "_") for match in found]
    if missing := [n for n in names if find_spec(_MODULES.get(n, n)) is None]:
        what = f"this needs modules that are not installed: {', '.join(missing)}"
        raise NotAvailable(what, remedy=f"pip install 'formlab[{extra}]'")


class optional:  # noqa: N801
    """A module of an extra, imported when it is first used; without it that is `NotAvailable`."""

    def __init__(self, module: str, *, extra: str) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(import_module(self._module), name)
        except ModuleNotFoundError:
            need(self._extra)
            raise
