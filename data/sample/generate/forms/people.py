"""Forms about people: a registration, a medical intake, a visitor survey."""

from __future__ import annotations

from data.sample.generate.blocks import At, Field, Heading, Note, Row, Space, Stack, Stamp
from data.sample.generate.forms._spec import TEST, TRAIN, Form, pens
from data.sample.generate.grids import Checks, Ratings, Table
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

REGISTRATION = Form(
    name="registration",
    folder=TEST,
    pens=pens("sans", Pen("round-hand", 18, shade=40, wobble=0.7, leading=1.15), size=13.5),
    scan=Scan(skew=0.9, blur=0.55, noise=0.035, contrast=0.92, blots=12, shadow=0.4),
    gap=6,
    blocks=(
        Heading("Saltby Quay Rowing Club", size=1.8),
        Heading("REGISTRATION FOR THE SEASON", size=1.15),
        Space(14, rule=1.2),
        Heading("Member", size=1.1, align="left", owns=True),
        Row((Field("Family name", "Zieliński-Boyle"), Field("First name", "Maddalena"))),
        Row((Field("Born", "17.08.1991"), Field("Member since", "2014"))),
        Field("Street and number", "9 Lantern Steps, flat 3"),
        Row((Field("Town", "Saltby Quay"), Field("E-mail", "mz@post.example"))),
        Space(6),
        Heading("Rowing", size=1.1, align="left", owns=True),
        Checks(
            "Class of membership",
            ("Full", "Half year", "Student", "Family", "Social only", "Honorary"),
            ticked=("Half year",),
        ),
        Checks("Can you swim 200 m in clothes?", ("Yes", "No"), ticked=("Yes",), columns=2, at=240),
        Checks(
            "Seats you row",
            ("Stroke side", "Bow side", "Sculls", "Cox"),
            ticked=("Stroke side", "Sculls"),
            columns=4,
        ),
        Row((Field("Weight class", "light"), Field("Boat of your own", "no"))),
        Space(6),
        Heading("In case of accident", size=1.1, align="left", owns=True),
        Row((Field("Call", "Fergus Boyle (husband)"), Field("Telephone", "01632 960562"))),
        Field("Allergies, medicines", "wasp stings - carries a pen, left pocket", lines=2),
        Space(6),
        Heading("Payment", size=1.1, align="left", owns=True),
        Checks("I pay by", ("Cash", "Transfer", "Standing order"), ticked=("Transfer",), at=90),
        Row((Field("Fee", "£ 85.00"), Field("Paid on", ""))),
        Space(16),
        Row((Field("Place and date", "Saltby, 2 April"), Field("Signature", sign=True))),
        Space(12),
        Note("Hand this form to the boatman or post it to the club house.", size=0.85),
    ),
)

