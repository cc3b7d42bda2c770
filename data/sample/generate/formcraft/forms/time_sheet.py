"""A week's time sheet: a table, a chart, a corrected sum."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Grid,
    Section,
    Text,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    BarChart,
    Signed,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

ROUND = Pen("round-hand", 16, shade=35, wobble=0.8, leading=1.15)

FORM = Form(
    name="time_sheet",
    domain="business",
    pens=pens("narrow", ROUND, size=13),
    pages=(
        Page(
            (
                Heading("Weekly Time Sheet", size=1.6, align="left"),
                Section(
                    "Worker",
                    (
                        Row((Text("Name:", "Wanda Prior"), Text("Gang:", "3", "number"))),
                        Text("Week ending:", "16 Aug 2014", "date", at=100),
                    ),
                ),
                Section(
                    "Hours",
                    (
                        Grid(
                            "Days",
                            (("Day", 0.3), ("Normal", 0.2), ("Over", 0.2), ("Note", 0.3)),
                            (
                                ("Mon", "8", "", ""),
                                ("Tue", "8", "2", "pump"),
                                ("Wed", "6", "", "rain"),
                                ("Thu", "8", "1", ""),
                                ("Fri", "8", "", ""),
                            ),
                        ),
                        Row(
                            (
                                Text("Normal hours:", "38", "number"),
                                Text("Over hours:", "3", "number"),
                            )
                        ),
                        BarChart(
                            "Hours a week, last month",
                            (("29", 40), ("30", 42), ("31", 36), ("32", 41)),
                            height=70,
                        ),
                    ),
                ),
                Section(
                    "Pay",
                    (
                        Row(
                            (
                                Text("Rate:", "12.00", "money", pen="print"),
                                Text("Over rate:", "18.00", "money", pen="print"),
                            )
                        ),
                        Text("Gross:", "510.00", "money", at=80, old="501.00"),
                        Ticks("Paid as", ("cash", "transfer"), ("cash",), at=80, columns=3),
                    ),
                    framed=True,
                ),
                Row((Signed("Worker signs"), Signed("Foreman signs", signed=False))),
            ),
            Scan(skew=-0.9, blur=0.6, noise=0.05, blots=8, fade=0.1),
            height=780,
        ),
    ),
    asks=(
        Ask(
            "What is earned by the over hours alone?",
            Relation(s.INTER, s.CONSTRAINT, s.COMPOUND),
            {"hours": "/Hours/Over hours", "rate": "/Pay/Over rate"},
            formula="hours * rate",
            kind="money",
            rationale="Three hours at the over rate.",
        ),
        Ask(
            "In which week of the chart were most hours worked?",
            Relation(s.INTRA, s.DIRECT, s.SIMPLE),
            ("/Hours/Hours a week, last month",),
            answers=("30", "week 30"),
            kind="number",
            rationale="The highest bar, 42.",
        ),
    ),
    ties=(
        Tie(
            "/Hours/Normal hours",
            "/Pay/Gross",
            Relation(s.INTER, s.CONSTRAINT, s.CHAINED, s.CROSS),
            0.95,
            formula="n * r + o * p",
            kind="money",
            fields={
                "n": "/Hours/Normal hours",
                "r": "/Pay/Rate",
                "o": "/Hours/Over hours",
                "p": "/Pay/Over rate",
            },
            rationale="Hours times rates; the figure crossed out is wrong.",
        ),
        Tie(
            "/Hours/Days",
            "/Hours/Normal hours",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND, s.CROSS),
            0.95,
            kind="number",
            rationale="8 + 8 + 6 + 8 + 8.",
        ),
    ),
)
