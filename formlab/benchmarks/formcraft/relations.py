"""Relations between fields: exact formulas, what rules find on a page, and FUNSD's forms.

A rule proposes a relation by the labels, links or places of its fields; it is kept, as a check and
a question of L3 made without a model, only where the printed values bear it out. docs/relations.md
lists the rules.

FUNSD's forms are forms of FORMCRAFT by rule: an answer is a field labelled by the question that it
is linked from, if there is one; a question without an answer is a field left blank; a header, a
question with further questions, and whatever else has something below it is a group. Other text to
which nothing is linked is no field.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from formlab import tables, text, trees
from formlab.benchmarks import funsd
from formlab.benchmarks.formcraft.forms import walk
from formlab.benchmarks.meta import Row
from formlab.trees import Node

DISAGREE = "relations by labels that the numbers do not bear out"
# Stands in a question for the name of the field that is asked for.
DEPENDENT = "{dependent}"
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub}
_OPERATORS |= {ast.Mult: operator.mul, ast.Div: operator.truediv}
_LONGEST = 200
_LETTER = re.compile(r"[^\W\d_]")
_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_DIGITS = 5
# A filled-in field, the questions that it is linked from, and the header that it stands under.
_Answer = tuple[Row, list[Row], str]


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


def has_letters(label: str) -> bool:
    """Whether a text has three letters, without which it is no label."""
    return len(_LETTER.findall(label)) >= 3


def field_of(label: str, value: str, box: Sequence[float] | None, kind: str | None = None) -> Row:
    """A filled-in field of a form."""
    return {"label": label, "modality": "textual", "value": value, "kind": kind, "box": box}


class RuleRelation(NamedTuple):
    """A relation: the value of `dependent` follows from `sources`, by `formula` over their names.

    Without a formula the values are the same, as dates or as texts. `question` asks for the
    dependent value, with `DEPENDENT` for its name. Without `sources` the question's words refer to
    each other and nothing follows: it is a question and no check.
    """

    rule: str
    dependent: Row
    sources: dict[str, Row]
    formula: str | None = None
    question: str = f"Going by {{sources}}, what must {DEPENDENT} be?"

    def holds(self) -> bool:
        """Whether the printed values are as the relation says."""
        values = {name: source["value"] for name, source in self.sources.items()}
        if self.formula is None:
            return all(same(value, self.dependent["value"]) for value in values.values())
        numbers = {name: number_in(value) for name, value in values.items()}
        numbers = {name: number for name, number in numbers.items() if number is not None}
        try:
            return is_written_as(value_of(self.formula, numbers), self.dependent["value"])
        except NoFormulaError:
            # A value is no number, or the sum is longer than a formula may be.
            return False


def with_relations(form: Row, proposed: Iterable[RuleRelation], flaws: Counter[str]) -> Row:
    """The form with a check and a question for each relation that holds, rule by rule.

    Each dependent field gets one relation of a rule. The `derivation` of an item names the rule,
    the formula and the paths of all its fields, whose records have their places on the page.
    """
    fields = [(path, node) for path, node, is_group in walk(form) if not is_group]
    paths, alike = {id(field): path for path, field in fields}, defaultdict[str, list[int]](list)
    for _, field in fields:
        alike[field["label"]].append(id(field))

    def name(field: Row) -> str:
        """The label of a field in quotes, numbered where others have it too."""
        places = alike[field["label"]]
        which = f" (number {places.index(id(field)) + 1} on the page)" if len(places) > 1 else ""
        return f"“{field['label']}”{which}"

    claims = defaultdict[tuple[str, int], list[RuleRelation]](list)
    for relation in proposed:
        claims[relation.rule, id(relation.dependent)].append(relation)
    found = (next(filter(RuleRelation.holds, claim), None) for claim in claims.values())
    kept = list(filter(None, found))
    flaws[DISAGREE] += len(claims) - len(kept)
    derived = {id(relation.dependent) for relation in kept if relation.sources}
    numbers, items = Counter[str](), {"vqa": [], "consistency": []}
    for rule, dependent, sources, formula, question in kept:
        numbers[rule] += 1
        places = {name: paths[id(source)] for name, source in sources.items()}
        involved = [*places.values(), paths[id(dependent)]]
        groups, value = {path.rpartition("/")[0] for path in involved}, dependent["value"]
        complexity = "compound" if len(sources) > 1 or rule == "cell" else "simple"
        if any(id(source) in derived for source in sources.values()):
            complexity = "chained"
        derivation = {"rule": rule, "formula": formula, "fields": places}
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
        *others, last = map(name, sources.values()) if sources else [""]
        listed = " and ".join(filter(None, (", ".join(others), last)))
        asked = question.replace("{sources}", listed).replace(DEPENDENT, name(dependent))
        items["vqa"].append(item | {"question": asked, "answers": [value], "fields": involved})
        if sources:
            ends = {"source": involved[0], "dependent": involved[-1], "expected": value}
            items["consistency"].append(item | ends)
    return form | items


def form_of(file: Path, flaws: Counter[str]) -> Row:
    """The form in a file of FUNSD's annotations, with the relations found on it."""
    columns = funsd.columns_of(file, flaws)
    _, *rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    for row in rows:
        row["box"] = tuple(map(row.get, tables.BOX)) if row["x0"] is not None else None
    entities = {row["path"]: row for row in rows if row["task"] == "text"}
    links = [row for row in rows if row["kind"] == "link"]
    questions: dict[str, list[Row]] = defaultdict(list)
    for start, _, end in (row["value"].partition(" ") for row in links):
        if entities.get(start, {}).get("kind") == "question":
            questions[end].append(entities[start])
    # Without their kinds, all entities are nodes of the tree: no answers are joined.
    nodes = [{"path": path, "value": row["value"]} for path, row in entities.items()]
    odd, answers = Counter[str](), list[_Answer]()
    tree = trees.from_records([*nodes, *links], flaws=odd)
    flaws["links in a circle"] += odd["links in a circle"]

    def fill(holder: Row, nodes: list[Node], label: str = "", header: str = "") -> None:
        """Put the fields and groups that nodes stand for into what `label` names."""
        for node in nodes:
            row, asked, inner = entities[node.path], questions[node.path], holder
            kind, kinds = row["kind"], {entities[child.path]["kind"] for child in node.children}
            is_deep = any(child.children for child in node.children)
            if kind == "answer" or (kind == "other" and asked):
                value = row["value"].strip()
                sort = None if number_in(value) is None else "number"
                sort = "date" if text.date(value) else sort
                holder["fields"].append(field := field_of(label, value, row["box"], sort))
                answers.append((field, asked, header))
            elif kind == "question" and not kinds:
                holder["fields"].append({"label": node.label, "modality": "textual"})
            elif kind == "header" or is_deep or kinds & {"question", "header"}:
                # There is more below it than its answers.
                holder["groups"].append(inner := {"label": node.label, "fields": [], "groups": []})
            below = {kind: node.label}
            fill(inner, node.children, below.get("question", ""), below.get("header", header))

    form: Row = {"fields": [], "groups": [], "domain": "forms"}
    fill(form, tree.children)
    labels = Counter(_name(row["value"]) for row in entities.values())
    proposed = [*_cells(answers, labels), *_under_headers(answers, labels)]
    return with_relations(form, [*proposed, *_sums(answers), *_repeated(answers)], flaws)


