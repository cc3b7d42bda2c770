import random

import pytest

from formlab.benchmarks.fincriticaled import FACTS, tagged
from formlab.metrics.facts import locate, match_facts
from formlab.metrics.places import Places
from formlab.text.markup import Flow, read, written_events
from tests.seeds import ALL


def verdicts(gold, pred):
    events = written_events(gold)
    places = Places(Flow(events, tags=FACTS))
    wanted = [locate(places, f["kind"], f["value"], f["mark"]) for f in tagged(events)]
    return match_facts(places, wanted, Places(read(pred)))


def letters(gold, pred):
    """What became of each fact: c correct, m misplaced, f found and wrong, - missing."""
    return "".join(
        "c" if v.correct else "m" if v.misplaced else "f" if v.found else "-"
        for v in verdicts(gold, pred)
    )


def table(*rows, tag=True):
    def cell(value):
        number = tag and value[0] in "(-0123456789"
        return f"<td><number>{value}</number></td>" if number else f"<td>{value}</td>"

    return "<table>" + "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows) + "</table>"


CASH = table(("Cash", "1,210"), ("Debt", "5,430"), ("Rent", "7,777"))
BASIC = table(("Basic", "1,500"), ("Diluted", "1,500"))
GAINS = table(("Net income", "1,210"), ("Gains included in net income", "5,430"))
YEARS = "<table><tr><th><th>{}<th>{}<tr><td>Cash<td>{}<td>{}</table>"
TAGGED = YEARS.format(2025, 2024, "<number>1,210</number>", "<number>5,430</number>")
SALES = table(("Net sales", "95,359", "90,753"), ("Cost of sales", "(50,492)", "48,482"))


@pytest.mark.parametrize(
    ("gold", "pred", "outcome"),
    [
        # Signs, separators, decimals and dates must be kept.
        ("Net sales <number>4,310</number>", "Net sales 4,310", "c"),
        ("Net sales <number>4,310</number>", "Net sales 4310", "f"),
        ("Net sales <number>4,310</number>", "Net sales 4.310", "f"),
        ("Net sales <number>4,310</number>", "Net sales 4,319", "f"),
        ("Net sales <number>4,310</number>", "Net sales 14,310", "f"),
        ("Loss <number>(1,200)</number>", "Loss 1,200", "f"),
        ("Loss <number>(1,200)</number>", "Loss -1,200", "f"),
        ("Loss (<number>1,200</number>)", "Loss 1,200", "f"),
        ("Loss (<number>1,200</number>)", "Loss ( 1,200 )", "c"),
        ("Rate <number>-2.3</number> now", "Rate 2.3 now", "f"),
        ("Rate -<number>2.3</number> now", "Rate −2.3 now", "c"),
        ("Rate <number>0.50</number>", "Rate 0.5", "f"),
        ("On <date>March 24, 2025</date> we", "On March 24, 2025 we", "c"),
        ("On <date>March 24, 2025</date> we", "On March 24, 2026 we", "f"),
        ("On <date>March 24, 2025</date> we", "On March24,2025 we", "c"),
        ("Pages <number>5</number> in all", "Pages 2015 in all", "-"),
        ("Pages <number>20</number> in all", "Pages 12,015 and 120", "-"),
        ("Owned <number>10%</number> by", "XDirectorOwned10%by", "c"),
        ("By <reportingentity>Henry Schein</reportingentity> of", "By HenrySchein of", "c"),
        # Each value is on the page, under the other label.
        (CASH, table(("Cash", "5,430"), ("Debt", "1,210"), ("Rent", "7,777")), "mmc"),
        (CASH, "Debt 1,210\nCash 5,430\nRent 7,777", "mmc"),
        # Rows in another order, with their labels.
        (CASH, table(("Rent", "7,777"), ("Cash", "1,210"), ("Debt", "5,430")), "ccc"),
        (CASH, "", "---"),
        # Columns that change places are wrong unless their heads do too.
        (TAGGED, YEARS.format(2025, 2024, "5,430", "1,210"), "mm"),
        (TAGGED, YEARS.format(2024, 2025, "5,430", "1,210"), "cc"),
        # A label broken over two lines is still itself, also where its end is another label.
        (GAINS, "Net income 1,210\nGains included in\nnet income 5,430", "cc"),
        (GAINS, "Net income 5,430\nGains included in\nnet income 1,210", "mm"),
        # Two facts of one value need two places.
        (BASIC, "Basic 1,500\nDiluted", "c-"),
        # The 1,210 of Debt is not tagged, but it is what stands in the prediction's row Debt.
        (table(("Cash", "1,210")) + table(("Debt", "1,210"), tag=False), "Cash\nDebt 1,210", "-"),
        # One page as HTML, Markdown, rows and lines.
        (SALES, SALES, "cccc"),
        (SALES, "| Net sales | 95,359 | 90,753 |\n| Cost of sales | (50,492) | 48,482 |", "cccc"),
        (SALES, "Net sales 95,359 90,753\nCost of sales (50,492) 48,482", "cccc"),
        (SALES, "Net sales\n\n95,359\n\n90,753\n\nCost of sales\n\n(50,492)\n\n48,482", "cccc"),
    ],
)
def test_what_became_of_facts_is_told_by_value_and_place(gold, pred, outcome):
    assert letters(gold, pred) == outcome


def test_a_prediction_of_5_megabytes_of_one_number_is_judged():
    gold = table(*((f"Row {name}", "1") for name in "abcdefghij"))
    assert len(verdicts(gold, "1 " * 100_000 + "x" * 4_800_000)) == 10


