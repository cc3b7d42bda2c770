"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, and the words of the corpus's gold. What
other documents show is told after scoring (`scoring.across`). `docs/causes.md` has the definitions
and how far people agree with them; `causes.toml` the stage, the words and the advice of each.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.scoring._pairs import LONGEST, cause_of, letters, tokens
from formlab.scoring.bands import pattern as place
from formlab.scoring.whole import TELLING, Words, folded
from formlab.tables import BOX, USABLE

_TABLE = tomllib.loads(Path(__file__).with_name("causes.toml").read_text("utf-8"))
CAUSES = tuple(_TABLE)
STAGE_OF: dict[str, str] = {name: entry["stage"] for name, entry in _TABLE.items()}
STAGES: dict[str, tuple[str, ...]] = {
    stage: tuple(name for name in CAUSES if STAGE_OF[name] == stage) for stage in STAGE_OF.values()
}
WHAT_TO_TRY: dict[str, str] = {name: entry["try"] for name, entry in _TABLE.items()}
# What happened, for sentences.
IN_WORDS = {name: entry["words"] for name, entry in _TABLE.items() if "words" in entry}
BAD_OUTPUT = tuple(name for name in STAGES["answer"] if name != "missing_document")
# What is only written otherwise stays so even where the page supports the answer.
_WRITTEN = {*STAGES["form"], "space", "diacritic"} - {"scale", "sign"}


def advice(name: str, *, pages: bool = True) -> str:
    """What to try for a cause or status; nothing about pages where there are no `pages`."""
    entry = _TABLE.get(name, {"try": ""})
    return entry["try"] if pages else entry.get("without_pages", entry["try"])


def cause(gold: str, pred: str, *, right: bool = False) -> str:
    """The cause of a difference, from the two texts alone.

    It is one of `CAUSES`. Where several fit, what the value's type says (unit, sign, number, date)
    goes before what its characters say, and the narrower cause before the wider. `gold` and `pred`
    are not the same; where the pair is `right` all the same, only how it is written can differ.

    >>> cause("(1,200)", "1,200"), cause("27/03/2018", "2703/2018")
    ('sign', 'lost_separator')
    >>> cause("Total due", "Total"), cause("Illinois", "lllin0is")
    ('clipped', 'lookalike')
    >>> cause("2022-07-01", "Jul 1, 2022", right=True)
    'date_format'
    """
    if not pred.strip():
        return "missed"
    return cause_of(gold, pred, right) if gold.strip() else "spurious"


def causes(cases: pl.DataFrame, words: Words | None = None) -> pl.Series:
    """The cause of each case; null where gold and prediction are the same or nothing is scored.

    `cases` are rows of the schema CASES with outcome, status and the ladder filled in; all
    of a document, since its other values are evidence. So are `words`, those of the whole gold;
    without them, of the cases. A Boolean column `has_answer` says whether a document has a usable
    answer at all; without it, one usable row does.
    """
    if words is None:
        words = Words.of(cases.select("doc_id", "path", value="gold"))
    table = _evidence(cases)
    fields, wrong = table.drop_nulls("path"), table.filter("wrong").with_columns(step=_step())
    steps = {
        "right": _written,
        "lost": lambda rows: _lost(rows, table),
        "claimed": lambda rows: _claimed(rows, table),
        "mistaken": lambda rows: _mistaken(rows, fields, words),
    }
    sure = wrong.filter(~pl.col("step").is_in(list(steps)))
    named = pl.repeat(None, cases.height, dtype=pl.String, eager=True).rename("cause")
    named = named.scatter(sure["row"], sure["step"])
    for step, rule in steps.items():
        rows = wrong.filter(step=step)
        named = named.scatter(rows["row"], pl.Series(rule(rows), dtype=pl.String))
    asked = wrong.with_columns(cause=named.gather(wrong["row"])).filter(_MAY_BE_OWN)
    return named.scatter(_shown(asked, fields, words), "label_error") if asked.height else named


