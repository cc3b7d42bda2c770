"""``reports.yml``: a batch of reports in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from formlab import files
from formlab.errors import DataBroken
from formlab.reports import plan


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a manifest; paths are seen from its folder.

    An evaluation may be a pattern such as ``evals/*``; reports that name none are of those of
    `evaluations` that their notebook is made for.
    """

    reports: list[plan.Request]
    out: str = "reports"
    timeout: Annotated[int, msgspec.Meta(ge=1)] | None = None
    figures: bool = True
    evaluations: list[str] = []


def read(path: str | Path) -> Manifest:
    """A manifest; `DataBroken` says what of it is wrong and where."""
    names, keys = (", ".join(kind.__struct_fields__) for kind in (Manifest, plan.Request))
    remedy = f"the keys are {names}, of a report {keys}"
    return files.convert(files.read_yaml(path, remedy=remedy), Manifest, where=path, remedy=remedy)


def make(folder: str | Path) -> tuple[Path, list[Path]]:
    """Copy formlab's notebooks into a folder, with a manifest of them; both, where they are now.

    `DataBroken` if one of the files is there already; `NotAvailable` if none can be written.
    """
    home, head = Path(folder), Path(__file__).with_name("reports.yml")
    books = {home / "notebooks" / book.path.name: book for book in plan.own_notebooks().values()}
    manifest = home / head.name
    if there := [path for path in (manifest, *books) if path.exists()]:
        raise DataBroken("nothing is overwritten", where=there[0], remedy="another folder")
    for copy, book in books.items():
        files.write_text(copy, book.path.read_text("utf-8"))
    # Last: with a manifest the folder is whole.
    lines = [f"- notebook: notebooks/{copy.name}\n" for copy in books]
    files.write_text(manifest, head.read_text("utf-8") + "".join(lines))
    return manifest, list(books)
