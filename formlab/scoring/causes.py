"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, and the words of the corpus's gold. What
other documents show is told after scoring (`scoring.across`). `docs/causes.md` has the definitions
and how far people agree with them; `causes.toml` the stage, the words and the advice of each.
"""

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
    words = words or Words.of(cases.select("doc_id", "path", value="gold"))
    table = _evidence(cases)
    found = dict(table.select("row", "step").drop_nulls().iter_rows())
    found |= chain(_written(table), _lost(table), _claimed(table), _mistaken(table, words))
    merged = [row for row, name in found.items() if name == "merged"]
    found |= dict.fromkeys(_mislabelled(table, merged, words), "label_error")
    return pl.Series("cause", [None] * cases.height, pl.String).scatter([*found], [*found.values()])


# How far what was read may stand out of the field's box, of the box's height.
_BEYOND = 0.5
# Causes that say that the answer's text is the field's own.
_OWN_TEXT = ("clipped", "merged", "label_error", "lost_separator", "lookalike")
# From this likeness on, in [0, 1], a value is its own, misread, and not another field's.
_ALIKE = 0.6
# How many characters of a document are searched for values that are missing, over all of them.
_BUDGET = 20_000_000
_OPTIONS = ("checkbox", "choice", "radio", "dropdown")
_HAS_GOLD = pl.col("path").is_not_null() & (pl.col("gold") != "")
_IS_USED = pl.col("path").is_not_null() & (pl.col("pred") != "") & pl.col("usable")
_IS_OTHER = _IS_USED & pl.col("said").ne_missing(pl.col("own"))
# What was read in the box of a field left blank stands there, or is a scribble.
_IN_BOX = pl.col("gold").is_not_null() & (pl.col("readings").is_not_null() | pl.col("inside"))
# A scribble is often read as a letter or two, but seldom as a figure.
_IS_TELLING = (pl.col("step") == "claimed") & pl.col("pred").str.contains(r"[^\W_]\S*[^\W_]|\d")
_IS_SHORT = pl.sum_horizontal(pl.col("gold", "pred").str.len_chars()) <= 2 * LONGEST
# So many fields stand beside none: a hostile page has them all in one place.
_MOST = 200


def _evidence(cases: pl.DataFrame) -> pl.DataFrame:
    """All of the documents that have a wrong case, with steps to causes and letters of values."""
    outcome = pl.col("outcome")
    right = pl.col("typed").fill_null(False) | (outcome == "match")
    # Another value that is right has no cause of an error; a whole page that is wrong has many.
    mute = pl.col("path").is_null() & ~right & ~outcome.is_in(["missing", "spurious"])
    known = pl.any_horizontal(pl.col("exact", "by_rule").fill_null(False), mute)
    slack = _BEYOND * (pl.col("y1") - pl.col("y0"))
    low = (pl.col(f"pred_{side}") >= pl.col(side) - slack for side in BOX[:2])
    high = (pl.col(f"pred_{side}") <= pl.col(side) + slack for side in BOX[2:])
    table = cases.with_row_index("row").with_columns(
        # A frame of pages without any box may know no numbers there.
        pl.col("^(pred_)?[xy][01]$").cast(pl.Float64),
        usable=pl.col("status").is_in(USABLE).fill_null(False),
    )
    table = table.select(
        *("row", "doc_id", "path", "kind", "gold", "pred", "accepted", "readings", *BOX, "usable"),
        step=pl.when(~known & (outcome != "unscored")).then(_step(right)),
        place=place(),
        inside=pl.all_horizontal(*low, *high).fill_null(False),
    )
    table = table.filter((pl.col("step").count() > 0).over("doc_id"))
    # An index may number the rows of a table, or fields that have nothing in common.
    is_alike = pl.col("kind").n_unique().over("doc_id", "place") < 2
    own, odd = folded(table["gold"]), table["gold"].ne_missing(table["pred"]).arg_true()
    said = own.clone().scatter(odd, folded(table["pred"].gather(odd)))
    is_row = (pl.col("place") != pl.col("path")) & is_alike
    return table.with_columns(own=own, said=said, is_row=is_row)


def _step(right: pl.Expr) -> pl.Expr:
    """The cause of a wrong case where that is clear at once, else how it is found."""
    is_page, is_spurious = pl.col("path").is_null(), pl.col("outcome") == "spurious"
    gold, pred = (pl.col(side).fill_null("").str.strip_chars() != "" for side in ("gold", "pred"))
    is_lost = ~pred | ~pl.col("usable")
    answered = pl.coalesce("has_answer", "usable").fill_null(False).any().over("doc_id")
    steps = [
        (pl.col("status").is_in(STAGES["answer"]), pl.col("status")),
        (pl.col("ambiguous"), pl.lit("date_order")),
        (right, pl.lit("right")),
        # A claim without a value, at a path that the gold does not have: nothing was missed.
        (is_spurious & (is_page | ~pred), pl.lit("spurious")),
        ((is_page | is_lost) & ~answered, pl.lit("missing_document")),
        (is_page, pl.lit("missed")),
        (is_lost, pl.lit("lost")),
        (is_spurious | ~gold, pl.lit("claimed")),
    ]
    return pl.coalesce(*(pl.when(at).then(step) for at, step in steps), pl.lit("mistaken"))


def _written(table: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """How right values are written otherwise than the accepted value that is closest."""
    rows = table.filter(step="right").select("row", "gold", "pred", "accepted")
    for row, gold, pred, accepted in rows.iter_rows():
        names = (cause(text or "", pred or "", right=True) for text in (gold, *(accepted or ())))
        names = (name for name in names if name not in ("notation", "missed", "spurious"))
        yield row, next(names, "notation")


def _lost(table: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """The causes of values that are not in their fields but may be elsewhere in the output."""
    rows, others = table.filter(step="lost"), table.filter(_IS_OTHER)
    where = _elsewhere(rows.with_columns(sought="own"), others.with_columns(sought="said"))
    texts = _texts(rows.filter(~pl.col("row").is_in([*where])), table, "pred", "fields")
    columns = rows.select("row", "doc_id", "gold", pl.col("own").fill_null(""), "readings")
    for row, doc_id, gold, own, readings in columns.iter_rows():
        if any(_is_alike(own, letters(text or "")) for text in readings or ()):
            # Another rule reads it here, out of a token that goes to a neighbour.
            yield row, "clipped"
        elif row in where or len(own) < TELLING:
            yield row, where.get(row, "missed")
        elif own in texts[doc_id]["surplus"]:
            # It is stuck to a neighbour's text, which is merged for it.
            yield row, "clipped"
        else:
            read, kept = (texts[doc_id][of].count(_spaced([gold])) for of in ("pred", "fields"))
            yield row, "wrong_field" if read > kept else "missed"


def _claimed(table: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """The causes of values that no gold asks for."""
    rows = table.filter(step="claimed")
    yield from ((row, "spurious") for row in rows["row"])
    known = table.filter(_HAS_GOLD).select("doc_id", said="own")
    rows = rows.filter(~_IN_BOX, pl.col("said") != "").join(known, on=known.columns, how="anti")
    texts = _texts(rows, table, "gold")
    for row, doc_id, pred in rows.select("row", "doc_id", "pred").iter_rows():
        page = texts[doc_id]["gold"]
        if page.strip() and _spaced([pred]) not in page:
            yield row, "hallucinated"


def _mistaken(table: pl.DataFrame, words: Words) -> Iterator[tuple[int, str]]:
    """The causes of values other than the gold: another field's, or misread ones."""
    rows, golds = table.filter(step="mistaken"), table.filter(_HAS_GOLD)
    where = _elsewhere(rows.with_columns(sought="said"), golds.with_columns(sought="own"))
    exchanged = _exchanged(rows, golds)
    columns = rows.select("row", "gold", "pred", "own", "said", "kind", "inside")
    for row, gold, pred, own, said, kind, inside in columns.iter_rows():
        first = exchanged.get(row) or cause(gold, pred)
        if kind in _OPTIONS and first == "characters" and not _is_alike(own, said):
            # Options are chosen, and not read letter by letter.
            first = "other_value"
        is_row = (first, where.get(row)) == ("digit", "wrong_row")
        if row in exchanged or first in _WRITTEN or len(gold) + len(pred) > 2 * LONGEST:
            yield row, first
        elif row in where and first not in _OWN_TEXT and (is_row or not _is_alike(own, said)):
            yield row, where[row]
        elif words.contradict_gold(gold, pred):
            yield row, "label_error"
        else:
            # What was read in the field's own box is its ink, however unlike.
            yield row, "characters" if first == "other_value" and inside else first