def test_pages_against_themselves_are_all_right(shared):
    for file in sorted((shared / "golden" / "fincriticaled" / "gold").glob("*.txt")):
        page = file.read_text()
        assert all(v.correct for v in verdicts(page, page)), file.name


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        # Two rows' values swapped, one misread letter in each label.
        ("Cashh 5,430\nDbt 1,210", "mm"),
        (table(("Cashh", "5,430"), ("Dbt", "1,210"), tag=False), "mm"),
        # The labels are misread, the values are in their rows.
        ("Cashh 1,210\nDbt 5,430", "cc"),
        # No labels at all: the order of the rows decides.
        ("1,210\n5,430", "cc"),
        ("5,430\n1,210", "mm"),
        (table(("", "5,430"), ("", "1,210"), tag=False), "mm"),
        # A value that stands behind those of another row.
        ("Cash 1,210 5,430\nDebt", "cm"),
        (table(("Cash", "1,210", "5,430"), ("Debt", ""), tag=False), "cm"),
        ("Cash\n1,210\n5,430\nDebt", "cm"),
        # One label is lost: its row stands where it stood.
        ("1,210\nDebt 5,430", "cc"),
        ("Cash 1,210\n5,430", "cc"),
        ("Cash 5,430\n1,210", "mm"),
        # Rows written as columns.
        ("| Cash | Debt |\n|---|---|\n| 1,210 | 5,430 |", "cc"),
        ("| Cash | Debt |\n|---|---|\n| 5,430 | 1,210 |", "mm"),
    ],
)
def test_a_fact_is_judged_in_its_own_row(pred, expected):
    assert letters(table(("Cash", "1,210"), ("Debt", "5,430")), pred) == expected


def test_rows_are_known_by_labels_that_lost_words_or_were_given_some():
    gold = table(("Net sales of goods", "1,210"), ("Income tax expense", "5,430"))
    short, long = ("Net sales", "Income tax"), ("Net sales of goods sold", "The income tax expense")
    for one, other in (short, long, ("of goods", "expense")):
        assert letters(gold, f"{one}: 1,210\n{other}: 5,430") == "cc"
        assert letters(gold, f"{one}: 5,430\n{other}: 1,210") == "mm"
        assert letters(gold, f"{other}: 5,430\n{one}: 1,210") == "cc"


@pytest.mark.parametrize("between", [" and ", ", ", "\n", "  "])
def test_dates_in_another_order_are_all_found(between):
    dates = ["March 24, 2025", "June 30, 2024", "May 1, 2026", "12/31/2023"]
    gold = "<p>Due " + between.join(f"<date>{date}</date>" for date in dates) + "</p>"
    draw = random.Random(3)
    for _ in range(20):
        draw.shuffle(dates)
        assert "-" not in letters(gold, "Due " + between.join(dates))


def misread(draw, label):
    """One letter of a label replaced, added or lost."""
    at = draw.choice([place for place, letter in enumerate(label) if letter != " "])
    new = draw.choice("abcdefghijklmnopqrstuvwxyz")
    return label[:at] + draw.choice([new, new + label[at], ""]) + label[at + 1 :]


def written(rows, form):
    if form == "html":
        return table(*rows, tag=False)
    if form == "bars":
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if form == "lines":
        return "\n".join("  ".join(filter(None, row)) for row in rows)
    return "\n".join(cell for row in rows for cell in row if cell)


@pytest.mark.parametrize("plant", ["nothing", "swapped rows", "moved value"])
@pytest.mark.parametrize("labels", ["as they are", "misread", "some lost", "all lost"])
def test_what_was_planted_in_a_table_is_found_and_nothing_else(plant, labels):
    draw = random.Random(f"{plant}{labels}")
    # A cell a line leaves no rows: the page itself does not say where one ends.
    forms = ["html", "bars", "lines"] + ["cells"] * (plant != "moved value")
    words = ["cash", "debt", "rent", "taxes", "costs", "sales", "fees", "losses", "gains", "assets",
             "equity", "margin", "income", "interest", "goodwill", "inventory"]  # fmt: skip
    for number in range(240 if ALL else 80):
        form = forms[number % len(forms)]
        count, columns = draw.randrange(3, 9), draw.randrange(1, 4)
        if plant == "moved value":
            # A row that has lost its only value is no row any more where its label is lost too.
            columns += 1
        names = draw.sample(words, 2 * count)
        values = [f"{n:,}" for n in draw.sample(range(1_000, 900_000), count * columns)]
        gold = [
            [f"{names[row]} {names[row + count]}", *values[row * columns : (row + 1) * columns]]
            for row in range(count)
        ]
        pred = [list(row) for row in gold]
        one, other = draw.sample(range(count), 2)
        planted = set()
        if plant == "swapped rows":
            pred[one][1:], pred[other][1:] = pred[other][1:], pred[one][1:]
            planted = {*gold[one][1:], *gold[other][1:]}
        if plant == "moved value":
            planted = {pred[one].pop(draw.randrange(1, columns + 1))}
            pred[other] += planted
        for row in pred:
            if labels == "misread":
                row[0] = misread(draw, row[0])
            elif labels == "all lost" or (labels == "some lost" and draw.random() < 0.3):
                row[0] = ""
        said = dict(zip(values, verdicts(table(*gold), written(pred, form)), strict=True))
        assert {v for v, verdict in said.items() if not verdict.correct} == planted, (gold, pred)
        assert {v for v, verdict in said.items() if verdict.misplaced} == planted, (gold, pred)
