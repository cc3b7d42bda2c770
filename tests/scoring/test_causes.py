import json
import random
import re
from pathlib import Path

import polars as pl
import pytest

import formlab
from formlab import tables
from formlab.scoring.align import judged
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, cause, causes
from formlab.tables import BOX
from tests.real_data import SHARED

LABELLED = SHARED / "golden" / "causes.jsonl"
DOCS = Path(__file__).parents[2] / "docs" / "causes.md"


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        # The audit's examples of causes that were wrong.
        ("@ 3.00", "@300", "lost_separator"),
        ("27/03/2018", "2703/2018", "lost_separator"),
        ("ADDRESS:", "ADDRESS", "punctuation"),
        ("25.63%", "25.63", "unit"),
        ("13.0 %", "13.0.8", "characters"),
        ("Form F6. Hand in within 30 days.", "Form Hand", "clipped"),
        ("☑", "x", "notation"),
        # A value's type goes before its characters.
        ("(1,200)", "1,200", "sign"),
        ("-12.50", "12.50", "sign"),
        ("1,200", "1200", "number_format"),
        ("Total 1,200 kept", "Total 1200 kept", "number_format"),
        ("3.0", "3.00", "number_format"),
        ("1,200,000", "1,200", "scale"),
        ("1,279", "12.79", "scale"),
        ("$5.00", "€5.00", "unit"),
        ("5.00 RM", "5.00", "unit"),
        ("5 kg", "5", "unit"),
        ("2020-05-07", "May 7, 2020", "date_format"),
        ("4/14/99", "4-14-99", "date_format"),
        ("Nov 5, 1992", "Nov. 5 1992", "punctuation"),
        ("05/07/2020", "07/05/2020", "date_order"),
        # The point is lost, which also makes the number greater: what was done goes first.
        ("12.50", "1250", "lost_separator"),
        # Of two only the answer is a date, so the gold has lost what makes it one.
        ("9 /30 00", "9/30/00", "label_error"),
        # Punctuation and space are not lost separators where no digits meet.
        ("P. O. Box 59. Boston", "P.O. Box 59, Boston", "punctuation"),
        ("201, 500", "201,500", "space"),
        ("O’Brien", "O'Brien", "punctuation"),
        ("Peter Mckenna", "Peter McKenna", "case"),
        ("TAX :", "Tax:", "space"),
        ("1,200", "1,201", "digit"),
        ("AB-12", "AB-17", "digit"),
        ("Jul 1, 2022", "Jul 2, 2022", "digit"),
        ("01/17/97", "01/21/197", "digit"),
        ("#77219", "#7219", "digit"),
        ("1818", "18", "clipped"),
        ("café", "cafe", "diacritic"),
        ("½", "1/2", "notation"),
        ("salt & pepper", "salt and pepper", "notation"),
        ("☐ Other", "Other", "notation"),
        ("☑ Yes", "X Yes", "notation"),
        ("☑", "☐", "characters"),
        ("Ada Berg", "Ada", "clipped"),
        ("Ada", "Ada Berg", "merged"),
        ("October 27", "DATEOctober 27", "merged"),
        ("modern", "modem", "lookalike"),
        ("Illinois", "lllin0is", "lookalike"),
        ("(B)", "(8)", "lookalike"),
        ("S 6%", "S 68", "characters"),
        ("Ada", "Bert Voss", "characters"),
        # Scattered letters of a text are no part of it.
        ("RECORDS RETENTION SCHEDULE", "R R S", "characters"),
        ("ЯБЛОКО", "ЯБЛ0КО", "lookalike"),
        ("Ada", " ", "missed"),
        ("", "Ada", "spurious"),
    ],
)
def test_cause_of_a_pair(gold, pred, expected):
    assert cause(gold, pred) == expected


def test_right_value_that_is_written_otherwise_says_how_and_nothing_worse():
    assert cause("2022-07-01", "Jul 1, 2022", right=True) == "date_format"
    assert cause("12 North Main Street", "12 N Main St", right=True) == "notation"
    assert cause("9 /30 00", "9/30/00", right=True) == "punctuation"