# How far what was read may stand out of the field's box, of the box's height.
_BEYOND = 0.5
# Causes that say that the answer's text is the field's own.
_OWN_TEXT = ("clipped", "merged", "label_error", "lost_separator", "lookalike")
# From this likeness on, in [0, 1], a value is its own, misread, and not another field's.
_ALIKE = 0.6
# How many characters of a document are searched for values that are missing, over all of them.
_BUDGET = 20_000_000
# What is more than white space, as `str.split` has it.
_SEEN = r"[^\s\x1c-\x1f]"
_OUTCOME = pl.col("outcome")
_OPTIONS = ("checkbox", "choice", "radio", "dropdown")
# What was read in the box of a field left blank stands there, or is a scribble.
_IN_BOX = pl.col("gold").is_not_null() & (pl.col("readings").is_not_null() | pl.col("inside"))


def _evidence(cases: pl.DataFrame) -> pl.DataFrame:
    """All of the documents that have a wrong case, with the letters of gold and prediction."""
    absent = {"by_rule", "has_answer"}.difference(cases.columns)
    usable = pl.col("status").is_in(USABLE).fill_null(False)
    answered = pl.coalesce("has_answer", usable).fill_null(False).any()
    right = pl.col("typed").fill_null(False) | (_OUTCOME == "match")
    # What is right though another value has no cause of an error, and of a whole page that is wrong
    # no single one can be named.
    mute = pl.col("path").is_null() & ~right & ~_OUTCOME.is_in(["missing", "spurious"])
    wrong = ~pl.any_horizontal(pl.col("exact", "by_rule").fill_null(False), mute)
    wrong &= _OUTCOME != "unscored"
    slack = _BEYOND * (pl.col("y1") - pl.col("y0"))
    low = (pl.col(f"pred_{side}") >= pl.col(side) - slack for side in BOX[:2])
    high = (pl.col(f"pred_{side}") <= pl.col(side) + slack for side in BOX[2:])
    table = cases.with_row_index("row")
    table = table.with_columns(pl.lit(None, pl.Boolean).alias(name) for name in absent)
    # A frame of pages without any box may know no numbers there.
    table = table.with_columns(pl.col("^(pred_)?[xy][01]$").cast(pl.Float64))
    table = table.filter(wrong.any().over("doc_id")).select(
        *("row", "doc_id", "path", "kind", "gold", "pred", "status", "outcome", "accepted"),
        *("ambiguous", "readings", *BOX),
        usable=usable,
        answered=answered.over("doc_id"),
        wrong=wrong,
        right=right,
        inside=pl.all_horizontal(*low, *high).fill_null(False),
    )
    own, odd = folded(table["gold"]), table["gold"].ne_missing(table["pred"]).arg_true()
    said = own.clone().scatter(odd, folded(table["pred"].gather(odd)))
    return table.with_columns(own=own, said=said)


def _step() -> pl.Expr:
    """The cause of a wrong case where that is clear at once, else how it is found."""
    status, is_page = pl.col("status"), pl.col("path").is_null()
    is_spurious = _OUTCOME == "spurious"
    gold, pred = (pl.col(side).fill_null("").str.contains(_SEEN) for side in ("gold", "pred"))
    unanswered = pl.when(~pl.col("answered")).then(pl.lit("missing_document"))
    steps = [
        (status.is_in(BAD_OUTPUT), status),
        (pl.col("ambiguous"), pl.lit("date_order")),
        (pl.col("right"), pl.lit("right")),
        # A claim without a value, at a path that the gold does not have: nothing was missed.
        (is_spurious & (is_page | ~pred), pl.lit("spurious")),
        (is_page, unanswered.otherwise(pl.lit("missed"))),
        (~pred | ~pl.col("usable"), unanswered.otherwise(pl.lit("lost"))),
        (is_spurious | ~gold, pl.lit("claimed")),
    ]
    return pl.coalesce(*(pl.when(at).then(step) for at, step in steps), pl.lit("mistaken"))


def _written(rows: pl.DataFrame) -> Iterator[str]:
    """How right values are written otherwise than the accepted value that is closest."""
    for gold, pred, accepted in rows.select("gold", "pred", "accepted").iter_rows():
        texts = [text for text in (gold, *(accepted or ())) if text and text.strip()]
        texts = [text for text in texts if text != pred and pred and pred.strip()]
        names = (cause_of(text, pred, True) for text in texts)
        yield next((name for name in names if name != "notation"), "notation")


