"""Which values are right by the rules declared for them, and by their types.

Of one's own forms each value is compared by its comparator: ``exact`` (code points), ``text``
(normalised), ``typed`` (parsed) or ``fuzzy`` (alike from the threshold on), each a rung of the
ladder. Where none is declared, numbers, amounts, dates, boxes and choices are compared as parsed,
all else as text. A tolerance lets a number or an amount be off by so much, a date by so many days.
Other benchmarks have no such rules, and the rung ``normalised`` decides.
"""

import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

import polars as pl

from formlab import text
from formlab.readers.answers import OWN
from formlab.readers.types import FieldType, rule_of
from formlab.tables import LADDER
from formlab.text.values import NULL_WORDS, VALUE_RULE, date_readings, possible_dates

# The column of a case with the `meta` of its gold record, where there are rules.
RULE = "rule"
# Kinds of values that are compared as parsed.
PARSED = ("number", "money", "date", "checkbox", "choice")
_RUNGS = {"exact": "exact", "text": "normalised", "typed": "typed", "fuzzy": "fuzzy"}
# What a declared rule says in `meta`, to find those that say anything.
_WORDS = '"(?:comparator|tolerance|weight|required|ordered)":'
# What may be a word for "no value": most answers need not be read for it.
_NO_FIGURES = r"^[^\d,:]{1,32}$"
# How many years before and after a document's latest date a year of two digits may lie.
_BEFORE, _AFTER = 80, 20


def with_rules(gold: pl.DataFrame) -> pl.DataFrame:
    """Gold records with the column `RULE`, if they are of one's own forms or any has a rule."""
    stated = gold.filter(pl.col("meta").str.contains(_WORDS))["meta"].unique()
    declared = any(rule_of(meta) != FieldType() for meta in stated)
    by_rules = declared or (gold["benchmark"] == OWN).any()
    return gold.with_columns(pl.col("meta").alias(RULE)) if by_rules else gold


def described(declared: Iterable[tuple[str, str | None, str]], *, threshold: float) -> str:
    """Rules (pattern, kind, meta) in `settings`: two texts are the same if and only if they are."""
    rules = {(place, kind, rule_of(meta)) for place, kind, meta in declared}
    texts = sorted(str(row) for row in rules if row[2] != FieldType())
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
    named = [f"declared={digest}"] if texts else []
    named += [f"fuzzy>={threshold:g}", VALUE_RULE, f"null={','.join(NULL_WORDS)}"]
    return "|".join(["match=comparators by type", *named, text.DATE_RULE])


def weights(declared: Iterable[tuple[str, str | None, str]]) -> dict[str, float]:
    """The weight of the fields at each pattern of paths that has another one than 1."""
    known = {place: rule_of(meta).weight for place, _, meta in sorted(declared, key=str)}
    return {place: weight for place, weight in known.items() if weight != 1.0}


def rights(cases: pl.DataFrame, orders: Mapping[str, str]) -> pl.Series:
    """Whether each case is right by its rule."""
    is_right = pl.any_horizontal(pl.col(rung) & (pl.col("rung") == rung) for rung in LADDER)
    right = with_rung(cases.select(RULE, "kind", *LADDER)).select(is_right).to_series()
    near = cases.select("gold", "used", "accepted", "doc_id", "kind", RULE).with_row_index("row")
    tolerant = [meta for meta in cases[RULE].unique() if rule_of(meta).tolerance is not None]
    near, within = near.filter(~right, pl.col(RULE).is_in(tolerant)), []
    for row, gold, value, accepted, doc_id, kind, meta in near.drop_nulls(["gold", "used"]).rows():
        rule = rule_of(meta), kind, orders.get(doc_id)
        if any(_within(known, value, *rule) for known in (gold, *(accepted or ()))):
            within.append(row)
    return right.scatter(within, True)