def test_every_cause_has_one_stage_and_one_sentence_on_what_to_try():
    assert len(set(CAUSES)) == len(CAUSES) == sum(map(len, STAGES.values()))
    assert set(WHAT_TO_TRY) == set(STAGE_OF) == set(CAUSES)
    assert all(said[0].isupper() and said.endswith(".") for said in WHAT_TO_TRY.values())


# Corruptions: each takes a random generator and gives a clean value and what was done to it.
# Words have no letters that look alike, so that a letter swapped is never a look-alike by chance.
WORDS = ("Paymway", "Hazard", "Summary", "Kentucky", "Western", "Harvest", "Sandwich", "Number")
ALIKE = {"o": "0", "O": "0", "l": "1", "I": "1", "S": "5", "B": "8", "m": "rn", "Z": "2"}
PLAIN = ("Boston", "Ollie", "Solemn", "IBM Zoom", "Simon", "Motel", "Lemon", "Insider")


def _words(draw, least=2, most=5):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def _amount(draw):
    return f"{draw.randint(1_000, 999_999):,}.{draw.randint(10, 99)}"


def _day(draw):
    # Days beyond 12 leave one reading only.
    return draw.randint(1, 12), draw.randint(13, 28), draw.randint(1980, 2030)


def _lookalike(draw):
    gold = draw.choice(PLAIN) + " " + _words(draw, 1, 2)
    letter = draw.choice([char for char in gold if char in ALIKE])
    return gold, gold.replace(letter, ALIKE[letter], 1)


def _space(draw):
    gold = _words(draw)
    places = [n for n, char in enumerate(gold) if char == " "]
    cut = draw.choice(places)
    return draw.choice([(gold, gold[:cut] + gold[cut + 1 :]), (gold, gold[:3] + " " + gold[3:])])


def _lost_separator(draw):
    month, day, year = _day(draw)
    gold = draw.choice([f"{day}/{month:02}/{year}", f"@ {day}.{month + 10}", f"07-{year}-{day}"])
    places = [n for n, char in enumerate(gold) if char in "/.-"]
    cut = draw.choice(places)
    return gold, gold[:cut] + gold[cut + 1 :]


def _digit(draw):
    gold = draw.choice([_amount(draw), f"No. {draw.randint(10_000, 99_999)}", "{}/{}/{}"])
    gold = gold.format(*_day(draw))
    # Without zeros no digit is a change of scale; the first stays, for it may become one.
    place = draw.choice([n for n, char in enumerate(gold) if char.isdigit()][1:])
    other = draw.choice([digit for digit in "123456789" if digit != gold[place]])
    return gold, gold[:place] + other + gold[place + 1 :]


def _diacritic(draw):
    gold = draw.choice(("José", "Zürich", "façade", "Ångström", "naïve")) + " " + _words(draw, 1, 2)
    pairs = zip("éüçÅöï", "eucAoi", strict=True)
    return gold, gold.translate({ord(one): other for one, other in pairs})


def _characters(draw):
    gold = _words(draw, 1, 2)
    place = draw.choice([n for n, char in enumerate(gold) if n and char != " "])
    # Nothing looks like these.
    return gold, gold[:place] + draw.choice("¥§ж") + gold[place + 1 :]


def _date_format(draw):
    month, day, year = _day(draw)
    name = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    forms = [
        f"{year}-{month:02}-{day:02}", f"{month}/{day}/{year}", f"{name[month - 1]} {day}, {year}",
        f"{day}.{month}.{year}",
    ]  # fmt: skip
    return tuple(draw.sample(forms, 2))


def _scale(draw):
    gold = draw.randint(11, 9_999)
    return f"{gold:,}", f"{gold * 10 ** draw.randint(2, 6):,}"


def _date_order(draw):
    day, month = draw.sample(range(1, 13), 2)
    year = draw.randint(1980, 2030)
    return f"{day:02}/{month:02}/{year}", f"{month:02}/{day:02}/{year}"


