"""An order to a workshop: a corrected total, a ringed word, a stamp."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Rings,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Signed,
    Sketch,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

UPRIGHT = Pen("upright-hand", 15.5, shade=30, wobble=0.7, leading=1.2)

FORM = Form(
    name="repair_order",
    domain="workshop",
    pens=pens("narrow", UPRIGHT, size=13),
    pages=(
        Page(
            (
                Heading("BELLOW & DAUGHTERS", size=1.7),
                Note("Bicycles and prams mended - 3 Mill Yard, Ostwick", align="centre"),
                Space(6, rule=1.5),
                Row(
                    (
                        Section(
                            "Customer",
                            (Text("Name:", "Piers Anwick"), Text("Phone:", "01632 960 233")),
                            framed=True,
                        ),
                        Section(
                            "Order",
                            (
                                Text("No.:", "R-2207", pen="print"),
                                Text("Date:", "9 May 2019", "date"),
                            ),
                            framed=True,
                        ),
                    )
                ),
                Section(
                    "Work",
                    (
                        Ticks(
                            "Ordered", ("Brakes", "Gears", "Wheels", "Frame"), ("Brakes", "Wheels")
                        ),
                        Rings("Urgency", ("low", "normal", "high"), ("high",), at=120),
                        Text("Remarks:", "rear wheel rubs, see sketch", lines=1),
                        Sketch(
                            "Place of the fault", "arrow-left", "arrow pointing left", height=80
                        ),
                    ),
                ),
                Section(
                    "Charges",
                    (
                        Text("Parts:", "38.40", "money", at=120),
                        Text("Labour:", "55.00", "money", at=120),
                        Text("Collection:", "6.00", "money", at=120),
                        Text("Total:", "99.40", "money", at=120, old="93.40"),
                    ),
                    framed=True,
                ),
                Stamped("Stamp", "PAID\n11 MAY 2019", 520, 585, 14),
                Signed("Received by"),
            ),
            Scan(skew=-0.7, blur=0.5, noise=0.05, blots=9, fade=0.12),
            height=680,
        ),
    ),
    asks=(
        Ask(
            "What do parts and labour cost together?",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            {"parts": "/Charges/Parts", "labour": "/Charges/Labour"},
            formula="parts + labour",
            kind="money",
            rationale="The sum of both, without the collection.",
        ),
        Ask(
            "Was the order paid on the day it was placed?",
            Relation(s.INTER, s.CONSTRAINT, s.SIMPLE, s.CROSS),
            ("/Order/Date", "/Stamp"),
            answers=("no",),
            options=("yes", "no"),
            kind="choice",
            rationale="Placed on 9 May, stamped as paid on 11 May.",
        ),
    ),
    ties=(
        Tie(
            "/Charges/Parts",
            "/Charges/Total",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            0.98,
            formula="parts + labour + fetch",
            kind="money",
            fields={
                "parts": "/Charges/Parts",
                "labour": "/Charges/Labour",
                "fetch": "/Charges/Collection",
            },
            rationale="The corrected total, not the one crossed out, is the sum of the charges.",
        ),
    ),
)
