import random

import polars as pl
import pytest

from formlab import tables, text
from formlab.scoring.align import judged
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, cause, causes
from formlab.tables import BOX
from tests.seeds import ALL

PAIRS = [
    # What was done goes first: the lost point also makes the number greater.
    ("lost_separator", [("@ 3.00", "@300"), ("27/03/2018", "2703/2018"), ("12.50", "1250")]),
    (
        "number_format",
        [("1,200", "1200"), ("Total 1,200 kept", "Total 1200 kept"), ("3.0", "3.00")],
    ),
    # A value's type goes before its characters.
    ("sign", [("(1,200)", "1,200"), ("-12.50", "12.50")]),
    ("scale", [("1,200,000", "1,200"), ("1,279", "12.79")]),
    ("unit", [("25.63%", "25.63"), ("$5.00", "€5.00"), ("5.00 RM", "5.00"), ("5 kg", "5")]),
    ("date_format", [("2020-05-07", "May 7, 2020"), ("4/14/99", "4-14-99")]),
    ("date_order", [("05/07/2020", "07/05/2020")]),
    # Of two only the answer is a date, so the gold has lost what makes it one.
    ("label_error", [("9 /30 00", "9/30/00")]),
    (
        "punctuation",
        [("ADDRESS:", "ADDRESS"), ("O’Brien", "O'Brien"), ("Nov 5, 1992", "Nov. 5 1992")],
    ),
    # No lost separators where no digits meet.
    ("punctuation", [("P. O. Box 59. Boston", "P.O. Box 59, Boston")]),
    ("space", [("201, 500", "201,500"), ("TAX :", "Tax:")]),
    ("case", [("Peter Mckenna", "Peter McKenna")]),
    ("digit", [("1,200", "1,201"), ("AB-12", "AB-17"), ("#77219", "#7219")]),
    ("digit", [("Jul 1, 2022", "Jul 2, 2022"), ("01/17/97", "01/21/197")]),
    ("diacritic", [("café", "cafe")]),
    ("notation", [("½", "1/2"), ("☑", "x"), ("☐ Other", "Other"), ("☑ Yes", "X Yes")]),
    ("notation", [("salt & pepper", "salt and pepper")]),
    ("clipped", [("1818", "18"), ("Ada Berg", "Ada")]),
    ("clipped", [("Form F6. Hand in within 30 days.", "Form Hand")]),
    ("merged", [("Ada", "Ada Berg"), ("October 27", "DATEOctober 27")]),
    ("lookalike", [("modern", "modem"), ("Illinois", "lllin0is"), ("(B)", "(8)")]),
    ("lookalike", [("ЯБЛОКО", "ЯБЛ0КО")]),
    ("characters", [("13.0 %", "13.0.8"), ("☑", "☐"), ("S 6%", "S 68"), ("Ada", "Bert Voss")]),
    # Scattered letters of a text are no part of it.
    ("characters", [("RECORDS RETENTION SCHEDULE", "R R S")]),
    ("missed", [("Ada", " ")]),
    ("spurious", [("", "Ada")]),
]


@pytest.mark.parametrize(("name", "pairs"), PAIRS)
def test_cause_of_a_pair(name, pairs):
    assert {pair: cause(*pair) for pair in pairs} == dict.fromkeys(pairs, name)


def test_right_value_that_is_written_otherwise_says_how_and_nothing_worse():
    assert cause("2022-07-01", "Jul 1, 2022", right=True) == "date_format"
    assert cause("12 North Main Street", "12 N Main St", right=True) == "notation"
    assert cause("9 /30 00", "9/30/00", right=True) == "punctuation"


def test_every_cause_has_one_stage_and_one_sentence_on_what_to_try():
    assert len(set(CAUSES)) == len(CAUSES) == sum(map(len, STAGES.values()))
    assert set(WHAT_TO_TRY) == set(STAGE_OF) == set(CAUSES)
    assert all(said[0].isupper() and said.endswith(".") for said in WHAT_TO_TRY.values())


# Words have no letters that look alike, so that a letter swapped is never a look-alike by chance.
WORDS = ("Paymway", "Hazard", "Summary", "Kentucky", "Western", "Harvest", "Sandwich", "Number")
ALIKE = {"o": "0", "O": "0", "l": "1", "I": "1", "S": "5", "B": "8", "m": "rn", "Z": "2"}
PLAIN = ("Boston", "Ollie", "Solemn", "IBM Zoom", "Simon", "Motel", "Lemon", "Insider")


