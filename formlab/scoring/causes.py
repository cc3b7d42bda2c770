"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, and the words of the corpus's gold. What
other documents show is told after scoring (`scoring.across`). `docs/causes.md` has the definitions
and how far people agree with them; `causes.toml` the stage, the words and the advice of each.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.scoring._pairs import LONGEST, cause, letters, tokens
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
    fields, wrong = table.drop_nulls("path"), table.drop_nulls("step")
    named = pl.repeat(None, cases.height, dtype=pl.String, eager=True).rename("cause")
    named = named.scatter(wrong["row"], wrong["step"])
    steps = {
        "right": _written,
        "lost": lambda rows: _lost(rows, table),
        "claimed": lambda rows: _claimed(rows, table),
        "mistaken": lambda rows: _mistaken(rows, fields, words),
    }
    for step, rule in steps.items():
        rows = wrong.filter(step=step)
        named = named.scatter(rows["row"], pl.Series(rule(rows), dtype=pl.String))
    asked = wrong.with_columns(cause=named.gather(wrong["row"])).filter(_MAY_BE_OWN)
    return named.scatter(_shown(asked, fields, words), "label_error")


# How far what was read may stand out of the field's box, of the box's height.
_BEYOND = 0.5
# Causes that say that the answer's text is the field's own.
_OWN_TEXT = ("clipped", "merged", "label_error", "lost_separator", "lookalike")
# From this likeness on, in [0, 1], a value is its own, misread, and not another field's.
_ALIKE = 0.6
# How many characters of a document are searched for values that are missing, over all of them.
_BUDGET = 20_000_000
_OPTIONS = ("checkbox", "choice", "radio", "dropdown")
# What was read in the box of a field left blank stands there, or is a scribble.
_IN_BOX = pl.col("gold").is_not_null() & (pl.col("readings").is_not_null() | pl.col("inside"))


def _evidence(cases: pl.DataFrame) -> pl.DataFrame:
    """All of the documents that have a wrong case, with steps to causes and letters of values."""
    absent, outcome = {"by_rule", "has_answer"}.difference(cases.columns), pl.col("outcome")
    right = pl.col("typed").fill_null(False) | (outcome == "match")
    # What is right though another value has no cause of an error, and of a whole page that is wrong
    # no single one can be named.
    mute = pl.col("path").is_null() & ~right & ~outcome.is_in(["missing", "spurious"])
    known = pl.any_horizontal(pl.col("exact", "by_rule").fill_null(False), mute)
    slack = _BEYOND * (pl.col("y1") - pl.col("y0"))
    low = (pl.col(f"pred_{side}") >= pl.col(side) - slack for side in BOX[:2])
    high = (pl.col(f"pred_{side}") <= pl.col(side) + slack for side in BOX[2:])
    table = cases.with_row_index("row").with_columns(
        # A frame of pages without any box may know no numbers there.
        pl.col("^(pred_)?[xy][01]$").cast(pl.Float64),
        usable=pl.col("status").is_in(USABLE).fill_null(False),
        right=right,
        **dict.fromkeys(absent, pl.lit(None, pl.Boolean)),
    )
    table = table.with_columns(wrong=~known & (outcome != "unscored"))
    table = table.filter(pl.col("wrong").any().over("doc_id")).select(
        *("row", "doc_id", "path", "kind", "gold", "pred", "accepted", "readings", *BOX, "usable"),
        step=pl.when("wrong").then(_step()),
        place=place(),
        inside=pl.all_horizontal(*low, *high).fill_null(False),
    )
    own, odd = folded(table["gold"]), table["gold"].ne_missing(table["pred"]).arg_true()
    said = own.clone().scatter(odd, folded(table["pred"].gather(odd)))
    kinds = pl.col("kind").n_unique().over("doc_id", "place")
    return table.with_columns(own=own, said=said, kinds=kinds)


def _step() -> pl.Expr:
    """The cause of a wrong case where that is clear at once, else how it is found."""
    is_page, is_spurious = pl.col("path").is_null(), pl.col("outcome") == "spurious"
    gold, pred = (pl.col(side).fill_null("").str.strip_chars() != "" for side in ("gold", "pred"))
    is_lost = ~pred | ~pl.col("usable")
    answered = pl.coalesce("has_answer", "usable").fill_null(False).any().over("doc_id")
    steps = [
        (pl.col("status").is_in(BAD_OUTPUT), pl.col("status")),
        (pl.col("ambiguous"), pl.lit("date_order")),
        (pl.col("right"), pl.lit("right")),
        # A claim without a value, at a path that the gold does not have: nothing was missed.
        (is_spurious & (is_page | ~pred), pl.lit("spurious")),
        ((is_page | is_lost) & ~answered, pl.lit("missing_document")),
        (is_page, pl.lit("missed")),
        (is_lost, pl.lit("lost")),
        (is_spurious | ~gold, pl.lit("claimed")),
    ]
    return pl.coalesce(*(pl.when(at).then(step) for at, step in steps), pl.lit("mistaken"))


