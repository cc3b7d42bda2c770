"""An enrolment at a school: fees that add up, consents."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Signed,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

UPRIGHT = Pen("upright-hand", 15.5, shade=30, wobble=0.7, leading=1.2)

FORM = Form(
    name="school_enrolment",
    domain="education",
    pens=pens("serif", UPRIGHT, size=13, bold="serif-bold"),
    pages=(
        Page(
            (
                Heading("Larkmoor School", size=1.7),
                Note("Enrolment for the year 2024", align="centre"),
                Space(6, rule=1),
                Section(
                    "Child",
                    (
                        Text("Full name:", "Ottoline Reeve", at=90),
                        Row(
                            (
                                Text("Born:", "30 May 2018", "date"),
                                Text("Entry class:", "1", "number"),
                            )
                        ),
                        Ticks(
                            "Lives with",
                            ("mother", "father", "both", "other"),
                            ("both",),
                            radio=True,
                        ),
                    ),
                ),
                Section(
                    "Family",
                    (
                        Section(
                            "First parent",
                            (Row((Text("Name:", "Clara Reeve"), Text("Phone:", "01632 960 711"))),),
                            size=1,
                        ),
                        Section(
                            "Second parent",
                            (Row((Text("Name:", "Ivo Reeve"), Text("Phone:", ""))),),
                            size=1,
                        ),
                        Text("Children at the school already:", "2", "number", at=210),
                    ),
                ),
                Section(
                    "Fees a term",
                    (
                        Text("Fee:", "420.00", "money", pen="print", at=110),
                        Text("Lunches:", "75.00", "money", at=110),
                        Text("Bus:", "", "money", at=110),
                        Text("Third child, less:", "105.00", "money", at=130),
                        Text("To pay:", "390.00", "money", at=110),
                    ),
                    framed=True,
                ),
                Section(
                    "Consent",
                    (
                        Tick("We agree to photographs", False),
                        Tick("We have read the rules", True),
                        Cross("Diet", "Our child must not eat", "nuts"),
                        Signed("Parent"),
                    ),
                ),
            ),
            Scan(skew=0.3, blur=0.45, noise=0.03),
            height=800,
        ),
    ),
    asks=(
        Ask(
            "What is to pay for this child over three terms?",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            {"pay": "/Fees a term/To pay"},
            formula="pay * 3",
            kind="money",
            rationale="Three times what is to pay a term.",
        ),
        Ask(
            "What share of the fee does the third child save? Give per cent.",
            Relation(s.INTER, s.DOMAIN, s.CHAINED),
            {"less": "/Fees a term/Third child, less", "fee": "/Fees a term/Fee"},
            formula="less / fee * 100",
            form="{:.0f}%",
            answers=("25",),
            kind="number",
            rationale="105.00 of 420.00, because two children are there already.",
        ),
    ),
    ties=(
        Tie(
            "/Fees a term/Fee",
            "/Fees a term/To pay",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND),
            0.98,
            formula="fee + lunch - less",
            kind="money",
            fields={
                "fee": "/Fees a term/Fee",
                "lunch": "/Fees a term/Lunches",
                "less": "/Fees a term/Third child, less",
            },
            rationale="Fee and lunches less the reduction.",
        ),
    ),
)
