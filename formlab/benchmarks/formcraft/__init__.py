"""FORMCRAFT: forms with fields, groups, nested groups, and relations between fields.

The set is announced and not released, and the paper gives no file layout; this is formlab's own,
around the paper's schema (`schema`). A split is a folder, or a list of document ids::

    <root>/<split>/forms/<doc_id>.json       the form: fields, groups, and what is below
    <root>/<split>/images/<doc_id>.png       page 1; further pages as <doc_id>_2.png, …

or ``<root>/forms``, ``<root>/images`` and ``<root>/splits/<split>.txt`` with one id a line; without
``splits`` all forms are the split `test`. Beside `fields` and `groups` a form may hold `pages` (its
images, relative to `images`), `template`, `domain`, and the items of L3:

- `vqa`: `id`, `question`, `answers` (all accepted), `options`, `fields` (paths of those involved);
- `consistency`: `id`, `source`, `fields` (further sources) and `dependent` (paths of fields),
  `expected`, `confidence`;
- both: `scope`, `reference`, `complexity`, `modal` (words of `taxonomy`), `rationale`, `kind`, and
  `derivation`, an operation and the paths of the fields it is applied to.

The folders of FUNSD and of SROIE are read too, as forms in FORMCRAFT's terms: groups and fields
from links (`linked`) or from the places of lines (`receipts`), and the relations that rules find
to hold on the page (`linked`). Splits and documents keep the names that the dataset gives them.

The path of a field is its labels from the top, ``/Section A/Name``, with ``~`` and ``/`` in labels
escaped as in a JSON Pointer and ``#2`` after the second of equal paths.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from formlab import files
from formlab.benchmarks import funsd
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.benchmarks.formcraft import linked, receipts
from formlab.benchmarks.formcraft.records import field_rows, item_rows
from formlab.benchmarks.formcraft.schema import NotAFormError, Object, tidied
from formlab.benchmarks.meta import meta_of
from formlab.errors import DataBroken, DataMissing

# Names that the modules of this folder have for others.
_HOMES = {
    "relations": "NoFormulaError is_written_as number_in value_of",
    "records": "CONSISTENCY VQA ItemMeta Paths item_meta label_of",
    "schema": "ATTRIBUTES item_of",
    "taxonomy": "MODALITIES RELATIONS TASK_OF canonical modality_of",
}
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")


class SplitFiles(NamedTuple):
    """The files of the forms of one split, how a form is read, and where the images are."""

    files: list[Path]
    form_of: Callable[[Path, Counter[str]], Object]
    images: Path


def splits(root: Path) -> dict[str, int]:
    """The splits found under `root`, each with its count of forms."""
    if others := _other_datasets(root):
        return {name: len(split.files) for name, split in others.items()}
    listed = sorted((root / "splits").glob("*.txt"))
    if listed:
        return {file.stem: len(_ids(file)) for file in listed}
    if (root / "forms").is_dir():
        return {"test": len(list((root / "forms").glob("*.json")))}
    folders = sorted(folder for folder in root.glob("*/forms") if folder.is_dir())
    return {folder.parent.name: len(list(folder.glob("*.json"))) for folder in folders}


def reader(split: str, root: Path) -> SplitReader:
    """The forms of one split: a record per field, group, question and consistency check.

    `DataMissing` if there is no folder of forms, or a listed form is not there.
    """
    forms = _other_datasets(root).get(split) or _own_forms(split, root)

    def read(file: Path, flaws: Counter[str]) -> Iterator[Part]:
        form = forms.form_of(file, flaws)
        fields = list(field_rows(form, flaws))
        rows = [*fields, *item_rows(form, {row["path"] for row in fields}, flaws)]
        pages = _pages(forms.images, form, file.stem)
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

    return SplitReader("formcraft", split, root, forms.files, read, empty="forms")


def _other_datasets(root: Path) -> dict[str, SplitFiles]:
    """The splits of FUNSD or SROIE in the folder `root`, named as the dataset names them."""
    if (root / "key").is_dir() and (root / "box").is_dir():
        keys, form_of = sorted((root / "key").glob("*.json")), partial(receipts.form_of, root)
        return {"train": SplitFiles(keys, form_of, root / "img")}
    found = {}
    for split, folder in reversed(funsd.FOLDERS.items()):
        if (home := root / folder / "annotations").is_dir():
            forms = sorted(home.glob("*.json"))
            found[split] = SplitFiles(forms, linked.form_of, root / folder / "images")
    return found


def _own_forms(split: str, root: Path) -> SplitFiles:
    base = root / split if (root / split / "forms").is_dir() else root
    folder = files.folder(base / "forms", remedy=f"a folder with forms or {split}/forms in it")
    listed = base / "splits" / f"{split}.txt"
    forms = sorted(folder.glob("*.json"))
    if files.is_file(listed):
        forms = [folder / f"{name}.json" for name in _ids(listed)]
        # The list says which documents the split has: one that is not there is missing in it.
        if gone := [form for form in forms if not os.path.lexists(form)]:
            raise DataMissing("a listed form is not there", where=gone[0], remedy=f"see {listed}")
    return SplitFiles(forms, lambda file, _: read_form(file), base / "images")


def read_form(file: Path) -> Object:
    """The form in a file of annotations, where only what the schema names is accepted."""
    remedy = "an object with fields and groups"
    try:
        return tidied(files.read_json(file, dict[str, Any], remedy=remedy))[0]
    except NotAFormError as error:
        raise DataBroken(f"not a form: {error}", where=file, remedy=remedy) from error


def questions_of(document: Row) -> list[Row]:
    """The questions about a form, each with `id`, `question` and `options`, from its document.

    >>> questions_of({"meta": '{"questions": [{"id": "q1", "question": "Who signed?"}]}'})
    [{'id': 'q1', 'question': 'Who signed?'}]
    """
    return meta_of(document).get("questions") or []


def _ids(file: Path) -> list[str]:
    lines = [line.strip() for line in files.read_text(file).split("\n")]
    for number, line in enumerate(lines, start=1):
        # A list has no say over other folders.
        if Path(line).name != line and line:
            raise DataBroken(f"{line!r} is no name of a form", where=f"{file}:{number}")
    return list(dict.fromkeys(filter(None, lines)))


def _pages(folder: Path, form: Object, stem: str) -> list[Path]:
    """The images of a form: those it names, else those named after it."""
    if named := form.get("pages"):
        # The last part only: a file of annotations has no say over other folders.
        return [folder / Path(name).name for name in named]
    first = [folder / f"{stem}{end}" for end in IMAGES]
    pages = list(filter(files.is_file, first))[:1]
    while pages:
        page = pages[0].with_name(f"{stem}_{len(pages) + 1}{pages[0].suffix}")
        if not files.is_file(page):
            break
        pages.append(page)
    return pages


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
