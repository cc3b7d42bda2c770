"""Forms of trade: a purchase order, an invoice, a shipping note."""

from __future__ import annotations

from data.sample.generate.blocks import At, Field, Heading, Note, Row, Space, Stack, Stamp
from data.sample.generate.forms._spec import TEST, TRAIN, Form, pens
from data.sample.generate.grids import Checks, Table
from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan

ORDER = Form(
    name="purchase_order",
    folder=TEST,
    pens=pens("sans", Pen("mono", 13.5, wobble=0.18), size=12.5),
    scan=Scan(skew=0.5, blur=0.5, noise=0.03, blots=20, specks=0.0005, crisp=0.75),
    stray_link=True,
    blocks=(
        Row(
            (
                Stack(
                    (
                        Heading("HOLLIN & DRAKE", size=1.9, align="left"),
                        Note("Boat builders\nSlip 6, Old Ropewalk, Saltby Quay"),
                    )
                ),
                Stack(
                    (
                        Field("PURCHASE ORDER NO.", "HD-55208", place="cell"),
                        Field("DATE", "02 SEP 1988", place="cell"),
                    ),
                    gap=0,
                ),
            ),
            shares=(0.62, 0.38),
        ),
        Space(16),
        Stack(
            (
                Row(
                    (
                        Field(
                            "SUPPLIER",
                            "Garrowby Timber Co.\n18 Sawpit Lane\nMarl Cross",
                            place="cell",
                            lines=4,
                        ),
                        Field(
                            "DELIVER TO",
                            "Hollin & Drake\nNorth shed, gate 2\nSaltby Quay",
                            place="cell",
                            lines=4,
                        ),
                    ),
                    gap=0,
                ),
                Row(
                    (
                        Field("TERMS", "Net 30", place="cell"),
                        Field("SHIP VIA", "Own lorry", place="cell"),
                        Field("WANTED BY", "23 SEP 1988", place="cell"),
                        Field("ACCT. NO.", "4417", place="cell"),
                    ),
                    gap=0,
                ),
            ),
            gap=0,
        ),
        Space(12),
        Table(
            (
                ("ITEM", 0.09, "centre"),
                ("QUANTITY", 0.13, "right"),
                ("DESCRIPTION", 0.44, "left"),
                ("UNIT PRICE", 0.16, "right"),
                ("AMOUNT", 0.18, "right"),
            ),
            (
                ("1", "40", "Larch plank, 3.6 m, clear, sawn 32 mm", "11.20", "448.00"),
                ("2", "12", "Oak crook, grown, 60 deg.", "27.50", "330.00"),
                ("3", "6", "Ash pole, 4½ m", "9.75", "58.50"),
                ("4", "200", "Trenail, locust, 20 mm", "0.18", "36.00"),
                ("5", "3", "Elm board for garboard, full length, no shakes", "64.00", "192.00"),
            ),
            blank_rows=5,
        ),
        Row(
            (
                Field(
                    "SPECIAL INSTRUCTIONS",
                    "Stack under cover.\nRing before you load.",
                    place="cell",
                    lines=3,
                ),
                Stack(
                    (
                        Field("SUBTOTAL", "1,064.50", at=120),
                        Field("CARRIAGE", "35.00", at=120),
                        Field("TAX", "159.68", at=120),
                        Field("TOTAL", "1,259.18", at=120),
                    )
                ),
            ),
            shares=(0.58, 0.42),
        ),
        Space(26),
        Row((Field("ORDERED BY", "C. Wrayburn"), Field("APPROVED", sign=True))),
        Space(18),
        Note("Put our order number on every case, invoice and letter.", size=0.9, align="centre"),
        Stamp("COPY", 390, 610, 18, pen="large"),
    ),
)
ORDER.pens["large"] = Pen("sans", 44, weight=700, shade=135)

