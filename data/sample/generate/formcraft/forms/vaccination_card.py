"""A vaccination card: a table with gaps, a diagram, a fold."""

from __future__ import annotations

from data.sample.generate.blocks import Heading
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Cross,
    Grid,
    Section,
    Text,
    Tick,
)
from data.sample.generate.formcraft.pictures import (
    Flow,
    Signed,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

QUICK = Pen("quick-hand", 20, weight=600, shade=30, wobble=0.7, leading=1.05)

FORM = Form(
    name="vaccination_card",
    domain="healthcare",
    pens=pens("serif", QUICK, size=13, bold="serif-bold"),
    pages=(
        Page(
            (
                Heading("Card of Vaccination", size=1.6),
                Section(
                    "Holder",
                    (
                        Text("Name:", "Juno Petrakis", at=90),
                        Text("Born:", "21.09.2015", "date", at=90),
                        Text("Card no.:", "VK 009-551", pen="print", at=90),
                    ),
                    framed=True,
                ),
                Section(
                    "Given",
                    (
                        Grid(
                            "Doses",
                            (("Against", 0.35), ("First", 0.22), ("Second", 0.22), ("Third", 0.21)),
                            (
                                ("Measles", "10/2016", "03/2017", ""),
                                ("Tetanus", "12/2015", "02/2016", "09/2016"),
                                ("Polio", "12/2015", "", ""),
                            ),
                            blank=1,
                        ),
                        Tick("All doses due by now have been given", False),
                    ),
                ),
                Section(
                    "What comes next", (Flow("Order", ("Polio 2", "Polio 3", "Tetanus booster")),)
                ),
                Cross("Reaction", "Reaction to a dose", "rash, 3 days"),
                Stamped("Practice stamp", "DR. A. MOSS\nOSTWICK", 500, 540, -7),
                Signed("Physician"),
            ),
            Scan(skew=-1.1, blur=0.6, noise=0.05, folds=(0.5,), contrast=0.85),
            height=660,
        ),
    ),
    asks=(
        Ask(
            "How many doses have been given in all?",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND),
            ("/Given/Doses",),
            answers=("6", "six"),
            kind="number",
            rationale="Two, three and one.",
        ),
        Ask(
            "Which illness of the card has the child the fewest doses against?",
            Relation(s.INTER, s.DIRECT, s.SIMPLE, s.CROSS),
            ("/Given/Doses", "/What comes next/Order"),
            answers=("Polio",),
            rationale="One dose only, and the next two are polio's.",
        ),
    ),
    ties=(
        Tie(
            "/Given/Doses",
            "/Given/All doses due by now have been given",
            Relation(s.INTRA, s.DIRECT, s.SIMPLE, s.CROSS),
            0.85,
            kind="checkbox",
            rationale="Doses are open, so the box stays empty.",
        ),
    ),
)
