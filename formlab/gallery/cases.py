"""What a gallery shows of a case: its words and label, what differs, its slices and findings."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rapidfuzz.distance import Indel, Levenshtein

from formlab.analysis.finding import KEYS, Finding
from formlab.benchmarks.meta import meta_of
from formlab.charts.escaping import clean
from formlab.readers.types import FieldTypes
from formlab.scoring.bands import sliced
from formlab.scoring.causes import STAGE_OF
from formlab.tables import LADDER
from formlab.trees import unescape

Row = Mapping[str, Any]
KEY = ("benchmark", "split", "doc_id", "task", "level", "path", "pred_path")
_CORPUS = ("benchmark", "split")
_PLACE = (*_CORPUS, "doc_id", "path")
_OF_CASE = ("benchmark", "split", "doc_id", "level", "task", "path", "kind", "gold_origin")
_OF_ANSWER = ("system", "outcome", "cause", "status", "pred_origin")
_SCORED = (*_CORPUS, "doc_id", "system", "path")
# Columns that charts slice by without being asked.
_ALWAYS = ("modality", "subtype", "field", "flip")
_VALUE, _WORDS, _LABEL = 1_200, 300, 200
# Words this similar are compared by character; of others the common characters are chance.
ALIKE = 0.5
# Values that share less than this of the shorter one are two different values.
RELATED = 0.35
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def keys(cases: pl.DataFrame) -> list[str]:
    """Ten hexadecimal digits for each case, the same in every build and for every system."""
    return [
        hashlib.sha256(json.dumps(row).encode()).hexdigest()[:10]
        for row in cases.select(KEY).iter_rows()
    ]


def words(row: Row, beside: Sequence[Row], scores: Mapping[Any, list[Any]]) -> dict[str, Any]:
    """The texts and numbers of a case; ``beside`` has the answers of further systems."""
    gold = _text(row["gold"], limit=_VALUE)
    case = {name: _text(row[name]) for name in _OF_CASE} | {"gold": gold}
    if row.get("verdict") is not None:
        case["verdict"] = _text(row["verdict"])
    first, *others = [_answer(answer, gold, scores) for answer in (row, *beside)]
    return case | first | ({"beside": others} if others else {})


def _answer(row: Row, gold: str | None, scores: Mapping[Any, list[Any]]) -> dict[str, Any]:
    pred = _text(row["pred"], limit=_VALUE)
    answer: dict[str, Any] = {name: _text(row[name]) for name in _OF_ANSWER}
    answer |= {"stage": STAGE_OF.get(row["cause"]), "pred": pred, "diff": diff(gold, pred)}
    answer |= {"ladder": [row[rung] for rung in LADDER], "similarity": _number(row["similarity"])}
    if (confidence := _number(row["confidence"])) is not None:
        answer["confidence"] = confidence
    if row["failed"] is not None and len(row["failed"]):
        answer["failed"] = [_text(path) for path in row["failed"]]
    if numbers := scores.get(tuple(row[name] for name in _SCORED)):
        answer["scores"] = numbers
    return answer


def _text(value: object, *, limit: int = _WORDS) -> str | None:
    return None if value is None else clean(value, limit=limit)


def _number(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None


def scores_by_case(scores: pl.DataFrame, cases: Sequence[pl.DataFrame]) -> dict[Any, list[Any]]:
    """``[metric, value, hits, total]`` of the scores that belong to one case, by case.

    Scores of a page or a document, which have no path, belong to no single case; of the rungs of
    the ladder each case tells by itself.
    """
    known = pl.concat([table.select(_SCORED) for table in cases]).unique()
    rungs = pl.col("metric").is_in([f"{rung}_accuracy" for rung in LADDER])
    of_cases = scores.filter(pl.col("path").is_not_null(), ~rungs)
    of_cases = of_cases.join(known, on=_SCORED, how="semi")
    numbers = pl.col("value", "hits", "total").cast(pl.Float64)
    rounded = pl.when(numbers.is_finite()).then(numbers.round(4))
    by_case: dict[Any, list[Any]] = {}
    for *place, metric, value, hits, total in of_cases.select(
        *_SCORED, "metric", rounded
    ).iter_rows():
        by_case.setdefault(tuple(place), []).append([metric, value, hits, total])
    return by_case


# Where an answer differs


def diff(gold: str | None, pred: str | None) -> list[tuple[str, str]]:
    """Runs of ``equal``, ``delete`` (only in gold) and ``insert`` (only in the answer).

    Words are aligned first; those that changed into similar ones are compared by character. Values
    that hardly have anything in common are one deletion and one insertion. Joined, the runs that
    are not ``insert`` give gold, and those that are not ``delete`` give the answer. Takes O(n²) of
    the words and of each changed stretch: the caller cuts long texts first.

    Examples
    --------
    >>> diff("Rheumatic fever", "fever")
    [('delete', 'Rheumatic '), ('equal', 'fever')]
    """
    gold, pred = gold or "", pred or ""
    runs = list(_joined(_runs(_TOKENS.findall(gold), _TOKENS.findall(pred))))
    same = sum(len(text) for op, text in runs if op == "equal")
    if same < RELATED * min(len(gold), len(pred)):
        runs = [("delete", gold), ("insert", pred)]
    return [(op, text) for op, text in runs if text]


def _runs(gold: Sequence[str], pred: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Runs of two lists of words, or of two texts as lists of characters."""
    words = isinstance(gold, list)
    # Of words as many as possible are kept; of characters as few as possible are changed.
    opcodes = (Indel if words else Levenshtein).opcodes(gold, pred)
    for equal, group in itertools.groupby(opcodes, lambda step: step.tag == "equal"):
        steps = list(group)
        old = gold[steps[0].src_start : steps[-1].src_end]
        new = pred[steps[0].dest_start : steps[-1].dest_end]
        deleted, inserted = "".join(old), "".join(new)
        if equal:
            yield "equal", deleted
        elif words and Levenshtein.normalized_similarity(deleted, inserted) >= ALIKE:
            yield from _runs(deleted, inserted)
        else:
            yield "delete", deleted
            yield "insert", inserted


