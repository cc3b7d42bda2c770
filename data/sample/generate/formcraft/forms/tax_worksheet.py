"""A worksheet for a levy: groups four deep, no signature."""

from __future__ import annotations

from dataclasses import replace

from data.sample.generate.blocks import Heading, Note, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Section,
    Text,
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
    name="tax_worksheet",
    domain="government",
    pens=pens("mono", replace(UPRIGHT, size=15), size=11.5, bold="mono-bold"),
    pages=(
        Page(
            (
                Heading("LEVY WORKSHEET 12-C", size=1.5, align="left"),
                Note("County of Ostwick, Office of the Assessor"),
                Space(6, rule=2),
                Section(
                    "Part 1 Holdings",
                    (
                        Section(
                            "A Land",
                            (
                                Section(
                                    "A1 Arable",
                                    (
                                        Section(
                                            "Lower field",
                                            (
                                                Text("Acres:", "12", "number", at=150),
                                                Text(
                                                    "Rate per acre:",
                                                    "3.50",
                                                    "money",
                                                    pen="print",
                                                    at=150,
                                                ),
                                            ),
                                            size=1,
                                        ),
                                        Section(
                                            "Upper field",
                                            (
                                                Text("Acres:", "8", "number", at=150),
                                                Text(
                                                    "Rate per acre:",
                                                    "2.25",
                                                    "money",
                                                    pen="print",
                                                    at=150,
                                                ),
                                            ),
                                            size=1,
                                        ),
                                        Text("Levy on arable:", "60.00", "money", at=170),
                                    ),
                                    size=1.05,
                                    framed=True,
                                ),
                                Section(
                                    "A2 Pasture", (Text("Acres:", "", "number", at=150),), size=1.05
                                ),
                            ),
                        ),
                        Section(
                            "B Buildings", (Text("Levy on buildings:", "41.50", "money", at=180),)
                        ),
                    ),
                    size=1.2,
                ),
                Section(
                    "Part 2 Total",
                    (
                        Text("Levy due:", "101.50", "money", at=120),
                        Ticks(
                            "Reduced rate",
                            ("widow(er)", "veteran", "none"),
                            ("none",),
                            columns=3,
                            at=130,
                        ),
                    ),
                    size=1.2,
                ),
                Signed("Owner", signed=False),
                Stamped("File stamp", "ASSESSOR\n02 APR 1998", 560, 90, -12),
            ),
            Scan(skew=0.9, blur=0.55, noise=0.05, specks=0.0004, fade=0.15),
            height=640,
        ),
    ),
    asks=(
        Ask(
            "Which field of arable land costs more, the lower or the upper?",
            Relation(s.INTER, s.CONSTRAINT, s.CHAINED),
            {
                "a": "/Part 1 Holdings/A Land/A1 Arable/Lower field/Acres",
                "r": "/Part 1 Holdings/A Land/A1 Arable/Lower field/Rate per acre",
                "b": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Acres",
                "s": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Rate per acre",
            },
            answers=("the lower", "lower", "Lower field"),
            options=("the lower", "the upper"),
            rationale="12 acres at 3.50 are 42.00, 8 acres at 2.25 are 18.00.",
        ),
        Ask(
            "What does the upper field cost?",
            Relation(s.INTRA, s.CONSTRAINT, s.SIMPLE),
            {
                "b": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Acres",
                "s": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Rate per acre",
            },
            formula="b * s",
            kind="money",
            rationale="Acres times rate.",
        ),
    ),
    ties=(
        Tie(
            "/Part 1 Holdings/A Land/A1 Arable/Levy on arable",
            "/Part 2 Total/Levy due",
            Relation(s.INTER, s.CONSTRAINT, s.CHAINED),
            0.96,
            formula="land + houses",
            kind="money",
            fields={
                "land": "/Part 1 Holdings/A Land/A1 Arable/Levy on arable",
                "houses": "/Part 1 Holdings/B Buildings/Levy on buildings",
            },
            rationale="The total is the levies of part 1, which follow from acres and rates.",
        ),
        Tie(
            "/Part 1 Holdings/A Land/A1 Arable/Lower field/Acres",
            "/Part 1 Holdings/A Land/A1 Arable/Levy on arable",
            Relation(s.INTER, s.DOMAIN, s.COMPOUND),
            0.9,
            formula="a * r + b * s",
            kind="money",
            fields={
                "a": "/Part 1 Holdings/A Land/A1 Arable/Lower field/Acres",
                "r": "/Part 1 Holdings/A Land/A1 Arable/Lower field/Rate per acre",
                "b": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Acres",
                "s": "/Part 1 Holdings/A Land/A1 Arable/Upper field/Rate per acre",
            },
            rationale="Acres times rate, over both fields, as the assessor's rule has it.",
        ),
    ),
)
