"""Relations that rules find on a page: checks and questions of L3, made without a model.

A rule proposes a relation by the labels or links of its fields; it is kept only where the printed
values bear it out, so every expected value stands on the page and follows from the others there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from formlab import text
from formlab.benchmarks.formcraft.formulas import (
    NoFormulaError,
    is_written_as,
    number_in,
    value_of,
)  # fmt: skip
from formlab.benchmarks.formcraft.records import field_rows
from formlab.benchmarks.formcraft.schema import Check, FieldModel, FormCraft, Group, Question

DISAGREE = "relations by labels that the numbers do not bear out"
# Stands in a question for the name of the field that is asked for.
DEPENDENT = "{dependent}"
_LETTER = re.compile(r"[^\W\d_]")


class RuleRelation(NamedTuple):
    """A relation: the value of `dependent` follows from `sources`, by `formula` over their names.

    Without a formula the values are the same, as dates or as texts. `question` asks for the
    dependent value, with `DEPENDENT` for its name. In a `link` the fields refer to each other and
    nothing follows: it is a question and no check.
    """

    rule: str
    dependent: FieldModel
    sources: dict[str, FieldModel]
    formula: str | None = None
    question: str = ""
    link: bool = False

    def holds(self) -> bool:
        """Whether the printed values are as the relation says."""
        values = {name: source.value for name, source in self.sources.items()}
        if self.formula is None:
            return self.link or all(same(v, self.dependent.value) for v in values.values())
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
        return value == other or dates[0] == dates[1]
    return text.normalise(value, text.LADDER_STEPS) == text.normalise(other, text.LADDER_STEPS)


def fields_of(form: FormCraft) -> Iterator[FieldModel]:
    """The fields of a form in the order of `field_rows`."""

    def inside(fields: Iterable[FieldModel], groups: Iterable[Group] | None) -> Any:
        yield from fields
        for group in groups or ():
            yield from inside(group.fields, group.groups)

    return inside(form.fields, form.groups)


def with_relations(
    form: FormCraft, proposed: Iterable[RuleRelation], flaws: Counter[str]
) -> FormCraft:
    """The form with a check and a question for each relation that holds, rule by rule.

    Each dependent field gets one relation of a rule. The `derivation` of an item names the rule,
    the formula and the paths of all its fields, whose records have their places on the page.
    """
    rows = (row for row in field_rows(form, Counter()) if row["kind"] != "group")
    paths = {id(field): row["path"] for field, row in zip(fields_of(form), rows, strict=True)}
    kept: dict[tuple[str, int], RuleRelation] = {}
    failed: set[tuple[str, int]] = set()
    for relation in proposed:
        key = (relation.rule, id(relation.dependent))
        if key not in kept and relation.holds():
            kept[key] = relation
        elif key not in kept:
            failed.add(key)
    flaws[DISAGREE] += len(failed - kept.keys())
    derived = {at for (_, at), relation in kept.items() if not relation.link}
    names, numbers = _names(form), Counter[str]()
    for relation in kept.values():
        numbers[relation.rule] += 1
        item = _item(relation, paths, derived) | {"id": f"{relation.rule}-{numbers[relation.rule]}"}
        dependent, sources = item.pop("dependent"), item.pop("sources")
        asked = {"question": _question(relation, names), "answers": [relation.dependent.value]}
        form.vqa.append(Question(**item, **asked, fields=[*sources, dependent]))
        if not relation.link:
            expected = {"source": sources[0], "dependent": dependent}
            form.consistency.append(Check(**item, **expected, expected=relation.dependent.value))
    return form


def _item(relation: RuleRelation, paths: dict[int, str], derived: set[int]) -> dict[str, Any]:
    sources = {name: paths[id(source)] for name, source in relation.sources.items()}
    dependent = paths[id(relation.dependent)]
    groups = {path.rpartition("/")[0] for path in (*sources.values(), dependent)}
    complexity = "compound" if len(sources) > 1 or relation.rule == "cell" else "simple"
    if any(id(source) in derived for source in relation.sources.values()):
        complexity = "chained"
    derivation = {"rule": relation.rule, "formula": relation.formula, "fields": sources}
    return {
        "dependent": dependent, "sources": list(sources.values()), "kind": relation.dependent.kind,
        "scope": "intra-group" if len(groups) == 1 else "inter-group", "complexity": complexity,
        "reference": "direct-link" if relation.link else "constraint", "modal": "single-modality",
        "derivation": {key: value for key, value in derivation.items() if value},
        "rationale": f"Found by the rule “{relation.rule}”.",
    }  # fmt: skip


def _names(form: FormCraft) -> dict[int, str]:
    """What each field is called in a question: its label, numbered where others have it too."""
    fields = list(fields_of(form))
    total, seen, names = Counter(field.label for field in fields), Counter[str](), {}
    for field in fields:
        seen[field.label] += 1
        number = f" (number {seen[field.label]} on the page)" if total[field.label] > 1 else ""
        names[id(field)] = f"“{field.label}”{number}"
    return names


def _question(relation: RuleRelation, names: dict[int, str]) -> str:
    dependent = names[id(relation.dependent)]
    if relation.question:
        return relation.question.replace(DEPENDENT, dependent)
    sources = [names[id(field)] for field in relation.sources.values()]
    shown = ", ".join(sources[:-1]) + " and " + sources[-1] if len(sources) > 1 else sources[0]
    return f"Going by {shown}, what must {dependent} be?"


def has_letters(label: str, least: int = 3) -> bool:
    """Whether a text has so many letters that it can be a label."""
    return len(_LETTER.findall(label)) >= least
