"""Relations between fields: exact formulas, and what rules find to hold on a page.

A rule proposes a relation by the labels, links or places of its fields; it is kept, as a check and
a question of L3 made without a model, only where the printed values bear it out: every expected
value stands on the page and follows from the others there.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from formlab import text
from formlab.benchmarks.formcraft.records import field_rows
from formlab.benchmarks.formcraft.schema import Object

DISAGREE = "relations by labels that the numbers do not bear out"
# Stands in a question for the name of the field that is asked for.
DEPENDENT = "{dependent}"
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub}
_OPERATORS |= {ast.Mult: operator.mul, ast.Div: operator.truediv}
_LONGEST = 200
_LETTER = re.compile(r"[^\W\d_]")


class NoFormulaError(ValueError):
    """A text that is no arithmetic of the names given; the message says why."""


def value_of(formula: str, values: Mapping[str, Fraction]) -> Fraction:
    """What a formula of +, -, *, /, brackets, numbers and the names of `values` comes to.

    `NoFormulaError` if it is anything else, names what is not there, or divides by zero.

    >>> value_of("(a + 1) * b", {"a": Fraction(2), "b": Fraction("0.5")})
    Fraction(3, 2)
    """

    def worked_out(node: ast.expr) -> Fraction:
        match node:
            case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
                return _OPERATORS[type(kind)](worked_out(left), worked_out(right))
            case ast.UnaryOp(ast.USub(), inner):
                return -worked_out(inner)
            case ast.Name(name) if name in values:
                return values[name]
            case ast.Constant(int() | float() as number) if not isinstance(number, bool):
                return Fraction(str(number))
        raise ValueError(f"{ast.unparse(node)!r} is no arithmetic of what is given")

    try:
        return worked_out(ast.parse(formula[:_LONGEST].strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError, ZeroDivisionError) as error:
        raise NoFormulaError(str(error).splitlines()[0]) from error


def number_in(written: str) -> Fraction | None:
    """The number or amount of money that a text is; a percent sign does not count.

    >>> number_in("$1,200.50"), number_in("25 %"), number_in("two")
    (Fraction(2401, 2), Fraction(25, 1), None)
    """
    plain = written.strip().removesuffix("%").strip()
    amount = text.money(plain)
    number: Any = amount.amount if amount else text.number(plain)
    return None if number is None else Fraction(number)


def is_written_as(exact: Fraction, written: str) -> bool:
    """Whether `written` is the number `exact`, to as many decimals as it shows.

    >>> is_written_as(Fraction(11, 3), "3.67"), is_written_as(Fraction(11, 3), "3.66")
    (True, False)
    """
    shown = number_in(written)
    digits = written.rpartition(".")[2] if "." in written else ""
    decimals = sum(character.isdecimal() for character in digits)
    return shown is not None and abs(exact - shown) <= Fraction(1, 2 * 10**decimals)


def same(value: str, other: str) -> bool:
    """Whether two texts are the same date or, case and white space aside, the same text."""
    dates = text.date(value), text.date(other)
    if all(dates):
        return dates[0] == dates[1]
    return text.normalise(value, text.LADDER_STEPS) == text.normalise(other, text.LADDER_STEPS)


def has_letters(label: str, least: int = 3) -> bool:
    """Whether a text has so many letters that it can be a label."""
    return len(_LETTER.findall(label)) >= least


class RuleRelation(NamedTuple):
    """A relation: the value of `dependent` follows from `sources`, by `formula` over their names.

    Without a formula the values are the same, as dates or as texts. `question` asks for the
    dependent value, with `DEPENDENT` for its name. Without `sources` the question's words refer to
    each other and nothing follows: it is a question and no check.
    """

    rule: str
    dependent: Object
    sources: dict[str, Object]
    formula: str | None = None
    question: str = f"Going by {{sources}}, what must {DEPENDENT} be?"

    def holds(self) -> bool:
        """Whether the printed values are as the relation says."""
        values = {name: source["value"] for name, source in self.sources.items()}
        if self.formula is None:
            return all(same(value, self.dependent["value"]) for value in values.values())
        numbers = {name: number_in(value) for name, value in values.items()}
        known = {name: number for name, number in numbers.items() if number is not None}
        try:
            return is_written_as(value_of(self.formula, known), self.dependent["value"])
        except NoFormulaError:
            # A value is no number, or the sum is longer than a formula may be.
            return False


def with_relations(form: Object, proposed: Iterable[RuleRelation], flaws: Counter[str]) -> Object:
    """The form with a check and a question for each relation that holds, rule by rule.

    Each dependent field gets one relation of a rule. The `derivation` of an item names the rule,
    the formula and the paths of all its fields, whose records have their places on the page.
    """
    fields = list(_fields_of(form))
    rows = (row for row in field_rows(form, Counter()) if row["kind"] != "group")
    paths = {id(field): row["path"] for field, row in zip(fields, rows, strict=True)}
    # A label that others have too is numbered in questions.
    total, number, names = Counter(field["label"] for field in fields), Counter[str](), {}
    for field in fields:
        number[field["label"]] += 1
        which = f" (number {number[field['label']]} on the page)"
        names[id(field)] = f"“{field['label']}”{which if total[field['label']] > 1 else ''}"
    kept: dict[tuple[str, int], RuleRelation] = {}
    failed: set[tuple[str, int]] = set()
    for relation in proposed:
        key = (relation.rule, id(relation.dependent))
        if key in kept or relation.holds():
            kept.setdefault(key, relation)
        else:
            failed.add(key)
    flaws[DISAGREE] += len(failed - kept.keys())
    derived = {id(relation.dependent) for relation in kept.values() if relation.sources}
    numbers = Counter[str]()
    items: Object = {"vqa": [], "consistency": []}
    for rule, dependent, fields_by_name, formula, question in kept.values():
        numbers[rule] += 1
        path, value = paths[id(dependent)], dependent["value"]
        sources = {name: paths[id(source)] for name, source in fields_by_name.items()}
        groups = {place.rpartition("/")[0] for place in (*sources.values(), path)}
        complexity = "compound" if len(sources) > 1 or rule == "cell" else "simple"
        if any(id(source) in derived for source in fields_by_name.values()):
            complexity = "chained"
        derivation = {"rule": rule, "formula": formula, "fields": sources}
        item = {
            "id": f"{rule}-{numbers[rule]}",
            "kind": dependent.get("kind"),
            "scope": "intra-group" if len(groups) == 1 else "inter-group",
            "reference": "constraint" if sources else "direct-link",
            "complexity": complexity,
            "modal": "single-modality",
            "derivation": {name: part for name, part in derivation.items() if part},
            "rationale": f"Found by the rule “{rule}”.",
        }
        listed = [names[id(source)] for source in fields_by_name.values()]
        listed = [", ".join(listed[:-1]), *listed[-1:]] if len(listed) > 1 else listed
        asked = question.replace("{sources}", " and ".join(listed))
        asked = asked.replace(DEPENDENT, names[id(dependent)])
        involved = [*sources.values(), path]
        items["vqa"].append(item | {"question": asked, "answers": [value], "fields": involved})
        if sources:
            ends = {"source": involved[0], "dependent": path, "expected": value}
            items["consistency"].append(item | ends)
    return form | items


def _fields_of(holder: Object) -> Iterator[Object]:
    yield from holder["fields"]
    for group in holder["groups"]:
        yield from _fields_of(group)
