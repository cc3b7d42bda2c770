"""A visitor's survey: ringed figures, one line without a ring, a chart."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Mixed,
    Rings,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    BarChart,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

QUICK = Pen("quick-hand", 20, weight=600, shade=30, wobble=0.7, leading=1.05)
SCALE = ("1", "2", "3", "4", "5")
SCALE = ("1", "2", "3", "4", "5")

FORM = Form(
    name="visitor_survey",
    domain="survey",
    pens=pens("narrow", QUICK, size=14),
    pages=(
        Page(
            (
                Heading("Tell us about your visit", size=1.7),
                Note(
                    "Museum of Lighthouses - ring one figure a line, 1 is poor and 5 is very good",
                    align="centre",
                ),
                Section(
                    "Your rating",
                    (
                        Rings("Staff", SCALE, ("5",), at=220, step=60),
                        Rings("Exhibits", SCALE, ("4",), at=220, step=60),
                        Rings("Tea room", SCALE, ("2",), at=220, step=60),
                        Rings("Value for money", SCALE, (), at=220, step=60),
                    ),
                    framed=True,
                ),
                Section(
                    "Your visit",
                    (
                        Row(
                            (
                                Text("Date:", "6 July 2023", "date"),
                                Text("In your party:", "4", "number"),
                            )
                        ),
                        Ticks(
                            "You came by", ("car", "bus", "boat", "on foot"), ("boat", "on foot")
                        ),
                        Ticks("First visit", ("yes", "no"), ("no",), radio=True, at=100),
                        Mixed("Stay", ("We stayed", "3", "hours and spent", "26", "pounds.")),
                        Text(
                            "Please tell us more:",
                            "loved the lamp room! tea was cold",
                            lines=2,
                            at=150,
                        ),
                    ),
                ),
                Section(
                    "Last year",
                    (
                        BarChart(
                            "Visitors by season",
                            (("spring", 310), ("summer", 870), ("autumn", 420), ("winter", 120)),
                            height=80,
                        ),
                    ),
                ),
                Tick("You may print my words", True),
                Note("Thank you. Please leave this sheet at the desk.", size=0.9),
            ),
            Scan(skew=-0.6, blur=0.5, noise=0.04, fade=0.15),
            height=780,
        ),
    ),
    asks=(
        Ask(
            "Which rated item does the written remark complain about?",
            Relation(s.INTER, s.CONSTRAINT, s.SIMPLE, s.CROSS),
            ("/Your rating/Tea room", "/Your visit/Please tell us more"),
            answers=("Tea room", "the tea room"),
            rationale="It was rated 2, and the tea was cold.",
        ),
        Ask(
            "What is the mean of the ratings that were given, to two decimals?",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND),
            {"a": "/Your rating/Staff", "b": "/Your rating/Exhibits", "c": "/Your rating/Tea room"},
            formula="(a + b + c) / 3",
            kind="number",
            rationale="One line has no ring.",
        ),
        Ask(
            "How many visitors came in the season of this visit last year?",
            Relation(s.INTER, s.DIRECT, s.CHAINED, s.CROSS),
            ("/Your visit/Date", "/Last year/Visitors by season"),
            answers=("870",),
            kind="number",
            rationale="July is in summer.",
        ),
    ),
)