def words(draw, least=2, most=5):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


# By cause: a clean value, and the pairs of gold and answer that are made of it.
CORRUPTIONS = {
    "lookalike": (
        lambda draw: f"{draw.choice(PLAIN)} {words(draw, 1, 2)}",
        lambda v: [(v, v.replace(one, other, 1)) for one, other in ALIKE.items() if one in v],
    ),
    "space": (words, lambda v: [(v, v.replace(" ", "", 1)), (v, v[:3] + " " + v[3:])]),
    "clipped": (
        lambda draw: words(draw, 2, 6),
        lambda v: [(v, v.split(" ", 1)[1]), (v, v.rsplit(" ", 1)[0]), (v, v[2:]), (v, v[:-3])],
    ),
    "merged": (
        lambda draw: words(draw, 1, 3),
        lambda v: [(v, f"{v} Quickly"), (v, f"DATE{v}"), (v, f"Number 17 {v}")],
    ),
}
DRAWN = 1_500 if ALL else 300


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_was_done_to_a_clean_value_is_named(name):
    clean, pairs_of = CORRUPTIONS[name]
    draw = random.Random(name)
    pairs = [draw.choice(pairs_of(clean(draw))) for _ in range(DRAWN)]
    wrong = [(cause(*pair), pair) for pair in pairs if cause(*pair) != name]
    assert len(wrong) <= DRAWN / 100, wrong[:10]


def test_every_pair_has_one_known_cause_whatever_it_holds():
    generator = random.Random(0)
    alphabet = "aB0O1lI5S$-.,()/ é\u202e\x00<>☑%\u0301"
    for _ in range(1000):
        gold, pred = ("".join(generator.choices(alphabet, k=generator.randint(1, 9))) for _ in "gp")
        assert cause(gold, pred, right=generator.random() < 0.2) in CAUSES
    for char in ("1,", "\u0301a", "a ", "[x]", "9/"):
        gold, pred = char * 200_000, "b" + char * 199_000
        pairs = (gold, pred), ("short", pred), (char * 700, "7" + char * 600)
        assert {cause(*pair) for pair in pairs} <= set(CAUSES)


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


def test_order_of_a_date_and_what_an_accepted_value_tells_of_a_right_one():
    swapped = {"gold": "2020-05-07", "pred": "07/05/2020", "ambiguous": True}
    assert found(swapped) == ["date_order"]
    row = {"gold": "Yes", "pred": "AFFIRMATIVE", "typed": True, "outcome": "match"}
    assert found(row | {"accepted": ["affirmative"]}) == ["case"]


def test_each_of_very_many_missing_values_of_one_document_has_a_cause():
    rows = [
        case(path=f"/f/{n}", gold=f"value {n}", pred="" if n % 2 else f"wrong {n} noise",
             outcome="missing" if n % 2 else "mismatch")
        for n in range(4_000)
    ]  # fmt: skip
    assert None not in causes(tables.table("cases", rows))


def test_what_differs_in_case_alone_is_told_as_all_else_is():
    draw = random.Random(0)
    golds = ["".join(draw.choices("aBc1 2.,-/$%'`", k=draw.randint(1, 7))) for _ in range(2_000)]
    preds = [draw.choice((gold.upper(), gold.lower(), gold.title(), gold[1:])) for gold in golds]
    rows = pl.DataFrame({"doc_id": "a", "gold": golds, "pred": preds, "status": "ok"})
    rows = rows.with_columns(path=pl.format("/{}", pl.int_range(pl.len())))
    cases = judged(rows, system="s", threshold=0.8)
    ladder = text.ladders(golds, preds).with_columns(pl.all().cast(pl.Float64))
    assert cases.select(ladder.columns).cast(pl.Float64).equals(ladder)
    is_written = (pl.col("gold") != pl.col("pred")) & (pl.col("pred").str.strip_chars() != "")
    cased = cases.filter(is_written & pl.col("typed"))
    sides = cased.select("gold", "pred").iter_rows()
    assert cased["cause"].to_list() == [cause(*pair, right=True) for pair in sides]
