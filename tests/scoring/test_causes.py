import random
from pathlib import Path

import polars as pl
import pytest
import yaml

from formlab import tables, text
from formlab.scoring.align import judged
from formlab.scoring.causes import CAUSES, STAGE_OF, STAGES, WHAT_TO_TRY, advice, cause, causes
from formlab.tables import BOX
from tests.seeds import ALL

PAIRS = yaml.safe_load(Path(__file__).with_name("pairs.yml").read_text("utf-8"))


@pytest.mark.parametrize(("name", "pairs"), PAIRS)
def test_cause_of_a_pair(name, pairs):
    assert [(pair, cause(*pair)) for pair in pairs] == [(pair, name) for pair in pairs]


def test_right_value_that_is_written_otherwise_says_how_and_nothing_worse():
    assert cause("2022-07-01", "Jul 1, 2022", right=True) == "date_format"
    assert cause("12 North Main Street", "12 N Main St", right=True) == "notation"
    assert cause("9 /30 00", "9/30/00", right=True) == "punctuation"


def test_every_cause_has_one_stage_and_one_sentence_on_what_to_try():
    assert len(set(CAUSES)) == len(CAUSES) == sum(map(len, STAGES.values()))
    assert set(WHAT_TO_TRY) == set(STAGE_OF) == set(CAUSES)
    assert all(said[0].isupper() and said.endswith(".") for said in WHAT_TO_TRY.values())
    tips = " ".join(advice(name, pages=False) for name in CAUSES)
    assert not any(word in tips for word in ("page", "crop", "image", "without separators"))


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
    return {
        "benchmark": "b", "split": "s", "doc_id": "1", "system": "m", "task": "text", "path": "/a",
        "gold": "x", "pred": "y", "status": "ok", "outcome": "mismatch", "exact": False,
        "typed": False,
    } | changes  # fmt: skip


def found(*rows):
    cases = tables.table("cases", [case(**row) for row in rows])
    return causes(cases.with_columns(by_rule=False, has_answer=None)).to_list()


def test_what_became_of_the_answer_goes_before_what_it_says():
    assert found(
        {"status": "bad_json", "outcome": "missing", "path": "/1"},
        {"status": "missing", "outcome": "missing", "path": "/2"},
        {"outcome": "spurious", "path": "/3", "gold": None},
        {"outcome": "unscored", "path": "/4"},
        {"exact": True, "outcome": "match", "path": "/5"},
        {"path": None},
    ) == ["bad_json", "missed", "hallucinated", None, None, None]


def boxed(gold, pred, box, read, **more):
    sides = dict(zip(BOX, box, strict=True))
    sides |= {f"pred_{side}": value for side, value in zip(BOX, read, strict=True)}
    return {"gold": gold, "pred": pred} | more | sides


