"""A site inspection: a plan, two sketches, a corrected reading."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Rings,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Plan,
    Signed,
    Sketch,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

ROUND = Pen("round-hand", 16, shade=35, wobble=0.8, leading=1.15)

FORM = Form(
    name="site_inspection",
    domain="construction",
    pens=pens("sans", ROUND, size=12),
    pages=(
        Page(
            (
                Heading("Site Inspection", size=1.6, bar=True),
                Section(
                    "Site",
                    (
                        Row((Text("Place:", "Weir Cottage"), Text("Date:", "12/01/2023", "date"))),
                        Row((Text("Inspector:", "L. Marsh"), Text("Visit:", "2", "number"))),
                    ),
                ),
                Plan(
                    "Ground floor, not to scale",
                    (
                        ("hall", 0.02, 0.3, 0.2, 0.4),
                        ("store", 0.22, 0.05, 0.3, 0.45),
                        ("office", 0.52, 0.05, 0.4, 0.9),
                        ("wash", 0.22, 0.5, 0.3, 0.45),
                    ),
                    height=120,
                ),
                Row(
                    (
                        Sketch("Way out", "arrow-left", "arrow pointing left", height=70),
                        Sketch("Lock", "key", "a key", height=70),
                    )
                ),
                Section(
                    "Findings",
                    (
                        Section(
                            "Fire",
                            (
                                Tick("Extinguisher in place", True),
                                Tick("Exit sign lit", False),
                                Section(
                                    "Alarm",
                                    (
                                        Text("Last test:", "02/12/2022", "date", at=80),
                                        Text("By:", "", at=80),
                                    ),
                                    size=1,
                                ),
                            ),
                        ),
                        Section(
                            "Damp",
                            (
                                Rings("Wall", ("dry", "damp", "wet"), ("damp",), at=90, step=90),
                                Text("Reading, %:", "18", "number", at=90, old="13"),
                            ),
                        ),
                    ),
                ),
                Section(
                    "Result",
                    (
                        Ticks(
                            "Site",
                            ("pass", "pass with faults", "fail"),
                            ("pass with faults",),
                            radio=True,
                            columns=3,
                        ),
                        Text("Faults:", "exit sign dark, wall damp", at=70),
                        Signed("Inspector"),
                    ),
                ),
            ),
            Scan(skew=0.8, blur=0.6, noise=0.05),
            height=880,
        ),
    ),
    asks=(
        Ask(
            "Which unticked box explains the first fault?",
            Relation(s.INTER, s.DIRECT, s.SIMPLE, s.CROSS),
            ("/Findings/Fire/Exit sign lit", "/Result/Faults"),
            answers=("Exit sign lit",),
            rationale="The sign is noted as dark.",
        ),
        Ask(
            "Which rooms of the plan lie between the hall and the office?",
            Relation(s.INTRA, s.DIRECT, s.COMPOUND),
            ("/Ground floor, not to scale",),
            answers=("store; wash", "store and wash"),
            kind="choice",
            rationale="Both touch the hall on one side and the office on the other.",
        ),
    ),
    ties=(
        Tie(
            "/Findings/Damp/Reading, %",
            "/Findings/Damp/Wall",
            Relation(s.INTRA, s.DOMAIN, s.SIMPLE, s.CROSS),
            0.6,
            kind="choice",
            rationale="From 15 to 20 per cent a wall counts as damp.",
        ),
        Tie(
            "/Findings/Fire/Exit sign lit",
            "/Result/Site",
            Relation(s.INTER, s.DIRECT, s.CHAINED, s.CROSS),
            0.7,
            kind="radio",
            rationale="A fault in one section bars a plain pass.",
        ),
    ),
)
