"""OCRBench v2: questions about images of many datasets, FUNSD and SROIE among them.

Layout: ``OCRBench_v2.json``, a list of entries with `image_path`, `question`, `dataset_name`,
`type`, `id` and `answers`, beside the folders that the paths start with. A split is a dataset, or
``all``. An image is a document, named as its file is, so that those of FUNSD have FUNSD's ids.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from formlab import files
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.benchmarks.formcraft import VQA
from formlab.errors import DataBroken
from formlab.text.answers import parse
from formlab.text.normalise import as_texts
from formlab.trees import escape

FILE = "OCRBench_v2.json"
EVERY = "all"
# Answers of these types are places, tables and formulas: a text equal to the gold's is not asked.
_NOT_TEXT = ("grounding", "spotting", "position", "parsing", "formula")


class _Entry(msgspec.Struct):
    """What must be as it is published in an entry; its answers may be anything."""

    image_path: str
    question: str | None = None
    dataset_name: str | None = None
    type: str | None = None
    id: str | int | None = None
    answers: Any = None


def splits(root: Path) -> dict[str, int]:
    """Each dataset in the file with its count of images, and all together."""
    pairs = {(str(entry.dataset_name), entry.image_path): None for entry in _entries(root)}
    return {EVERY: len({path for _, path in pairs})} | Counter(name for name, _ in pairs)


def reader(split: str, root: Path) -> SplitReader:
    """The images of one dataset: a record for each key that is asked for and for each question.

    Keys are at ``/<key>`` (task `text`), questions at ``/vqa/<id>`` (task `vqa`, with the type as
    kind); whole pages that are to be read are at no path. All of `answers` are accepted. Answers
    that are no text cannot be scored here; they stay, and are counted.
    """
    by_image = defaultdict[Path, list[tuple[int, _Entry]]](list)
    for index, entry in enumerate(_entries(root)):
        if split in (EVERY, str(entry.dataset_name)):
            by_image[Path(entry.image_path)].append((index, entry))
    stems = Counter(path.stem for path in by_image)
    plain = Counter(path.with_suffix("") for path in by_image)

    def read(name: Path, flaws: Counter[str]) -> Iterator[Part]:
        flaws["images of one name in several folders"] += stems[name.stem] > 1
        # With its folders, and with its ending, only where it takes them to tell images apart.
        bare = name.with_suffix("")
        parts = (bare if plain[bare] == 1 else name).parts
        doc_id = name.stem if stems[name.stem] == 1 else "__".join(parts)
        rows: dict[str, Row] = {}
        for index, entry in by_image[name]:
            for row in _rows(entry, index, flaws):
                flaws["keys asked for twice"] += row["path"] in rows
                rows.setdefault(row["path"], row)
        # A path of another file's making must not lead out of the folder.
        image = None if name.is_absolute() or ".." in name.parts else root / name
        document = {"doc_id": doc_id, "domain": str(by_image[name][0][1].dataset_name)}
        document |= counts_of(rows.values()) | image_columns(root, image, flaws)
        yield document, list(rows.values())

    same, empty = {"modality": "textual", "page": 1}, f"entries in {FILE}"
    how = {"same": same, "empty": empty, "files_of": lambda _: [root / FILE]}
    return SplitReader("ocrbench_v2", split, root, list(by_image), read, **how)


def _entries(root: Path) -> list[_Entry]:
    entries = files.read_json(root / FILE, list[_Entry], remedy="the file as it is published")
    if lacking := [n for n, entry in enumerate(entries) if not Path(entry.image_path).name]:
        raise DataBroken("an entry without an image", where=f"{root / FILE}#/{lacking[0]}")
    return entries


def _rows(entry: _Entry, index: int, flaws: Counter[str]) -> Iterator[Row]:
    kind, answers = str(entry.type), accepted(entry.answers)
    origin = f"{FILE}#/{index}"
    if isinstance(answers, dict):
        for key, values in answers.items():
            row = {"task": "text", "path": f"/{escape(key)}", "kind": key, "origin": origin}
            yield row | _values(values)
        return
    flaws["entries whose keys cannot be read"] += "key information" in kind
    number = index if entry.id is None else entry.id
    row = {"task": "vqa", "path": f"{VQA}/{number}", "kind": kind, "origin": origin}
    row["meta"] = json.dumps({"question": entry.question or ""}, ensure_ascii=False)
    if kind.startswith("full-page OCR"):
        row = {"task": "text", "path": None, "kind": "page", "origin": origin}
    not_text = any(word in kind for word in _NOT_TEXT)
    flaws["answers that are places, tables or formulas: not scored"] += not_text
    yield row | _values(answers) | ({"status": "unscored"} if not_text else {})


def _values(answers: Any) -> Row:
    first, *others = as_texts(answers) or [None]
    status = "unscored" if first is None else "ok"
    return {"value": first, "accepted": others or None, "status": status}


def accepted(answers: Any) -> Any:
    """The accepted texts, or the object that is asked for, which may be written as Python's text.

    >>> accepted(["{'total': ['5.15'], 'date': ['22/03/18']}"])
    {'total': ['5.15'], 'date': ['22/03/18']}
    >>> accepted(["5.15", "RM 5.15"])
    ['5.15', 'RM 5.15']
    """
    if isinstance(answers, list) and len(answers) == 1:
        (answers,) = answers
    if isinstance(answers, str) and answers.strip().startswith("{"):
        found = parse(answers).value
        return found if isinstance(found, dict) else answers
    return answers
