"""An order to a dental laboratory: ringed teeth, a sketched tooth."""

from __future__ import annotations

from data.sample.generate.blocks import Heading, Note, Row, Space
from data.sample.generate.formcraft import spec as s
from data.sample.generate.formcraft.blocks import (
    Rings,
    Section,
    Text,
    Tick,
    Ticks,
)
from data.sample.generate.formcraft.pictures import (
    Signed,
    Sketch,
)
from data.sample.generate.formcraft.spec import Ask, Form, Page, Relation, Tie
from data.sample.generate.forms._spec import pens
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

SCRAWL = Pen("scrawl", 24, shade=30, wobble=0.8, leading=1.05)

FORM = Form(
    name="dental_order",
    domain="dental",
    pens=pens("sans", SCRAWL, size=12),
    pages=(
        Page(
            (
                Heading("Quarry Street Dental Laboratory", size=1.6),
                Note("Order for a removable denture", align="centre"),
                Space(6, rule=1),
                Section(
                    "Case",
                    (
                        Row((Text("Dentist:", "Dr. Vane"), Text("Case no.:", "2083", "number"))),
                        Row(
                            (
                                Text("Patient:", "M. Oakes"),
                                Text("Wanted by:", "12 June 2017", "date"),
                            )
                        ),
                    ),
                    framed=True,
                ),
                Section(
                    "Appliance",
                    (
                        Ticks("Upper", ("full", "partial", "none"), ("full",), at=80, columns=3),
                        Ticks("Lower", ("full", "partial", "none"), ("partial",), at=80, columns=3),
                        Ticks("Base", ("acrylic", "nylon", "cast"), ("acrylic",), at=80, columns=3),
                        Rings("Shade", ("A1", "A2", "A3", "B1", "B2", "C1"), ("A3",), at=80),
                    ),
                    framed=True,
                ),
                Section(
                    "Lower teeth to replace",
                    (
                        Rings("Left side", ("18", "19", "20", "21"), ("19", "20"), at=110, step=70),
                        Rings("Right side", ("28", "29", "30", "31"), ("30",), at=110, step=70),
                        Sketch("Shape of the clasped tooth", "tooth", "a tooth with two roots"),
                    ),
                    framed=True,
                ),
                Text(
                    "Instructions:",
                    "full upper, partial lower, original acrylic, clasp on 28",
                    lines=2,
                    at=100,
                ),
                Tick("Return the model with the work", True),
                Signed("Dentist"),
            ),
            Scan(skew=-0.5, blur=0.5, noise=0.04, fade=0.15),
            height=780,
        ),
    ),
    asks=(
        Ask(
            "Which of these teeth does the lower denture replace? Pick all that apply.",
            Relation(s.INTER, s.DIRECT, s.COMPOUND),
            ("/Lower teeth to replace/Left side", "/Lower teeth to replace/Right side"),
            answers=("19; 20; 30",),
            options=("18", "19", "20", "28", "30"),
            kind="choice",
            rationale="The ringed teeth of both sides.",
        ),
        Ask(
            "Is a natural tooth left in the upper jaw once the work is fitted?",
            Relation(s.INTRA, s.DOMAIN, s.SIMPLE),
            ("/Appliance/Upper",),
            answers=("no",),
            options=("yes", "no"),
            kind="choice",
            rationale="A full denture replaces all teeth of its jaw.",
        ),
    ),
    ties=(
        Tie(
            "/Appliance/Base",
            "/Instructions",
            Relation(s.INTER, s.CONSTRAINT, s.SIMPLE, s.CROSS),
            0.8,
            rationale="The written material repeats the box that is ticked.",
        ),
    ),
)
