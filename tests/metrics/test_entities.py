import datetime
import itertools
import json
import random
import re

import numpy as np
import polars as pl
import pytest

from formlab.metrics import METRICS
from formlab.metrics.entities import LEAVES, comparator, match_entities, published_date

PATTERNS = (
    "%m/%d/%y", "%m/%d/%Y", "%m/%d", "%b%d/%y", "%m-%d-%Y", "%m-%d-%y", "%B%d,%Y", "%Y/%m/%d",
)  # fmt: skip
FUNCTIONS = {
    "who": "GeneralStringMatch", "sum": "PriceMatch", "day": "DateMatch", "at": "AddressMatch",
    "id": "NumericalStringMatch", "name": "NameMatch", "odd": "NoSuchMatch",
}  # fmt: skip


def leaves(items):
    """Items as frames: each is (document, name, value) or (document, name, [(part, value), …])."""
    rows = []
    for number, (doc, name, value) in enumerate(items):
        parts = value if isinstance(value, list) else [(None, value)]
        for component, text in parts:
            first, *rest = (text,) if isinstance(text, str) else text
            rows.append({
                "doc": doc, "item": number, "name": name, "component": component,
                "value": first, "accepted": rest, "identity": None,
            })  # fmt: skip
    return pl.DataFrame(rows, schema=LEAVES)


def matched(gold, pred, mode="official"):
    found = match_entities(leaves(gold), leaves(pred), FUNCTIONS, mode=mode)
    return found.pairs.rows(), found.forgiven.tolist()


def strptime_date(value):
    kept = re.sub(r"[^0-9a-zA-Z/\-,]", "", value)
    for pattern in PATTERNS:
        try:
            return datetime.datetime.strptime(kept, pattern).date()
        except ValueError:
            continue
    return None


def test_dates_are_read_as_strptime_reads_them():
    generator = random.Random(0)
    read = 0
    for _ in range(2_000):
        year = generator.choice([1950, 1968, 1969, 2000, 2022])
        day = datetime.date(year, generator.randint(1, 12), generator.randint(1, 28))
        others = ["%d/%m/%y", "%b %d, %Y", "%Y-%m-%d", "%d %B %Y"]
        value = day.strftime(generator.choice([*PATTERNS, *others]))
        if generator.random() < 0.5:
            place = generator.randrange(len(value) + 1)
            letter = generator.choice("0123456789/-, .aJ")
            value = value[:place] + letter + value[place + generator.randint(0, 1) :]
        assert published_date(value) == strptime_date(value), value
        read += published_date(value) is not None
    assert read > 500
    odd = "02/29 02/30/20 02/29/20 00/01/20 0000/01/01 MAY1,2020 May1/20"
    for value in odd.split():
        assert published_date(value) == strptime_date(value), value


@pytest.mark.parametrize(
    ("function", "gold", "pred", "official", "fixed"),
    [
        # Officially day and month may be swapped; in fact only the document says which is which.
        ("DateMatch", "07/01/22", "July 01, 2022", True, False),
        ("DateMatch", "07/01/22", "01/07/22", True, False),
        ("DateMatch", "07/01/22", "2022-07-01", False, False),
        ("DateMatch", "07/01/22", "7-1-2022", True, True),
        ("DateMatch", "07/01/22.", "2022-07-01", False, False),
        ("DateMatch", "07/31/22", "July 31, 2022", True, True),
        ("DateMatch", "07/31/22", "2022-07-31", False, True),
        ("DateMatch", "07/31/22", "31 July 2022", False, True),
        ("DateMatch", "07/31/22", "Jul 31, 2022", False, True),
        ("DateMatch", "July 1, 2022", "January 7, 2022", True, False),
        ("DateMatch", "unknown.", "unknown", True, True),
        ("DateMatch", "05/06", "5/6", True, True),
        ("DateMatch", "05/06/20", "05/07/20", False, False),
        ("PriceMatch", "$ 40,000", "40000.00", True, True),
        ("PriceMatch", "(12.50)", "12.50", True, False),
        ("PriceMatch", "-5", "5", True, False),
        ("PriceMatch", "(12.50)", "-$12.50", True, True),
        ("PriceMatch", "1.234,56", "1,234.56", False, True),
        ("PriceMatch", "none", "none", False, False),
        ("PriceMatch", "9" * 400, "9" * 400, False, False),
        ("AddressMatch", "12 Main St", "12 Main St.\n", True, True),
        ("AddressMatch", "12 Main St", "12 Main Street", False, False),
        ("AddressMatch", "abcdef", "abc", True, True),
        ("NumericalStringMatch", "No. 12-34", "1234", True, True),
        ("NumericalStringMatch", "0012", "12", False, False),
        ("NameMatch", "Ann  Lee", "AnnLee", True, True),
        ("NameMatch", "Ann Lee", "Ann Lee.", False, False),
        ("GeneralStringMatch", "A.B. & Co", "AB Co", True, True),
        ("GeneralStringMatch", "ab", "AB", False, False),
        ("DefaultMatch", " a  b", "a b", True, True),
        ("NoSuchMatch", "a.b", "a b", False, False),
    ],
)  # fmt: skip
def test_values_match_by_their_type(function, gold, pred, official, fixed):
    for mode, expected in (("official", official), ("fixed", fixed)):
        same = comparator(function, mode)
        assert same(gold, pred, None) == same(pred, gold, None) == expected


