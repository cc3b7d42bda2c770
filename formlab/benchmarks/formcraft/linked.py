"""FUNSD's forms as forms of FORMCRAFT, and the relations that rules find on them.

By rule: an answer is a field labelled by the question that it is linked from, and each of several
answers is a field. A question without an answer is a field left blank; a header, a question with
further questions, and whatever else has something below it is a group. An answer without a question
is a field without a label. Other text to which nothing is linked is no field.

The rules for relations are

- ``cell``: an answer of two questions, a row and a column, as in a table.
- ``header``: a question that stands under several headers, and is answered under this one.
- ``sum``: in a column, an amount whose row is labelled total is the sum of those above it, as far
  as the next total.
- ``same``: the two fields of one label hold the same number, of five digits or more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from formlab import tables, text, trees
from formlab.benchmarks import funsd
from formlab.benchmarks.formcraft.relations import (
    RuleRelation,
    has_letters,
    number_in,
    same,
    with_relations,
)
from formlab.benchmarks.formcraft.schema import Object
from formlab.benchmarks.meta import Row
from formlab.trees import Node

_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_DIGITS = 5


class _Answer(NamedTuple):
    """A filled-in field, the questions that it is linked from, and the header it stands under."""

    field: Object
    questions: list[Row]
    header: str


def form_of(file: Path, flaws: Counter[str]) -> Object:
    """The form in a file of FUNSD's annotations, with the relations found on it."""
    rows = funsd.records_of(file, flaws)[1:]
    entities = {row["path"]: row for row in rows if row["task"] == "text"}
    links = [row for row in rows if row["kind"] == "link"]
    questions: dict[str, list[Row]] = defaultdict(list)
    for start, _, end in (row["value"].partition(" ") for row in links):
        if entities.get(start, {}).get("kind") == "question":
            questions[end].append(entities[start])
    # Without their kinds, all entities are nodes of the tree: no answers are joined.
    nodes = [{"path": path, "value": row["value"]} for path, row in entities.items()]
    odd: Counter[str] = Counter()
    tree = trees.from_records([*nodes, *links], flaws=odd)
    flaws["links in a circle"] += odd["links in a circle"]
    answers: list[_Answer] = []

    def inside(nodes: list[Node], label: str, header: str) -> Object:
        """The fields and groups that nodes stand for, below the question `label`."""
        found = [content(node, label, header) for node in nodes]
        return {name: [n for part in found for n in part[name]] for name in ("fields", "groups")}

    def content(node: Node, label: str, header: str) -> Object:
        row, asked = entities[node.path], questions[node.path]
        kind, below = row["kind"], node.label if row["kind"] == "question" else ""
        found = inside(node.children, below, node.label if kind == "header" else header)
        if kind == "answer" or (kind == "other" and asked and not node.children):
            found["fields"].insert(0, _field(label, row))
            answers.append(_Answer(found["fields"][0], asked, header))
        elif kind == "question" and not node.children:
            found["fields"] = [{"label": node.label, "modality": "textual"}]
        elif kind == "header" or any(
            child.children or entities[child.path]["kind"] in ("question", "header")
            for child in node.children
        ):
            # There is more below it than its answers.
            found = {"fields": [], "groups": [{"label": node.label} | found]}
        return found

    form = inside(tree.children, "", "") | {"domain": "forms"}
    labels = Counter(_name(row["value"]) for row in entities.values())
    rules = (_cells(answers, labels), _under_headers(answers, labels))
    rules += (_sums(answers), _repeated(answers))
    return with_relations(form, [relation for rule in rules for relation in rule], flaws)


def _field(label: str, row: Row) -> Object:
    kind = "number" if number_in(row["value"]) is not None else None
    field = {"label": label, "modality": "textual", "value": row["value"].strip()}
    return field | {"kind": "date" if text.date(row["value"]) else kind, "box": _box(row)}


def _box(row: Row) -> tuple[float, ...] | None:
    return tuple(row[side] for side in tables.BOX) if "x0" in row else None


def _name(label: str) -> str:
    return text.normalise(label, text.LADDER_STEPS).strip(" :.")


def _share(box: tuple | None, other: tuple, axis: int) -> float:
    """The length that two boxes have in common along an axis."""
    return min(box[axis + 2], other[axis + 2]) - max(box[axis], other[axis]) if box else 0


def _cells(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    cells = Counter(frozenset(row["path"] for row in answer.questions) for answer in answers)
    for field, asked, _ in answers:
        # Two columns of one name would leave open which is meant.
        once = cells[frozenset(row["path"] for row in asked)] == 1
        once = once and all(labels[_name(row["value"])] == 1 for row in asked)
        if not (once and len(asked) == 2 and field["box"] and field["value"]):
            continue
        beside, over = (
            [row["value"] for row in asked if _share(_box(row), field["box"], axis) > 0]
            for axis in (1, 0)
        )
        if (
            len(beside) == len(over) == 1
            and beside != over
            and all(map(has_letters, beside + over))
        ):
            question = f"What stands in the row “{beside[0]}” under “{over[0]}”?"
            yield RuleRelation("cell", field, {}, question=question)


def _under_headers(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    keys = [(_name(answer.header), _name(answer.field["label"])) for answer in answers]
    once, headers = Counter(keys), Counter(label for _, label in set(keys))
    for (field, asked, header), key in zip(answers, keys, strict=True):
        single = once[key] == labels[key[0]] == len(asked) == 1
        if field["value"] and single and headers[key[1]] > 1 and all(map(has_letters, key)):
            question = f"Under “{header}”, what is filled in for “{field['label']}”?"
            yield RuleRelation("header", field, {}, question=question)


def _sums(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """Totals under a column, and at the end of a row, of numbers."""
    numbers = [a for a in answers if a.field["box"] and number_in(a.field["value"]) is not None]
    for total in numbers:
        if not any(_TOTAL.search(row["value"]) for row in total.questions):
            continue
        others = [other for other in numbers if other is not total]
        row = _before(others, total, 0)
        row = [other for other in row if any(asked in total.questions for asked in other.questions)]
        for parts in (_before(others, total, 1), row):
            if len(parts) > 1:
                sources = {f"n{n}": part.field for n, part in enumerate(parts)}
                yield RuleRelation("sum", total.field, sources, " + ".join(sources))


def _before(answers: list[_Answer], total: _Answer, axis: int) -> list[_Answer]:
    """The answers left of a total in its row (axis 0), or above it in its column (axis 1)."""
    end = total.field["box"]
    beside = [answer for answer in answers if _share(answer.field["box"], end, 1 - axis) > 0]
    return [answer for answer in beside if answer.field["box"][axis + 2] <= end[axis] + 1]


def _repeated(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """The same number in the two fields of one label: short texts are the same by chance."""
    labels = Counter(_name(answer.field["label"]) for answer in answers)
    for first, second in combinations([answer.field for answer in answers], 2):
        label, value = _name(first["label"]), first["value"]
        twice = label == _name(second["label"]) and labels[label] == 2 and has_letters(label)
        is_number = sum(map(str.isdigit, value)) >= _DIGITS and text.date(value) is None
        if twice and is_number and same(value, second["value"]):
            yield RuleRelation("same", second, {"first": first})