def _clipped(draw):
    gold = _words(draw, 2, 6)
    words = gold.split()
    kept = draw.choice([words[1:], words[:-1]])
    return draw.choice([(gold, " ".join(kept)), (gold, gold[2:]), (gold, gold[:-3])])


# A clean value, and the ways to write it otherwise.
VARIANTS = {
    "case": (_words, lambda v: [(v, v.upper()), (v, v.lower()), (v, v.swapcase())]),
    "punctuation": (_words, lambda v: [(v + ":", v), (v, v + "."), (v, v.replace(" ", ", ", 1))]),
    "number_format": (_amount, lambda v: [(v, v.replace(",", "")), (v, v + "0")]),
    "unit": (_amount, lambda v: [(v + "%", v), ("$" + v, v), (v, v + " kg"), ("€" + v, "$" + v)]),
    "sign": (_amount, lambda v: [(f"({v})", v), (f"-{v}", v), (v, f"-{v}")]),
    "notation": (_words, lambda v: [("☑", "x"), ("☐", "□"), (f"☐ {v}", v), (f"☒ {v}", f"x {v}"),
                                    (f"{v} & {v}", f"{v} and {v}")]),
    "merged": (lambda draw: _words(draw, 1, 3),
               lambda v: [(v, f"{v} Quickly"), (v, f"DATE{v}"), (v, f"Number 17 {v}")]),
}  # fmt: skip
CORRUPTIONS = {
    "lookalike": _lookalike, "space": _space, "lost_separator": _lost_separator, "digit": _digit,
    "diacritic": _diacritic, "characters": _characters, "date_format": _date_format,
    "scale": _scale, "date_order": _date_order, "clipped": _clipped,
}  # fmt: skip
CORRUPTIONS |= {
    name: lambda draw, make=make, pairs=pairs: draw.choice(pairs(make(draw)))
    for name, (make, pairs) in VARIANTS.items()
}
DRAWN = 1_500


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_was_done_to_a_clean_value_is_named(name):
    draw = random.Random(name)
    pairs = [CORRUPTIONS[name](draw) for _ in range(DRAWN)]
    found = [(cause(*pair), pair) for pair in pairs]
    wrong = [one for one in found if one[0] != name]
    assert len(wrong) <= DRAWN / 100, wrong[:10]


def test_every_pair_has_one_known_cause_whatever_it_holds():
    generator = random.Random(0)
    alphabet = "aB0O1lI5S$-.,()/ é\u202e\x00<>☑%\u0301"
    for _ in range(3000):
        gold, pred = ("".join(generator.choices(alphabet, k=generator.randint(1, 9))) for _ in "gp")
        assert cause(gold, pred, right=generator.random() < 0.2) in CAUSES


@pytest.mark.parametrize(
    "char", ["a", "1", "1,", "\u0301a", "☑", "(", " ", "a ", "[x]", "9/", "\U0001f600"]
)
def test_hostile_long_texts_have_a_cause(char):
    gold, pred = char * 200_000, "b" + char * 199_000
    assert cause(gold, pred) in CAUSES
    assert cause("short", pred) in CAUSES
    assert cause(char * 700, "7" + char * 600) in CAUSES


def case(**changes):
    base = {
        "benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "text", "path": "/a",
        "gold": "x", "pred": "y", "status": "ok", "outcome": "mismatch", "exact": False,
        "typed": False,
    }  # fmt: skip
    return base | changes


def found(*rows):
    return causes(tables.table("cases", [case(**row) for row in rows]))


def test_what_became_of_the_answer_goes_before_what_it_says():
    assert found(
        {"status": "bad_json", "outcome": "missing", "path": "/1"},
        {"status": "missing", "outcome": "missing", "path": "/2"},
        {"outcome": "spurious", "path": "/3", "gold": None},
        {"outcome": "unscored", "path": "/4"},
        {"exact": True, "outcome": "match", "path": "/5"},
        {"path": None},
    ) == ["bad_json", "missed", "hallucinated", None, None, None]


