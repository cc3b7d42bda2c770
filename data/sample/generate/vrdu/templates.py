"""The templates of the sample: three of ad-buy forms, three of registration forms. All invented."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

from data.sample.generate.vrdu.sheet import Sheet, pick

_FIRST = "Ada|Bruno|Carla|Dov|Edith|Farid|Greta|Hugo|Ines|Jonas"
_LAST = "Quillfeather|Marsh|Oduya|Velner|Tarn|Brisk|Holloway|Pennant|Soames|Yarrow"
_TOWN = "Fernhill|Brackwater|Ashmouth|Saltmere|Lowfold|Highcombe"
_STREET = "Quince|Harbour|Mill|Juniper|Lantern|Weaver"
_SHOW = "Morning|Noon|Evening|Late|Weekend"
_KIND = "News|Talk|Quiz|Weather|Sport"
_COMPANY = "Larkspur|Coppergate|Tidewater|Northlight|Greyfriars"


def person(generator: random.Random) -> str:
    """A made-up name."""
    return pick(generator, _FIRST, _LAST)


def campaign(generator: random.Random) -> dict[str, Any]:
    """What one ad-buy form says."""
    begin = datetime.date(2031, generator.randint(1, 10), generator.randint(1, 22))
    spots = [
        {
            "program_desc": pick(generator, _TOWN, _SHOW, _KIND),
            "start": begin + datetime.timedelta(days=place),
            "end": begin + datetime.timedelta(days=place + generator.randint(0, 5)),
            "cents": generator.randint(40, 900) * 250,
        }
        for place in range(generator.randint(2, 5))
    ]  # fmt: skip
    # A correction takes an amount back, as brackets.
    if generator.random() < 0.4:
        spots[-1]["cents"] = -5_000
    town = pick(generator, _TOWN)
    return {
        "advertiser": pick(generator, "Friends of|Elect|Neighbours for", _FIRST, _LAST),
        "agency": pick(generator, _COMPANY, "Media|Buying|Partners"),
        "contract_num": str(generator.randint(100_000, 2_999_999)),
        "product": pick(generator, "Council|Senate|Mayor|Measure 4", "2031|Runoff|Primary"),
        "property": f"{town} Channel {generator.randint(2, 60)}",
        "tv_address": (
            f"{generator.randint(2, 980)} {pick(generator, _STREET)} Street, "
            f"{town}, ZZ {generator.randint(10_000, 99_999)}"
        ),
        "begin": begin, "end": max(spot["end"] for spot in spots), "spots": spots,
        "cents": sum(spot["cents"] for spot in spots),
    }  # fmt: skip


def money(cents: int) -> str:
    """Dollars; brackets for a minus."""
    text = f"${abs(cents) / 100:,.2f}"
    return f"({text})" if cents < 0 else text


def _spots(
    sheet: Sheet, y: float, said: dict[str, Any], order: tuple[str, ...], style: str
) -> float:
    x_of = dict(zip(order, (40, 200, 330, 460), strict=True))
    heads = {
        "program_desc": "Program",
        "program_start_date": "Start",
        "program_end_date": "End",
        "sub_amount": "Amount",
    }
    for name in order:
        sheet.put(x_of[name], y, heads[name], bold=True)
    sheet.rule(y + 13)
    for spot in said["spots"]:
        y += 18
        values = {
            "program_desc": spot["program_desc"],
            "program_start_date": spot["start"].strftime(style),
            "program_end_date": spot["end"].strftime(style),
            "sub_amount": money(spot["cents"]),
        }
        parts: dict[str, list[Any]] = {}
        for name in order:
            sheet.put(x_of[name], y, values[name], entity=name, item=parts)
        sheet.line_item(parts)
    return y + 26


_USUAL = ("program_desc", "program_start_date", "program_end_date", "sub_amount")


def invoice(sheet: Sheet, said: dict[str, Any]) -> None:
    """Labels on the left of their values; the station's address on top."""
    sheet.put(40, 36, said["property"], size=13, bold=True, entity="property")
    sheet.put(40, 56, said["tv_address"], entity="tv_address")
    sheet.put(300, 36, "INVOICE", size=16, bold=True)
    fields = (
        ("Invoice #", said["contract_num"], "contract_num"),
        ("Advertiser", said["advertiser"], "advertiser"),
        ("Agency", said["agency"], "agency"),
        ("Product", said["product"], "product"),
    )
    for place, (label, value, entity) in enumerate(fields):
        sheet.put(300, 70 + 15 * place, label)
        sheet.put(400, 70 + 15 * place, value, entity=entity)
    _flight(sheet, 300, 132, "Flight Dates", 400, said, "%m/%d/%y")
    y = _spots(sheet, 180, said, _USUAL, "%m/%d/%y")
    sheet.put(330, y, "Gross Total", bold=True)
    sheet.put(460, y, money(said["cents"]), entity="gross_amount")
    sheet.put(40, y + 40, f"Please quote {said['contract_num']} with your payment.", size=7)


def _flight(
    sheet: Sheet, x: float, y: float, label: str, at: float, said: dict[str, Any], style: str
) -> None:
    if label:
        sheet.put(x, y, label)
    # No two dates of a flight are the same, so each is found in the line.
    begin, end = said["begin"].strftime(style), said["end"].strftime(style)
    sheet.put(at, y, f"{begin} - {end}", parts={"flight_from": begin, "flight_to": end})


