"""An application for a permit: a flow of steps, a stamp, typed print."""

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
    Flow,
    Signed,
    Stamped,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

UPRIGHT = Pen("upright-hand", 15.5, shade=30, wobble=0.7, leading=1.2)

FORM = Form(
    name="building_permit",
    domain="government",
    pens=pens("mono", UPRIGHT, size=11.5, bold="mono-bold"),
    pages=(
        Page(
            (
                Heading("APPLICATION FOR A PERMIT TO BUILD", size=1.35, align="left"),
                Note("Borough of Ostwick, form B-3"),
                Space(4, rule=1.5),
                Section(
                    "1 Applicant",
                    (
                        Text("Name:", "Hester Vaughan", at=90),
                        Text("Address:", "27 Chandler Street, Ostwick", "address", at=90),
                    ),
                ),
                Section(
                    "2 Work",
                    (
                        Ticks(
                            "Kind of work",
                            ("new", "extension", "change of use", "removal"),
                            ("extension",),
                            columns=2,
                        ),
                        Section(
                            "2a Size",
                            (
                                Row(
                                    (
                                        Text("Length, m:", "6.0", "number"),
                                        Text("Width, m:", "4.5", "number"),
                                    )
                                ),
                                Text("Area, m2:", "27.0", "number", at=90),
                            ),
                            framed=True,
                        ),
                        Section(
                            "2b Neighbours",
                            (
                                Tick("Neighbours have been asked", True),
                                Cross("Objection", "One objects, namely", "Mr. Pyke, no. 29"),
                            ),
                            framed=True,
                        ),
                    ),
                ),
                Section(
                    "3 Fee",
                    (
                        Text("Fee per m2:", "8.00", "money", pen="print", at=120),
                        Text("Fee:", "216.00", "money", at=120),
                        Text("Paid:", "216.00", "money", at=120, old="200.00"),
                    ),
                ),
                Flow(
                    "4 What happens next",
                    ("Check", "Notice, 21 days", "Hearing if objected", "Decision"),
                ),
                Stamped("Stamp", "FILE COPY\n08 SEP 2011", 500, 130, -10),
                Signed("Applicant"),
            ),
            Scan(skew=-0.3, blur=0.5, noise=0.06, crisp=0.5, shadow=0.5),
            height=840,
        ),
    ),
    asks=(
        Ask(
            "Will there be a hearing?",
            Relation(s.INTER, s.DIRECT, s.CHAINED, s.CROSS),
            ("/2 Work/2b Neighbours/Objection", "/4 What happens next"),
            answers=("yes",),
            options=("yes", "no"),
            kind="choice",
            rationale="One neighbour objects, and with an objection there is a hearing.",
        ),
        Ask(
            "What would the fee be if the room were one metre longer?",
            Relation(s.INTER, s.CONSTRAINT, s.CHAINED),
            {
                "l": "/2 Work/2a Size/Length, m",
                "w": "/2 Work/2a Size/Width, m",
                "f": "/3 Fee/Fee per m2",
            },
            formula="(l + 1) * w * f",
            kind="money",
            rationale="Length plus one, times width, times the fee.",
        ),
    ),
    ties=(
        Tie(
            "/2 Work/2a Size/Length, m",
            "/2 Work/2a Size/Area, m2",
            Relation(s.INTRA, s.CONSTRAINT, s.COMPOUND),
            0.97,
            formula="l * w",
            form="{:.1f}",
            kind="number",
            fields={"l": "/2 Work/2a Size/Length, m", "w": "/2 Work/2a Size/Width, m"},
            rationale="Length times width.",
        ),
        Tie(
            "/3 Fee/Fee",
            "/3 Fee/Paid",
            Relation(s.INTRA, s.DIRECT, s.SIMPLE, s.CROSS),
            0.9,
            kind="money",
            rationale="The corrected amount is the whole fee.",
        ),
    ),
)