def _mislabelled(table: pl.DataFrame, merged: list[int], words: Words) -> Iterator[int]:
    """The rows whose words too many are known, and neither a neighbour's nor another's loss."""
    is_merged = pl.col("row").is_in(merged) & pl.col("inside") & (pl.col("own") != "") & _IS_SHORT
    table = table.drop_nulls("path").with_columns(asked=is_merged | (_IN_BOX & _IS_TELLING))
    for document in table.filter(pl.col("asked").any().over("doc_id")).partition_by("doc_id"):
        golds, lost = [], Counter()
        for gold, pred, own, said in document.select("gold", "pred", "own", "said").iter_rows():
            golds.append(tokens(gold or ""))
            # Words that are only split otherwise are not lost.
            lost.update(Counter(golds[-1]) - Counter(tokens(pred or "")) if own != said else ())
        boxes, rows = document.select(BOX).to_numpy(), document["row"].to_numpy()
        asked = document.filter("asked").select("row", "gold", "pred", "own", *BOX)
        for row, gold, pred, own, *box in asked.iter_rows():
            more, (low, high) = _more(gold, pred), np.array(box, float).reshape(2, 2)
            # Beside are fields no further away than a line; a letter alone stands there by chance.
            gap = high[1] - low[1]
            is_near = ((boxes[:, :2] <= high + gap) & (boxes[:, 2:] >= low - gap)).all(axis=1)
            near = np.flatnonzero(is_near & (rows != row))[:_MOST]
            near = Counter(chain.from_iterable(golds[n] for n in near))
            beside = [word for word in (more & near).elements() if len(word) > 1]
            known = [w for w in more.elements() if words.has(w) or not (own or w.isalpha())]
            groups = more.elements(), known, beside, (more & lost).elements()
            size, of_known, *of_others = (len("".join(group)) for group in groups)
            if of_known * 2 > size >= max(of_others) * 2:
                yield row


