"""What a designed form says: fields of known contents, in groups, drawn in one size of print."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from formlab.errors import DataBroken
from formlab_experiments.forms.content import check
from formlab_experiments.forms.formcraft import Form
from formlab_experiments.forms.values import Amount, Date, Money, State

# Pixels to a point, at 200 dots an inch, and the page: 7 by 8.5 inches.
POINT = 200 / 72
WIDTH, HEIGHT = 1400, 1700
# Fields of a group.
GROUP = 5
# So much larger a hand writes that its small letters are as high as those of print.
HAND = 1.2

_PEOPLE = ("Ada Marsh", "Ivo Brandt", "Lena Okoro", "Rufus Abara", "Tove Lind", "Juno Petrakis")
_TOWNS = ("Ashmouth", "Saltby Quay", "Pellworth", "Ostwick", "Harrow End", "Millbrook")
_GOODS = ("oak boards", "roof tiles", "copper wire", "wool", "glass jars", "lamp oil")
_TEXTS = {
    "Name": _PEOPLE, "Town": _TOWNS, "Goods": _GOODS, "Clerk": _PEOPLE, "Port": _TOWNS,
    "Agent": _PEOPLE, "Depot": _TOWNS, "Cargo": _GOODS, "Witness": _PEOPLE, "Market": _TOWNS,
}  # fmt: skip
_CHOICES = {
    "Insured": ("yes", "no"), "Shift": ("day", "night"), "State": ("new", "used"),
    "Copy": ("sent", "kept"), "Sealed": ("yes", "no"), "Way": ("road", "rail"),
}  # fmt: skip
_LABELS: dict[str, tuple[str, ...]] = {
    "text": tuple(_TEXTS),
    "date": ("Ordered", "Delivered", "Paid on", "Checked", "Signed", "Received", "Issued"),
    "amount": ("Freight", "Rent", "Deposit", "Fee", "Duty", "Storage", "Repair", "Postage"),
    "number": ("Pieces", "Crates", "Metres", "Hours", "Pages", "Rooms", "Seats", "Visits"),
    "choice": tuple(_CHOICES),
    "total": ("Total",),
}
# The kinds of contents that fields can have.
CONTENTS = tuple(_LABELS)
_KINDS = {"date": "date", "amount": "money", "number": "number", "total": "money"}
_GROUPS = (
    "Order", "Delivery", "Payment", "Buyer", "Seller", "Goods in store", "Carrier", "Insurance",
    "Storage", "Return", "Customs", "Contact", "Invoice", "Service", "Terms", "Archive",
)  # fmt: skip


class Cell(NamedTuple):
    """A cell of the plan of a form: see `formlab_experiments.designs.FACTORS`."""

    fields: int = 20
    kinds: int = 4
    nesting: int = 1
    print: float = 10
    handwriting: int = 0

    def checked(self) -> Cell:
        """Itself; `DataBroken` if its numbers make no form."""
        most = min(len(CONTENTS), self.fields)
        groups = GROUP * len(_GROUPS)
        wrong = {
            "fields": (
                self.fields < 1 or (bool(self.nesting) and self.fields > groups),
                f"1 or more, in groups at most {groups}",
            ),
            "kinds": (not 1 <= self.kinds <= most, f"from 1 to {most}, and no more than fields"),
            "nesting": (self.nesting not in (0, 1, 2), "0, 1 or 2"),
            "print": (not 4 <= self.print <= 24, "from 4 to 24 points"),
            "handwriting": (self.handwriting not in (0, 1), "0 or 1"),
        }
        for name, (is_wrong, remedy) in wrong.items():
            if is_wrong:
                beside = "" if name == "fields" else f" with {self.fields} fields"
                what = f"no form has {name}={getattr(self, name):g}{beside}"
                raise DataBroken(what, where=name, remedy=remedy)
        return self


class Field(NamedTuple):
    """A field to draw: its content, its label and its value; of a total what it adds up."""

    content: str
    label: str
    value: str
    parts: tuple[str, ...] = ()

    def block(self) -> dict[str, Any]:
        """The block of a template that draws it."""
        if self.content == "choice":
            options = _CHOICES[self.label.partition(" ")[0]]
            block = {"ticks": f"{self.label}:", "options": options, "ticked": [self.value]}
            return block | {"columns": 2, "at": 290}
        block = {"field": f"{self.label}:", "value": self.value, "at": 290}
        return block | {"kind": _KINDS.get(self.content)}


def dealt(contents: Sequence[str], cell: Cell, first: int, stream: random.Random) -> list[str]:
    """The content of each field of a cell: as many of each kind as of the others, shuffled."""
    chosen = [contents[(first + place) % len(contents)] for place in range(cell.kinds)]
    stream.shuffle(chosen)
    counts = [cell.fields // cell.kinds + (n < cell.fields % cell.kinds) for n in range(cell.kinds)]
    dealt = [name for name, n in zip(chosen, counts, strict=True) for _ in range(n)]
    stream.shuffle(dealt)
    return dealt


def filled(cell: Cell, seed: str, first: int = 0) -> list[Field]:
    """The fields of a form, made from a seed.

    `first` says which of `CONTENTS` the form begins with, if it does not have all: the next ones
    in turn. Each has as many fields as the others, as far as the number of fields allows.
    """
    stream = random.Random(seed)
    contents = dealt(CONTENTS, cell, first, stream)
    # A total stands below what it adds up.
    contents.sort(key="total".__eq__)
    heads = {name: stream.sample(labels, len(labels)) for name, labels in _LABELS.items()}
    state, amounts, fields = State(stream, {}), {}, []
    totals, seen = contents.count("total"), dict.fromkeys(CONTENTS, 0)
    for name in contents:
        number, seen[name] = divmod(seen[name], len(heads[name])), seen[name] + 1
        label = heads[name][number[1]] + (f" {number[0] + 1}" if number[0] else "")
        parts: tuple[str, ...] = ()
        if name in ("amount", "total"):
            money = Amount(amount=(500, 99999), step=5).make(state)
            if name == "amount":
                amounts[label] = money
            elif own := _added(amounts, seen[name] - 1, totals):
                money, parts = Money(sum(own.values())), tuple(own)
            value = f"{money}"
        elif name == "date":
            day = Date(date=2021, months=(1, 12), days=(1, 28)).make(state)
            value = f"{day.day} {day:%b %Y}"
        elif name == "number":
            value = str(stream.randint(10, 9999))
        else:
            value = stream.choice((_TEXTS | _CHOICES)[label.partition(" ")[0]])
        fields.append(Field(name, label, value, parts))
    return fields


def _added(amounts: dict[str, Money], place: int, totals: int) -> dict[str, Money]:
    """The amounts that a total adds up: its share of them, or two neighbours if that is one."""
    labels, count = list(amounts), len(amounts)
    own = labels[place::totals]
    if len(own) < 2 <= count:
        own = [labels[place % count], labels[(place + 1) % count]]
    return {label: amounts[label] for label in own} if len(own) > 1 else {}


def form_of(cell: Cell, fields: list[Field], name: str, seed: str) -> Form:
    """The template of a form with these fields, in two columns on one page."""
    stream = random.Random(f"{seed}/page")
    groups = [fields[start : start + GROUP] for start in range(0, len(fields), GROUP)]
    titles = iter(stream.sample(_GROUPS, len(_GROUPS)))
    blocks, places = [], {}
    for number, group in enumerate(groups):
        inner: list[dict[str, Any]] = [field.block() for field in group]
        path = ""
        if cell.nesting:
            title = next(titles)
            inner, path = [{"section": title, "blocks": inner}], f"/{title}"
        if cell.nesting == 2:
            path = f"/Part {number // 2 + 1}{path}"
            if number % 2:
                blocks[-1]["blocks"] += inner
            else:
                blocks.append({"section": f"Part {number // 2 + 1}", "blocks": inner})
        else:
            blocks += inner
        places |= {field.label: f"{path}/{field.label}" for field in group}
    half = (len(blocks) + 1) // 2
    em = cell.print * POINT
    hand = {"face": "upright-hand", "size": em * HAND, "shade": 40, "wobble": 0.6, "leading": 1.1}
    typed = {"face": "mono", "size": em * 0.95, "shade": 30, "wobble": 0.1, "leading": 1.2}
    scan = {"skew": round(stream.uniform(-0.5, 0.5), 2), "blur": 0.6, "noise": 0.03}
    content = {
        "name": name, "domain": "designed", "width": WIDTH, "margin": 60, "top": 60, "gap": 10,
        "style": {"gap": 8, "after": 3, "boxes": {"inset": 0, "step": 1.5}}, "seed": seed,
        "pens": {"face": "sans", "size": em, "fill": hand if cell.handwriting else typed},
        "pages": [{"height": HEIGHT, "scan": scan | {"contrast": 0.92}, "blocks": [
            {"heading": f"Form {stream.randint(1000, 9999)}", "size": 1.4},
            {"row": [{"stack": blocks[:half]}, {"stack": blocks[half:]}], "gap": 40},
        ]}],
        "checks": [
            {
                "source": places[field.parts[0]], "dependent": places[field.label],
                "formula": " + ".join(f"a{n}" for n in range(len(field.parts))),
                "fields": {f"a{n}": places[part] for n, part in enumerate(field.parts)},
                "format": "${:,.2f}", "kind": "money", "rationale": "The sum of these amounts.",
                "relation": ["inter-group", "constraint", "compound"],
            }
            for field in fields if field.parts
        ],
    }  # fmt: skip
    return check(content, Form, where=name)
