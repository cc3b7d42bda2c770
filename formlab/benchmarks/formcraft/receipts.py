"""SROIE's receipts as forms: header, items, totals and footer from the lines and their places.

A *row* is what stands side by side; its amount is a number with two decimals at its right end. By
rule, and only by these rules:

- The totals begin at the first row whose label names a total, tax, service, rounding or payment and
  that has an amount, and end at the last such row.
- The items begin under the row of column headings (two words such as qty, price, amount, and no
  digit). An item is a row with an amount; its name stands in the row, else in the rows before it
  or, where the first row has an amount and no name, in those after it. Quantity and unit price are
  read where a sign of multiplication stands between them or the headings name both.
- The header is what stands above the headings, the footer what stands below the totals. Company,
  address and date are SROIE's keys, in the group whose rows they stand in.

A receipt without totals has its keys alone; without headings its items are not made out. Both are
counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from formlab import tables, text
from formlab.benchmarks import sroie
from formlab.benchmarks.formcraft.linked import (
    DEPENDENT,
    RuleRelation,
    has_letters,
    same,
    with_relations,
)
from formlab.benchmarks.formcraft.schema import FieldModel, FormCraft, Group
from formlab.benchmarks.meta import Row
from formlab.text.layout import rows as in_rows

# The longest line of a receipt that is looked at.
_LONGEST = 200
_AMOUNT = re.compile(r"(?<![\d.,/])-?\d[\d,]*\.\d{2}(?![\d./]|,\d| ?%)")
_CODE = re.compile(r"[\s)]*[A-Za-z*#]{0,3}[\s)]*")
_HEADING = re.compile(
    r"\b(?:qty|quantity|items?|description|desc|price|amount|amt|disc|total|rm|code)\b"
)
_TIMES = re.compile(r"(\d+)\s*(?:[A-Za-z]{1,5}\s*)?[xX*@]\s*(?:RM|\$)?\s*(\d+\.\d{2,4})\b")
_RATE = re.compile(r"(\d{1,2}(?:\.\d{1,2})?)\s*%|^(?:SR|ZRL?)\W*(\d{1,2})\b")
_DATE = re.compile(
    r"\b(?:\d{1,4}[-/.](?:\d{1,2}|[A-Za-z]{3})[-/.]\d{2,4}|\d{1,2} [A-Za-z]{3,9} \d{4})\b"
)
_NO_LETTER = re.compile(r"[^a-z]+")
_BEHIND_LABEL = re.compile(r"(?:\b(?:RM|MYR)|[\s:$=(*-])+$")
_COUNT = re.compile(r"[\s@xX*]+\d{1,3}\s*[xX*@]?$")
_COUNTED = re.compile(r"\bqty\b|quantity|\bitems?\b")
# The group of an item, and its fields by what they are.
Item = tuple[Group, dict[str, FieldModel]]
# What a row is by its label, the first that fits; others can be part of no sum.
_PATTERNS = {
    "change": r"\bchange\b",
    "none": r"\bqty\b|quantity|item|saving|point|balance|outstanding|total.*disc|disc.*total"
    r"|included in|includes",
    "rounding": r"^(?!.*(?:total|amt|amount|after|net\b)).*\bround|round\w* adj",
    "discount": r"\bdisc",
    "service": r"^(?!.*total).*\b(?:serv|svc|srv)",
    "total": r"^(?!gst|tax|.*\btotal (?:gst|tax)$|.*\btotal (?:gst|tax) (?:amt|amount|paid)).*"
    r"(?:\b(?:sub ?)?total\b|\b(?:amount|amt|net)\b.*\b(?:due|payable|round\w*)\b)"
    r"|^(?:gross|nett?|round\w*) (?:amt|amount)",
    "included": r"\bincl|\bincluded|\binclusive",
    "tax": r"\b(?:gst|tax|sst)\b",
    "cash": r"\b(?:cash|tender\w*|received)\b|^paid|^payment",
    "card": r"\b(?:visa|master\w*|amex|debit|credit card|edc)\b",
}
_ROLES = {role: re.compile(pattern) for role, pattern in _PATTERNS.items()}
_SIGNS = {"tax": "+", "service": "+", "rounding": "+", "discount": "-"}
_OF_TOTALS = {"total", "tax", "service", "rounding", "cash", "card", "change"}


class _Line(NamedTuple):
    """A row of a receipt: text and box, numbers with two decimals, and the label before them."""

    text: str
    label: str
    role: str
    box: tuple[float, ...]
    numbers: list[FieldModel]
    # The number that it ends in.
    amount: FieldModel | None
    pieces: list[Row]

    @property
    def is_single(self) -> bool:
        """Whether its amount is its only number, and so what its label says."""
        return len(self.numbers) == 1

    @property
    def ends_items(self) -> bool:
        """Whether it is one of the totals: the items are above the first of them."""
        of_totals = self.role in _OF_TOTALS or "total" in self.label.casefold()
        return bool(self.amount and of_totals and not self.is_taxed)

    @property
    def is_taxed(self) -> bool:
        """Whether it is of a tax table: a rate, what is taxed, and the tax."""
        return bool(self.amount and len(self.numbers) == 2 and _RATE.search(self.text))


def form_of(root: Path, file: Path, flaws: Counter[str]) -> FormCraft:
    """The form of the receipt whose keys are in `file`, with the relations found on it."""
    keys, texts = sroie.receipt(file, root, flaws)
    boxed = [row for row in texts if row.get("x0") is not None and len(row["value"]) <= _LONGEST]
    boxes = np.array([[row[side] for side in tables.BOX] for row in boxed])
    lines = [_line([boxed[place] for place in row]) for row in in_rows(boxes)]
    parts = _parts(lines, flaws)
    groups = {
        name: Group(label=name, box=_union(piece for line in part for piece in line.pieces))
        for name, part in parts.items()
    }
    form = FormCraft(groups=list(groups.values()), domain="receipts")
    homes = {id(line): groups[name].fields for name, part in parts.items() for line in part}
    date = _keys(keys, lines, homes, form.fields)
    proposed = list(_dates(date, lines, homes, form.fields)) if date else []
    items = _items(parts["items"], lines, groups["items"]) if "items" in parts else []
    for line in parts.get("totals", ()):
        if line.amount and line.label and line.is_single:
            line.amount.label = line.label
            groups["totals"].fields.append(line.amount)
    proposed += [*_sums(parts.get("totals", []), items), *_times(items)]
    for name in ("totals", "footer"):
        proposed += _taxes(parts.get(name, []), groups.get(name))
    return with_relations(form, proposed, flaws)


def _line(pieces: list[Row]) -> _Line:
    written = " ".join(piece["value"] for piece in pieces)
    found = [(piece, match) for piece in pieces for match in _AMOUNT.finditer(piece["value"])]
    numbers = [_field("amount", m[0], _part(piece, m.span()), "money") for piece, m in found]
    matches = list(_AMOUNT.finditer(written))
    label = written[: matches[0].start()] if matches else written
    closed = bool(numbers and matches and _CODE.fullmatch(written[matches[-1].end() :]))
    label = _BEHIND_LABEL.sub("", label.strip())
    plain = " ".join(_NO_LETTER.sub(" ", label.casefold()).split())
    role = next((role for role, pattern in _ROLES.items() if pattern.search(plain)), "none")
    amount = numbers[-1] if closed else None
    return _Line(written, label, role, _union(pieces), numbers, amount, pieces)


def _field(label: str, value: str, box: Sequence[float], kind: str) -> FieldModel:
    return FieldModel(label=label, modality="textual", value=value, kind=kind, box=tuple(box))


def _union(pieces: Iterable[Row]) -> tuple[float, ...]:
    sides = np.array([[piece[side] for side in tables.BOX] for piece in pieces])
    return (*sides[:, :2].min(axis=0).tolist(), *sides[:, 2:].max(axis=0).tolist())


def _part(piece: Row, span: tuple[int, int]) -> tuple[float, ...]:
    return tuple(sroie.part_of_line(piece, (*span, len(piece["value"]))).values())


def _parts(lines: list[_Line], flaws: Counter[str]) -> dict[str, list[_Line]]:
    """The rows of header, items, totals and footer, as far as the rules tell them apart."""
    rows = [n for n, line in enumerate(lines) if line.ends_items]
    # Headings below a total are those of a table of taxes.
    total = next((n for n in rows if lines[n].role == "total"), len(lines))
    heading = next((n for n in range(total) if _is_heading(lines[n])), None)
    sums = [n for n in rows if heading is None or n > heading]
    flaws["receipts without rows of totals"] += not sums
    flaws["receipts whose items have no column headings"] += heading is None
    if not sums:
        return {}
    end = sums[-1] + 1
    parts = {"totals": lines[sums[0] : end], "footer": lines[end:]}
    if heading is not None:
        items = list(dropwhile(_is_heading, lines[heading + 1 : sums[0]]))
        parts = {"header": lines[:heading], "items": items} | parts
    return {name: part for name, part in parts.items() if part}


def _is_heading(line: _Line) -> bool:
    words = set(_HEADING.findall(line.text.casefold()))
    return (len(words) > 1 or words == {"rm"}) and not any(map(str.isdigit, line.text))


def _items(lines: list[_Line], page: list[_Line], group: Group) -> list[Item]:
    """The items as groups in `group`: name, amount and, where known, quantity and unit price."""
    named = [has_letters(line.label) for line in lines]
    after = bool(lines[0].amount) and not named[0]
    headings = " ".join(line.text.casefold() for line in page if _is_heading(line))
    columns = "qty" in headings and "price" in headings
    before: list[str] = []
    items: list[Item] = []
    for line, has_name in zip(lines, named, strict=True):
        if line.amount is None:
            if _COUNTED.search(line.text.casefold()):
                continue
            if after and items:
                items[-1][0].label = f"{items[-1][0].label} {line.text}".strip()
            elif not after:
                before.append(line.text)
            continue
        fields = _quantity(line, columns=columns) | {"amount": line.amount}
        name = line.label if has_name else " ".join(before)
        # The quantity, which is a field of its own, stands behind the name.
        name = _COUNT.sub("", name) if has_name and len(fields) > 1 else name
        before = []
        item = Group(label=name, fields=list(fields.values()), box=line.box)
        group.groups = [*(group.groups or ()), item]
        items.append((item, fields))
    return items


def _quantity(line: _Line, *, columns: bool) -> dict[str, FieldModel]:
    names = ("quantity", "unit price")
    for piece in line.pieces:
        if match := _TIMES.search(piece["value"]):
            boxes = [_part(piece, match.span(n)) for n in (1, 2)]
            values = zip(names, match.groups(), boxes, ("number", "money"), strict=True)
            return {name: _field(name, *rest) for name, *rest in values}
    counts = [piece for piece in line.pieces if re.fullmatch(r"\d{1,3}", piece["value"].strip())]
    if columns and len(counts) == 1 and len(line.numbers) > 1:
        price = line.numbers[0].model_copy(update={"label": names[1]})
        count = _field(names[0], counts[0]["value"].strip(), _union(counts), "number")
        return {names[0]: count, names[1]: price}
    return {}


def _times(items: list[Item]) -> Iterator[RuleRelation]:
    for item, fields in items:
        # Once a price is the price: nothing follows that was not read already.
        if len(fields) == 3 and fields["quantity"].value != "1":
            sources = {"n": fields["quantity"], "price": fields["unit price"]}
            amount = f"the amount of “{item.label}”"
            asked = f"Going by its quantity and unit price, what must {amount} be?"
            yield RuleRelation("quantity", fields["amount"], sources, "n * price", asked)


def _sums(lines: list[_Line], items: list[Item]) -> Iterator[RuleRelation]:
    """Sums of items, totals from other totals, change and payment."""
    rows = [line for line in lines if line.role != "none" and line.amount and line.is_single]
    totals = [n for n, line in enumerate(rows) if line.role == "total"]
    amounts = {f"i{n}": fields["amount"] for n, (_, fields) in enumerate(items, start=1)}
    if amounts and totals:
        formula = " + ".join(amounts)
        asked = f"Going by the amounts of the items, what must {DEPENDENT} be?"
        sums = [RuleRelation("items", rows[n].amount, amounts, formula, asked) for n in totals]
        yield next((relation for relation in sums if relation.holds()), sums[0])
    for end in totals:
        for start in reversed([n for n in totals if n < end]):
            between = [line for line in rows[start + 1 : end] if line.role in _SIGNS]
            sources, formula = {"base": rows[start].amount}, "base"
            for n, line in enumerate(between):
                sources[f"a{n}"] = line.amount
                sign = "+" if line.amount.value.startswith("-") else _SIGNS[line.role]
                formula += f" {sign} a{n}"
            if between:
                yield RuleRelation("total", rows[end].amount, sources, formula)
    paid = [n for n, line in enumerate(rows) if line.role == "cash"]
    back = [line for line in rows if line.role == "change"]
    if len(paid) == 1 and len(back) == 1:
        cash = rows[paid[0]].amount
        for total in reversed([n for n in totals if n < paid[0]]):
            sources = {"cash": cash, "total": rows[total].amount}
            formula = "-cash - total" if cash.value.startswith("-") else "cash - total"
            yield RuleRelation("change", back[0].amount, sources, formula)
    for number, line in enumerate(rows):
        if line.role == "card" or (line.role == "cash" and not back):
            for total in reversed([n for n in totals if n < number]):
                yield RuleRelation("payment", line.amount, {"total": rows[total].amount}, "total")


def _taxes(lines: list[_Line], group: Group | None) -> Iterator[RuleRelation]:
    for line in lines:
        rate = _RATE.search(line.text)
        # Nothing follows from a rate of nought that is not there already.
        if rate and line.is_taxed and group and float(rate[1] or rate[2]):
            taxed, tax = line.numbers
            taxed.label, tax.label = "taxed amount", "tax"
            table = Group(label=line.label, fields=[taxed, tax], box=line.box)
            group.groups = [*(group.groups or ()), table]
            percent = rate[1] or rate[2]
            asked = f"Going by what is taxed at {percent} per cent, what must the tax on it be?"
            yield RuleRelation("tax", tax, {"taxed": taxed}, f"taxed * {percent} / 100", asked)


def _keys(
    keys: list[Row], lines: list[_Line], homes: dict[int, list[FieldModel]], rest: list[FieldModel]
) -> FieldModel | None:
    """Puts the keys among the fields of their rows, those of no row into `rest`; gives the date."""
    date = None
    for key in keys:
        value = key.get("value") or ""
        if key["kind"] not in ("company", "date", "address") or not value.strip():
            continue
        box = [key[side] for side in tables.BOX] if key.get("x0") is not None else None
        field = FieldModel(label=key["kind"], modality="textual", value=value, box=box)
        line = next((line for line in lines if box and _covers(line.box, box)), None)
        homes.get(id(line), rest).append(field)
        if key["kind"] == "date" and box and text.date(value):
            date, field.kind = field, "date"
    return date


def _dates(
    date: FieldModel, lines: list[_Line], homes: dict[int, list[FieldModel]], rest: list[FieldModel]
) -> Iterator[RuleRelation]:
    """Puts what repeats the date of the receipt among the fields of its row."""
    for line in lines:
        before = ""
        for piece in line.pieces:
            for match in _DATE.finditer(piece["value"]):
                box = _part(piece, match.span())
                again = not (_covers(box, date.box) or _covers(date.box, box))
                if again and same(date.value, match[0]):
                    words = re.split(r"\d", f"{before} {piece['value'][: match.start()]}")[0]
                    label = words.strip(" :.-(") if has_letters(words) else "date"
                    other = _field(label, match[0], box, "date")
                    homes.get(id(line), rest).append(other)
                    place = "stand there once more" if label == "date" else f"be at {DEPENDENT}"
                    asked = f"Going by the date of the receipt, which date must {place}?"
                    yield RuleRelation("date", other, {"date": date}, question=asked)
            before = piece["value"]


def _covers(box: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the middle of `other` lies in `box`."""
    x, y = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