def test_document_without_any_answer_is_told_from_a_field_without_one():
    nothing = {"status": "missing", "outcome": "missing", "pred": None}
    assert found(nothing, nothing | {"path": "/b"}) == ["missing_document"] * 2
    assert found(nothing, {"path": "/b", "exact": True, "outcome": "match"})[0] == "missed"


def test_missing_value_that_stands_elsewhere_in_the_output_is_not_missed():
    missing = {"gold": "October", "pred": "", "outcome": "missing"}
    # Another field has it: in its place, as another row, or stuck to its own text.
    assert found(missing, {"path": "/b", "gold": "May", "pred": "October"})[0] == "wrong_field"
    rows = ({"path": "/i/0/m"} | missing, {"path": "/i/1/m", "gold": "May", "pred": "October"})
    assert found(*rows)[0] == "wrong_row"
    assert found(missing, {"path": "/b", "gold": "Date", "pred": "DateOctober"})[0] == "clipped"
    # The page's text has it, and no field.
    page = {"path": None, "gold": "Date October", "pred": "Date October", "exact": True}
    assert found(missing, page)[0] == "wrong_field"
    # Another reading rule finds it here, misread and stuck to a neighbour's token.
    assert found(missing | {"readings": ["", "0ctober"]})[0] == "clipped"
    assert found(missing | {"readings": ["", "Date"]})[0] == "missed"
    # Another field's own gold is no sign of it.
    own = {"path": "/b", "gold": "October", "pred": "October", "exact": True, "outcome": "match"}
    assert found(missing, own, page)[0] == "missed"


def test_value_of_another_field_and_of_another_row_are_told_apart():
    rows = [
        {"path": "/items/0/price", "gold": "three", "pred": "7.50"},
        {"path": "/items/1/price", "gold": "7.50", "pred": "7.50", "exact": True},
        {"path": "/name", "gold": "Ada Berg", "pred": "Ada Berg", "exact": True},
    ]
    assert found(*rows)[0] == "wrong_row"
    assert found(rows[0] | {"pred": "Ada Berg"}, *rows[1:])[0] == "wrong_field"
    # Fields of all kinds in one list are no rows.
    listed = [
        row | {"path": f"/entities/{n}", "kind": kind}
        for n, (row, kind) in enumerate(zip(rows, ("answer", "answer", "question"), strict=True))
    ]
    assert found(*listed)[0] == "wrong_field"


def test_field_whose_value_reads_like_another_documents_is_no_wrong_field():
    other = {"doc_id": "2", "gold": "seven", "pred": "seven", "exact": True, "outcome": "match"}
    assert found({"pred": "seven"}, other)[0] == "characters"


def test_value_that_no_gold_asks_for_stands_on_the_page_or_is_made_up():
    page = {"path": None, "gold": "Paid by cheque", "pred": "", "outcome": "missing"}
    extra = {"path": "/x", "gold": None, "outcome": "spurious"}
    assert found(extra | {"pred": "cheque"}, page)[0] == "spurious"
    assert found(extra | {"pred": "credit card"}, page)[0] == "hallucinated"
    # A claim without a value misses nothing.
    assert found(extra | {"pred": ""}, page)[0] == "spurious"
    # Without the page's text nobody can tell.
    assert found(extra | {"pred": "credit card"})[0] == "spurious"


def boxed(gold, pred, box, read):
    sides = dict(zip(BOX, box, strict=True))
    return {"gold": gold, "pred": pred} | sides | {
        f"pred_{side}": value for side, value in zip(BOX, read, strict=True)
    }  # fmt: skip


