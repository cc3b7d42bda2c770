"""Entities of a form by key words: which label a value stands beside, and what it looks like."""

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from formlab.benchmarks.corpus import meta_of
from formlab.benchmarks.vrdu import Schema
from formlab.systems import Reader, above_zero
from formlab.systems.pages import page_files
from formlab_baselines.words import Row, Run, entity_row, sheets, zoom

# Points: how far below its label, and to its right, a value may stand.
_BELOW, _RIGHT, _INDENT = 30.0, 200.0, 45.0
_SIDES = "inside right below"
# The labels of each entity, and what its values look like: of the groups of a pattern the one named
# as the entity is its value, else all of it is.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ENTITIES, _DAY = _TABLE["entities"], _TABLE["day"]
_LABELS = re.compile(_TABLE["labels"], re.IGNORECASE)
_LOOKS = {name: re.compile(look.replace("DAY", _DAY)) for name, look in _TABLE["looks"].items()}
# Where a form splits label and value in sections, the name stands beside "Name:".
_SECTION = {"advertiser": "Advertiser", "agency": "Agency"}


def start(settings: Row, threads: int) -> Reader:
    """A reader of PDFs (and of page images) that gives the entities the document's schema names."""
    above_zero(settings, "scale")

    def read(document: Row, root: Path | None) -> list[Row]:
        pages = list(sheets(page_files(document, root)[0], settings, threads))
        factor, schema = zoom(pages, document["width"]), Schema.of_document(document)
        names = [*schema.matches, *schema.unlabelled] if schema else _ENTITIES
        runs = [run for page in pages for run in page.runs]
        found = entities(runs, [name for name in names if name in _ENTITIES])
        return [entity_row(f"/{name}", name, run, factor) for name, run in found.items()]

    return read


def is_for(document: Row) -> bool:
    """Whether a document names the entities it wants, or is a PDF that does not type its fields."""
    is_pdf = str(document["image"] or "").lower().endswith(".pdf")
    return (is_pdf and "types" not in meta_of(document)) or Schema.of_document(document) is not None


def entities(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Run]:
    """The value of each entity, where it stands, by the first rule that holds."""
    values = {name: next(_candidates(name, runs), None) for name in names}
    return {name: value for name, value in values.items() if value}


def _candidates(name: str, runs: Sequence[Run]) -> Iterator[Run]:
    labels = [(label, rule) for rule in _ENTITIES[name] for label in rule["labels"]]
    for label, rule in labels:
        # Forms number their questions.
        pattern = re.compile(rf"(?:[0-9]+\. )?{label}\s*:?", re.IGNORECASE)
        for run in runs:
            if not (match := pattern.match(run.text)):
                continue
            for beside in _beside(run, match.end(), rule.get("sides", _SIDES), runs):
                hit = _LOOKS[rule["value"]].fullmatch(beside.text)
                if hit and not _is_label(beside.text):
                    text = _continued(beside, runs) if rule["value"] == "name" else beside.text
                    yield beside._replace(text=hit.groupdict().get(name) or text)
    if name in _SECTION:
        yield from _in_section(_SECTION[name], runs)


def _beside(run: Run, end: int, sides: str, runs: Sequence[Run]) -> Iterator[Run]:
    if rest := run.text[end:].strip():
        # Text that goes on after a whole label; a longer word is another label.
        if "inside" in sides and not run.text[end - 1 : end + 1].isalnum():
            yield run._replace(text=rest)
        return
    level = max(0.6 * (run.y1 - run.y0), 3)
    others = [
        (other, other.x0 - run.x1, other.y0 - run.y0, abs(other.x0 - run.x0))
        for other in runs
        if other.page == run.page and other is not run
    ]
    if "right" in sides:
        right = [(gap, o) for o, gap, down, _ in others if abs(down) < level and 0 <= gap < _RIGHT]
        yield from (other for _, other in sorted(right, key=lambda near: near[0]))
    if "below" in sides:
        below = [(d, i, o) for o, _, d, i in others if 0 < d < _BELOW and i < _INDENT]
        yield from (other for *_, other in sorted(below, key=lambda near: near[:2]))


def _continued(run: Run, runs: Sequence[Run]) -> str:
    """The text of a run with the line right below it, if that begins at the same place."""
    for other in runs:
        is_aligned = other.page == run.page and abs(other.x0 - run.x0) < 3
        if not is_aligned or not 0 < other.y0 - run.y0 < 1.35 * (run.y1 - run.y0):
            continue
        if not any(map(_is_label, [other.text, *_left_of(other, runs, _RIGHT / 2)])):
            return f"{run.text} {other.text}"
    return run.text


def _left_of(run: Run, runs: Sequence[Run], reach: float) -> list[str]:
    """What stands left of a run in its line, no further away than `reach`."""
    row = (other for other in runs if other.page == run.page and abs(other.y0 - run.y0) < 3)
    return [other.text for other in row if 0 <= run.x0 - other.x1 < reach]


def _is_label(text: str) -> bool:
    # A value may begin like a label, but no label is an amount, a date or a number.
    return bool(_LABELS.fullmatch(text)) and not re.match(r"[\W]*[$0-9]", text)


def _in_section(title: str, runs: Sequence[Run]) -> Iterator[Run]:
    for run in runs:
        if run.text == "Name:" and title in _left_of(run, runs, math.inf):
            yield from _beside(run, len(run.text), "right", runs)