SPURIOUS, RIGHT = {"outcome": "spurious"}, {"exact": True, "outcome": "match"}
NOTHING = {"status": "missing", "outcome": "missing", "pred": None}
MISSING = {"gold": "October", "pred": "", "outcome": "missing"}
DATE_PAGE = {"path": None, "gold": "Date October", "pred": "Date October", "exact": True}
ITEMS = [
    {"path": "/items/1/price", "gold": "7.50", "pred": "7.50", "exact": True},
    {"path": "/name", "gold": "Ada Berg", "pred": "Ada Berg", "exact": True},
]
THREE = {"path": "/items/0/price", "gold": "three", "pred": "7.50"}
# Fields of all kinds in one list are no rows.
LISTED = [
    row | {"path": f"/entities/{n}", "kind": kind}
    for n, (row, kind) in enumerate(
        zip([THREE, *ITEMS], ("answer", "answer", "question"), strict=True)
    )
]
CHEQUE = {"path": None, "gold": "Paid by cheque", "pred": "", "outcome": "missing"}
EXTRA = {"path": "/x", "gold": None, "outcome": "spurious"}
CORNERS, WIDE, INSIDE = (100, 100, 200, 120), (100, 100, 300, 120), (110, 102, 118, 118)
BLANK = boxed("", "3", CORNERS, INSIDE, **SPURIOUS)
ASIDE = boxed("", "R-1:", CORNERS, (110, 102, 260, 118), **SPURIOUS, readings=["R-1:", "R-1"])
SPLIT = {"path": "/b", "gold": "1/ 3", "pred": "1/3"}
MORE = boxed("DIVISION:", "DIVISION NAME:", CORNERS, (101, 101, 199, 119))
BESIDE = boxed("NAME", "NAME", (205, 100, 260, 120), (205, 100, 260, 120), path="/b", **RIGHT)
ORDERS = [
    {"doc_id": str(n), "gold": "please order the goods", "pred": "", "outcome": "missing"}
    for n in range(2, 13)
]
READ_AS, SLIP = "please order it", "please oxder it"
TWICE = {"path": "/b", "gold": "Mr. Oxder", "pred": "Mr. Oxder", "exact": True}
NAME = {"gold": "Oxder it", "pred": "order it"}
# The cause of the first of these cases.
IN_CONTEXT = [
    # A document without any answer, and a field without one.
    ("missing_document", NOTHING, NOTHING | {"path": "/b"}),
    ("missed", NOTHING, {"path": "/b"} | RIGHT),
    ("missed", NOTHING | {"gold": "October", "pred": "October"}, {"path": "/b"} | RIGHT),
    # Another field has the value: in its place, as another row, or stuck to its own text.
    ("wrong_field", MISSING, {"path": "/b", "gold": "May", "pred": "October"}),
    ("wrong_row", {"path": "/i/0/m"} | MISSING,
     {"path": "/i/1/m", "gold": "May", "pred": "October"}),
    ("clipped", MISSING, {"path": "/b", "gold": "Date", "pred": "DateOctober"}),
    # The page's text has it, and no field.
    ("wrong_field", MISSING, DATE_PAGE),
    # Another reading rule finds it here, misread and stuck to a neighbour's token.
    ("clipped", MISSING | {"readings": ["", "0ctober"]}),
    ("missed", MISSING | {"readings": ["", "Date"]}),
    # Another field's own gold is no sign of it.
    ("missed", MISSING, {"path": "/b", "gold": "October", "pred": "October"} | RIGHT, DATE_PAGE),
    ("wrong_row", THREE, *ITEMS),
    ("wrong_field", THREE | {"pred": "Ada Berg"}, *ITEMS),
    ("wrong_field", *LISTED),
    # It reads like another document's value.
    ("characters", {"pred": "seven"}, {"doc_id": "2", "gold": "seven", "pred": "seven"} | RIGHT),
    # No gold asks for it: it stands on the page, or is made up; without a page nobody can tell.
    ("spurious", EXTRA | {"pred": "cheque"}, CHEQUE),
    ("hallucinated", EXTRA | {"pred": "credit card"}, CHEQUE),
    ("spurious", EXTRA | {"pred": ""}, CHEQUE),
    ("spurious", EXTRA | {"pred": "credit card"}),
    # Text in the field's own box that no other field has speaks against the label: a figure, a
    # date, a code; what was read under the box stands there, if a bit beside. No scribble does.
    ("label_error", BLANK),
    ("spurious", boxed("", "3", CORNERS, (10, 2, 18, 18), **SPURIOUS)),
    ("spurious", BLANK | {"pred": "Gltobe"}),
    ("label_error", BLANK | {"pred": "12/09/99 11:09"}),
    ("label_error", ASIDE),
    # A field that has the same letters, spaced otherwise, does not lack the figure.
    ("label_error", BLANK, SPLIT),
    ("spurious", BLANK, SPLIT | {"pred": "1/"}),
    # Words too many in the box: the page has them, if no neighbour does. What the corpus never has
    # may be a scribble, or the reader's own.
    ("label_error", MORE,
     {"doc_id": "2", "gold": "COMPANY NAME", "pred": "COMPANY NAME", "exact": True}),
    ("merged", MORE),
    ("merged", MORE, BESIDE),
    ("merged", boxed("DIVISION:", "DIVISION NAME:", CORNERS, WIDE)),
    # Words of the corpus speak for the answer, or for the gold.
    ("label_error", {"gold": SLIP, "pred": READ_AS}, *ORDERS[:2]),
    ("characters", {"gold": READ_AS, "pred": SLIP}, *ORDERS[:2]),
    ("other_value", {"gold": "Yes", "pred": "No", "kind": "checkbox"}),
    ("characters", {"gold": "Yes", "pred": "No", "kind": "string"}),
    # Codes are no words: a letter read as a figure, or another document's code, is no slip of gold.
    ("lookalike", {"gold": "B8-15", "pred": "88-15"}, *ORDERS[:2]),
    ("other_value", {"gold": "NDA-12-53", "pred": "NDA-18-66"},
     {"doc_id": "2", "gold": "NDA-18-66", "pred": "NDA-18-66", "exact": True}),
    # A name that the document repeats is no slip, but one beside a word of very many documents is.
    ("characters", NAME, TWICE, *ORDERS[:2]),
    ("label_error", NAME, TWICE, *ORDERS),
    ("date_order", {"gold": "2020-05-07", "pred": "07/05/2020", "ambiguous": True}),
    # An accepted value tells of a right one how it is written.
    ("case", {"gold": "Yes", "pred": "AFFIRMATIVE", "typed": True, "outcome": "match",
              "accepted": ["affirmative"]}),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "rows"), [(name, rows) for name, *rows in IN_CONTEXT])
def test_cause_of_a_case_among_others(expected, rows):
    assert found(*rows)[0] == expected


def test_each_of_very_many_missing_values_of_one_document_has_a_cause():
    sides = [({"pred": f"wrong {n} noise"}, CHEQUE)[n % 2] for n in range(4_000)]
    rows = [side | {"path": f"/f/{n}", "gold": f"value {n}"} for n, side in enumerate(sides)]
    assert None not in found(*rows)


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
    cased = cases.filter(is_written & pl.col("typed")).select("cause", "gold", "pred").rows()
    assert [name for name, *_ in cased] == [cause(*pair, right=True) for _, *pair in cased]