def _written(rows: pl.DataFrame) -> Iterator[str]:
    """How right values are written otherwise than the accepted value that is closest."""
    for gold, pred, accepted in rows.select("gold", "pred", "accepted").iter_rows():
        texts = [text for text in (gold, *(accepted or ())) if text and text.strip()]
        texts = [text for text in texts if text != pred and pred and pred.strip()]
        names = (cause(text, pred, right=True) for text in texts)
        yield next((name for name in names if name != "notation"), "notation")


def _lost(rows: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    """The causes of values that are not in their fields but may be elsewhere in the output."""
    is_other = _IS_USED & pl.col("said").ne_missing(pl.col("own").fill_null(""))
    others = table.filter(pl.col("path").is_not_null(), is_other)
    rows = _elsewhere(rows.with_columns(sought="own"), others.with_columns(sought="said"))
    texts = _texts(rows.filter(pl.col("where").is_null()), table)
    columns = rows.select("doc_id", "gold", pl.col("own").fill_null(""), "readings", "where")
    for doc_id, gold, own, readings, where in columns.iter_rows():
        if any(_likeness(own, letters(text or "")) >= _ALIKE for text in readings or ()):
            # Another rule reads it here, out of a token that goes to a neighbour.
            yield "clipped"
        elif where or len(own) < TELLING:
            yield where or "missed"
        elif own in texts[doc_id]["surplus"]:
            # It is stuck to a neighbour's text, which is merged for it.
            yield "clipped"
        else:
            read, kept = (texts[doc_id][of].count(_spaced([gold])) for of in ("page", "fields"))
            yield "wrong_field" if read > kept else "missed"


def _claimed(rows: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    """The causes of values that no gold asks for."""
    fields = table.drop_nulls("path").filter(pl.col("gold") != "")
    known = fields.select("doc_id", said="own", known=True).unique()
    rows = rows.join(known, on=["doc_id", "said"], how="left", maintain_order="left")
    is_known = (pl.col("said") == "") | _IN_BOX | pl.col("known").fill_null(False)
    texts = _texts(rows.filter(~is_known), table)
    for doc_id, pred, known in rows.select("doc_id", "pred", is_known).iter_rows():
        page = "" if known else texts[doc_id]["gold"]
        yield "hallucinated" if page.strip() and _spaced([pred]) not in page else "spurious"


def _mistaken(rows: pl.DataFrame, fields: pl.DataFrame, words: Words) -> Iterator[str]:
    """The causes of values other than the gold: another field's, or misread ones."""
    golds = fields.filter(pl.col("gold") != "")
    exchanged = _exchanged(rows, golds)
    rows = _elsewhere(rows.with_columns(sought="said"), golds.with_columns(sought="own"))
    rows = rows.join(exchanged, on="row", how="left", maintain_order="left", suffix="_exchanged")
    columns = rows.select("gold", "pred", "own", "said", "kind", "inside", r"^where.*$")
    for gold, pred, own, said, kind, inside, where, exchange in columns.iter_rows():
        first = exchange or ("notation" if gold == pred else cause(gold, pred))
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
_FIGURE = re.compile(r"\d")
# So many fields stand beside none: a hostile page has them all in one place.
_MOST = 200


def _shown(rows: pl.DataFrame, fields: pl.DataFrame, words: Words) -> list[int]:
    """The rows whose words too many are known, and neither a neighbour's nor another's loss."""
    found = []
    documents = fields.join(rows, on="doc_id", how="semi").partition_by("doc_id", as_dict=True)
    for key, asked in rows.group_by("doc_id"):
        document, golds, lost = documents[key], [], Counter()
        for gold, pred, own, said in document.select("gold", "pred", "own", "said").iter_rows():
            golds.append(tokens(gold or ""))
            # Words that are only split otherwise are not lost.
            lost.update(Counter(golds[-1]) - Counter(tokens(pred or "")) if own != said else ())
        boxes, numbers = document.select(BOX).to_numpy(), document["row"].to_numpy()
        for row, gold, pred, own, *box in asked.select("row", "gold", "pred", "own", *BOX).rows():
            more, (low, high) = Counter(_more(gold, pred)), np.array(box, float).reshape(2, 2)
            # Beside are fields no further away than a line; a letter alone stands there by chance.
            gap = high[1] - low[1]
            is_near = ((boxes[:, :2] <= high + gap) & (boxes[:, 2:] >= low - gap)).all(axis=1)
            near = np.flatnonzero(is_near & (numbers != row))[:_MOST]
            near = Counter(chain.from_iterable(golds[n] for n in near))
            beside = [word for word in (more & near).elements() if len(word) > 1]
            known = [w for w in more.elements() if words.has(w) or (not own and _FIGURE.search(w))]
            groups = more.elements(), known, beside, (more & lost).elements()
            size, of_known, *of_others = (len("".join(group)) for group in groups)
            if of_known * 2 > size >= max(of_others) * 2:
                found.append(row)
    return found


def _more(gold: str, pred: str) -> list[str]:
    """The words of an answer beside those of the gold, if it has these."""
    known, answer = tokens(gold), tokens(pred)
    start, ends = "".join(answer).find("".join(known)), [0, *accumulate(map(len, answer))]
    cut = [n for n, end in enumerate(ends) if end in (start, start + len("".join(known)))]
    if len(cut) == 2:
        return answer[: cut[0]] + answer[cut[1] :]
    more = Counter(answer) - Counter(known)
    return [*more.elements()] if more.total() + len(known) == len(answer) else []


_IS_USED = (pl.col("pred") != "") & pl.col("usable")


def _elsewhere(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """The rows, and `where` others have the letters `sought`, if these are no chance."""
    at, path, there = ["doc_id", "sought"], pl.col("path"), pl.col("place")
    asked = rows.filter(pl.col("sought").str.len_chars() >= TELLING)
    held = others.join(asked, on=at, how="semi").group_by(at)
    one = {"other": path.first(), "there": there.first()}
    held = held.agg(paths=path.n_unique(), places=there.n_unique(), **one)
    found = asked.join(held, on=at).filter((pl.col("paths") > 1) | (pl.col("other") != path))
    found = found.select("row", where=_where((pl.col("places") == 1) & (pl.col("there") == there)))
    return rows.join(found, on="row", how="left", maintain_order="left")


def _where(same: pl.Expr) -> pl.Expr:
    """`wrong_row` for what is of the `same` field of another row, else `wrong_field`."""
    # An index may number the rows of a table, or fields that have nothing in common.
    is_row = same & (pl.col("place") != pl.col("path")) & (pl.col("kinds") < 2)
    return pl.when(is_row).then(pl.lit("wrong_row")).otherwise(pl.lit("wrong_field"))


def _exchanged(rows: pl.DataFrame, golds: pl.DataFrame) -> pl.DataFrame:
    """Where answers are the gold of fields that lost it."""
    texts, differs = (plain("gold"), plain("pred").fill_null("")), pl.col("gold") != pl.col("pred")
    hits = rows.join(golds, left_on=["doc_id", "said"], right_on=["doc_id", "own"], how="semi")
    hits = hits.with_columns(texts).filter(differs)
    golds = golds.join(hits, on="doc_id", how="semi").with_columns(texts)
    lost = golds.filter(differs).rename({"gold": "pred", "pred": "gold"})
    # A short value may be another row's by chance, unless that row has a third one's or none.
    thirds = pl.concat(golds.select("doc_id", gold=of) for of in ("gold", pl.lit("")))
    known = lost.join(thirds, on=["doc_id", "gold"], how="semi")
    is_telling = pl.col("said").str.len_chars() >= TELLING
    telling, short = hits.filter(is_telling), hits.filter(~is_telling)
    row, both = ["doc_id", "place", "pred"], ["doc_id", "gold", "pred"]
    ways = (telling, lost, row), (short, known, row), (telling, lost, both)
    found = pl.concat(
        answers.join(others, on=on, how="semi").select("row", where=_where(pl.lit(on is row)))
        for answers, others, on in ways
    )
    return found.unique("row", keep="first", maintain_order=True)


def _texts(rows: pl.DataFrame, table: pl.DataFrame) -> dict[str, dict[str, str]]:
    """By document the texts in which values of `rows` are looked for.

    They are the words of its page in gold and output, those of all its fields in the output, and
    the letters that fields have there beside their own.
    """
    is_page, used = pl.col("path").is_null(), pl.col("path").is_not_null() & _IS_USED
    other = used & pl.col("said").ne_missing(pl.col("own"))
    table = table.join(rows.group_by("doc_id").len(), on="doc_id", maintain_order="left")
    # What is right tells nothing, unless pages are compared.
    has_page = (is_page & ~pl.all_horizontal(pl.col("gold", "pred").is_null())).any()
    odd = pl.col("gold").ne_missing(pl.col("pred")) | pl.col("step").is_not_null()
    table = table.filter(odd | has_page.over("doc_id"))
    table = table.group_by("doc_id", "len", maintain_order=True).agg(
        *(pl.col("own", "said").filter(other), pl.col("gold").filter(is_page).drop_nulls()),
        page=pl.col("pred").filter(is_page).drop_nulls(),
        fields=pl.col("pred").filter(used),
    )
    texts = {}
    for doc_id, count, own, said, *parts in table.iter_rows():
        # Its own text is no sign of another field's.
        pairs = zip(own, said, strict=True)
        surplus = "|".join(text.replace(own, "|", 1) if own else text for own, text in pairs)
        # Of very many values each is looked for in the beginning alone.
        most = _BUDGET // count
        words = zip(("gold", "page", "fields"), map(_spaced, parts), strict=True)
        texts[doc_id] = {name: text[:most] for name, text in (("surplus", surplus), *words)}
    return texts


def plain(column: str) -> pl.Expr:
    """A value in lower case with single spaces."""
    return pl.col(column).str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")


def _likeness(own: str, said: str) -> float:
    """How alike the letters of gold and prediction are."""
    return Levenshtein.normalized_similarity(own, said) if said else 0.0


def _spaced(texts: Iterable[str]) -> str:
    """The words of texts with a space on both sides of each, so that only whole words are found."""
    return f" {' '.join(word for text in texts for word in tokens(text))} "
