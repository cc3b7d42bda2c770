"""Forms of an office: a memorandum, a fax cover, a travel claim, a loan of equipment."""

from __future__ import annotations

from data.sample.generate.blocks import At, Field, Heading, Note, Row, Space, Stack, Stamp
from data.sample.generate.forms._spec import TEST, TRAIN, Form, pens
from data.sample.generate.grids import Checks, Table
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

MEMO = Form(
    name="memo",
    folder=TRAIN,
    pens=pens("sans", Pen("mono", 14, wobble=0.12, leading=1.5), size=14),
    scan=Scan(skew=0.3, blur=0.4, noise=0.02, blots=14, crisp=0.5),
    gap=10,
    blocks=(
        Heading("LARKMOOR INSTRUMENTS", size=1.8),
        Note("Calibration Works, 4 Tollgate Row, Pellworth", align="centre"),
        Space(22, rule=2),
        Heading("INTER-OFFICE MEMORANDUM", size=1.3, align="left"),
        Space(6),
        Field("TO:", "Tamsin Overbeck, Stores", at=110),
        Field("FROM:", "Otto Farthingale, Test Room 3", at=110),
        Field("COPIES:", "I. Marrow, P. Quillfeather", at=110),
        Field("DATE:", "14 March 1994", at=110),
        Field("FILE NO.:", "LM/94/0317", at=110),
        Field("SUBJECT:", "Overdue gauges, second quarter", at=110),
        Space(24, rule=1),
        Field(
            "Background",
            "Eleven dial gauges sent out in January have not come back from the field teams. "
            "Four of them are the only ones we hold that read below 0.05 bar.",
            place="below",
        ),
        Field(
            "Action wanted",
            "Please write to each team leader by Friday, and list the serial numbers that are "
            "still open. I shall book the bench for the week of 28 March.",
            place="below",
        ),
        Field("Cost centre", "7714-B", at=150),
        Field("Reply by", "18 March 1994", at=150),
        Field("Approved by", at=150, sign=True),
        Space(60),
        Note("Form LM-12 (rev. 2) Keep one copy on file for two years.", size=0.85),
        At(610, 962, Note("Page 1 of 1", size=0.85), width=100),
    ),
)

FAX = Form(
    name="fax_cover",
    folder=TEST,
    pens=pens("serif", Pen("mono", 14, wobble=0.15, leading=1.6), size=14, bold="serif-bold"),
    scan=Scan(skew=-0.8, blur=0.6, noise=0.13, specks=0.002, holes=0.006, fade=0.28, crisp=0.95),
    top=74,
    gap=9,
    blocks=(
        At(40, 14, Note("21/11/97 16:42  01632 960417  PELLWORTH HARBOUR", pen="line"), width=560),
        At(640, 14, Note("P.001/004", pen="line"), width=100),
        Heading("PELLWORTH HARBOUR BOARD", size=1.7),
        Heading("Facsimile Transmission", size=1.25),
        Space(14, rule=1.5),
        Row(
            (
                Field("To:", "Ms. Renée Castañeda", at=80),
                Field("From:", "Bram Holloway", at=80),
            )
        ),
        Row(
            (
                Field("Firm:", "Gullane & Sørli Ltd.", at=80),
                Field("Dept.:", "Pilotage", at=80),
            )
        ),
        Row((Field("Fax:", "01632 960188", at=80), Field("Fax:", "01632 960417", at=80))),
        Row((Field("Phone:", "01632 960180", at=80), Field("Pages:", "4", at=80))),
        Field("Re:", "Berth 9 “Kittiwake” – revised times, § 4", at=80),
        Space(8),
        Checks(
            "Please:",
            ("Reply", "Review", "Confirm", "Forward"),
            ticked=("Reply", "Confirm"),
            columns=4,
            at=90,
        ),
        Space(14, rule=1),
        Field(
            "Message:",
            "The tug is free from 05:30 on Tuesday. Draught is 4½ m at low water, so she must be "
            "off the sill by 07:10. Send the crew list and the two customs sheets before noon, "
            "please. We hold the berth until then and not longer.",
            place="below",
            lines=9,
        ),
        Space(20),
        Field("Signed:", at=80, sign=True),
        Space(40),
        Note(
            "This message is meant only for the person named above. If it reached you by mistake, "
            "call 01632 960400 and destroy all pages.",
            size=0.82,
        ),
        Stamp("RECEIVED\n24 NOV 1997", 560, 640, 11),
    ),
)
FAX.pens["line"] = Pen("mono", 12)