def test_text_in_the_fields_own_box_that_no_other_field_has_speaks_against_the_label():
    box, wide = (100, 100, 200, 120), (100, 100, 300, 120)
    blank = boxed("", "3", box, (110, 102, 118, 118)) | {"outcome": "spurious"}
    assert found(blank)[0] == "label_error"
    # Read far outside of the box, or a scribble that is no word.
    assert found(boxed("", "3", box, (10, 2, 18, 18)) | {"outcome": "spurious"})[0] != "label_error"
    assert found(blank | {"pred": "Gltobe"})[0] == "spurious"
    # A date or a code is a figure too; what was read under the box stands there, if a bit beside.
    assert found(blank | {"pred": "12/09/99 11:09"})[0] == "label_error"
    aside = boxed("", "R-1:", box, (110, 102, 260, 118)) | {"outcome": "spurious"}
    assert found(aside | {"readings": ["R-1:", "R-1"]})[0] == "label_error"
    # A field that has the same letters, spaced otherwise, does not lack the figure.
    split = {"path": "/b", "gold": "1/ 3", "pred": "1/3"}
    assert found(blank, split)[0] == "label_error"
    assert found(blank, split | {"pred": "1/"})[0] == "spurious"
    # Words too many in the box: the page has them, if no neighbour does.
    more = boxed("DIVISION:", "DIVISION NAME:", box, (101, 101, 199, 119))
    known = {"doc_id": "2", "gold": "COMPANY NAME", "pred": "COMPANY NAME", "exact": True}
    assert found(more, known)[0] == "label_error"
    # What the corpus never has may be a scribble, or the reader's own.
    assert found(more)[0] == "merged"
    beside = boxed("NAME", "NAME", (205, 100, 260, 120), (205, 100, 260, 120))
    assert found(more, beside | {"path": "/b", "exact": True, "outcome": "match"})[0] == "merged"
    assert found(boxed("DIVISION:", "DIVISION NAME:", box, wide))[0] == "merged"


def test_words_of_the_corpus_speak_for_the_answer_or_for_the_gold():
    others = [
        {"doc_id": str(n), "gold": "please order the goods", "pred": "", "outcome": "missing"}
        for n in range(2, 4)
    ]
    slip = {"gold": "please oxder it", "pred": "please order it"}
    assert found(slip, *others)[0] == "label_error"
    assert found({"gold": slip["pred"], "pred": slip["gold"]}, *others)[0] == "characters"
    options = [{"gold": "Yes", "pred": "No", "kind": kind} for kind in ("checkbox", "string")]
    assert [found(row)[0] for row in options] == ["other_value", "characters"]
    # Figures are no words: a letter read as one is no slip of the gold.
    assert found({"gold": "B8-15", "pred": "88-15"}, *others)[0] == "lookalike"
    # A name that the document repeats is no slip, but one beside a word of very many documents is.
    twice = {"path": "/b", "gold": "Mr. Oxder", "pred": "Mr. Oxder", "exact": True}
    name = {"gold": "oxder it", "pred": "order it"}
    assert found(name | {"gold": "Oxder it"}, twice, *others)[0] == "characters"
    many = [others[0] | {"doc_id": f"9{n}"} for n in range(9)]
    assert found(name | {"gold": "Oxder it"}, twice, *many)[0] == "label_error"


def test_values_that_depend_on_the_order_of_day_and_month_are_named():
    row = {"gold": "2020-05-07", "pred": "07/05/2020", "ambiguous": True}
    assert found(row) == ["date_order"]


def test_accepted_value_tells_how_a_right_one_is_written():
    row = {"gold": "Yes", "pred": "AFFIRMATIVE", "typed": True, "outcome": "match"}
    assert found(row | {"accepted": ["affirmative"]}) == ["case"]


