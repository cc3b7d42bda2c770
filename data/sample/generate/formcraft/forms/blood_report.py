"""A report on a blood sample: a chart, a bar code, a corrected date."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Grid,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    BarChart,
    BarCode,
    Signed,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

QUICK = Pen("quick-hand", 20, weight=600, shade=30, wobble=0.7, leading=1.05)

FORM = Form(
    name="blood_report",
    domain="healthcare",
    pens=pens("narrow", QUICK, size=13),
    pages=(
        Page(
            (
                Row(
                    (
                        Heading("Tarn Valley Blood Service", size=1.4, align="left"),
                        BarCode("Sample", "70240198"),
                    ),
                    shares=(0.6, 0.4),
                ),
                Space(4, rule=1.5),
                Section(
                    "Donor",
                    (
                        Row(
                            (
                                Text("Name:", "Rufus Abara", pen="print"),
                                Text("Group:", "0 negative", pen="print"),
                            )
                        ),
                        Row(
                            (
                                Text("Drawn:", "2022-11-08", "date", pen="print"),
                                Text("By:", "K. Lund"),
                            )
                        ),
                    ),
                ),
                Section(
                    "Results",
                    (
                        Grid(
                            "Values",
                            (("Test", 0.4), ("Result", 0.2), ("Unit", 0.2), ("Limit", 0.2)),
                            (
                                ("Haemoglobin", "151", "g/l", "130-170"),
                                ("Ferritin", "18", "ug/l", "30-300"),
                                ("Platelets", "240", "10^9/l", "150-400"),
                            ),
                            pen="print",
                        ),
                        BarChart(
                            "Haemoglobin at the last visits",
                            (("2019", 148), ("2020", 155), ("2021", 149), ("2022", 151)),
                        ),
                    ),
                ),
                Section(
                    "Decision",
                    (
                        Ticks(
                            "Donor may",
                            ("give again", "wait", "not give"),
                            ("wait",),
                            radio=True,
                            columns=3,
                        ),
                        Text("Reason:", "ferritin low, eat red meat", at=70),
                        Text("Next visit:", "2023-05-08", "date", old="2023-02-08", at=90),
                    ),
                ),
                Stamped("Stamp", "CHECKED\nTVBS 4", 540, 640, 10),
                Signed("Physician"),
            ),
            Scan(skew=0.15, blur=0.35, noise=0.02),
            height=740,
        ),
    ),
    asks=(
        Ask(
            "Which result lies outside its limits?",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            ("/Results/Values",),
            answers=("Ferritin",),
            options=("Haemoglobin", "Ferritin", "Platelets"),
            kind="choice",
            rationale="18 is below 30.",
        ),
        Ask(
            "Can a person of any blood group receive these red cells?",
            Relation(s.INTRA, s.DOMAIN, s.SIMPLE),
            ("/Donor/Group",),
            answers=("yes",),
            options=("yes", "no"),
            kind="choice",
            rationale="Group 0 negative is the universal donor of red cells.",
        ),
        Ask(
            "By how much did haemoglobin fall from 2020 to 2022?",
            Relation(s.INTER, s.DIRECT, s.SIMPLE, s.CROSS),
            ("/Results/Haemoglobin at the last visits",),
            answers=("4", "4 g/l"),
            kind="number",
            rationale="From 155 to 151.",
        ),
    ),
    ties=(
        Tie(
            "/Results/Values",
            "/Decision/Donor may",
            Relation(s.INTER, s.DOMAIN, s.CHAINED, s.CROSS),
            0.75,
            kind="radio",
            rationale="With too little ferritin a donor has to wait.",
        ),
    ),
)
