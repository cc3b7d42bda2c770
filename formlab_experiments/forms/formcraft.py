"""Draw the FORMCRAFT sample and write it in the layout of `formlab.benchmarks.formcraft`."""

import ast
import json
import operator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal, NamedTuple

from formlab import files, text
from formlab.benchmarks.formcraft import RELATIONS
from formlab.errors import DataBroken
from formlab.text.values import date_readings
from formlab_experiments.forms.blocks import Cells
from formlab_experiments.forms.content import Content, load_all
from formlab_experiments.forms.sheet import Json
from formlab_experiments.forms.template import Drawing, Template, draw

SEED = 7
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


class Relation(NamedTuple):
    """How the fields of an item belong together, in the paper's sense."""

    scope: Literal[*RELATIONS["scope"]]
    reference: Literal[*RELATIONS["reference"]]
    complexity: Literal[*RELATIONS["complexity"]]
    modal: Literal[*RELATIONS["modal"]] = "single-modality"


class Item(Content):
    """What questions and checks have in common; `format` is how a computed value is written."""

    relation: Relation
    kind: str | None = None
    rationale: str = ""
    formula: str | None = None
    format: str = "{:.2f}"
    fields: dict[str, str] | Cells = ()

    @property
    def others(self) -> list[str]:
        """The fields that it is about, beside the source and the dependent one of a check."""
        return list(self.fields.values() if isinstance(self.fields, dict) else self.fields)

    @property
    def paths(self) -> list[str]:
        """Every field that it is about."""
        return self.others

    def labels(self) -> Json:
        """The labels as the annotation has them."""
        kind = {"kind": self.kind} if self.kind else {}
        return self.relation._asdict() | kind | {"rationale": self.rationale}


class Question(Item):
    """A question across fields.

    With a `formula` over the names in `fields` (name to path) its first answer is computed.
    """

    question: str
    answers: Cells = ()
    options: Cells = ()


class Check(Item):
    """A consistency check: what the field `dependent` has to be, given `source` and `fields`.

    The expected value follows by a `formula` over `fields`, as the sum of a `column` of the table
    `source`, or is given; else it is what stands in the field.
    """

    source: str
    dependent: str
    expected: str | None = None
    column: str | None = None
    confidence: float = 0.9

    @property
    def paths(self) -> list[str]:
        """Every field that it is about."""
        return [self.source, self.dependent, *self.others]


class Form(Template):
    """A form of one or more pages, with what is asked about its fields."""

    domain: str
    questions: tuple[Question, ...] = ()
    checks: tuple[Check, ...] = ()


def compute(formula: str, values: dict[str, Decimal]) -> Decimal:
    """The value of a formula of names, numbers, ``+ - * /`` and brackets; dates are days.

    >>> compute("(a * 12 + b) * c", {"a": Decimal(2), "b": Decimal(4), "c": Decimal("640.00")})
    Decimal('17920.00')
    """

    def of(node: ast.expr) -> Decimal:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return Decimal(str(node.value))
        raise DataBroken(f"not arithmetic over known names: {ast.unparse(node)}", where=formula)

    try:
        return of(ast.parse(formula, mode="eval").body)
    except SyntaxError as error:
        raise DataBroken("not a formula", where=formula) from error


def annotation(form: Form, page: Drawing) -> Json:
    """The annotation of a form that was drawn.

    `DataBroken` if two fields of a group have one label, or an item names one that is not there.
    """
    values = dict(_values(page.form, "", form.name))
    for key, items in (("questions", form.questions), ("checks", form.checks)):
        for place, item in enumerate(items):
            if unknown := [path for path in item.paths if path not in values]:
                where = f"{form.name}: {key}/{place}"
                raise DataBroken(f"there is no field {unknown[0]}", where=where)
    numbers = range(2, len(page.sheets) + 1)
    names = [f"{form.name}.png", *(f"{form.name}_{number}.png" for number in numbers)]
    head = {"template": form.name, "domain": form.domain, "pages": names}
    items = {
        "vqa": [_question(f"q{n}", i, values) for n, i in enumerate(form.questions, start=1)],
        "consistency": [_check(f"c{n}", i, values) for n, i in enumerate(form.checks, start=1)],
    }
    return head | page.form | items


def _values(group: Json, path: str, where: str) -> list[tuple[str, str]]:
    """Every field below a group: its path and its value."""
    pairs = [(f"{path}/{_step(field['label'])}", field["value"]) for field in group["fields"]]
    for inner in group["groups"]:
        pairs += _values(inner, f"{path}/{_step(inner['label'])}", where)
    names = [item["label"] for item in (*group["fields"], *group["groups"])]
    if len(set(names)) != len(names):
        raise DataBroken(f"two of one label: {sorted(names)}", where=f"{where}: {path or '/'}")
    return pairs


def _step(label: str) -> str:
    return label.replace("~", "~0").replace("/", "~1")


def _derived(item: Question | Check, values: dict[str, str]) -> str:
    """What the formula of an item makes of the values of its fields."""
    amounts = {name: _amount(values[path], path) for name, path in item.fields.items()}
    amount = compute(item.formula, amounts)
    if "%" in item.format.partition("{")[2].partition("}")[0]:
        return item.format.format(date.fromordinal(int(amount)))
    return item.format.format(amount)


def _amount(value: str, path: str) -> Decimal:
    """A number, an amount of money, or a date as its day since the year 1."""
    amount = (text.money(value) or (text.number(value),))[0]
    day = date_readings(value)[1]
    if amount is None and day is None:
        raise DataBroken(f"{value!r} is no number", where=path)
    return Decimal(day.toordinal()) if amount is None else amount


def _summed(item: Check, values: dict[str, str]) -> str:
    """The sum of a column of the table that is the check's source."""
    lines = values[item.source].split("\n")
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    cells = [row[head.index(item.column)] for row in rows]
    return item.format.format(sum(Decimal(cell) for cell in cells if cell))


def _question(number: str, item: Question, values: dict[str, str]) -> Json:
    row: Json = {"id": number, "question": item.question, "fields": item.paths}
    row["answers"] = list(item.answers)
    if item.formula:
        row["answers"] = [_derived(item, values), *item.answers]
        row["derivation"] = {"formula": item.formula, "fields": item.fields}
    row |= {"options": list(item.options)} if item.options else {}
    return row | item.labels()


def _check(number: str, item: Check, values: dict[str, str]) -> Json:
    row: Json = {"id": number, "source": item.source, "dependent": item.dependent}
    expected = item.expected or values[item.dependent]
    if item.formula:
        expected = _derived(item, values)
        row["derivation"] = {"formula": item.formula, "fields": item.fields}
    elif item.column:
        expected = _summed(item, values)
        row["derivation"] = {"column": item.column, "fields": {"table": item.source}}
    elif item.fields:
        row["fields"] = item.others
    return row | {"expected": expected, "confidence": item.confidence} | item.labels()


def write(out: Path, seed: int = SEED) -> None:
    """Write every form below `out`."""
    for form in load_all("formcraft", Form):
        write_form(out, form, draw(form, seed))


def write_form(out: Path, form: Form, page: Drawing) -> None:
    """Write the pages of a form, and then its annotation."""
    content = annotation(form, page)
    written = json.dumps(content, ensure_ascii=False, indent=1)
    for name, image in zip(content["pages"], page.images, strict=True):
        with files.atomic(out / "test" / "images" / name) as file:
            image.save(file, format="PNG", optimize=True)
    files.write_text(out / "test" / "forms" / f"{form.name}.json", written + "\n")
