"""A claim on an insurance, over two pages: a diagram, a sketch, a table."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Grid,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Flow,
    Signed,
    Sketch,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

ROUND = Pen("round-hand", 17, shade=35, wobble=0.8, leading=1.15)

FORM = Form(
    name="insurance_claim",
    domain="insurance",
    pens=pens("sans", ROUND, size=12),
    pages=(
        Page(
            (
                Heading("Fernhill Mutual - Claim for Damage", size=1.5, bar=True),
                Section(
                    "Policy",
                    (
                        Row(
                            (
                                Text("Policy no.:", "FH 40-118", pen="print"),
                                Text("Claim no.:", "C 7731"),
                            )
                        ),
                        Text("Holder:", "Odile Brask", at=80),
                    ),
                    bar=True,
                ),
                Section(
                    "Event",
                    (
                        Row((Text("Date:", "17/02/2020", "date"), Text("Hour:", "06:40"))),
                        Ticks("Cause", ("Fire", "Water", "Theft", "Storm"), ("Water",), radio=True),
                        Text(
                            "What happened:",
                            "pipe under the sink burst in the frost",
                            lines=2,
                            at=110,
                        ),
                        Sketch("House, mark where", "house", "a house", height=96),
                        Cross("Other insurance", "I am insured elsewhere, with", "", on=False),
                    ),
                    bar=True,
                ),
                Section(
                    "How a claim is settled",
                    (Flow("Steps", ("Report", "Inspection", "Estimate", "Payment")),),
                    bar=True,
                ),
                Note("Continued on page 2", align="right"),
            ),
            Scan(skew=0.5, blur=0.5, noise=0.03),
            height=600,
        ),
        Page(
            (
                Note("Fernhill Mutual - Claim for Damage, page 2", align="right"),
                Section(
                    "Estimate",
                    (
                        Text("Claim number:", "C 7731", at=110),
                        Grid(
                            "Items",
                            (("Item", 0.5), ("New price", 0.25), ("Age, years", 0.25)),
                            (
                                ("Kitchen floor", "820.00", "4"),
                                ("Sink unit", "340.00", "9"),
                                ("Carpet", "150.00", "2"),
                            ),
                            blank=1,
                        ),
                        Text("Sum of new prices:", "1310.00", "money", at=160),
                        Text("Excess:", "200.00", "money", pen="print", at=160),
                        Text("Amount claimed:", "1110.00", "money", at=160),
                    ),
                    bar=True,
                ),
                Section(
                    "Declaration",
                    (
                        Tick("I have reported the damage to the landlord", True),
                        Tick("I want the money paid to the builder", False),
                        Text("Place and date:", "Ostwick, 20/02/2020", at=120),
                        Signed("Signature"),
                    ),
                    bar=True,
                ),
                Stamped("Office stamp", "RECEIVED\n24 FEB 2020", 500, 490, -9),
            ),
            Scan(skew=-0.4, blur=0.5, noise=0.03),
            height=560,
        ),
    ),
    asks=(
        Ask(
            "What is left of the amount claimed if the carpet is not replaced?",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            ("/Estimate/Items", "/Estimate/Amount claimed"),
            answers=("960.00",),
            kind="money",
            rationale="1110.00 less the carpet's 150.00.",
        ),
        Ask(
            "How many days passed from the damage to the office stamp?",
            Relation(s.PAGES, s.DIRECT, s.SIMPLE, s.CROSS),
            ("/Event/Date", "/Office stamp"),
            answers=("7", "7 days", "seven"),
            kind="number",
            rationale="From 17 to 24 February.",
        ),
    ),
    ties=(
        Tie(
            "/Policy/Claim no.",
            "/Estimate/Claim number",
            Relation(s.PAGES, s.DIRECT, s.SIMPLE),
            0.95,
            rationale="Both pages carry the number of the same claim.",
        ),
        Tie(
            "/Estimate/Sum of new prices",
            "/Estimate/Amount claimed",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            0.97,
            formula="all - excess",
            kind="money",
            fields={"all": "/Estimate/Sum of new prices", "excess": "/Estimate/Excess"},
            rationale="What the insured bears is taken off.",
        ),
    ),
)
