"""A hotel's function sheet: ringed dishes, a corrected price."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Grid,
    Rings,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    BarCode,
    Signed,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

QUICK = Pen("quick-hand", 20, weight=600, shade=30, wobble=0.7, leading=1.05)

FORM = Form(
    name="event_booking",
    domain="hospitality",
    pens=pens("sans", QUICK, size=12),
    pages=(
        Page(
            (
                Row(
                    (
                        Heading("Aldermoor Hotel", size=1.7, align="left"),
                        BarCode("Booking", "8801427"),
                    ),
                    shares=(0.6, 0.4),
                ),
                Note("Function sheet"),
                Section(
                    "Host",
                    (
                        Row((Text("Name:", "Gwen Farrow"), Text("Guests:", "40", "number"))),
                        Row((Text("Day:", "Sat 8 June 2024", "date"), Text("From:", "18:30"))),
                    ),
                    framed=True,
                ),
                Section(
                    "Menu",
                    (
                        Rings(
                            "Starter", ("soup", "salad", "pate"), ("soup", "salad"), at=90, step=120
                        ),
                        Rings(
                            "Main",
                            ("trout", "beef", "risotto"),
                            ("beef", "risotto"),
                            at=90,
                            step=120,
                        ),
                        Rings("Sweet", ("tart", "ice", "cheese"), ("tart",), at=90, step=120),
                        Text("Price a head:", "28.00", "money", at=100, old="31.00"),
                        Cross("Cake", "Host brings a cake,", "lemon, 3 tiers"),
                    ),
                    framed=True,
                ),
                Section(
                    "Room",
                    (
                        Ticks(
                            "Hall", ("Library", "Terrace", "Barn"), ("Barn",), radio=True, columns=3
                        ),
                        Ticks(
                            "Needed",
                            ("stage", "projector", "dance floor", "crib"),
                            ("stage", "dance floor"),
                        ),
                        Text("Hire:", "150.00", "money", pen="print", at=80),
                        Grid(
                            "Tables",
                            (("Table", 0.3), ("Seats", 0.3), ("Vegetarian", 0.4)),
                            (("A", "12", "2"), ("B", "14", "3"), ("C", "14", "1")),
                        ),
                    ),
                    framed=True,
                ),
                Section(
                    "Bill",
                    (
                        Text("Total:", "1270.00", "money", at=90),
                        Text("Deposit paid:", "300.00", "money", at=90),
                        Signed("For the hotel"),
                    ),
                ),
            ),
            Scan(skew=0.9, blur=0.6, noise=0.05, blots=6, folds=(0.34,)),
            height=860,
        ),
    ),
    asks=(
        Ask(
            "How much is still to be paid?",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            {"total": "/Bill/Total", "paid": "/Bill/Deposit paid"},
            formula="total - paid",
            kind="money",
            rationale="The total less the deposit.",
        ),
        Ask(
            "How many guests eat the beef, if only those marked as vegetarian do not?",
            Relation(s.INTER, s.DOMAIN, s.COMPOUND, s.CROSS),
            ("/Host/Guests", "/Room/Tables", "/Menu/Main"),
            answers=("34",),
            kind="number",
            rationale="40 guests less 2, 3 and 1.",
        ),
    ),
    ties=(
        Tie(
            "/Menu/Price a head",
            "/Bill/Total",
            Relation(s.INTER, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            0.97,
            formula="guests * price + hire",
            kind="money",
            fields={"guests": "/Host/Guests", "price": "/Menu/Price a head", "hire": "/Room/Hire"},
            rationale="Guests at the corrected price, and the hall.",
        ),
        Tie(
            "/Room/Tables",
            "/Host/Guests",
            Relation(s.INTER, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            0.9,
            kind="number",
            rationale="12 + 14 + 14.",
        ),
    ),
)
