"""The command that copies the notebooks and a manifest to where a user can change them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from formlab.console import path
from formlab.errors import DataBroken
from formlab.show import plain

MANIFEST = "reports.yml"
_HEAD = """\
# The reports of this folder: formlab report --manifest {manifest}
out: reports
# layout: site      # shared files once for the folder; single: everything inside each page
# timeout: 600      # seconds that one cell may take

# Folders that formlab score wrote with --out, as seen from here; without any, formlab's samples.
evaluations: []
# evaluations: ["evals/*"]

# A notebook may have a name for its report, evaluations of its own, and parameters:
# - notebook: notebooks/10_content_modality.ipynb
#   name: blind-test
#   evaluations: [evals/ocr]
#   parameters: {{worst: 5}}
reports:
"""


@click.command()
@click.argument("folder", type=path)
def init(folder: Path) -> None:
    """Copy the notebooks and a manifest of reports into FOLDER, to be changed there.

    Nothing is overwritten.
    """
    from formlab import files
    from formlab.reports import plan

    books = {folder / "notebooks" / book.name: book for book in plan.own_notebooks()}
    manifest = folder / MANIFEST
    there = [path for path in (manifest, *books) if path.exists()]
    if there:
        raise DataBroken("nothing is overwritten", where=there[0], remedy="another folder")
    try:
        (folder / "notebooks").mkdir(parents=True, exist_ok=True)
        for copy, book in books.items():
            with files.atomic(copy) as temporary:
                shutil.copyfile(book, temporary)
        lines = [f"- notebook: notebooks/{copy.name}\n" for copy in books]
        # Last: with a manifest the folder is whole.
        files.write_text(manifest, _HEAD.format(manifest=MANIFEST) + "".join(lines))
    except OSError as error:
        raise DataBroken(f"cannot be written: {error.strerror}", where=folder) from error
    shown = plain(os.path.relpath(manifest))
    click.echo(f"{len(books)} notebooks in {plain(str(folder / 'notebooks'))}, listed in {shown}")
    click.echo(f"next: formlab report --manifest {shown}")
    click.echo("live: pip install 'formlab[lab]', then jupyter lab")