def _name(label: str) -> str:
    return text.normalise(label, text.LADDER_STEPS).strip(" :.")


def _share(box: tuple | None, other: tuple, axis: int) -> float:
    """The length that two boxes have in common along an axis."""
    return min(box[axis + 2], other[axis + 2]) - max(box[axis], other[axis]) if box else 0


def _cells(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    cells = Counter(frozenset(row["path"] for row in asked) for _, asked, _ in answers)
    for field, asked, _ in answers:
        # Two columns of one name would leave open which is meant.
        once = cells[frozenset(row["path"] for row in asked)] == 1
        once = once and all(labels[_name(row["value"])] == 1 for row in asked)
        if not (once and len(asked) == 2 and field["box"] and field["value"]):
            continue
        beside, over = (
            [row["value"] for row in asked if _share(row["box"], field["box"], axis) > 0]
            for axis in (1, 0)
        )
        if len(beside) == len(over) == 1 and all(map(has_letters, beside + over)):
            question = f"What stands in the row “{beside[0]}” under “{over[0]}”?"
            yield RuleRelation("cell", field, {}, question=question)


def _under_headers(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    keys = [(_name(header), _name(field["label"])) for field, _, header in answers]
    once, headers = Counter(keys), Counter(label for _, label in set(keys))
    for (field, asked, header), key in zip(answers, keys, strict=True):
        single = once[key] == labels[key[0]] == len(asked) == 1
        if field["value"] and single and headers[key[1]] > 1 and all(map(has_letters, key)):
            question = f"Under “{header}”, what is filled in for “{field['label']}”?"
            yield RuleRelation("header", field, {}, question=question)


def _sums(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """Totals under a column of numbers."""
    numbers = [a for a in answers if a[0]["box"] and number_in(a[0]["value"]) is not None]
    for total, asked, _ in numbers:
        if any(_TOTAL.search(row["value"]) for row in asked):
            end = total["box"]
            column = [field for field, _, _ in numbers if _share(field["box"], end, 0) > 0]
            above = [field for field in column if field["box"][3] <= end[1] + 1]
            if len(above) > 1:
                sources = {f"n{n}": field for n, field in enumerate(above)}
                yield RuleRelation("sum", total, sources, " + ".join(sources))


def _repeated(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """The same number in the two fields of one label: short texts are the same by chance."""
    labels = Counter(_name(field["label"]) for field, _, _ in answers)
    for first, second in combinations([field for field, _, _ in answers], 2):
        label, value = _name(first["label"]), first["value"]
        is_number = sum(map(str.isdigit, value)) >= _DIGITS and text.date(value) is None
        is_twice = label == _name(second["label"]) and labels[label] == 2
        if is_twice and is_number and same(value, second["value"]):
            yield RuleRelation("same", second, {"first": first})