INTAKE = Form(
    name="medical_intake",
    folder=TEST,
    pens=pens(
        "serif", Pen("scrawl", 26, shade=50, wobble=1.1, leading=1.05), size=13, bold="serif-bold"
    ),
    scan=Scan(
        skew=-2.2,
        blur=0.95,
        noise=0.14,
        contrast=0.68,
        specks=0.0005,
        blots=40,
        fade=0.42,
        shadow=0.6,
    ),
    margin=70,
    top=64,
    blocks=(
        Heading("Alder Street Surgery", size=1.5, align="left"),
        Note("New patient: please fill in both columns in ink", pen="print"),
        Space(8, rule=1),
        Row(
            (
                Stack(
                    (
                        Heading("ABOUT YOU", size=1.05, align="left", owns=True),
                        Field("Surname", "Featherstonehaugh", at=66),
                        Field("Forenames", "Cosmo Alaric", at=66),
                        Field("Born", "30 Jan 1958", at=66),
                        Field("Work", "sign painter", at=66),
                        Field("Height", "5 ft 9½", at=66, old="5 ft 8"),
                        Field("Weight", "12 st 4", at=66),
                        Field("Tel.", "01632 960905", at=66),
                    ),
                    gap=5,
                    framed=True,
                ),
                Stack(
                    (
                        Heading("HISTORY", size=1.05, align="left", owns=True),
                        Checks(
                            "Have you ever had",
                            ("Asthma", "Jaundice", "Fits", "Gout", "Rheumatic fever", "Ulcer"),
                            ticked=("Asthma", "Gout"),
                            columns=2,
                        ),
                        Field("Operations", "appendix 1971", at=70),
                        Field("Fractures", "left wrist, twice", at=70),
                        Field("Other", "", at=70),
                    ),
                    gap=5,
                    framed=True,
                ),
            ),
            gap=10,
        ),
        Space(8),
        Heading("TODAY", size=1.05, align="left", owns=True),
        Field(
            "What troubles you?",
            "Cough at night since the damp weather, worse when lying flat. Knees stiff in the "
            "morning, better by ten",
            place="below",
            lines=3,
        ),
        Field("Since when?", "about five weeks", at=90),
        Field("Medicines now", "two white tablets, name forgotten; cod liver oil", at=90),
        Space(6),
        Table(
            (
                ("For the nurse", 0.34, "left"),
                ("First", 0.22, "centre"),
                ("Second", 0.22, "centre"),
                ("Initials", 0.22, "centre"),
            ),
            (
                ("Blood pressure", "148/92", "140/88", "NK"),
                ("Pulse", "76", "74", "NK"),
                ("Peak flow", "390", "405", "NK"),
            ),
        ),
        Checks("Smoker", ("Never", "Gave up", "Yes"), ticked=("Gave up",), at=70),
        Checks("Alcohol", ("None", "Some", "Daily"), ticked=("Some",), at=70),
        Space(12),
        Row((Field("Patient", sign=True, at=60), Field("Seen by", "Dr. P. Lindqvist", at=60))),
        Stamp("CARD MADE UP", 600, 90, 7),
        At(70, 952, Note("Card AS/3", size=0.9)),
    ),
)

SURVEY = Form(
    name="visitor_survey",
    folder=TRAIN,
    pens=pens(
        "sans", Pen("quick-hand", 20, weight=500, shade=50, wobble=0.7, leading=1.15), size=14
    ),
    scan=Scan(skew=1.2, blur=0.5, noise=0.05, contrast=0.85, blots=8, shadow=0.7, crisp=0.2),
    gap=9,
    blocks=(
        Heading("Tell us about your visit", size=1.9),
        Note("Museum of Clocks and Weather, Pellworth", align="centre"),
        Space(16, rule=1),
        Row(
            (Field("Date of visit", "19 Aug"), Field("Party of", "5"), Field("From", "Fallow End"))
        ),
        Checks(
            "How did you come?",
            ("On foot", "Bicycle", "Bus", "Train", "Car", "Boat"),
            ticked=("Bus", "On foot"),
            columns=6,
        ),
        Checks(
            "How did you hear of us?",
            ("Friends", "Newspaper", "Poster", "Radio", "School", "By chance"),
            ticked=("By chance",),
        ),
        Heading(
            "Ring one figure in each line (1 poor, 5 very good)", size=1.05, align="left", owns=True
        ),
        Space(4),
        Ratings(
            (
                ("Opening hours", 3),
                ("Signs and labels you could read from where you stood", 2),
                ("The turret clock gallery", 5),
                ("The barometer room", 4),
                ("Help from the attendants", 5),
                ("Tea room", 1),
            )
        ),
        Heading("In your own words", size=1.05, align="left", owns=True),
        Field("What did you like best?", "The clock that runs on marbles!", place="below", lines=2),
        Field(
            "What should we change?",
            "More chairs upstairs, & warmer tea. The storm glass has no label at all",
            place="below",
            lines=2,
        ),
        Row((Field("Would you come again?", "surely"), Field("Your age", "71"))),
        Space(10),
        Field("Name (if you like)", "Perpetua Snodgrass", at=130),
        Space(10),
        Note("Please drop this sheet in the box by the door. Thank you!", align="centre"),
        At(62, 960, Note("V/07", size=0.85)),
    ),
)

FORMS = (SURVEY, REGISTRATION, INTAKE)