TRAVEL = Form(
    name="travel_claim",
    folder=TEST,
    pens=pens("narrow", Pen("scrawl", 25, shade=30, wobble=0.9, leading=1.15), size=13.5),
    scan=Scan(
        skew=1.6,
        blur=0.75,
        noise=0.07,
        contrast=0.8,
        specks=0.0005,
        fade=0.25,
        folds=(0.34, 0.67),
        shadow=0.5,
    ),
    blocks=(
        Heading("QUILLBROOK VALLEY LIBRARY TRUST", size=1.45),
        Heading("Claim for Travel and Subsistence", size=1.2),
        Space(10),
        Stack(
            (
                Row(
                    (
                        Field("Name of claimant", "Hesper Nightingale-Ruiz", place="cell"),
                        Field("Staff no.", "QV 20638", place="cell"),
                    ),
                    shares=(0.68, 0.32),
                    gap=0,
                ),
                Row(
                    (
                        Field("Home address", "2 Weir Cottages, Nether Quill", place="cell"),
                        Field("Branch", "Mobile No. 2", place="cell"),
                    ),
                    shares=(0.68, 0.32),
                    gap=0,
                ),
                Field(
                    "Purpose of journey", "Books for the hill schools, spring round", place="cell"
                ),
            ),
            gap=0,
        ),
        Space(12),
        Heading("A. JOURNEYS", size=1.05, align="left", owns=True, bar=True),
        Table(
            (
                ("Date", 0.14, "left"),
                ("From", 0.25, "left"),
                ("To", 0.25, "left"),
                ("Miles", 0.12, "right"),
                ("Amount", 0.24, "right"),
            ),
            (
                ("3 May", "Quillbrook", "Fallow End", "17", "7.65"),
                ("3 May", "Fallow End", "Upper Scarth", "22", "9.90"),
                ("9 May", "Quillbrook", "Brindle Top", "31", "13.95"),
                ("10 May", "Brindle Top", "Quillbrook", "31", "13.95"),
            ),
            blank_rows=2,
        ),
        Heading("B. OTHER COSTS", size=1.05, align="left", owns=True, bar=True),
        Space(4),
        Row(
            (
                Field("Meals", "38.40", at=110, old="36.80"),
                Field("Receipts attached", "3", at=130),
            )
        ),
        Row((Field("Lodging", "44.00", at=110), Field("Toll and ferry", "6.50", at=130))),
        Row((Field("Other (explain)", "", at=110), Field("TOTAL CLAIMED", "£134.35", at=130))),
        Space(8),
        Heading("C. DECLARATION", size=1.05, align="left", owns=True, bar=True),
        Note(
            "I declare that I made these journeys on the business of the Trust and that no part of "
            "this sum was paid to me before."
        ),
        Space(12),
        Row((Field("Signature", sign=True, at=80), Field("Date", "12 May", at=60))),
        Space(14),
        Row((Field("Checked by", "J. Thrupp", at=80), Field("Paid by", sign=True, at=60))),
        Stamp("PASSED FOR\nPAYMENT", 555, 800, -14),
        At(62, 950, Note("Form F6. Hand in within 30 days.", size=0.85)),
    ),
)

LOAN = Form(
    name="equipment_loan",
    folder=TRAIN,
    pens=pens("narrow", Pen("upright-hand", 17, shade=30, wobble=0.75, leading=1.35), size=14),
    scan=Scan(skew=-1.1, blur=0.55, noise=0.05, contrast=0.9, blots=25, fade=0.2, folds=(0.5,)),
    gap=9,
    blocks=(
        Heading("Fernhollow College of Art", size=1.7, align="left"),
        Note("Media Store, Kiln Lane Annexe. Open 09:00 to 16:30", align="left"),
        At(560, 50, Note("No. 00862", pen="number"), width=150),
        Space(14, rule=2),
        Heading("EQUIPMENT LOAN RECORD", size=1.3, align="left"),
        Heading("1. Borrower", size=1.1, align="left", owns=True),
        Row((Field("Name", "Ottoline Brackley"), Field("Student no.", "FC-3390-61"))),
        Row((Field("Course", "Printmaking, year 2"), Field("Telephone", "01632 960733"))),
        Field("Tutor", "Mr. Desmond Pryce-Allen"),
        Heading("2. Items lent", size=1.1, align="left", owns=True),
        Table(
            (
                ("Qty", 0.09, "right"),
                ("Item", 0.43, "left"),
                ("Store no.", 0.2, "left"),
                ("Condition", 0.28, "left"),
            ),
            (
                ("1", "Plate camera, 5 x 4", "M-0114", "good"),
                ("6", "Dark slides", "M-0120/6", "one dented"),
                ("1", "Tripod, wooden", "M-0077", "fair"),
                ("2", "Lamp, 500 W", "L-0409", "good"),
                ("1", "Cable drum, 25 m", "L-0431", "tape on plug"),
            ),
            blank_rows=2,
        ),
        Heading("3. Period", size=1.1, align="left", owns=True),
        Row(
            (
                Field("Out", "Mon 6 Oct"),
                Field("Due back", "Fri 17 Oct", old="10 Oct"),
                Field("Returned", ""),
            ),
            shares=(0.27, 0.45, 0.28),
        ),
        Checks(
            "Used where:",
            ("Studio", "On location", "Abroad"),
            ticked=("On location",),
            columns=3,
            at=110,
        ),
        Heading("4. Undertaking", size=1.1, align="left", owns=True),
        Note(
            "I have checked the items listed above and will make good any loss or damage. Late "
            "items are charged at the daily rate on the notice board."
        ),
        Space(14),
        Row((Field("Borrower", sign=True), Field("Store keeper", sign=True))),
        Space(16),
        Field("Remarks", "Strap of case is torn, mend before next loan", lines=2),
    ),
)
LOAN.pens["number"] = Pen("mono-bold", 17, shade=70)

FORMS = (MEMO, LOAN, FAX, TRAVEL)