def contract(sheet: Sheet, said: dict[str, Any]) -> None:
    """Labels above their values; amounts come first in the table."""
    sheet.put(230, 30, "CONTRACT", size=16, bold=True)
    fields = (
        (40, 70, "Contract / Revision", said["contract_num"], "contract_num"),
        (220, 70, "Advertiser", said["advertiser"], "advertiser"),
        (40, 105, "Property", said["property"], "property"),
        (220, 105, "Product", said["product"], "product"),
        (400, 70, "Agency", said["agency"], "agency"),
    )
    for x, y, label, value, entity in fields:
        sheet.put(x, y, label, size=7)
        sheet.put(x, y + 11, value, entity=entity)
    sheet.put(400, 105, "Contract Dates", size=7)
    _flight(sheet, 400, 116, "", 400, said, "%m/%d/%Y")
    sheet.put(40, 145, said["tv_address"], entity="tv_address")
    order = ("sub_amount", "program_desc", "program_start_date", "program_end_date")
    y = _spots(sheet, 190, said, order, "%m/%d/%Y")
    sheet.put(40, y, "Totals", bold=True)
    sheet.put(120, y, money(said["cents"]), entity="gross_amount")


def summary(sheet: Sheet, said: dict[str, Any]) -> None:
    """Label and value in one line, dates written year first."""
    sheet.put(40, 30, "Order summary", size=14, bold=True)
    fields = (
        ("Contract #", said["contract_num"], "contract_num"),
        ("Station:", said["property"], "property"),
        ("Address:", said["tv_address"], "tv_address"),
        ("Agency:", said["agency"], "agency"),
        ("Advertiser:", said["advertiser"], "advertiser"),
        ("Product:", said["product"], "product"),
    )
    for place, (label, value, entity) in enumerate(fields):
        sheet.put(40, 62 + 16 * place, label, bold=True)
        sheet.put(120, 62 + 16 * place, value, entity=entity)
    _flight(sheet, 340, 62, "Flight:", 400, said, "%Y-%m-%d")
    sheet.put(340, 78, "Total $:", bold=True)
    sheet.put(400, 78, money(said["cents"]), entity="gross_amount")
    _spots(sheet, 190, said, _USUAL, "%d %b %Y")


def filing(generator: random.Random) -> dict[str, Any]:
    """What one registration form says."""
    day = datetime.date(2031, generator.randint(1, 12), generator.randint(1, 28))
    return {
        "file_date": day,
        "foreign_principle_name": pick(generator, "Port|Ministry|Chamber|Museum", "of", _TOWN),
        "registrant_name": pick(generator, _COMPANY, "Advisers|Relations|& Tarn"),
        "registration_num": str(generator.randint(5000, 7999)),
        "signer_name": person(generator),
        "signer_title": pick(generator, "Managing|Senior|Legal", "Director|Counsel|Partner"),
    }


def _form(
    sheet: Sheet, title: str, said: dict[str, Any], labels: dict[str, str], style: str,
    *, below: bool,
) -> None:  # fmt: skip
    sheet.put(40, 40, title, size=14, bold=True)
    sheet.rule(64)
    values = said | {"file_date": said["file_date"].strftime(style)}
    for place, (entity, label) in enumerate(labels.items()):
        y = 84 + 46 * place
        sheet.put(40, y, label)
        x, down = (40, 14) if below else (220, 0)
        sheet.put(x, y + down, values[entity], size=10, entity=entity)


def amendment(sheet: Sheet, said: dict[str, Any]) -> None:
    """Labels on the left of their values."""
    labels = {
        "registrant_name": "Name of Registrant", "registration_num": "Registration No.",
        "foreign_principle_name": "Name of Foreign Principal", "file_date": "Date",
        "signer_name": "Signed by", "signer_title": "Title",
    }  # fmt: skip
    _form(sheet, "Amendment to a Registration", said, labels, "%m/%d/%Y", below=False)


def short_form(sheet: Sheet, said: dict[str, Any]) -> None:
    """Numbered questions with their answers below."""
    labels = {
        "signer_name": "1. Name of signer", "registration_num": "2. Registration Number",
        "signer_title": "3. Title of signer", "registrant_name": "4. Registrant",
        "foreign_principle_name": "5. Foreign Principal", "file_date": "6. Filed on",
    }  # fmt: skip
    _form(sheet, "Short Form", said, labels, "%m/%d/%y", below=True)


def notice(sheet: Sheet, said: dict[str, Any]) -> None:
    """Labels on the left, dates written out, the number given twice."""
    labels = {
        "file_date": "Date", "foreign_principle_name": "Foreign Principal",
        "registrant_name": "Registrant", "registration_num": "Registration No.",
        "signer_title": "Title", "signer_name": "Signed by",
    }  # fmt: skip
    _form(sheet, "Notice of Dissemination", said, labels, "%B %d, %Y", below=False)
    sheet.put(400, 40, f"No. {said['registration_num']}", entity="registration_num")


Template = Callable[[Sheet, dict[str, Any]], None]
AD_BUY: dict[str, Template] = {"Invoice": invoice, "Contract": contract, "Summary": summary}
REGISTRATION: dict[str, Template] = {
    "Amendment": amendment, "Short-Form": short_form, "Notice": notice,
}  # fmt: skip
