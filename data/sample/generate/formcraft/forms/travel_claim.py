"""A claim for travel costs, over two pages that have to agree."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Mixed,
    Rings,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Signed,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

UPRIGHT = Pen("upright-hand", 15.5, shade=30, wobble=0.7, leading=1.2)

FORM = Form(
    name="travel_claim",
    domain="business",
    pens=pens("sans", UPRIGHT, size=12),
    pages=(
        Page(
            (
                Heading("Claim for Travel Costs", size=1.6, bar=True),
                Section(
                    "Traveller",
                    (
                        Row((Text("Name:", "Tobias Mallory"), Text("Staff no.:", "20518"))),
                        Text("Claim no.:", "TC-0092", pen="print", at=90),
                        Ticks(
                            "Class",
                            ("staff", "guest", "trainee"),
                            ("staff",),
                            radio=True,
                            at=70,
                            columns=3,
                        ),
                    ),
                ),
                Section(
                    "Journey",
                    (
                        Text("To:", "Pellworth, harbour office", at=60),
                        Row(
                            (
                                Text("Left:", "4 Oct 2018", "date"),
                                Text("Back:", "7 Oct 2018", "date"),
                            )
                        ),
                        Row(
                            (
                                Text("Miles by car:", "86", "number"),
                                Text("Pence a mile:", "45", "number", pen="print"),
                            )
                        ),
                        Mixed(
                            "Nights",
                            ("I spent", "3", "nights away, of which", "1", "in company rooms."),
                        ),
                        Cross("Advance", "I had an advance of", "150.00"),
                    ),
                ),
                Section(
                    "To pay",
                    (
                        Text("Car:", "38.70", "money", at=120),
                        Text("Receipts (page 2):", "212.50", "money", at=150),
                        Text("Less advance:", "150.00", "money", at=120),
                        Text("Balance:", "101.20", "money", at=120, old="251.20"),
                    ),
                    framed=True,
                ),
                Signed("Signed by traveller"),
            ),
            Scan(skew=0.7, blur=0.5, noise=0.04),
            height=720,
        ),
        Page(
            (
                Note("Claim for Travel Costs, page 2", align="right"),
                Section(
                    "Receipts",
                    (
                        Text("Claim no.:", "TC-0092", at=90),
                        Section("Rooms", (Text("Two nights:", "148.00", "money", at=120),)),
                        Section("Meals", (Text("Meals:", "52.50", "money", at=120),)),
                        Section(
                            "Other",
                            (
                                Text("Ferry:", "12.00", "money", at=120),
                                Text("Parking:", "", "money", at=120),
                            ),
                        ),
                        Text("Sum of receipts:", "212.50", "money", at=130),
                    ),
                ),
                Section(
                    "Office",
                    (
                        Tick("Receipts attached", True),
                        Tick("Paid by cheque", False),
                        Rings("Approved", ("yes", "no", "in part"), ("yes",), at=110, step=80),
                        Signed("Head of office"),
                    ),
                    framed=True,
                ),
                Stamped("Office stamp", "BOOKED\n15 OCT 2018", 500, 330, 12),
            ),
            Scan(skew=-0.6, blur=0.5, noise=0.04),
            height=600,
        ),
    ),
    asks=(
        Ask(
            "What would the balance be without the advance?",
            Relation(s.INTRA, s.CONSTRAINT, s.CHAINED),
            {"car": "/To pay/Car", "receipts": "/To pay/Receipts (page 2)"},
            formula="car + receipts",
            kind="money",
            rationale="Car and receipts together.",
        ),
        Ask(
            "What did a night in a room that was paid for cost?",
            Relation(s.PAGES, s.CONSTRAINT, s.CHAINED),
            ("/Journey/Nights", "/Receipts/Rooms/Two nights"),
            answers=("74.00",),
            kind="money",
            rationale="Three nights less one in company rooms; 148.00 over two.",
        ),
        Ask(
            "On which page is the sum that the claim takes over from the other page?",
            Relation(s.PAGES, s.DIRECT, s.SIMPLE),
            ("/To pay/Receipts (page 2)", "/Receipts/Sum of receipts"),
            answers=("2", "page 2"),
            kind="number",
            rationale="The receipts are on page 2.",
        ),
    ),
    ties=(
        Tie(
            "/Traveller/Claim no.",
            "/Receipts/Claim no.",
            Relation(s.PAGES, s.DIRECT, s.SIMPLE),
            0.97,
            rationale="Both pages belong to one claim.",
        ),
        Tie(
            "/Receipts/Sum of receipts",
            "/To pay/Receipts (page 2)",
            Relation(s.PAGES, s.CONSTRAINT, s.COMPOUND),
            0.98,
            formula="a + b + c",
            kind="money",
            fields={
                "a": "/Receipts/Rooms/Two nights",
                "b": "/Receipts/Meals/Meals",
                "c": "/Receipts/Other/Ferry",
            },
            rationale="The sum of page 2 is carried to page 1.",
        ),
        Tie(
            "/Journey/Miles by car",
            "/To pay/Car",
            Relation(s.INTER, s.DOMAIN, s.COMPOUND),
            0.9,
            formula="miles * pence / 100",
            kind="money",
            fields={"miles": "/Journey/Miles by car", "pence": "/Journey/Pence a mile"},
            rationale="Miles at the rate for cars.",
        ),
    ),
)
