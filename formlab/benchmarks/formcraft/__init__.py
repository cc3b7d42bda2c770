"""FORMCRAFT: forms with fields, groups, nested groups, and relations between fields.

The set is announced and not released, and the paper gives no file layout; this is formlab's own,
around the paper's schema (`forms`). A split is a folder::

    <root>/<split>/forms/<doc_id>.json       the form: fields, groups, and what is below
    <root>/<split>/images/<doc_id>.png       page 1; further pages as <doc_id>_2.png, …

or, for the split `test` alone, ``<root>/forms`` and ``<root>/images``. `formcraft.toml` lists
the attributes of a form and what is in it. The folders of FUNSD and of SROIE are read too, as forms
in FORMCRAFT's terms (`relations`, `receipts`); splits and documents keep their names.

The path of a field is its labels from the top, ``/Section A/Name``, with ``~`` and ``/`` in labels
escaped as in a JSON Pointer and ``#2`` after the second of equal paths.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from formlab import files
from formlab.benchmarks import funsd
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.benchmarks.formcraft import forms, receipts, relations
from formlab.benchmarks.formcraft.forms import NotAFormError, field_rows, item_rows, tidied
from formlab.errors import DataBroken, DataMissing

IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")


def splits(root: Path) -> dict[str, int]:
    """The splits found under `root`, each with its count of forms."""
    return {split: len(annotations) for split, (annotations, _, _) in _splits(root).items()}


def reader(split: str, root: Path) -> SplitReader:
    """The forms of one split: a record per field, group, question and consistency check."""
    if (found := _splits(root).get(split)) is None:
        remedy = f"a folder with forms or {split}/forms in it"
        raise DataMissing("no folder of forms", where=root, remedy=remedy)
    annotations, images, form_of = found

    def read(file: Path, flaws: Counter[str]) -> Iterator[Part]:
        form = form_of(file, flaws)
        fields = list(field_rows(form, flaws))
        rows = [*fields, *item_rows(form, {row["path"] for row in fields}, flaws)]
        pages = _pages(images, form, file.stem)
        missing = [page for page in pages if not files.is_file(page)]
        flaws["images missing"] += len(missing) if pages else 1
        asked = [
            {"id": item["id"], "question": item["question"], "options": item.get("options", [])}
            for item in form.get("vqa", ())
        ]
        meta: Row = {"pages": [page.relative_to(root).as_posix() for page in pages]}
        meta |= {"questions": asked} if asked else {}
        document = {"doc_id": file.stem, "template": form.get("template")}
        document |= {"domain": form.get("domain"), "meta": json.dumps(meta)}
        document |= counts_of(row for row in fields if row["kind"] != "group")
        if pages and pages[0] not in missing:
            document |= image_columns(root, pages[0], flaws)
        yield document, [{"origin": f"{file.name}#{row['path']}"} | row for row in rows]

    return SplitReader("formcraft", split, root, annotations, read, empty="forms")


def _splits(root: Path) -> dict[str, tuple[list[Path], Path, Callable[..., Row]]]:
    """The splits of forms, of FUNSD or of SROIE in a folder: files, images, how a form is read."""
    train, test = (root / funsd.FOLDERS[split] for split in ("train", "test"))
    places: list[tuple[str, Path, Path, Callable[..., Row]]] = [
        ("test", test / "annotations", test / "images", relations.form_of),
        ("train", train / "annotations", train / "images", relations.form_of),
        ("train", root / "key", root / "img", partial(receipts.form_of, root)),
        ("test", root / "forms", root / "images", read_form),
    ]
    for folder in sorted(root.glob("*/forms")):
        places.append((folder.parent.name, folder, folder.parent / "images", read_form))
    return {
        split: (sorted(folder.glob("*.json")), images, form_of)
        for split, folder, images, form_of in places
        if folder.is_dir()
    }


def read_form(file: Path, _: Counter[str] | None = None) -> Row:
    """The form in a file of annotations, where only what the schema names is accepted."""
    remedy = "an object with fields and groups"
    try:
        return tidied(files.read_json(file, dict[str, Any], remedy=remedy))[0]
    except NotAFormError as error:
        raise DataBroken(f"not a form: {error}", where=file, remedy=remedy) from error


def _pages(folder: Path, form: Row, stem: str) -> list[Path]:
    """The images of a form: those it names, else those named after it."""
    if named := form.get("pages"):
        # The last part only: a file of annotations has no say over other folders.
        return [folder / Path(name).name for name in named]
    first = next(filter(files.is_file, (folder / f"{stem}{end}" for end in IMAGES)), None)
    if first is None:
        return []
    others = (first.with_name(f"{stem}_{number}{first.suffix}") for number in count(2))
    return [first, *takewhile(files.is_file, others)]


def __getattr__(name: str) -> Any:
    for module in (forms, relations):
        if name in vars(module):
            return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