INVOICE = Form(
    name="invoice",
    folder=TEST,
    pens=pens("sans", Pen("sans", 14), size=14),
    scan=Scan(skew=-0.2, blur=0.3, noise=0.015, blots=6),
    gap=8,
    blocks=(
        Heading("INVOICE", size=2.2, align="right"),
        Heading("Brightwater Pump Services", size=1.4, align="left"),
        Note("Unit 11, Cressmoor Trading Park\noffice@brightwater.example"),
        Space(16, rule=1.5),
        Row(
            (
                Field(
                    "Bill to",
                    "Osric Vantongeren\nMill House, Low Ferry\nEast Cressmoor",
                    place="below",
                    blank=False,
                ),
                Stack(
                    (
                        Field("Invoice number", "2009-1187", at=150, blank=False),
                        Field("Invoice date", "30/06/2009", at=150, blank=False),
                        Field("Due date", "30/07/2009", at=150, blank=False),
                        Field("Customer ref.", "VANT-02", at=150, blank=False),
                    )
                ),
            )
        ),
        Space(20),
        Table(
            (
                ("Date", 0.16, "left"),
                ("Work done", 0.42, "left"),
                ("Hours", 0.12, "right"),
                ("Rate", 0.13, "right"),
                ("Total", 0.17, "right"),
            ),
            (
                ("04/06/2009", "Call-out, sump pump blocked", "1.5", "52.00", "78.00"),
                ("04/06/2009", "Float switch, type FS-3", "", "", "31.40"),
                ("11/06/2009", "Lift and rewind motor, 2.2 kW", "6", "52.00", "312.00"),
                ("12/06/2009", "Bearings and shaft seal, set", "", "", "87.95"),
                ("12/06/2009", "Refit, test for one hour", "2", "52.00", "104.00"),
            ),
            ruled=False,
        ),
        Space(6),
        Row(
            (
                Note(
                    "Parts are guaranteed for twelve months, labour for three. Interest of 1% a "
                    "month is charged on sums not paid by the due date."
                ),
                Stack(
                    (
                        Field("Net", "613.35", at=120, blank=False),
                        Field("VAT 15%", "92.00", at=120, blank=False),
                        Field("Less deposit", "(50.00)", at=120, blank=False),
                        Field("Amount due", "€655.35", at=120, blank=False),
                    )
                ),
            ),
            shares=(0.56, 0.44),
        ),
        Space(40, rule=1),
        Heading("How to pay", size=1.15, align="left", owns=True),
        Field("Account name", "Brightwater Pump Services", at=130, blank=False),
        Field("Account no.", "00 417 8823", at=130, blank=False),
        Field("Reference", "2009-1187", at=130, blank=False),
        Space(50),
        Note("Thank you for your custom.", align="centre"),
    ),
)

SHIPPING = Form(
    name="shipping_note",
    folder=TRAIN,
    pens=pens("sans", Pen("mono", 14, shade=60, wobble=0.3, leading=1.4), size=12.5),
    scan=Scan(
        skew=-1.9,
        blur=0.6,
        noise=0.1,
        contrast=0.85,
        specks=0.001,
        fade=0.35,
        crisp=0.3,
        folds=(0.48,),
    ),
    gap=6,
    blocks=(
        Heading("STRAIGHT BILL AND SHIPPING NOTE", size=1.45),
        Note("Not negotiable. Fourth copy: consignee", size=0.9, align="centre"),
        Stack(
            (
                Row(
                    (
                        Field("Carrier", "Tarn Valley Haulage", place="cell"),
                        Field("Waybill no.", "TVH 7730 126", place="cell"),
                        Field("Date", "8-19-76", place="cell"),
                    ),
                    gap=0,
                ),
                Row(
                    (
                        Field(
                            "Consignor",
                            "Osterley Glass Works\nDock Road, Marl Cross",
                            place="cell",
                            lines=3,
                        ),
                        Field(
                            "Consignee",
                            "Dr. L. Abernethy-Voss\nObservatory Hill\nUpper Scarth",
                            place="cell",
                            lines=3,
                        ),
                    ),
                    gap=0,
                ),
                Row(
                    (
                        Field("Route", "Marl Cr. - Quillbrook - Scarth", place="cell"),
                        Field("Vehicle", "Van 14", place="cell"),
                        Field("Driver", "E. Tolliver", place="cell"),
                    ),
                    shares=(0.5, 0.2, 0.3),
                    gap=0,
                ),
            ),
            gap=0,
        ),
        Space(10),
        Table(
            (
                ("Marks and numbers", 0.2, "left"),
                ("No. of pkgs", 0.11, "right"),
                ("Description of goods", 0.39, "left"),
                ("Weight kg", 0.14, "right"),
                ("Charges", 0.16, "right"),
            ),
            (
                ("LAV 1-2", "2", "Mirror blank, 40 cm, ground", "86.5", "41.00"),
                ("LAV 3", "1", "Cell and ring, cast iron", "52.0", "18.75"),
                ("LAV 4-9", "6", "Plate glass in straw, FRAGILE", "118.2", "63.40"),
                ("LAV 10", "1", "Jar of rouge, sealed", "4.8", "3.10"),
                ("", "10", "", "261.5", "126.25"),
            ),
            blank_rows=4,
        ),
        Row(
            (
                Checks("Charges are:", ("Prepaid", "Collect"), ticked=("Collect",), columns=2),
                Field("C.O.D. amount", "126.25"),
                Field("Declared value", ""),
            )
        ),
        Space(6),
        Note(
            "Received in apparent good order, except as noted, the packages described above, to be "
            "carried to the place named and there delivered on payment of all charges.",
            size=0.9,
        ),
        Field("Exceptions", "Case 7 wet at one corner, not opened", at=90, lines=2),
        Space(16),
        Row((Field("For carrier", sign=True, at=90), Field("Received by", sign=True, at=90))),
        Space(10),
        Row((Field("Time in", "6:40 am", at=90), Field("Pieces", "10", at=90))),
        Stamp("GLASS\nHANDLE WITH CARE", 520, 640, -9),
        At(70, 930, Note("Printed by the Marl Cross Press, 5M 3-75", size=0.8)),
    ),
)

FORMS = (SHIPPING, ORDER, INVOICE)