def _more(gold: str, pred: str) -> Counter[str]:
    """The words of an answer beside those of the gold, if it has these."""
    known, answer = tokens(gold), tokens(pred)
    start, ends = "".join(answer).find("".join(known)), [0, *accumulate(map(len, answer))]
    span = start, start + len("".join(known))
    if {*span} <= {*ends}:
        first, last = map(ends.index, span)
        return Counter(answer[:first] + answer[last:])
    more = Counter(answer) - Counter(known)
    return more if more.total() + len(known) == len(answer) else Counter()


def _elsewhere(rows: pl.DataFrame, others: pl.DataFrame) -> dict[int, str]:
    """Where others have the letters `sought` by rows, if these are no chance."""
    at, path, there = ["doc_id", "sought"], pl.col("path"), pl.col("place")
    asked = rows.filter(pl.col("sought").str.len_chars() >= TELLING)
    ends = {"first": path.min(), "last": path.max(), "low": there.min(), "high": there.max()}
    held = others.join(asked, on=at, how="semi").group_by(at).agg(**ends)
    found = asked.join(held, on=at).filter(pl.any_horizontal(pl.col("first", "last") != path))
    return _where(found, pl.all_horizontal(pl.col("low", "high") == there))


def _where(rows: pl.DataFrame, is_same: pl.Expr) -> dict[int, str]:
    """`wrong_row` for what is of the same field of another row, else `wrong_field`."""
    is_row = pl.when(is_same & pl.col("is_row")).then(pl.lit("wrong_row"))
    return dict(rows.select("row", is_row.otherwise(pl.lit("wrong_field"))).iter_rows())


def _exchanged(rows: pl.DataFrame, golds: pl.DataFrame) -> dict[int, str]:
    """Where answers are from that are the gold of fields that lost it."""
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
    found = _where(telling.join(lost, on=both, how="semi"), pl.lit(False))
    found |= _where(telling.join(lost, on=row, how="semi"), pl.lit(True))
    return found | _where(short.join(known, on=row, how="semi"), pl.lit(True))


def _texts(rows: pl.DataFrame, table: pl.DataFrame, *names: str) -> dict[str, dict[str, str]]:
    """By document the texts in which values of `rows` are looked for.

    They are the letters that fields have in the output beside their own and, of those `names`, the
    words of the page in gold and output, and of all fields in the output if it has a page.
    """
    is_page, pred = pl.col("path").is_null(), pl.col("pred")
    lists = {of: pl.col(of).filter(is_page).drop_nulls() for of in ("gold", "pred")}
    lists["fields"] = pred.filter(_IS_USED & (lists["pred"].len() > 0))
    table = table.join(rows.group_by("doc_id").len(), on="doc_id", maintain_order="left")
    others = pl.col("own", "said").filter(_IS_OTHER).name.prefix("other_")
    table = table.group_by("doc_id", "len").agg(others, **{name: lists[name] for name in names})
    texts = {}
    for doc_id, count, own, said, *parts in table.iter_rows():
        # Its own text is no sign of another field's.
        pairs = zip(own, said, strict=True)
        surplus = "|".join(text.replace(own, "|", 1) if own else text for own, text in pairs)
        # Of very many values each is looked for in the beginning alone.
        whole = (text[: _BUDGET // count] for text in (surplus, *map(_spaced, parts)))
        texts[doc_id] = dict(zip(("surplus", *names), whole, strict=True))
    return texts


def plain(column: str) -> pl.Expr:
    """A value in lower case with single spaces."""
    return pl.col(column).str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")


def _is_alike(own: str, said: str) -> bool:
    """Whether the letters of gold and prediction are alike."""
    return said != "" and Levenshtein.normalized_similarity(own, said) >= _ALIKE


def _spaced(texts: Iterable[str]) -> str:
    """The words of texts with a space on both sides of each, so that only whole words are found."""
    return f" {' '.join(word for text in texts for word in tokens(text))} "