def test_tens_of_thousands_of_wrong_fields_have_a_cause_each():
    draw = random.Random(0)
    makers = list(CORRUPTIONS.values())
    rows = []
    for number in range(30_000):
        gold, pred = makers[number % len(makers)](draw)
        rows.append(case(doc_id=str(number // 50), path=f"/f/{number % 50}", gold=gold, pred=pred))
    cases = tables.table("cases", rows)
    assert None not in causes(cases)


def test_each_of_very_many_missing_values_of_one_document_has_a_cause():
    rows = [
        case(path=f"/f/{n}", gold=f"value {n}", pred="" if n % 2 else f"wrong {n} noise",
             outcome="missing" if n % 2 else "mismatch")
        for n in range(20_000)
    ]  # fmt: skip
    assert None not in causes(tables.table("cases", rows))


def labelled():
    return [json.loads(line) for line in LABELLED.read_text().splitlines()]


def in_context(benchmark, split, rows):
    """The causes of labelled errors among their corpus's gold, read by the centres of words.

    What was read so lies in the field's box; of the other fields nothing is known but their gold.
    """
    corpus = formlab.load(benchmark, split=split, root=SHARED / "data" / benchmark)
    said = pl.DataFrame([{key: row[key] for key in ("doc_id", "path", "pred")} for row in rows])
    gold = corpus.records.filter(pl.col("task") == "text", pl.col("status") == "ok")
    gold = gold.select("benchmark", "split", "doc_id", "task", "path", "kind", *BOX, gold="value")
    joined = gold.join(said, on=["doc_id", "path"], how="left").with_columns(
        # What else the page's text had is not in the file.
        pl.when(pl.col("path").is_not_null()).then(pl.coalesce("pred", "gold")).alias("pred"),
        *(pl.col(side).alias(f"pred_{side}") for side in BOX),
        status=pl.lit("ok"),
    )
    cases = judged(joined, system="ocr", threshold=0.8).join(
        said.select("doc_id", "path"), on=["doc_id", "path"]
    )
    return {(row["doc_id"], row["path"]): row["cause"] for row in cases.to_dicts()}


@pytest.fixture(scope="module")
def judgements(shared):
    return judged_by_eye()


def judged_by_eye():
    """The labelled errors with the causes found from the pair alone and in their corpus."""
    rows, known = labelled(), {}
    for benchmark, split in sorted({(row["benchmark"], row["split"]) for row in rows}):
        part = [row for row in rows if row["benchmark"] == benchmark]
        places = in_context(benchmark, split, part)
        known |= {(benchmark, *key): value for key, value in places.items()}
    return [
        row | {
            "alone": cause(row["gold"], row["pred"]),
            "found": known[row["benchmark"], row["doc_id"], row["path"]],
        }
        for row in rows
    ]  # fmt: skip


def agreement(rows, which):
    return sum(row[which] == row["cause"] for row in rows), len(rows)


def test_causes_agree_with_those_that_people_gave(judgements):
    sure = [row for row in judgements if row["sure"]]
    right, count = agreement(sure, "found")
    assert count == 62
    assert right >= 0.9 * count, [row for row in sure if row["found"] != row["cause"]]
    # No benchmark carries the other.
    for benchmark in ("funsd", "sroie"):
        right, count = agreement([r for r in sure if r["benchmark"] == benchmark], "found")
        assert right >= 0.9 * count


def test_page_of_causes_has_the_table_as_measured(judgements):
    assert figures(judgements) in DOCS.read_text()


def test_page_of_causes_lists_every_cause_under_its_stage_and_its_examples_are_right():
    text = DOCS.read_text()
    listed = re.findall(r"^\| (?:`|\*\*)(\w+)(?:`|\*\*) \|", text, re.MULTILINE)
    assert listed == [name for stage, names in STAGES.items() for name in (stage, *names)]
    examples = re.findall(r"^\| `(\w+)` \|.* `(.+)` → `(.+)` \|$", text, re.MULTILINE)
    assert [cause(gold, pred) for _, gold, pred in examples] == [name for name, *_ in examples]


def figures(judgements):
    """The part of the page that is measured, as Markdown."""
    sure = [row for row in judgements if row["sure"]]
    lines = ["| errors | from the pair alone | with document and corpus |", "|---|---|---|"]
    parts = {"FUNSD test": "funsd", "SROIE train": "sroie"}
    groups = {title: [r for r in sure if r["benchmark"] == name] for title, name in parts.items()}
    groups |= {"both": sure}
    for title, rows in groups.items():
        (alone, count), (whole, _) = agreement(rows, "alone"), agreement(rows, "found")
        lines.append(f"| {title} | {alone} of {count} | {whole} of {count} |")
    return "\n".join(lines)
