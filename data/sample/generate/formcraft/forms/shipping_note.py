"""A delivery note: print and typing, a copier's edge."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Grid,
    Mixed,
    Rings,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    BarCode,
    Signed,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

TYPED = Pen("mono", 12.5, wobble=0.15, leading=1.4)

FORM = Form(
    name="shipping_note",
    domain="logistics",
    pens=pens("mono", TYPED, size=11.5, bold="mono-bold"),
    pages=(
        Page(
            (
                Row(
                    (
                        Heading("DELIVERY NOTE", size=1.6, align="left"),
                        BarCode("Consignment", "5520917734"),
                    ),
                    shares=(0.5, 0.5),
                ),
                Space(4, rule=2),
                Row(
                    (
                        Section(
                            "From",
                            (
                                Text("Firm:", "Gullane Glass", pen="print"),
                                Text("Dock:", "4", "number", pen="print"),
                            ),
                            framed=True,
                        ),
                        Section(
                            "To",
                            (Text("Firm:", "Aldermoor Hotel"), Text("Town:", "Ostwick")),
                            framed=True,
                        ),
                    )
                ),
                Section(
                    "Goods",
                    (
                        Grid(
                            "Lines",
                            (("Qty", 0.15), ("Article", 0.5), ("Boxes", 0.15), ("kg", 0.2)),
                            (
                                ("48", "Tumbler 25 cl", "2", "14.4"),
                                ("24", "Wine glass", "2", "5.0"),
                                ("6", "Carafe", "1", "4.8"),
                            ),
                            pen="print",
                        ),
                        Row(
                            (
                                Text("Boxes in all:", "5", "number", pen="print"),
                                Text("Weight, kg:", "24.2", "number", pen="print"),
                            )
                        ),
                        Ticks(
                            "Handle as",
                            ("fragile", "this way up", "keep dry"),
                            ("fragile", "this way up"),
                            columns=3,
                        ),
                    ),
                ),
                Section(
                    "Receipt",
                    (
                        Mixed("Counted", ("Received", "5", "boxes, of which damaged", "1")),
                        Rings("State", ("good", "wet", "broken"), ("broken",), at=90, step=110),
                        Cross("Claim", "Claim follows, reason:", "2 tumblers broken"),
                        Text("Time:", "10:25", at=60),
                        Signed("Driver"),
                    ),
                    framed=True,
                ),
                Stamped("Gate stamp", "GATE 2\n19 NOV 2016", 520, 480, -15),
            ),
            Scan(skew=0.4, blur=0.5, noise=0.08, specks=0.0008, crisp=0.6, shadow=0.6),
            height=760,
        ),
    ),
    asks=(
        Ask(
            "How many tumblers arrived whole?",
            Relation(s.INTER, s.CONSTRAINT, s.SIMPLE, s.CROSS),
            ("/Goods/Lines", "/Receipt/Claim"),
            answers=("46",),
            kind="number",
            rationale="48 sent, 2 broken.",
        ),
        Ask(
            "Which two ways of handling were asked for?",
            Relation(s.INTRA, s.DIRECT, s.SIMPLE),
            ("/Goods/Handle as",),
            answers=("fragile; this way up",),
            options=("fragile", "this way up", "keep dry"),
            kind="choice",
            rationale="Two boxes are ticked.",
        ),
    ),
    ties=(
        Tie(
            "/Goods/Lines",
            "/Goods/Boxes in all",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            0.97,
            kind="number",
            rationale="2 + 2 + 1.",
        ),
    ),
)
