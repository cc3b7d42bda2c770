"""Forms of measurements: a laboratory report, an inspection sheet."""

from __future__ import annotations

from data.sample.generate.blocks import Field, Heading, Note, Row, Space, Stamp
from data.sample.generate.forms._spec import TEST, Form, pens
from data.sample.generate.grids import Checks, Table
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

LABORATORY = Form(
    name="laboratory_report",
    folder=TEST,
    pens=pens("serif", Pen("mono", 13.5, wobble=0.15), size=13.5, bold="serif-bold"),
    scan=Scan(skew=-0.6, blur=0.55, noise=0.04, contrast=0.88, blots=18, fade=0.3, folds=(0.51,)),
    gap=7,
    blocks=(
        Heading("Thornley Soil & Water Laboratory", size=1.55),
        Note("Section of Trace Analysis § Bench 4", align="centre"),
        Space(14, rule=1.5),
        Heading("REPORT OF ANALYSIS", size=1.2),
        Row((Field("Sample no.", "W-0981/2", at=110), Field("Received", "June 7, 1983", at=90))),
        Row((Field("Source", "Well, Bramble Farm", at=110), Field("Reported", "June 15", at=90))),
        Row((Field("Sender", "M. Okonkwo-Lisle", at=110), Field("Analyst", "R. Émery", at=90))),
        Field("Preservative", "HNO3, ½ ml per 100 ml", at=110),
        Field("Appearance", "“Faintly yellow”, slight sediment after 1 h", at=110),
        Space(8),
        Heading("Metals", size=1.05, align="left", owns=True),
        Table(
            (
                ("Element", 0.22, "left"),
                ("Method", 0.2, "left"),
                ("Result µg/l", 0.2, "right"),
                ("± ", 0.12, "right"),
                ("Limit µg/l", 0.26, "right"),
            ),
            (
                ("Lead", "AAS-G", "14.2", "0.9", "10"),
                ("Cadmium", "AAS-G", "<0.5", "", "3"),
                ("Copper", "AAS-F", "310", "12", "2000"),
                ("Zinc", "AAS-F", "1,045", "40", "none set"),
                ("Iron", "AAS-F", "188", "8", "200"),
                ("Arsenic", "Hydride", "2.7", "0.4", "10"),
            ),
        ),
        Heading("General", size=1.05, align="left", owns=True),
        Row((Field("pH", "6.8"), Field("Temp.", "11.5 °C"), Field("Hardness", "17° dH"))),
        Row((Field("Nitrate", "46 mg/l"), Field("Odour", "none"), Field("Colour", "5 Hazen"))),
        Space(8),
        Heading("Opinion", size=1.05, align="left", owns=True),
        Field(
            "Remarks",
            "Lead exceeds the limit. The first-draw sample was taken from a tap with old solder; "
            "repeat after running for 3 minutes. All other results are within the limits.",
            place="below",
            blank=False,
        ),
        Checks("Fit to drink:", ("Yes", "No", "After retest"), ticked=("After retest",), at=120),
        Space(26),
        Row((Field("Analyst", sign=True), Field("Head of section", sign=True))),
        Space(16),
        Note("Results refer only to the sample as received.", size=0.85),
        Stamp("CONFIDENTIAL", 590, 95, -8),
    ),
)

INSPECTION = Form(
    name="inspection_sheet",
    folder=TEST,
    pens=pens(
        "narrow", Pen("quick-hand", 21, weight=500, shade=50, wobble=1.0, leading=1.15), size=13.5
    ),
    scan=Scan(
        skew=2.6,
        blur=0.85,
        noise=0.16,
        contrast=0.74,
        specks=0.002,
        holes=0.002,
        fade=0.4,
        shadow=0.85,
        folds=(0.27, 0.72),
        crisp=0.3,
    ),
    top=66,
    margin=78,
    gap=5,
    blocks=(
        Heading("Carrick Moss Drainage Authority", size=1.4),
        Heading("WEEKLY INSPECTION SHEET: PUMPING STATIONS", size=1.15),
        Space(6),
        Row(
            (
                Field("Station", "Sallow Drove", at=56),
                Field("Week ending", "27 Feb", at=84),
                Field("Sheet", "9", at=44),
            ),
            shares=(0.42, 0.4, 0.18),
        ),
        Row((Field("Inspector", "W. Ashgrove", at=64), Field("Weather", "sleet, NE wind", at=60))),
        Space(6),
        Heading("Readings", size=1.05, align="left", owns=True, bar=True),
        Table(
            (
                ("Item", 0.3, "left"),
                ("Limit", 0.16, "right"),
                ("Found", 0.16, "right"),
                ("Remarks", 0.38, "left"),
            ),
            (
                ("Inlet level, m", "1.40", "1.52", "above mark"),
                ("Outlet level, m", "2.10", "1.96", ""),
                ("Oil pressure, bar", "3.5", "3.1", "falls when hot"),
                ("Bearing 1, °C", "70", "64", "ok"),
                ("Bearing 2, °C", "70", "77", "noisy - grease"),
                ("Battery, V", "24", "23.6", "ok"),
                ("Weed on screen, cm", "15", "22", "raked twice"),
            ),
            blank_rows=1,
        ),
        Heading("Condition", size=1.05, align="left", owns=True, bar=True),
        Space(3),
        Checks("Screen", ("Clean", "Weeded", "Damaged"), ticked=("Weeded",), at=90),
        Checks("Doors", ("Sound", "Swollen", "Forced"), ticked=("Sound",), at=90),
        Checks("Fence", ("Sound", "Gap", "Down"), ticked=("Gap",), at=90),
        Heading("Action", size=1.05, align="left", owns=True, bar=True),
        Space(3),
        Field(
            "Done on the spot",
            "Greased both bearings, cleared the screen, reset alarm 2",
            place="below",
        ),
        Field("To be ordered", "1 oil filter; 2 V-belts A38", at=110, old="1 V-belt"),
        Field("Urgent?", "yes, before the spring tide", at=110),
        Space(12),
        Row((Field("Signed", sign=True, at=60), Field("Foreman", sign=True, at=60))),
        Stamp("ENTERED\n- 3 MAR", 560, 330, 16),
    ),
)

FORMS = (LABORATORY, INSPECTION)