def _lost(rows: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    """The causes of values that are not in their fields but may be elsewhere in the output."""
    fields = table.drop_nulls("path")
    others = fields.filter(pl.col("said").ne_missing(pl.col("own").fill_null("")), _IS_USED)
    sought = rows.with_columns(sought="own")
    rows = _elsewhere(sought, others.with_columns(sought="said"), fields)
    texts = _texts(rows.filter(pl.col("where").is_null()), table)
    columns = rows.select("doc_id", "gold", pl.col("own").fill_null(""), "readings", "where")
    for doc_id, gold, own, readings, where in columns.iter_rows():
        if any(_likeness(own, letters(text or "")) >= _ALIKE for text in readings or ()):
            # Another rule reads it here, out of a token that goes to a neighbour.
            yield "clipped"
        elif where or len(own) < TELLING:
            yield where or "missed"
        elif (page := texts[doc_id]).count(own, page.surplus):
            # It is stuck to a neighbour's text, which is merged for it.
            yield "clipped"
        else:
            read, kept = (page.count(_spaced(gold), page.words[of]) for of in ("pred", "fields"))
            yield "wrong_field" if read > kept else "missed"


def _claimed(rows: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    """The causes of values that no gold asks for."""
    fields = table.drop_nulls("path").filter(pl.col("gold") != "")
    known = fields.select("doc_id", said="own", known=True).unique()
    rows = rows.join(known, on=["doc_id", "said"], how="left", maintain_order="left")
    is_known = (pl.col("said") == "") | _IN_BOX | pl.col("known").fill_null(False)
    texts = _texts(rows.filter(~is_known), table)
    for doc_id, pred, known in rows.select("doc_id", "pred", is_known).iter_rows():
        page = "" if known else texts[doc_id].words["gold"]
        made_up = page.strip() and not texts[doc_id].count(_spaced(pred), page)
        yield "hallucinated" if made_up else "spurious"


def _mistaken(rows: pl.DataFrame, fields: pl.DataFrame, words: Words) -> Iterator[str]:
    """The causes of values other than the gold: another field's, or misread ones."""
    golds = fields.filter(pl.col("gold") != "")
    exchanged = _exchanged(rows, golds, fields)
    sought = rows.with_columns(sought="said")
    rows = _elsewhere(sought, golds.with_columns(sought="own"), fields)
    rows = rows.join(exchanged, on="row", how="left", maintain_order="left", suffix="_exchanged")
    columns = rows.select("gold", "pred", "own", "said", "kind", "inside", r"^where.*$")
    for gold, pred, own, said, kind, inside, where, exchange in columns.iter_rows():
        first = exchange or ("notation" if gold == pred else cause_of(gold, pred, False))
        if kind in _OPTIONS and first == "characters" and _likeness(own, said) < _ALIKE:
            # Options are chosen, and not read letter by letter.
            first = "other_value"
        is_row = (first, where) == ("digit", "wrong_row")
        if exchange or first in _WRITTEN or len(gold) + len(pred) > 2 * LONGEST:
            yield first
        elif where and first not in _OWN_TEXT and (is_row or _likeness(own, said) < _ALIKE):
            yield where
        elif words.contradict_gold(gold, pred):
            yield "label_error"
        else:
            # What was read in the field's own box is its ink, however unlike.
            yield "characters" if first == "other_value" and inside else first


_IS_SHORT = pl.sum_horizontal(pl.col("gold", "pred").str.len_chars()) <= 2 * LONGEST
# A scribble is often read as a letter or two, but seldom as a figure.
_IS_TELLING = (pl.col("step") == "claimed") & pl.col("pred").str.contains(r"[^\W_]\S*[^\W_]|\d")
_MAY_BE_OWN = (pl.col("cause") == "merged") & pl.col("inside") & (pl.col("own") != "") & _IS_SHORT
_MAY_BE_OWN |= _IN_BOX & _IS_TELLING
_NTH = pl.int_range(pl.len())


def _shown(rows: pl.DataFrame, fields: pl.DataFrame, words: Words) -> pl.Series:
    """The rows whose words too many are known, and neither a neighbour's nor another's loss."""
    more = pl.Series(map(_more, rows["gold"], rows["pred"]), dtype=pl.List(pl.String))
    more, word, by, same = _worded(rows, more), pl.col("word"), ["doc_id", "word"], ["row", "word"]
    known = word.is_in([word for word in more["word"].unique() if words.has(word)])
    known |= (pl.col("own") == "") & word.str.contains(r"\d")
    fields = fields.join(more, on="doc_id", how="semi")
    split = (_worded(fields, pl.col(of).str.extract_all(_SEEN + "+")) for of in ("gold", "pred"))
    golds, preds = (side.join(more, on=by, how="semi") for side in split)
    # Words that are only split otherwise are not lost.
    lost = golds.filter(pl.col("own").ne_missing(pl.col("said")))
    lost = lost.join(preds, on=[*same, "nth"], how="anti")
    more = more.join(lost.select(*by, nth=_NTH.over(by), lost=True), on=[*by, "nth"], how="left")
    # Beside are fields no further away than a line; a letter alone stands there by chance.
    gap, near = pl.col("y1") - pl.col("y0"), golds.lazy().filter(word.str.len_chars() > 1)
    near = more.lazy().filter(nth=0).join(near, on=by, suffix="_of")
    for low, high in (("x0", "x1"), ("y0", "y1")):
        near = near.filter(pl.col(f"{low}_of") <= pl.col(high) + gap)
        near = near.filter(pl.col(f"{high}_of") >= pl.col(low) - gap)
    near = near.filter(pl.col("row") != pl.col("row_of")).collect(engine="streaming")
    near = near.select(*same, nth=_NTH.over(same), beside=True)
    size = word.str.len_chars()
    others = pl.max_horizontal(size.filter(pl.col(of)).sum() for of in ("lost", "beside"))
    is_own = (size.filter(known).sum() * 2 > size.sum()) & (size.sum() >= others * 2)
    more = more.join(near, on=[*same, "nth"], how="left")
    return more.group_by("row").agg(is_own=is_own).filter("is_own")["row"]


def _more(gold: str, pred: str) -> list[str]:
    """The words of an answer beside those of the gold, if it has these."""
    known, answer = tokens(gold), tokens(pred)
    start, ends = "".join(answer).find("".join(known)), [0, *accumulate(map(len, answer))]
    cut = [n for n, end in enumerate(ends) if end in (start, start + len("".join(known)))]
    if len(cut) == 2:
        return answer[: cut[0]] + answer[cut[1] :]
    more = Counter(answer) - Counter(known)
    return [*more.elements()] if more.total() + len(known) == len(answer) else []


def _worded(rows: pl.DataFrame, words: pl.Expr | pl.Series) -> pl.DataFrame:
    """A row for each of its words, with how many of the same are before it."""
    rows = rows.with_columns(word=words).explode("word").drop_nulls("word")
    rows = rows.with_columns(word=folded(rows["word"])).filter(pl.col("word") != "")
    return rows.with_columns(nth=_NTH.over("row", "word"))


_IS_USED = (pl.col("pred") != "") & pl.col("usable")


def _elsewhere(rows: pl.DataFrame, others: pl.DataFrame, fields: pl.DataFrame) -> pl.DataFrame:
    """The rows, and `where` others have the letters `sought`, if these are no chance."""
    at, path, of = ["doc_id", "sought"], pl.col("path"), pl.col("place")
    asked = rows.filter(pl.col("sought").str.len_chars() >= TELLING)
    others = others.join(asked, on=at, how="semi").with_columns(place=place()).group_by(at)
    others = others.agg(
        other=path.first(), there=of.first(), several=path.n_unique() > 1, is_one=of.n_unique() == 1
    )
    found = asked.join(others, on=at).filter(pl.col("several") | (pl.col("other") != path))
    found = found.with_columns(same=pl.col("is_one") & (pl.col("there") == place()))
    return rows.join(_where(found, fields), on="row", how="left", maintain_order="left")


def _where(found: pl.DataFrame, fields: pl.DataFrame) -> pl.DataFrame:
    """`wrong_row` for what is of the `same` field of another row, else `wrong_field`."""
    at = ["doc_id", "place"]
    kinds = fields.join(found, on="doc_id", how="semi").group_by("doc_id", place=place())
    kinds = kinds.agg(kinds=pl.col("kind").n_unique())
    found = found.with_columns(place=place()).join(kinds, on=at, how="left")
    # An index may number the rows of a table, or fields that have nothing in common.
    is_row = pl.col("same") & (pl.col("place") != pl.col("path")) & (pl.col("kinds") < 2)
    where = pl.when(is_row).then(pl.lit("wrong_row")).otherwise(pl.lit("wrong_field"))
    return found.select("row", where=where)


def _exchanged(rows: pl.DataFrame, golds: pl.DataFrame, fields: pl.DataFrame) -> pl.DataFrame:
    """Where answers are the gold of fields that lost it."""
    # Not the field itself, whose letters may be the same.
    held = golds.group_by("doc_id", said="own").len()
    hits = rows.join(held, on=["doc_id", "said"], maintain_order="left")
    hits = hits.filter(pl.col("len") > (pl.col("own") == pl.col("said")).fill_null(False))
    value, answer = plain("pred").fill_null(""), pl.col("answer")
    is_telling, at = pl.col("said").str.len_chars() >= TELLING, ("row", "doc_id", "path")
    texts = {"place": place(), "value": value, "answer": plain("gold")}
    hits = hits.select(*at, **texts, telling=is_telling).filter(pl.col("value") != answer)
    golds = golds.join(hits, on="doc_id", how="semi")
    golds = golds.select("doc_id", place=place(), value=plain("gold"), answer=value)
    known = golds.join(golds.select("doc_id", answer="value"), on=["doc_id", "answer"], how="semi")
    known = pl.concat([known, golds.filter(answer == "")]).filter(pl.col("value") != answer)
    lost = golds.filter(pl.col("value") != answer)
    telling, same = hits.filter("telling"), {"on": ["doc_id", "value", "place"], "how": "semi"}
    # A short value may be another row's by chance, unless that row has a third one's.
    by_row = [telling.join(lost, **same), hits.filter(~pl.col("telling")).join(known, **same)]
    swaps = telling.join(lost, on=["doc_id", "value", "answer"], how="semi")
    found = [found.with_columns(same=pl.lit(n < 2)) for n, found in enumerate([*by_row, swaps])]
    return _where(pl.concat(found).unique("row", keep="first", maintain_order=True), fields)


def _texts(rows: pl.DataFrame, table: pl.DataFrame) -> dict[str, _Texts]:
    """The texts of the documents of some rows."""
    is_page = pl.col("path").is_null() & ~pl.all_horizontal(pl.col("gold", "pred").is_null())
    table = table.join(rows, on="doc_id", how="semi")
    # What is right tells nothing, unless pages are compared.
    odd = pl.col("gold").ne_missing(pl.col("pred"))
    table = table.filter(odd | is_page.any().over("doc_id"))
    texts: dict[str, _Texts] = defaultdict(_Texts)
    columns = table.select("doc_id", "path", "gold", "pred", "own", "said", used=_IS_USED)
    for doc_id, *row in columns.iter_rows():
        texts[doc_id].rows.append(row)
    return texts


class _Texts:
    """The texts of one document in which its values are looked for."""

    def __init__(self) -> None:
        self.rows: list[list] = []
        self._left = _BUDGET

    def count(self, value: str, text: str) -> int:
        """How often a value stands in one of the texts."""
        # With very many of both it ends somewhere.
        self._left -= len(text)
        return text.count(value) if self._left > 0 else 0

    @cached_property
    def surplus(self) -> str:
        """All that fields have and is not theirs."""
        odd = (row[3:5] for row in self.rows if row[0] is not None and row[5] and row[3] != row[4])
        # Its own text is no sign of another field's.
        return "|".join(said.replace(own, "|", 1) if own else said for own, said in odd)

    @cached_property
    def words(self) -> dict[str, str]:
        """The words of the page in gold and output, and of all fields in the output."""
        pages = [row for row in self.rows if row[0] is None]
        fields = (row[2] for row in self.rows if row[0] is not None and row[5])
        golds, preds = ([row[side] or "" for row in pages] for side in (1, 2))
        return {"gold": _spaced(*golds), "pred": _spaced(*preds), "fields": _spaced(*fields)}


def plain(column: str) -> pl.Expr:
    """A value in lower case with single spaces."""
    return pl.col(column).str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")


def _likeness(own: str, said: str) -> float:
    """How alike the letters of gold and prediction are."""
    return Levenshtein.normalized_similarity(own, said) if said else 0.0


def _spaced(*texts: str) -> str:
    """The words of texts with a space on both sides of each, so that only whole words are found."""
    return f" {' '.join(word for text in texts for word in tokens(text))} "
