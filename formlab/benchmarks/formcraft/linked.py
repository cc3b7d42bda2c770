"""FUNSD's forms as forms of FORMCRAFT, and relations that rules find on a page.

By rule: an answer is a field labelled by the question that it is linked from, and each of several
answers is a field. A question without an answer is a field left blank; a header, a question with
further questions, and whatever else has something below it is a group. An answer without a question
is a field without a label. Other text to which nothing is linked is no field.

A rule proposes a relation by the labels or links of its fields; it is kept, as a check and a
question of L3 made without a model, only where the printed values bear it out: every expected value
stands on the page and follows from the others there. Of FUNSD these are

- ``cell``: an answer of two questions, a row and a column, as in a table.
- ``header``: a question that stands under several headers, and is answered under this one.
- ``sum``: in a column, an amount whose row is labelled total is the sum of those above it, as far
  as the next total.
- ``same``: the two fields of one label hold the same number, of five digits or more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from formlab import files, tables, text, trees
from formlab.benchmarks import funsd
from formlab.benchmarks.formcraft.formulas import (
    NoFormulaError,
    is_written_as,
    number_in,
    value_of,
)
from formlab.benchmarks.formcraft.records import field_rows
from formlab.benchmarks.formcraft.schema import Check, FieldModel, FormCraft, Group, Question
from formlab.benchmarks.meta import Row
from formlab.trees import Node

DISAGREE = "relations by labels that the numbers do not bear out"
# Stands in a question for the name of the field that is asked for.
DEPENDENT = "{dependent}"
_LETTER = re.compile(r"[^\W\d_]")
_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_DIGITS = 5


class RuleRelation(NamedTuple):
    """A relation: the value of `dependent` follows from `sources`, by `formula` over their names.

    Without a formula the values are the same, as dates or as texts. `question` asks for the
    dependent value, with `DEPENDENT` for its name. Without `sources` the question's words refer to
    each other and nothing follows: it is a question and no check.
    """

    rule: str
    dependent: FieldModel
    sources: dict[str, FieldModel]
    formula: str | None = None
    question: str = ""

    def holds(self) -> bool:
        """Whether the printed values are as the relation says."""
        values = {name: source.value for name, source in self.sources.items()}
        if self.formula is None:
            return all(same(value, self.dependent.value) for value in values.values())
        numbers = {name: number_in(value) for name, value in values.items()}
        known = {name: number for name, number in numbers.items() if number is not None}
        try:
            return is_written_as(value_of(self.formula, known), self.dependent.value)
        except NoFormulaError:
            # A value is no number, or the sum is longer than a formula may be.
            return False


def same(value: str, other: str) -> bool:
    """Whether two texts are the same date or, case and white space aside, the same text."""
    dates = text.date(value), text.date(other)
    if all(dates):
        return dates[0] == dates[1]
    return text.normalise(value, text.LADDER_STEPS) == text.normalise(other, text.LADDER_STEPS)


def has_letters(label: str, least: int = 3) -> bool:
    """Whether a text has so many letters that it can be a label."""
    return len(_LETTER.findall(label)) >= least


def with_relations(
    form: FormCraft, proposed: Iterable[RuleRelation], flaws: Counter[str]
) -> FormCraft:
    """The form with a check and a question for each relation that holds, rule by rule.

    Each dependent field gets one relation of a rule. The `derivation` of an item names the rule,
    the formula and the paths of all its fields, whose records have their places on the page.
    """

    def fields_of(holder: FormCraft | Group) -> list[FieldModel]:
        return [*holder.fields, *(f for group in holder.groups or () for f in fields_of(group))]

    fields = fields_of(form)
    rows = (row for row in field_rows(form, Counter()) if row["kind"] != "group")
    paths = {id(field): row["path"] for field, row in zip(fields, rows, strict=True)}
    # A label that others have too is numbered in questions.
    total, number, names = Counter(field.label for field in fields), Counter[str](), {}
    for field in fields:
        number[field.label] += 1
        which = f" (number {number[field.label]} on the page)" if total[field.label] > 1 else ""
        names[id(field)] = f"“{field.label}”{which}"
    kept: dict[tuple[str, int], RuleRelation] = {}
    failed: set[tuple[str, int]] = set()
    for relation in proposed:
        key = (relation.rule, id(relation.dependent))
        if key not in kept and relation.holds():
            kept[key] = relation
        elif key not in kept:
            failed.add(key)
    flaws[DISAGREE] += len(failed - kept.keys())
    derived = {at for (_, at), relation in kept.items() if relation.sources}
    numbers = Counter[str]()
    for relation in kept.values():
        numbers[relation.rule] += 1
        dependent, value = paths[id(relation.dependent)], relation.dependent.value
        sources = {name: paths[id(source)] for name, source in relation.sources.items()}
        groups = {path.rpartition("/")[0] for path in (*sources.values(), dependent)}
        complexity = "compound" if len(sources) > 1 or relation.rule == "cell" else "simple"
        if any(id(source) in derived for source in relation.sources.values()):
            complexity = "chained"
        derivation = {"rule": relation.rule, "formula": relation.formula, "fields": sources}
        item = {
            "id": f"{relation.rule}-{numbers[relation.rule]}",
            "kind": relation.dependent.kind,
            "scope": "intra-group" if len(groups) == 1 else "inter-group",
            "reference": "constraint" if sources else "direct-link",
            "complexity": complexity,
            "modal": "single-modality",
            "derivation": {name: part for name, part in derivation.items() if part},
            "rationale": f"Found by the rule “{relation.rule}”.",
        }
        *others, last = [names[id(field)] for field in relation.sources.values()] or [""]
        listed = f"{', '.join(others)} and {last}" if others else last
        question = relation.question or f"Going by {listed}, what must {DEPENDENT} be?"
        question = question.replace(DEPENDENT, names[id(relation.dependent)])
        involved = [*sources.values(), dependent]
        form.vqa.append(Question(**item, question=question, answers=[value], fields=involved))
        if sources:
            ends = {"source": involved[0], "dependent": dependent}
            form.consistency.append(Check(**item, **ends, expected=value))
    return form


class _Answer(NamedTuple):
    """A filled-in field, the questions that it is linked from, and the header it stands under."""

    field: FieldModel
    questions: list[Row]
    header: str


def form_of(file: Path, flaws: Counter[str]) -> FormCraft:
    """The form in a file of FUNSD's annotations, with the relations found on it."""
    columns = funsd.columns_of(file, files.read_bytes(file), flaws)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    entities = {row["path"]: row for row in rows[1:] if row["task"] == "text"}
    links = [row for row in rows if row["kind"] == "link"]
    questions: dict[str, list[Row]] = {}
    for start, _, end in (row["value"].partition(" ") for row in links):
        if entities.get(start, {}).get("kind") == "question":
            questions.setdefault(end, []).append(entities[start])
    # Without their kinds, all entities are nodes of the tree: no answers are joined.
    nodes = [{"path": path, "value": row["value"]} for path, row in entities.items()]
    odd: Counter[str] = Counter()
    tree = trees.from_records([*nodes, *links], flaws=odd)
    flaws["links in a circle"] += odd["links in a circle"]
    answers: list[_Answer] = []

    def is_more(node: Node) -> bool:
        """Whether it is more than the answer of the question above it."""
        return bool(node.children) or entities[node.path]["kind"] in ("question", "header")

    def contents(nodes: list[Node], above: Node | None, header: str) -> tuple[list, list]:
        """The fields and groups that nodes stand for."""
        pairs = [content(node, above, header) for node in nodes]
        return [field for own, _ in pairs for field in own], [g for _, own in pairs for g in own]

    def content(node: Node, above: Node | None, header: str) -> tuple[list, list]:
        row = entities[node.path]
        inner = header if row["kind"] != "header" else node.label
        fields, groups = contents(node.children, node, inner)
        kind, asked = row["kind"], questions.get(node.path, [])
        if kind == "answer" or (kind == "other" and asked and not node.children):
            label = above.label if above and entities[above.path]["kind"] == "question" else ""
            fields.insert(0, _field(label, row))
            answers.append(_Answer(fields[0], asked, header))
        elif kind == "question" and not node.children:
            fields = [FieldModel(label=node.label, modality="textual")]
        elif kind == "header" or any(map(is_more, node.children)):
            fields, groups = [], [Group(label=node.label, fields=fields, groups=groups or None)]
        return fields, groups

    fields, groups = contents(tree.children, None, "")
    form = FormCraft(fields=fields, groups=groups, domain="forms")
    labels = Counter(_name(row["value"]) for row in entities.values())
    rules = (_cells(answers, labels), _under_headers(answers, labels))
    rules += (_sums(answers), _repeated(answers))
    return with_relations(form, [relation for rule in rules for relation in rule], flaws)


