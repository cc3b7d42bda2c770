"""What a FORMCRAFT form is, its questions and checks: data that the blocks know how to draw."""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan
from data.sample.generate.sheet import Block

INTRA, INTER, PAGES = "intra-group", "inter-group", "cross-page"
DIRECT, CONSTRAINT, DOMAIN = "direct-link", "constraint", "domain-specific"
SIMPLE, COMPOUND, CHAINED = "simple", "compound", "chained"
SINGLE, CROSS = "single-modality", "cross-modality"
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
Json = dict[str, Any]


@dataclass(frozen=True)
class Relation:
    """Scope, reference type, complexity and modal relationship, in the paper's sense."""

    scope: str
    reference: str
    complexity: str
    modal: str = SINGLE


@dataclass(frozen=True)
class Ask:
    """A question across fields.

    `answers` are given or, with a `formula` over the names in `fields` (name to path), computed;
    `form` is how the computed value is written.
    """

    question: str
    relation: Relation
    fields: tuple[str, ...] | dict[str, str]
    answers: tuple[str, ...] = ()
    formula: str | None = None
    form: str = "{:.2f}"
    options: tuple[str, ...] = ()
    kind: str | None = None
    rationale: str = ""


@dataclass(frozen=True)
class Tie:
    """A consistency check: what `dependent` has to hold, given `source`.

    With a `formula` over `fields` the expected value follows by arithmetic, else it is the value
    of the field itself.
    """

    source: str
    dependent: str
    relation: Relation
    confidence: float = 0.9
    formula: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    form: str = "{:.2f}"
    kind: str | None = None
    rationale: str = ""


@dataclass(frozen=True)
class Page:
    """One page: its blocks from top to bottom, how it was scanned, its height in pixels."""

    blocks: tuple[Block, ...]
    scan: Scan
    height: int = 880


@dataclass(frozen=True)
class Form:
    """A filled-in form of one or more pages."""

    name: str
    domain: str
    pens: dict[str, Pen]
    pages: tuple[Page, ...]
    asks: tuple[Ask, ...] = ()
    ties: tuple[Tie, ...] = ()
    margin: float = 46.0
    top: float = 40.0
    gap: float = 6.0


def computed(formula: str, values: dict[str, Decimal]) -> Decimal:
    """The value of a formula of names, numbers, ``+ - * /`` and brackets.

    Examples
    --------
    >>> computed("(a * 12 + b) * c", {"a": Decimal(2), "b": Decimal(4), "c": Decimal("640.00")})
    Decimal('17920.00')
    """

    def of(node: ast.expr) -> Decimal:
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.Constant):
            return Decimal(str(node.value))
        raise ValueError(f"not arithmetic: {ast.dump(node)}")

    return of(ast.parse(formula, mode="eval").body)
