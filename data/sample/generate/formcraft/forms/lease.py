"""A lease of rooms: handwriting, a plan, boxes ticked and left empty."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Mixed,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Plan,
    Signed,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

QUICK = Pen("quick-hand", 20, weight=600, shade=30, wobble=0.7, leading=1.05)

FORM = Form(
    name="lease",
    domain="housing",
    pens=pens("serif", QUICK, size=13, bold="serif-bold"),
    pages=(
        Page(
            (
                Heading("Lease of Rooms", size=1.8),
                Note("Harrowgate Lettings, 11 Fennel Lane, Ostwick", align="centre"),
                Space(8, rule=1),
                Section(
                    "Parties",
                    (
                        Text("Lessor:", "Harrowgate Lettings", pen="print", at=90),
                        Text("Lessee:", "Ines Tolliver", at=90),
                        Text("Second lessee:", at=110),
                    ),
                ),
                Section(
                    "Term",
                    (
                        Text("First day:", "1 March 2021", "date", at=90),
                        Row((Text("Years:", "2", "number"), Text("Months:", "4", "number"))),
                        Mixed(
                            "Renewal",
                            ("May be renewed for", "6", "months with", "30", "days' notice."),
                        ),
                    ),
                ),
                Section(
                    "Rent",
                    (
                        Text("Each month:", "$640.00", "money", at=110),
                        Text("Security deposit:", "$900.00", "money", at=130),
                        Ticks(
                            "Paid by",
                            ("Transfer", "Cheque", "Cash"),
                            ("Transfer",),
                            at=110,
                            columns=3,
                        ),
                    ),
                ),
                Section(
                    "House rules",
                    (
                        Tick("No smoking in the rooms", True),
                        Tick("One pet allowed, against a further deposit", False),
                        Cross("Parking", "A parking space goes with the rooms, number", "14 B"),
                    ),
                ),
                Plan(
                    "The rooms, as let",
                    (
                        ("kitchen", 0.02, 0.04, 0.3, 0.5),
                        ("bath", 0.02, 0.54, 0.3, 0.4),
                        ("front room", 0.32, 0.04, 0.5, 0.9),
                    ),
                    height=110,
                ),
                Space(6),
                Signed("Lessee signs"),
            ),
            Scan(skew=0.35, blur=0.45, noise=0.03, blots=6),
            height=780,
        ),
    ),
    asks=(
        Ask(
            "How much rent is paid over the whole term, without the deposit?",
            Relation(s.INTER, s.CONSTRAINT, s.CHAINED),
            {"years": "/Term/Years", "months": "/Term/Months", "rent": "/Rent/Each month"},
            formula="(years * 12 + months) * rent",
            form="${:,.2f}",
            kind="money",
            rationale="The term in months times the monthly rent; the deposit is no rent.",
        ),
        Ask(
            "Which of the rooms in the plan is not the kitchen or the bath?",
            Relation(s.INTRA, s.DIRECT, s.SIMPLE),
            ("/The rooms, as let",),
            answers=("front room",),
            rationale="The plan names three rooms.",
        ),
    ),
)