def _field(label: str, row: Row) -> FieldModel:
    kind = "number" if number_in(row["value"]) is not None else None
    kind = "date" if text.date(row["value"]) else kind
    value = row["value"].strip()
    return FieldModel(label=label, modality="textual", value=value, kind=kind, box=_box(row))


def _box(row: Row) -> tuple[float, ...] | None:
    return tuple(row[side] for side in tables.BOX) if row.get("x0") is not None else None


def _name(label: str) -> str:
    return text.normalise(label, text.LADDER_STEPS).strip(" :.")


def _cells(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    cells = Counter(frozenset(row["path"] for row in answer.questions) for answer in answers)
    for answer in answers:
        box, names = answer.field.box, [_name(row["value"]) for row in answer.questions]
        once = cells[frozenset(row["path"] for row in answer.questions)] == 1
        # Two columns of one name would leave open which is meant.
        if not once or any(labels[name] > 1 for name in names):
            continue
        if not (box and answer.field.value):
            continue
        places = [_box(row) for row in answer.questions]
        beside = [bool(place) and _share(place, box, 1) > 0 for place in places]
        over = [bool(place) and _share(place, box, 0) > 0 for place in places]
        if sorted(beside) == sorted(over) == [False, True] and beside != over:
            row, column = (answer.questions[side.index(True)]["value"] for side in (beside, over))
            if has_letters(row) and has_letters(column):
                asked = f"What stands in the row “{row}” under “{column}”?"
                yield RuleRelation("cell", answer.field, {}, question=asked)


def _share(box: tuple, other: tuple, axis: int) -> float:
    """The length that two boxes have in common along an axis."""
    return min(box[axis + 2], other[axis + 2]) - max(box[axis], other[axis])


def _under_headers(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    keys = [(_name(answer.header), _name(answer.field.label)) for answer in answers]
    once, headers = Counter(keys), Counter(label for _, label in set(keys))
    for answer, key in zip(answers, keys, strict=True):
        known = all(has_letters(name) for name in key) and answer.field.value
        single = once[key] == labels[key[0]] == len(answer.questions) == 1
        if known and single and headers[key[1]] > 1:
            asked = f"Under “{answer.header}”, what is filled in for “{answer.field.label}”?"
            yield RuleRelation("header", answer.field, {}, question=asked)


def _sums(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """Totals under a column, and at the end of a row, of numbers."""
    boxed = [answer for answer in answers if answer.field.box]
    numbers = [answer for answer in boxed if number_in(answer.field.value) is not None]
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
    end = total.field.box
    beside = [answer for answer in answers if _share(answer.field.box, end, 1 - axis) > 0]
    return [answer for answer in beside if answer.field.box[axis + 2] <= end[axis] + 1]


def _repeated(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """The same number in the two fields of one label: short texts are the same by chance."""
    labels = Counter(_name(answer.field.label) for answer in answers)
    for first, second in combinations(answers, 2):
        label, value = _name(first.field.label), first.field.value
        is_number = sum(map(str.isdigit, value)) >= _DIGITS and text.date(value) is None
        twice = label == _name(second.field.label) and labels[label] == 2
        if twice and is_number and has_letters(label) and same(value, second.field.value):
            yield RuleRelation("same", second.field, {"first": first.field})