@pytest.mark.parametrize(
    ("pred", "day", "month"),
    [("July 01, 2022", False, True), ("2022-01-07", True, False), ("01/07/22", False, False)],
)
def test_dates_are_read_as_the_document_writes_them(pred, day, month):
    for order, expected in (("day", day), ("month", month)):
        assert comparator("DateMatch", "fixed")("07/01/22", pred, order) == expected
        # Officially nothing changes.
        is_same = comparator("DateMatch", "official")("07/01/22", pred, order)
        assert is_same == (pred != "2022-01-07")


def test_hostile_values_are_compared():
    odd = ["", "\x00", "1" * 1_000_000, " " * 1_000_000 + "1/1/20", "١٢/٠١/٢٠", "nan", "1_0"]
    for function, mode in itertools.product(FUNCTIONS.values(), ("official", "fixed")):
        same = comparator(function, mode)
        assert {type(same(*pair, None)) for pair in zip(odd, odd[::-1], strict=True)} == {bool}


ITEM = ("a", "item", [("who", "x"), ("sum", "5")])


@pytest.mark.parametrize(
    ("gold", "pred", "official", "fixed"),
    [
        # Any accepted form will do, and the first prediction wins.
        (
            [("a", "day", [(None, ("1/2/20", "Jan 2020"))]), ("b", "who", "x")],
            [("a", "who", "x"), ("a", "day", "Jan. 2020"), ("a", "day", "01/02/20")],
            ([(0, 1, 1.0)], []), ([(0, 1, 1.0)], []),
        ),
        # Officially one prediction may satisfy two golds; fixed uses it once.
        (
            [("a", "sum", "5"), ("a", "sum", "$5")], [("a", "sum", "5.00")],
            ([(0, 0, 1.0), (1, 0, 1.0)], []), ([(0, 0, 1.0)], []),
        ),
        # Officially an equal prediction is forgiven, a like one is not.
        (
            [("a", "sum", "5")], [("a", "sum", "5.00"), ("a", "sum", "5.00"), ("a", "sum", "5.0")],
            ([(0, 0, 1.0)], [1]), ([(0, 0, 1.0)], []),
        ),
        # Line items match in their own order officially, and in any order fixed.
        ([ITEM], [("a", "item", ITEM[2][::-1])], ([], []), ([(0, 0, 1.0)], [])),
        # Gold 0 and prediction 0 share one part of 2 + 2: 2·1/4 = 0.5; with prediction 1, which
        # has one part alone, 2·1/3. Gold 1 agrees wholly with prediction 0: gold 0 takes the other.
        (
            [ITEM, ("a", "item", [("who", "x"), ("sum", "6")])],
            [("a", "item", [("who", "x"), ("sum", "6")]), ("a", "item", [("sum", "5")])],
            None, ([(0, 1, 2 / 3), (1, 0, 1.0)], []),
        ),
    ],
)  # fmt: skip
def test_matching_by_hand(gold, pred, official, fixed):
    assert official in (None, matched(gold, pred))
    assert matched(gold, pred, "fixed") == fixed


def naive(gold, pred):
    """The published rules one pair at a time: pairs and forgiven items of one document each."""
    pairs, forgiven = [], []
    for (i, (*key, value)), (j, (*other, guess)) in itertools.product(
        enumerate(gold), enumerate(pred)
    ):
        if key != other or isinstance(value, list) != isinstance(guess, list):
            continue
        ours, theirs = (v if isinstance(v, list) else [(key[1], v)] for v in (value, guess))
        if i in {taken for taken, *_ in pairs} or [p for p, _ in ours] != [p for p, _ in theirs]:
            continue
        if all(
            comparator(FUNCTIONS[part], "official")(mine, yours, None)
            for (part, mine), (_, yours) in zip(ours, theirs, strict=True)
        ):
            pairs.append((i, j, 1.0))
    taken = {j for _, j, _ in pairs}
    for j, one in enumerate(pred):
        if j not in taken and any(pred[k] == one for k in taken):
            forgiven.append(j)
    return pairs, forgiven


def drawn(generator):
    values = {"who": ["x", "y."], "sum": ["5", "$5.00", "6"], "day": ["1/2/20", "02/01/20", "?"]}

    def one():
        doc, kind = generator.choice("ab"), generator.choice(["flat", "flat", "item"])
        if kind == "flat":
            name = generator.choice(list(values))
            return doc, name, generator.choice(values[name])
        parts = generator.sample(list(values), generator.randint(1, 3))
        return doc, "item", [(part, generator.choice(values[part])) for part in parts]

    return [one() for _ in range(generator.randint(0, 9))]


def test_official_matching_is_that_of_a_plain_loop():
    generator = random.Random(1)
    agreed = 0
    for _ in range(150):
        gold, pred = drawn(generator), drawn(generator)
        assert matched(gold, pred) == naive(gold, pred), json.dumps([gold, pred])
        agreed += len(naive(gold, pred)[0])
    assert agreed > 100


def test_absent_entities_are_zero_officially_and_left_out_of_the_fixed_mean():
    # Of three entities one has F1 1/2, one is in no gold but predicted, one is nowhere.
    counts, macro_f1 = np.array([1.0, 2, 2, 0, 0, 3, 0, 0, 0]), METRICS["macro_f1"]
    assert macro_f1.score_in("official")(counts) == pytest.approx(0.5 / 3)
    assert macro_f1.score_in("fixed")(counts) == 0.5
    # Published: recall is 1 where there is nothing to find and something was predicted.
    published = METRICS["macro_recall"].score_in("official")
    assert published(counts) == pytest.approx((0.5 + 1 + 0) / 3)
    assert np.isnan(macro_f1.score(np.array([0.0, 0, 0])))
