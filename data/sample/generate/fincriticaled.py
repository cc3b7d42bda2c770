"""Write the sample pages: invented companies, ten pages of five document types, facts tagged.

Run from the project's root: ``python -m data.sample.generate.fincriticaled --out DIR``.
A page is HTML with tags (half of the pages in the paper's vocabulary, half in the release's) and
its picture, which Chromium draws. Needs a browser (``make browser``).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from formlab import browser, files
from formlab.benchmarks.ixbrl import fact_boxes
from formlab.errors import FormlabError

SEED = 7
# US letter at 150 dots an inch; CSS counts 96.
WIDTH, HEIGHT, ZOOM = 1275, 1650, 150 / 96
GREYS = 16
STYLE = """
html { zoom: %.4f } body { margin: 0.7in; font: 11pt/1.35 %s; color: #111; background: #fff }
table { border-collapse: collapse; width: 100%% } td, th { padding: 2px 6px; vertical-align: top }
th { text-align: right; border-bottom: 1px solid #111 } td.n { text-align: right }
th:first-child, td:first-child { text-align: left } tr.t td { border-top: 1px solid #111 }
.box td, .box th { border: 1px solid #555; text-align: left } h1, h2 { text-align: center }
h1 { font-size: 15pt; margin: 0 0 4px } h2 { font-size: 11.5pt; margin: 0 0 10px }
small { font-size: 8.5pt }
"""
SERIF, SANS = '"PT Serif", "DejaVu Serif", serif', '"Arimo", "DejaVu Sans", sans-serif'


class Tags:
    """Writes facts in one of the two vocabularies."""

    def __init__(self, *, paper: bool) -> None:
        self.number, self.date = ("Number", "Date") if paper else ("number", "temporal")
        self.paper = paper

    def n(self, text: str) -> str:
        return f"<{self.number}>{text}</{self.number}>"

    def t(self, text: str) -> str:
        return f"<{self.date}>{text}</{self.date}>"

    def usd(self, text: str) -> str:
        # The paper tags no monetary units.
        sign = "$" if self.paper else "<monetaryunit>$</monetaryunit>"
        return f"{sign}{self.n(text)}"

    def unit(self, text: str) -> str:
        return text if self.paper else f"<monetaryunit>{text}</monetaryunit>"

    def who(self, text: str) -> str:
        return text if self.paper else f"<reportingentity>{text}</reportingentity>"

    def what(self, text: str) -> str:
        return text if self.paper else f"<financialconcepts>{text}</financialconcepts>"


def amount(value: int) -> str:
    """As statements print it: a loss in brackets."""
    return f"({-value:,})" if value < 0 else f"{value:,}"


def table(
    rows: list[list[str]], head: list[str], *, box: bool = False, total: tuple[int, ...] = ()
) -> str:
    """An HTML table; the rows at the places `total` get a rule above them."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(
            f'<td class="n">{c}</td>' if at else f"<td>{c}</td>" for at, c in enumerate(row)
        )
        lines.append(f"<tr class={'t' if place in total else 'r'}>{cells}</tr>")
    return (
        f"<table{' class=box' if box else ''}>\n<tr>{top}</tr>\n" + "\n".join(lines) + "\n</table>"
    )


def income_statement(tag: Tags, draw: random.Random) -> str:
    """Three years of a company that made a loss in one of them."""
    years = ["2025", "2024", "2023"]
    sales = [draw.randrange(40_000, 60_000) for _ in years]
    costs = [draw.randrange(20_000, 30_000) for _ in years]
    other = [
        draw.randrange(9_000, 12_000),
        draw.randrange(9_000, 12_000),
        sales[2] - costs[2] + 1_304,
    ]
    net = [a - b - c for a, b, c in zip(sales, costs, other, strict=True)]
    lines = {
        "Net sales": sales,
        "Cost of sales": costs,
        "Operating expenses": other,
        "Net income (loss)": net,
    }
    rows = []
    for name, values in lines.items():
        first = name in ("Net sales", "Net income (loss)")
        cells = [tag.usd(amount(v)) if first else tag.n(amount(v)) for v in values]
        rows.append([tag.what(name), *cells])
    share = [f"{v / 8_150:.2f}" if v >= 0 else f"({-v / 8_150:.2f})" for v in net]
    rows.append(["Basic earnings (loss) per share", *map(tag.usd, share)])
    rows.append(["Diluted earnings (loss) per share", *map(tag.usd, share)])
    head = ["", *(tag.t(f"June 30, {year}") for year in years)]
    return (
        f"<h1>{tag.who('Harrow Lane Instruments, Inc.')}</h1><h2>CONSOLIDATED STATEMENTS OF "
        f"OPERATIONS<br>"
        f"(In {tag.unit('thousands')}, except per share amounts)</h2>"
        + table(rows, ["<small>Fiscal years ended</small>", *head[1:]], total=(3,))
        + f"<p>Sales in the year ended {tag.t('June 30, 2025')} changed by "
        f"{tag.n(f'{(sales[0] / sales[1] - 1) * 100:.1f}%')} against the year before.</p>"
    )


def balance_sheet(tag: Tags, draw: random.Random) -> str:
    """Assets, debt and equity that add up."""
    cash, owed, stock = ([draw.randrange(3_000, 30_000) for _ in range(2)] for _ in range(3))
    assets = [sum(parts) for parts in zip(cash, owed, stock, strict=True)]
    debt = [total * 2 // 5 for total in assets]
    equity = [a - b for a, b in zip(assets, debt, strict=True)]
    lines = {
        "Cash and cash equivalents": cash, "Accounts receivable, net": owed, "Inventories": stock,
        "Total assets": assets, "Long-term debt": debt, "Shareholders’ equity": equity,
        "Total liabilities and equity": assets,
    }  # fmt: skip
    rows = [[tag.what(name), *(tag.n(amount(v)) for v in values)] for name, values in lines.items()]
    return (
        f"<h1>{tag.who('Corvid &amp; Pell Holdings')}</h1><h2>CONDENSED BALANCE SHEETS "
        f"(Unaudited)<br>"
        f"{tag.unit('$')} in {tag.unit('millions')}</h2>"
        + table(rows, ["", tag.t("Mar. 29, 2025"), tag.t("Sep. 28, 2024")], total=(3, 6))
        + f"<p><small>Common stock, {tag.usd('0.00001')} par value: {tag.n('50,400,000')} shares "
        f"authorized; "
        f"{tag.n('14,939,315')} and {tag.n('15,116,786')} shares issued.</small></p>"
    )


def ownership(tag: Tags, draw: random.Random) -> str:
    """A form of an insider's trades, in boxes, with footnotes."""
    rows = []
    held = 61_386
    for place, code in enumerate("PSPG"):
        shares = draw.randrange(200, 9_000)
        held += -shares if code == "S" else shares
        price = f"{draw.uniform(20, 90):.2f}" if code != "G" else "0"
        rows.append([
            "Class A Common Stock", tag.t(f"02/{5 + place:02}/2025"), code, tag.n(f"{shares:,}"),
            "D" if code == "S" else "A", tag.usd(price), tag.n(f"{held:,}"),
            f"D <sup>({place + 1})</sup>",
        ])  # fmt: skip
    head = [
        "1. Title of Security",
        "2. Date",
        "3. Code",
        "4. Amount",
        "(A) or (D)",
        "Price",
        "5. Owned",
        "6. Form",
    ]
    return (
        f"<h1>FORM {tag.n('4')}-X</h1><h2>STATEMENT OF CHANGES IN BENEFICIAL OWNERSHIP</h2>"
        f"<p>Reporting person: {tag.who('OKONJO MARIS T')} &nbsp; Issuer: "
        f"{tag.who('Tarn Optics Corp.')} [ TARN ] &nbsp; "
        f"Earliest transaction: {tag.t('02/05/2025')}</p>"
        + table(rows, head, box=True)
        + f"<p><small>(1) Purchase prices range from {tag.usd('65.63')} to {tag.usd('66.59')} per "
        f"share, inclusive. "
        f"(2) Filed under Section {tag.n('16')}(a) of the Exchange Act of "
        f"{tag.t('1934')}.</small></p>"
    )


def current_report(tag: Tags, draw: random.Random) -> str:
    """A letter about an officer's pay."""
    base = [draw.randrange(600, 950) * 1_000 for _ in range(3)]
    people = [
        "A. Quist, Chief Executive Officer",
        "B. Rao, Chief Financial Officer",
        "C. Lund, Chief Customer Officer",
    ]
    rows = [
        [
            name,
            "—" if at == 1 else tag.usd(f"{value // 2:,}"),
            tag.usd(f"{value:,}"),
            tag.n(f"{80 + 15 * at}%"),
        ]
        for at, (name, value) in enumerate(zip(people, base, strict=True))
    ]
    return (
        f"<h1>FORM {tag.n('8')}-X &nbsp; CURRENT REPORT</h1><h2>Date of earliest event reported: "
        f"{tag.t('March 1, 2025')}</h2>"
        f"<p>On {tag.t('March 1, 2025')} the board of {tag.who('Bellweather Stores, Inc.')} "
        f"approved the salaries below, "
        f"effective {tag.t('April 6, 2025')}, and a retirement benefit over "
        f"{tag.t('18 months')}.</p>"
        + table(
            rows, ["Name and position", "One-time award", "Base salary", "Target bonus"], box=True
        )
        + f"<p>Telephone, including area code: (206) 555-0142. Of {tag.n('12')} directors, "
        f"{tag.n('11')} voted in favour.</p>"
    )


def tax_return(tag: Tags, draw: random.Random) -> str:
    """A charity's return with numbered lines."""
    names = [
        "Contributions and grants",
        "Program service revenue",
        "Investment income",
        "Other revenue",
    ]
    prior, now = ([draw.randrange(1_000, 400_000) for _ in names] for _ in range(2))
    now[2] = -now[2] // 9
    rows = [
        [f"{line} &nbsp; {tag.what(name)}", tag.n(amount(a)), tag.n(amount(b))]
        for line, name, a, b in zip((8, 9, 10, 11), names, prior, now, strict=True)
    ]
    rows.append(
        [
            f"12 &nbsp; {tag.what('Total revenue')}",
            tag.n(amount(sum(prior))),
            tag.n(amount(sum(now))),
        ]
    )
    return (
        f"<h1>Return of Organization Exempt From Income Tax</h1><h2>For the tax year beginning "
        f"{tag.t('07-01-2024')}, "
        f"and ending {tag.t('06-30-2025')}</h2><p>Name of organization: "
        f"{tag.who('Friends of the Ness Estuary')}<br>"
        f"Gross receipts: {tag.usd(amount(sum(map(abs, now))))}</p>"
        + table(rows, ["Revenue", "Prior Year", "Current Year"], box=True)
    )


def tax_schedule(tag: Tags, draw: random.Random) -> str:
    """Officers, hours and pay."""
    people = (
        "Ines Abara, President",
        "Tom Vale, Treasurer",
        "Ruth Sorn, Director",
        "Wei Hu, Director",
    )
    rows = [
        [
            tag.who(name.split(",")[0]) + name[name.index(",") :],
            tag.n(f"{draw.randrange(4, 90) / 2:.1f}"),
            tag.n(f"{draw.randrange(0, 2) * draw.randrange(20_000, 190_000):,}"),
            tag.n("0"),
        ]
        for name in people
    ]
    return (
        f"<h1>Schedule J-2</h1><h2>Compensation, calendar year {tag.t('2024')}</h2>"
        + table(rows, ["Name and title", "Hours per week", "Reportable pay", "Other pay"], box=True)
        + f"<p>Pay above {tag.usd('100,000')} went to {tag.n('1')} person; reviewed within "
        f"{tag.t('30 days')}.</p>"
    )


def trades(tag: Tags, draw: random.Random) -> str:
    """A broker's list of trades, some of the same amount."""
    rows = []
    for day in range(9):
        shares = draw.choice((100, 100, 250, 1_200))
        price = draw.randrange(1_000, 30_000) / 100
        side = draw.choice(("Bought", "Sold"))
        total = round(shares * price * (1 if side == "Sold" else -1))
        name = draw.choice(("ARLX 4.5% 2031", "Nuvo Rail", "Pell Gold"))
        figures = (f"{shares:,}", f"{price:.2f}", amount(total))
        rows.append([tag.t(f"2025-03-{day + 3:02}"), side, name, *map(tag.n, figures)])
    return (
        f"<h1>{tag.who('Stane Securities Ltd')}</h1><h2>Transactions {tag.t('March 3, 2025')} to "
        f"{tag.t('March 11, 2025')}"
        f"<br>Amounts in {tag.unit('EUR')}</h2>"
        + table(rows, ["Date", "Side", "Security", "Quantity", "Price", "Amount"])
        + f"<p>Commission {tag.n('0.125%')} with a minimum of {tag.unit('€')}{tag.n('7.50')} an "
        f"order.</p>"
    )


def payments(tag: Tags, draw: random.Random) -> str:
    """An account statement with a running balance."""
    balance = draw.randrange(200_000, 900_000)
    rows = []
    for day, name in enumerate(
        ("Opening", "Payroll", "Rent", "Customer 4410", "Tax", "Refund", "Interest")
    ):
        change = 0 if name == "Opening" else draw.randrange(-60_000, 60_000)
        balance += change
        rows.append(
            [
                tag.t(f"{day + 1:02}.04.2025"),
                name,
                tag.n(amount(change)) if change else "",
                tag.n(amount(balance)),
            ]
        )
    return (
        f"<h1>{tag.who('First Quay Bank')}</h1><h2>Account statement, {tag.t('Q2 2025')}, amounts "
        f"in {tag.unit('CHF')}</h2>"
        + table(rows, ["Date", "Text", "Movement", "Balance"])
        + f"<p>Interest at {tag.n('1 1/4')} per cent on balances above {tag.n('250,000')}.</p>"
    )


def credit_agreement(tag: Tags, draw: random.Random) -> str:
    """Clauses with amounts in the sentence."""
    size = draw.randrange(200, 900)
    return (
        f"<h1>CREDIT AGREEMENT</h1><h2>dated as of {tag.t('May 14, 2025')}</h2>"
        f"<p>SECTION 2.01. Each lender severally agrees to lend to "
        f"{tag.who('Moorgate Cement plc')} (the “Borrower”) an aggregate "
        f"{tag.what('principal amount')} of up to {tag.usd(f'{size},000,000')}, of which "
        f"{tag.usd('21,429,000')} is available for "
        f"letters of credit, until {tag.t('May 14, 2030')}.</p><p>SECTION 2.07. Borrowings bear "
        f"{tag.what('interest')} at the reference "
        f"rate plus {tag.n('1.375%')} per annum, rising to {tag.n('1.875%')} while the "
        f"{tag.what('leverage ratio')} exceeds "
        f"{tag.n('3.50')} to {tag.n('1.00')}. A default rate of {tag.n('2.00%')} applies after "
        f"{tag.t('five business days')}.</p>"
        f"<p>SECTION 6.11. The Borrower will not permit {tag.what('consolidated net worth')} to "
        f"be less than "
        f"{tag.usd(f'{size // 2},500,000')} {tag.unit('US dollars')}, nor pay dividends above "
        f"{tag.n('50%')} of net income "
        f"in any year ending after {tag.t('December 31, 2025')}.</p>"
    )


def indenture(tag: Tags, draw: random.Random) -> str:
    """Prose around a table of redemption prices."""
    rows = [[tag.t(str(2028 + at)), tag.n(f"{104 - 1.25 * at:.3f}%")] for at in range(4)]
    value = draw.randrange(3, 9) * 50
    return (
        f"<h1>{tag.who('Ardent Freight Finance B.V.')}</h1><h2>{tag.n('6.25%')} Senior Notes due "
        f"{tag.t('2033')}</h2>"
        f"<p>The notes are issued in denominations of {tag.unit('€')}{tag.n('100,000')}; "
        f"{tag.unit('€')}{tag.n(f'{value},000,000')} "
        f"are outstanding. On and after {tag.t('June 15, 2028')} they may be redeemed on "
        f"{tag.n('10')} to {tag.n('60')} days’ notice "
        f"at the prices below, in the twelve months from {tag.t('June 15')} of each year.</p>"
        + table(rows, ["Year", "Redemption price"])
        + f"<p>Upon a change of control the issuer offers {tag.n('101%')} of the "
        f"{tag.what('principal amount')}; "
        f"a fall of equity below {tag.n('(5,000,000)')} is an event of default.</p>"
    )


PAGES: tuple[tuple[str, Callable[[Tags, random.Random], str], bool], ...] = (
    ("financial statement", income_statement, False), ("financial statement", balance_sheet, False),
    ("supplemental report", ownership, False), ("supplemental report", current_report, True),
    ("tax form", tax_return, False), ("tax form", tax_schedule, True),
    ("transaction record", trades, False), ("transaction record", payments, True),
    ("legal document", credit_agreement, False), ("legal document", indenture, False),
)  # fmt: skip


def markup(number: int, seed: int) -> str:
    """The tagged HTML of page `number`."""
    _, build, paper = PAGES[number]
    style = STYLE % (ZOOM, SANS if number % 2 else SERIF)
    body = build(Tags(paper=paper), random.Random(f"{seed}/{number}"))
    return f"<html>\n<head><style>{style}</style></head>\n<body>\n{body}\n</body>\n</html>\n"


def write(out: Path, seed: int) -> None:
    """Write every page, its metadata and its picture below `out`."""
    with browser.page(size=(WIDTH, HEIGHT)) as visit:
        for number, (kind, _, _) in enumerate(PAGES):
            html = markup(number, seed)
            files.write_text(out / f"gold_{number}.txt", html)
            meta = {"document_type": kind, "made_by": "this project, invented data", "seed": seed}
            files.write_text(out / f"meta_{number}.json", json.dumps(meta) + "\n")
            # Browsers hide no unknown tag, but a table cell must not break at one.
            visit.page.set_content(re.sub(r"</?(?:Number|Date)>", "", html))
            with files.atomic(out / "images" / f"{number}.png") as part:
                visit.page.screenshot(path=part, type="png")
                with Image.open(part) as shot:
                    grey = shot.convert("L").quantize(GREYS)
                grey.save(part, format="PNG", optimize=True)
            visit.page.set_content(html)
            files.write_text(
                out / "images" / f"{number}.json", json.dumps(fact_boxes(visit.page)) + "\n"
            )


def main() -> int:
    """Write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    try:
        write(given.out, given.seed)
    except FormlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
