"""A patient's intake: groups four deep, what has to be known to answer."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Mixed,
    Rings,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Signed,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

ROUND = Pen("round-hand", 16, shade=35, wobble=0.8, leading=1.15)
MEDICINES = "/Patient/History/Now taking/"

FORM = Form(
    name="patient_intake",
    domain="healthcare",
    pens=pens("sans", ROUND, size=12),
    pages=(
        Page(
            (
                Heading("Wren Hollow Practice", size=1.7, align="left"),
                Note("New patients, please fill in before you see the nurse."),
                Section(
                    "Patient",
                    (
                        Row((Text("Family name:", "Castellan"), Text("First name:", "Beatriz"))),
                        Row((Text("Born:", "3 April 1961", "date"), Text("Telephone:", ""))),
                        Ticks(
                            "Sex",
                            ("female", "male", "other"),
                            ("female",),
                            radio=True,
                            at=60,
                            columns=3,
                        ),
                        Section(
                            "History",
                            (
                                Ticks(
                                    "Have you had",
                                    ("asthma", "diabetes", "heart disease", "none"),
                                    ("asthma", "diabetes"),
                                ),
                                Section(
                                    "Now taking",
                                    (
                                        Section(
                                            "First",
                                            (
                                                Row(
                                                    (
                                                        Text("Name:", "Metformin"),
                                                        Text("mg a day:", "1000", "number"),
                                                    )
                                                ),
                                            ),
                                            size=1,
                                        ),
                                        Section(
                                            "Second",
                                            (
                                                Row(
                                                    (
                                                        Text("Name:", "Salbutamol"),
                                                        Text("mg a day:", "4", "number"),
                                                    )
                                                ),
                                            ),
                                            size=1,
                                        ),
                                    ),
                                    framed=True,
                                ),
                                Cross("Allergy", "I am allergic to", "penicillin"),
                            ),
                        ),
                    ),
                    bar=True,
                ),
                Section(
                    "Habits",
                    (
                        Rings("Cigarettes a day", ("0", "1-5", "6-20", "over 20"), ("0",), at=150),
                        Rings(
                            "Glasses of wine a week", ("0", "1-3", "4-7", "8+"), ("1-3",), at=150
                        ),
                        Mixed("Exercise", ("I walk", "40", "minutes on", "5", "days a week.")),
                    ),
                    bar=True,
                ),
                Section(
                    "Nurse",
                    (
                        Row(
                            (
                                Text("Height, m:", "1.60", "number"),
                                Text("Weight, kg:", "64", "number"),
                            )
                        ),
                        Text("Pulse:", "72", "number", old="77", at=70),
                        Signed("Initials"),
                    ),
                    bar=True,
                ),
            ),
            Scan(skew=0.6, blur=0.55, noise=0.04, blots=5),
            height=820,
        ),
    ),
    asks=(
        Ask(
            "What is the body mass index, to one decimal?",
            Relation(s.INTRA, s.DOMAIN, s.COMPOUND),
            {"kg": "/Nurse/Weight, kg", "m": "/Nurse/Height, m"},
            formula="kg / (m * m)",
            form="{:.1f}",
            kind="number",
            rationale="Weight over the square of the height.",
        ),
        Ask(
            "Which ticked illness is the first medicine taken for?",
            Relation(s.INTER, s.DOMAIN, s.CHAINED, s.CROSS),
            ("/Patient/History/Have you had", MEDICINES + "First/Name"),
            answers=("diabetes",),
            options=("asthma", "diabetes", "heart disease"),
            kind="choice",
            rationale="Metformin lowers blood sugar.",
        ),
        Ask(
            "How many minutes does the patient walk in a week?",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            ("/Habits/Exercise",),
            answers=("200", "200 minutes"),
            kind="number",
            rationale="40 minutes on 5 days.",
        ),
    ),
    ties=(
        Tie(
            "/Patient/History/Have you had",
            MEDICINES + "Second/Name",
            Relation(s.INTER, s.DOMAIN, s.CHAINED, s.CROSS),
            0.7,
            rationale="Asthma is ticked, and salbutamol is what it is treated with.",
        ),
    ),
)
