"""FUNSD's forms as forms of FORMCRAFT: groups and fields from labels and links.

By rule: an answer is a field labelled by the question that it is linked from, and each of several
answers is a field. A question without an answer is a field left blank; a header, a question with
further questions, and whatever else has something below it is a group. An answer without a question
is a field without a label. Other text to which nothing is linked is no field.

Relations found:

- ``cell``: an answer of two questions, a row and a column, as in a table.
- ``header``: a question that stands under several headers, and is answered under this one.
- ``sum``: in a column, an amount whose row is labelled total is the sum of those above it, as far
  as the next total.
- ``same``: fields have the same value and one label ends in the other ("Supplier", "Recommended
  supplier"), or one label is there just twice and the value is a number of five digits or more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from formlab import tables, text, trees
from formlab.benchmarks import funsd
from formlab.benchmarks.formcraft._found import Found, has_letters, same, with_relations
from formlab.benchmarks.formcraft.formulas import number_in
from formlab.benchmarks.formcraft.schema import FieldModel, FormCraft, Group
from formlab.benchmarks.meta import Row
from formlab.trees import Node

_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
# A shorter text is the same by chance.
_LEAST, _LEAST_DIGITS = 6, 5


class _Answer(NamedTuple):
    """A filled-in field, the questions that it is linked from, and the header it stands under."""

    field: FieldModel
    questions: list[Row]
    header: str


def form_of(file: Path, flaws: Counter[str]) -> FormCraft:
    """The form in a file of annotations, with the relations found on it."""
    rows = [row for row in funsd.rows_of(file, flaws) if row.get("path")]
    entities = {row["path"]: row for row in rows if row["task"] == "text"}
    links = [row for row in rows if row["kind"] == "link"]
    questions: dict[str, list[Row]] = {}
    for start, end in (row["value"].split(" ") for row in links):
        if entities.get(start, {}).get("kind") == "question":
            questions.setdefault(end, []).append(entities[start])
    # Without their kinds, all entities are nodes of the tree: no answers are joined.
    nodes = [{"path": path, "value": row["value"]} for path, row in entities.items()]
    odd: Counter[str] = Counter()
    tree = trees.from_records([*nodes, *links], flaws=odd)
    flaws["links in a circle"] += odd["links in a circle"]
    answers: list[_Answer] = []

    def content(node: Node, above: Node | None, header: str) -> tuple[list, list]:
        """The fields and groups that a node stands for."""
        row = entities[node.path]
        inner = header if row["kind"] != "header" else node.label
        parts = [content(child, node, inner) for child in node.children]
        fields = [field for part in parts for field in part[0]]
        groups = [group for part in parts for group in part[1]]
        asked = questions.get(node.path, [])
        if row["kind"] == "answer" or (asked and not node.children):
            label = above.label if above and entities[above.path]["kind"] == "question" else ""
            fields.insert(0, _field(label, row))
            answers.append(_Answer(fields[0], asked, header))
        elif row["kind"] == "question" and not node.children:
            fields = [FieldModel(label=node.label, modality="textual")]
        elif groups or (node.children and row["kind"] != "question") or row["kind"] == "header":
            groups = [Group(label=node.label, fields=fields, groups=groups or None)]
            fields = []
        return fields, groups

    parts = [content(node, None, "") for node in tree.children]
    form = FormCraft(
        fields=[field for part in parts for field in part[0]],
        groups=[group for part in parts for group in part[1]],
        domain="forms",
    )
    found = [*_cells(answers), *_under_headers(answers), *_sums(answers), *_repeated(answers)]
    return with_relations(form, found, flaws)


def _field(label: str, row: Row) -> FieldModel:
    kind = "number" if number_in(row["value"]) is not None else None
    kind = "date" if text.date(row["value"]) else kind
    value = row["value"].strip()
    return FieldModel(label=label, modality="textual", value=value, kind=kind, box=_box(row))


def _box(row: Row) -> tuple[float, ...] | None:
    return tuple(row[side] for side in tables.BOX) if row.get("x0") is not None else None


def _named(label: str) -> str:
    return text.normalise(label, text.LADDER_STEPS).strip(" :.")


def _cells(answers: list[_Answer]) -> Iterator[Found]:
    named = [tuple(sorted(_named(row["value"]) for row in answer.questions)) for answer in answers]
    once = Counter(named)
    for answer, names in zip(answers, named, strict=True):
        box = answer.field.box
        if len(names) != 2 or once[names] > 1 or not (box and answer.field.value):
            continue
        places = [_box(row) for row in answer.questions]
        beside = [bool(place) and _share(place, box, 1) > 0 for place in places]
        over = [bool(place) and _share(place, box, 0) > 0 for place in places]
        if sorted(beside) == sorted(over) == [False, True] and beside != over:
            row, column = (answer.questions[side.index(True)]["value"] for side in (beside, over))
            if has_letters(row) and has_letters(column):
                asked = f"What stands in the row “{row}” under “{column}”?"
                yield Found("cell", answer.field, {}, question=asked, link=True)


def _share(box: tuple, other: tuple, axis: int) -> float:
    """The length that two boxes have in common along an axis."""
    return min(box[axis + 2], other[axis + 2]) - max(box[axis], other[axis])


def _under_headers(answers: list[_Answer]) -> Iterator[Found]:
    keys = [(_named(answer.header), _named(answer.field.label)) for answer in answers]
    once, headers = Counter(keys), Counter(label for _, label in set(keys))
    for answer, key in zip(answers, keys, strict=True):
        known = all(has_letters(name) for name in key) and answer.field.value
        if known and once[key] == 1 and headers[key[1]] > 1 and len(answer.questions) == 1:
            asked = f"Under “{answer.header}”, what is filled in for “{answer.field.label}”?"
            yield Found("header", answer.field, {}, question=asked, link=True)


def _sums(answers: list[_Answer]) -> Iterator[Found]:
    """Totals under a column, and at the end of a row, of numbers."""
    numbers = [
        answer for answer in answers
        if answer.field.box and number_in(answer.field.value) is not None
    ]  # fmt: skip
    for total in numbers:
        if not any(_TOTAL.search(row["value"]) for row in total.questions):
            continue
        column = [
            other for other in numbers
            if _share(other.field.box, total.field.box, 0) > 0 and other is not total
            and other.field.box[3] <= total.field.box[1] + 1
        ]  # fmt: skip
        row = [
            other for other in numbers
            if other is not total and any(asked in total.questions for asked in other.questions)
            and _share(other.field.box, total.field.box, 1) > 0
            and other.field.box[2] <= total.field.box[0] + 1
        ]  # fmt: skip
        for parts in (column, row):
            if len(parts) > 1:
                sources = {f"n{n}": part.field for n, part in enumerate(parts)}
                yield Found("sum", total.field, sources, " + ".join(sources))


def _repeated(answers: list[_Answer]) -> Iterator[Found]:
    """Two fields of one thing, by their labels, with the same value."""
    labels = Counter(_named(answer.field.label) for answer in answers)
    for pair in combinations(answers, 2):
        long, short = sorted((_named(each.field.label) for each in pair), key=len, reverse=True)
        counts = labels[long], labels[short]
        value = pair[0].field.value
        digits = sum(map(str.isdigit, value)) if text.date(value) is None else 0
        is_number = long == short and counts == (2, 2) and digits >= _LEAST_DIGITS
        is_within = counts == (1, 1) and long.endswith(f" {short}") and len(value) >= _LEAST
        if has_letters(short) and (is_number or is_within) and same(value, pair[1].field.value):
            yield Found("same", pair[1].field, {"first": pair[0].field})
