"""Causes that one document alone cannot show: another document's answer, and a constant offset.

They are told after scoring, in passes over the cases part by part. Kept are hashes of what is
wrong, of the documents whose gold it is, and how far dates and numbers are off.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab import files
from formlab.scoring.bands import pattern
from formlab.scoring.causes import STAGES, plain
from formlab.tables import WHOLE_LEVELS
from formlab.text.values import date_readings, number

OTHER_DOCUMENT, OFFSET = "other_document", "offset"
# An answer is another document's by itself if it has so many letters and digits, is more edits from
# its gold than a misread one (an item no misreading at all), and few documents' gold, a share.
_LETTERS, _MISREAD, _RARE = 4, 2, 0.02
# Else two answers of a document, and half of its wrong ones, must be those of one other document.
_VOTES, _HALF = 2, 0.5
# An offset is constant if so many values in so many documents have it, and half of a group's.
_CASES, _DOCUMENTS = 5, 3
_KEPT = (*STAGES["answer"], *STAGES["form"], "missed", "reader")
_OWN = ("wrong_field", "wrong_row", "clipped", "merged")  # The document itself has the answer.
_DIFFERS = ("digit", "other_value", "label_error", "lookalike", "characters")
_KEY = ["doc_id", "at"]
_READ = {
    "date": lambda value: [day and day.toordinal() for day in date_readings(value)],
    "number": lambda value: [number(value)],
}


def offsets(kind: str | None, gold: str, pred: str) -> list[float | None]:
    """How far a date is off in days, read month first and day first, or a number is.

    >>> offsets("date", "2016-03-01", "29 Feb 2016"), offsets("number", "1,200", "1,201")
    ([-1.0, -1.0], [1.0])
    """
    read = _READ.get(kind)
    pairs = zip(read(gold), read(pred), strict=True) if read else ()
    return [None if None in pair else float(pair[1] - pair[0]) for pair in pairs]


def offset_text(cases: pl.DataFrame) -> str:
    """What a sentence says of cases with the cause `OFFSET`."""
    rows = cases.select("kind", "gold", "pred").iter_rows()
    shifts = Counter((kind, shift) for kind, *pair in rows for shift in offsets(kind, *pair))
    (kind, shift), _ = max(shifts.items(), key=lambda item: (item[1], str(item[0])))
    if kind == "date":
        days = f"{abs(shift):g} day{'s' * (abs(shift) != 1)}"
        return f"the date is {days} {'early' if shift < 0 else 'late'}"
    return f"the number is {abs(shift):g} too {'small' if shift < 0 else 'large'}"


def told_in(cases: pl.DataFrame, found: pl.DataFrame | None = None) -> pl.DataFrame:
    """The cases with the causes that follow from other documents: all of them, or those `found`."""
    found = _found([cases.lazy()]) if found is None else found
    at = cases.select("doc_id", _hash("pred"))
    told = at.join(found, on=_KEY, how="left", maintain_order="left")["told"]
    known = cases["cause"]
    # What is right has no cause of an error, though another case at its path may.
    wrong = (cases["outcome"] == "mismatch") & told.is_not_null()
    return cases.with_columns(cause=told.cast(known.dtype).zip_with(wrong, known))


def told_on_disk(folder: Path) -> None:
    """The same for the parts of `cases` in a folder: those that change are written anew."""
    paths = sorted((folder / "cases").iterdir())
    found = _found([pl.scan_parquet(path, glob=False) for path in paths])
    for path in paths if found.height else ():
        cases = pl.read_parquet(path, glob=False)
        if cases["doc_id"].is_in(found["doc_id"].implode()).any():
            files.write_parquet(path, told_in(cases, found), statistics=True)


def _hash(value: str) -> pl.Expr:
    """A hash of a value and its path, the same for all items of a list with a name."""
    place = pattern()
    place = pl.when(place.str.contains(r"[^/*]")).then(place).otherwise("path")
    return pl.struct(place.alias("place"), plain(value).alias("value")).hash().alias("at")


def _found(parts: Sequence[pl.LazyFrame]) -> pl.DataFrame:
    """Document, hash of path and answer, and the cause told, of every case that gets another."""
    whole, document = pl.col("level").is_in(WHOLE_LEVELS), pl.col("doc_id")
    fields = [part.filter(~whole).drop_nulls(["path", "gold"]) for part in parts]
    wrong = pl.concat(map(_wrong, fields))
    # Whose gold at its path each wrong answer is. Most values are no answer anywhere.
    is_said = plain("gold").hash().is_in(wrong["said"].unique().implode())
    said = (part.filter(is_said).select(_hash("gold"), owner=document) for part in fields)
    golds = pl.concat(pl.collect_all(said)).join(wrong, on="at", how="semi").unique()
    count = sum(part.select(document.n_unique()).collect().item() for part in parts)
    others = _other_document(wrong, golds, count).with_columns(told=pl.lit(OTHER_DOCUMENT))
    shifted = _offsets(wrong.join(others, on=_KEY, how="anti"))
    return pl.concat([others, shifted.with_columns(told=pl.lit(OFFSET))])


def _wrong(part: pl.LazyFrame) -> pl.DataFrame:
    """The wrong answers of a part, without their texts."""
    rows = part.filter(~pl.col("cause").is_in(_KEPT), outcome="mismatch").drop_nulls("pred")
    rows = rows.select("doc_id", "path", "kind", "gold", "pred", "cause", _hash("pred")).collect()
    pairs = list(rows.select("kind", "gold", "pred", "cause").iter_rows())
    alike = [Levenshtein.distance(gold, pred) <= _MISREAD for _, gold, pred, _ in pairs]
    shifts = [(cause in _DIFFERS and offsets(*pair)) or None for *pair, cause in pairs]
    return rows.select(
        *_KEY,
        pl.col("kind", "cause").cast(pl.String),
        telling=pl.col("pred").str.count_matches(r"[\pL\pN]") >= _LETTERS,
        alike=pl.Series(alike, dtype=pl.Boolean),
        pattern=pattern(),
        own=plain("gold").hash(),
        said=plain("pred").hash(),
        shift=pl.Series(shifts, dtype=pl.List(pl.Float64)),
    )


def _other_document(wrong: pl.DataFrame, golds: pl.DataFrame, count: int) -> pl.DataFrame:
    """The answers that are the gold of another of `count` documents at their path."""
    telling, owner = wrong.filter("telling"), pl.col("owner")
    owners = golds.group_by("at").agg(owner.min(), owners=pl.len())
    known = telling.join(owners, on="at").filter(owner != pl.col("doc_id"))
    is_item = pl.col("pattern").str.contains("*", literal=True) & (pl.col("cause") != "other_value")
    own = pl.col("cause").is_in(_OWN) | is_item
    alone = known.filter(~pl.col("alike"), ~own, pl.col("owners") <= max(1, _RARE * count))
    votes = known.filter(pl.col("owners") == 1).group_by("doc_id", "owner").len("votes")
    sources = votes.join(telling.group_by("doc_id").len("errors"), on="doc_id")
    sources = sources.filter(pl.col("votes") >= _VOTES, pl.col("votes") >= _HALF * pl.col("errors"))
    # Of such a document all is, short values as well.
    copied = wrong.join(golds.join(sources, on="owner"), on=_KEY, how="semi")
    return pl.concat([alone.select(_KEY), copied.select(_KEY)]).unique()


def _offsets(wrong: pl.DataFrame) -> pl.DataFrame:
    """The answers that are off by what most wrong ones of their kind, or at their path, are."""
    off = wrong.with_columns(order=pl.int_ranges(pl.col("shift").list.len()))
    off, found = off.explode("shift", "order").filter(pl.col("shift") != 0), []
    for group in ("kind", "pattern"):
        same = ["order", group, "shift"]
        cases, alike = pl.len().over(same[:2]), pl.len().over(same)
        # One value misread alike everywhere is no offset.
        several = pl.col("doc_id", "own").n_unique().over(same) >= _DOCUMENTS
        found.append(off.filter(alike >= _CASES, alike >= cases / 2, pl.all_horizontal(several)))
    return pl.concat(found).select(_KEY).unique()