def right_centuries(cases: pl.DataFrame) -> pl.Series:
    """The rung `typed`, without answers whose century other dates of the document rule out."""
    typed = cases["typed"]
    dates = cases.select("doc_id", "gold", "used").with_row_index("row")
    short = pl.col("gold").str.contains(r"[-/. ',][0-9]{2}\.?$")
    dates = dates.filter(typed & ~cases["normalised"]).filter(short)
    # An amount may end like a date.
    dates = dates.filter([any(possible_dates(gold)) for gold in dates["gold"]])
    fields = cases.select("doc_id", "path", "gold").join(dates, on="doc_id", how="semi")
    latest = Counter()
    for doc_id, gold in fields.drop_nulls().select("doc_id", "gold").unique().iter_rows():
        certain = (day.year for days in possible_dates(gold) if len(days) == 1 for day in days)
        latest[doc_id] = max(latest[doc_id], *certain, 0)
    wrong = []
    for row, doc_id, *pair in dates.iter_rows():
        meant, given = ({day for days in possible_dates(v) for day in days} for v in pair)
        window = range(latest[doc_id] - _BEFORE + 1, latest[doc_id] + _AFTER + 1)
        likely = {day for day in meant if day.year in window}
        if likely and likely.isdisjoint(given):
            wrong.append(row)
    return typed.scatter(wrong, False)


def odd_values(cases: pl.DataFrame) -> int:
    """How many values are none of their field's type, where the two sides differ."""
    cases = cases.filter(pl.col("gold") != pl.col("pred"), pl.col("kind").is_in(PARSED))
    counts = cases.unpivot(["gold", "pred"], index="kind").group_by("kind", "value").len()
    counts = counts.filter(pl.col("value").str.strip_chars() != "").iter_rows()
    return sum(n for kind, value, n in counts if text.read_as(kind, value) is None)


def null_answers(cases: pl.DataFrame) -> pl.Series:
    """Which answers to fields say that there is no value, other than the gold's own words."""
    answers = cases.filter(pl.col("path").is_not_null())["pred"].unique().drop_nulls()
    words = list(filter(text.is_null_word, answers.filter(answers.str.contains(_NO_FIGURES))))
    said = cases["path"].is_not_null() & cases["pred"].is_in(words).fill_null(False)
    normal = functools.partial(text.normalise, steps=text.LADDER_STEPS)
    rows = cases.select("pred", "gold").with_row_index("row").filter(said).iter_rows()
    own_words = [row for row, pred, gold in rows if normal(pred) == normal(gold or "")]
    return said.scatter(own_words, False)


def with_rung(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases with the `rung` of the ladder on which each is right by its rule."""
    known, rungs = cases.select(RULE, "kind").unique(), []
    for meta, kind in known.iter_rows():
        rule = rule_of(meta)
        is_parsed = kind in PARSED or rule.tolerance is not None
        rungs.append(_RUNGS[rule.comparator or ("typed" if is_parsed else "text")])
    known = known.with_columns(rung=pl.Series(rungs, dtype=pl.String))
    return cases.join(known, on=[RULE, "kind"], how="left", nulls_equal=True, maintain_order="left")


def _within(gold: str, value: str, rule: FieldType, kind: str | None, order: str | None) -> bool:
    """Whether a value is off by the tolerance at most; one in per cent is relative to the gold."""
    if rule.comparator not in (None, "typed"):
        return False
    most = Decimal(str(rule.tolerance))
    if kind == "date":
        sides = [(month or day, day or month) for month, day in map(date_readings, (gold, value))]
        # Of an ambiguous date, both readings must be near.
        pairs = list(zip(*sides, strict=True))
        pairs = {"month": pairs[:1], "day": pairs[1:]}.get(order or "", pairs)
        return all(None not in pair and abs((pair[0] - pair[1]).days) <= most for pair in pairs)
    ours, theirs = (text.read_as("number", side) for side in (gold, value))
    if None in (ours, theirs) or len({ours.currency, theirs.currency} - {None}) > 1:
        return False
    return abs(ours.amount - theirs.amount) <= (abs(ours.amount) * most if rule.relative else most)