def _joined(runs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Between two equal runs one deletion and one insertion; blanks between changes are changed."""
    listed = list(runs)
    for at in range(1, len(listed) - 1):
        op, text = listed[at]
        lonely = op == "equal" and not any(sign.isalnum() for sign in text)
        if lonely and all(listed[at + side][0] != "equal" for side in (-1, 1)):
            listed[at] = ("changed", text)
    for equal, group in itertools.groupby(listed, lambda run: run[0] == "equal"):
        members = list(group)
        if equal:
            yield "equal", "".join(text for _, text in members)
            continue
        for op in ("delete", "insert"):
            yield op, "".join(text for of, text in members if of in (op, "changed"))


# What a case is called


def labels(cases: pl.DataFrame, gold: pl.DataFrame | None, documents: pl.DataFrame) -> list[str]:
    """The label of each case: the first that is known of these.

    A column ``label`` or ``question`` of the cases; that of the gold's `meta`; that of the type
    declared for the field of an own form; the question that the gold links to it; the last part
    of its path, a number with the kind of the field before it.
    """
    known = _of_types(cases, documents)
    if gold is not None and gold.height:
        gold = gold.join(cases.select(_PLACE[:3]).unique(), on=_PLACE[:3], how="semi")
        known = _of_links(gold) | dict(_of_meta(gold)) | known
    columns = [name for name in ("label", "question") if name in cases.columns]
    return [
        next((str(row[name]) for name in columns if row[name]), None)
        or known.get(tuple(row[name] for name in _PLACE))
        or path_label(row["path"] or row["pred_path"], row["kind"] or row["level"])
        for row in cases.select(*_PLACE, "pred_path", "kind", "level", *columns).to_dicts()
    ]


def path_label(path: str | None, kind: str | None) -> str:
    """A name made of the path, where nothing else is known.

    Examples
    --------
    >>> path_label("/items/2/unit_price", "money"), path_label("/entities/64", "question")
    ('unit price', 'question 64')
    >>> path_label(None, "page")
    'page'
    """
    steps = [step for step in (path or "").split("/") if step]
    if not steps:
        return (kind or "case").replace("_", " ")
    last = unescape(steps[-1]).replace("_", " ")
    if not last.isdecimal():
        return last
    name = kind or (steps[-2] if len(steps) > 1 else "item")
    return f"{name.replace('_', ' ')} {last}"


def _of_links(gold: pl.DataFrame) -> dict[Any, str]:
    """The question that the gold links to each path."""
    ends = pl.col("value").str.split_exact(" ", 1).struct.rename_fields(["path", "end"])
    links = gold.filter(pl.col("kind") == "link").select(*_PLACE[:3], ends.alias("_ends"))
    questions = gold.filter(pl.col("kind") == "question").select(*_PLACE, "value")
    linked = links.unnest("_ends").join(questions, on=_PLACE, maintain_order="left")
    rows = linked.select(*_PLACE[:3], "end", pl.col("value").str.strip_chars()).iter_rows()
    return {tuple(place): text for *place, text in rows if text}


def _of_meta(gold: pl.DataFrame) -> Iterator[tuple[Any, str]]:
    stated = gold.filter(pl.col("meta").str.contains('"(question|label)"'))
    for *place, text in stated.select(*_PLACE, "meta").iter_rows():
        meta = meta_of(text)
        if label := meta.get("label") or meta.get("question"):
            yield tuple(place), str(label)


def _of_types(cases: pl.DataFrame, documents: pl.DataFrame) -> dict[Any, str]:
    """Labels of the fields of own forms, whose documents carry the declared types."""
    declared = documents.filter(pl.col("meta").str.contains('"(question|label)"'))
    # The documents of a corpus mostly share their types.
    types = functools.lru_cache(maxsize=64)(lambda meta: FieldTypes.of_document({"meta": meta}))
    declared = declared.select(*_PLACE[:3], "meta").unique(_PLACE[:3])
    fields = cases.select(_PLACE).join(declared, on=_PLACE[:3])
    found = {tuple(place): types(meta).of(place[-1]) for *place, meta in fields.iter_rows()}
    texts = {place: field.label or field.question for place, field in found.items()}
    return {place: text for place, text in texts.items() if text}


# What cases belong to


def slices(cases: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]) -> list[dict[str, Any]]:
    """The value of each column of `by` for each case, as texts; a list where the column has lists.

    Raises
    ------
    UnknownName
        If a column is neither of the cases nor of the documents, and no band.
    """
    always = [name for name in _ALWAYS if name in cases.columns and cases[name].count()]
    names = list(dict.fromkeys([*by, *always]))
    parts = []
    # Documents of two benchmarks may have one name, and those of two systems are listed twice.
    for group in cases.with_row_index("_row").partition_by(*_CORPUS, maintain_order=True):
        own = documents.join(group.select(_CORPUS).unique(), on=_CORPUS, how="semi")
        own = own.unique("doc_id", keep="first", maintain_order=True)
        columns = {name: _texts(sliced(group, own, name)) for name in names}
        parts.append(pl.DataFrame({"_row": group["_row"]} | columns))
    if not parts:
        return []
    return pl.concat(parts, how="diagonal_relaxed").sort("_row").drop("_row").to_dicts()


def _texts(values: pl.Series) -> pl.Series:
    kind = pl.List(pl.String) if isinstance(values.dtype, pl.List) else pl.String
    return values.cast(kind)


def findings_of(tables: Sequence[pl.DataFrame], findings: Sequence[Finding]) -> list[list[int]]:
    """Of each case the findings, from 1, that it is behind; row i of every table is case i."""
    cases = tables[0].with_row_index("_row")
    members: list[list[int]] = [[] for _ in range(cases.height)]
    for number, finding in enumerate(findings, start=1):
        rows = cases.join(finding.cases.unique(), on=KEYS, how="semi", nulls_equal=True)
        for name in _CORPUS:
            if getattr(finding, name):
                rows = rows.filter(pl.col(name) == getattr(finding, name))
        if finding.system and finding.about != "systems":
            systems = [table["system"] == finding.system for table in tables]
            rows = rows.filter(functools.reduce(operator.or_, systems).gather(rows["_row"]))
        for row in rows["_row"]:
            members[row].append(number)
    return members


def sample(cases: pl.DataFrame, most: int | None) -> tuple[pl.Series, list[list[Any]]]:
    """Which cases to show, at most so many, and ``[cause, shown, all]`` of each cause.

    A sample has of each cause its share (largest remainder), the cases whose `keys` come first.
    """
    cause = pl.coalesce("cause", "outcome").alias("cause")
    # Keys are as good as random, and the same in whatever order the cases come.
    few = most is None or cases.height <= most
    key = pl.lit("") if few else pl.Series(keys(cases))
    ranked = cases.select(cause).with_row_index("_row").with_columns(key=key)
    ranked = ranked.with_columns(
        rank=pl.col("key").rank("ordinal").over("cause") - 1, all=pl.len().over("cause")
    )
    # A cause's nth case comes when n - 1/2 of its cases would be due, as Sainte-Laguë has it.
    due = (pl.col("rank") + 0.5) / pl.col("all")
    chosen = ranked.sort(due, -pl.col("all").cast(pl.Int64), "cause")
    chosen = chosen.head(cases.height if most is None else most)
    counts = ranked.group_by("cause").agg(
        pl.col("_row").is_in(chosen["_row"].implode()).sum().alias("shown"), pl.len().alias("all")
    )
    counts = counts.sort(-pl.col("all").cast(pl.Int64), "cause")
    return chosen["_row"].sort(), [list(row) for row in counts.iter_rows()]
