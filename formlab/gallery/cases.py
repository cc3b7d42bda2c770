"""What a gallery shows of a case: its words and label, what differs, its slices and findings."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rapidfuzz.distance import Indel, Levenshtein

from formlab.analysis.finding import KEYS, Finding
from formlab.charts.escaping import clean
from formlab.readers.types import FieldTypes
from formlab.scoring.bands import sliced
from formlab.scoring.causes import STAGE_OF
from formlab.tables import LADDER
from formlab.trees import unescape

Row = Mapping[str, Any]
KEY = ("benchmark", "split", "doc_id", "task", "level", "path", "pred_path")
_CORPUS = ["benchmark", "split"]
_DOCUMENT = [*_CORPUS, "doc_id"]
_PLACE = [*_DOCUMENT, "path"]
_OF_CASE = ("benchmark", "split", "doc_id", "level", "task", "path", "kind", "gold_origin")
_OF_ANSWER = ("system", "outcome", "cause", "status", "pred_origin")
_SCORED = [*_PLACE, "system"]
WHOLE = [*_DOCUMENT, "system"]  # What a system answered on a document.
# Columns that charts slice by without being asked.
_ALWAYS = ("modality", "subtype", "field", "flip")
_VALUE, _WORDS = 1_200, 300
# Columns of cases, and names in `meta`, that say what a field is called.
_NAMES = ("label", "question")
# Words this similar are compared by character; of others the common characters are chance.
ALIKE = 0.5
# Values that share less than this of the shorter one are two different values.
RELATED = 0.35
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def keys(cases: pl.DataFrame) -> list[str]:
    """Ten hexadecimal digits for each case, the same in every build and for every system."""
    texts = (json.dumps(row).encode() for row in cases.select(KEY).iter_rows())
    return [hashlib.sha256(text).hexdigest()[:10] for text in texts]


def words(
    answers: Sequence[Row], scores: Mapping[Any, list[Any]], replies: Mapping[Any, int]
) -> dict[str, Any]:
    """The texts and numbers of a case, a row for each of its answers."""
    row, gold = answers[0], _text(answers[0]["gold"], limit=_VALUE)
    case = {name: _text(row[name]) for name in _OF_CASE} | {"gold": gold}
    if row.get("verdict") is not None:
        case["verdict"] = _text(row["verdict"])
    first, *others = [_answer(answer, gold, scores, replies) for answer in answers]
    return case | first | ({"beside": others} if others else {})


def _answer(row: Row, gold: str | None, scores: Any, replies: Any) -> dict[str, Any]:
    pred, cause = _text(row["pred"], limit=_VALUE), row["cause"]
    answer: dict[str, Any] = {name: _text(row[name]) for name in _OF_ANSWER}
    answer |= {"stage": STAGE_OF.get(cause), "pred": pred, "diff": diff(gold, pred)}
    answer |= {"ladder": [row[rung] for rung in LADDER], "similarity": _number(row["similarity"])}
    more = {
        "confidence": _number(row["confidence"]),
        "failed": [_text(path) for path in row["failed"] or ()],
        "scores": scores.get(tuple(row[name] for name in _SCORED)),
        "whole": replies.get(tuple(row[name] for name in WHOLE)),
    }
    return answer | {name: value for name, value in more.items() if value not in (None, [])}


def _text(value: object, *, limit: int = _WORDS) -> str | None:
    return None if value is None else clean(value, limit=limit)


def _number(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None


def scores_by_case(scores: pl.DataFrame, answers: Sequence[pl.DataFrame]) -> dict[Any, list[Any]]:
    """``[metric, value, hits, total]`` of the scores that belong to one case, by case.

    Scores of a page or a document, which have no path, belong to no single case; of the rungs of
    the ladder each case tells by itself.
    """
    rungs = pl.col("metric").is_in([f"{rung}_accuracy" for rung in LADDER])
    known = pl.concat(table.select(_SCORED) for table in answers)
    of_cases = scores.filter(pl.col("path").is_not_null(), ~rungs)
    of_cases = of_cases.join(known, on=_SCORED, how="semi")
    numbers = pl.col("value", "hits", "total").cast(pl.Float64)
    rounded = pl.when(numbers.is_finite()).then(numbers.round(4))
    return of_cases.select(*_SCORED, "metric", rounded).rows_by_key(_SCORED)


# Where an answer differs


def diff(gold: str | None, pred: str | None) -> list[tuple[str, str]]:
    """Runs of ``equal``, ``delete`` (only in gold) and ``insert`` (only in the answer).

    Words are aligned first; those that changed into similar ones are compared by character. Values
    that hardly have anything in common are one deletion and one insertion. Joined, the runs that
    are not ``insert`` give gold, and those that are not ``delete`` give the answer. Takes O(n²) of
    the words and of each changed stretch: the caller cuts long texts first.

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


def labels(cases: pl.DataFrame, gold: pl.DataFrame, documents: pl.DataFrame) -> list[str]:
    """The label of each case: the first that is known of these.

    A column ``label`` or ``question`` of the cases; that of the type declared for the field of an
    own form; that of the gold's `meta`; the question that the gold links to it; the last part of
    its path, a number with the kind of the field before it.
    """
    ends = pl.col("value").str.split_exact(" ", 1).struct.rename_fields(["path", "end"])
    links = gold.filter(kind="link").select(*_DOCUMENT, ends.alias("ends")).unnest("ends")
    questions = gold.filter(kind="question").select(*_PLACE, _label=pl.col("value"))
    linked = links.join(questions, on=_PLACE, maintain_order="left")
    linked = linked.select(*_DOCUMENT, path="end", _label=pl.col("_label").str.strip_chars())
    stated = (_filled(pl.col("meta").str.json_path_match(f"$.{name}")) for name in _NAMES)
    stated = gold.select(*_PLACE, _label=pl.coalesce(stated))
    # The last that is known of a place is its label.
    known = pl.concat([linked, stated, _declared(cases, documents)])
    known = known.filter(_filled(pl.col("_label")).is_not_null()).unique(_PLACE, keep="last")
    same = {"on": _PLACE, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    own = (_filled(pl.col(name).cast(pl.String)) for name in _NAMES if name in cases.columns)
    label = pl.coalesce(*own, "_label")
    rows = cases.join(known, **same).select(label, "path", "pred_path", "kind", "level").iter_rows()
    return [
        label or path_label(path or pred_path, kind or level)
        for label, path, pred_path, kind, level in rows
    ]


def _filled(text: pl.Expr) -> pl.Expr:
    return text.replace("", None)


def _declared(cases: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Labels of the fields of own forms, whose documents carry the declared types."""
    typed = documents.filter(pl.col("meta").str.contains('"(question|label)"'))
    typed = typed.select(*_DOCUMENT, "meta").unique(_DOCUMENT)
    # The documents of a corpus mostly share their types.
    types = functools.lru_cache(maxsize=64)(lambda meta: FieldTypes.of_document({"meta": meta}))
    fields = cases.select(_PLACE).join(typed, on=_DOCUMENT).iter_rows()
    found = [(place, types(meta).of(place[-1])) for *place, meta in fields]
    rows = [(*place, field.label or field.question) for place, field in found]
    return pl.DataFrame(rows, dict.fromkeys([*_PLACE, "_label"], pl.String), orient="row")


def path_label(path: str | None, kind: str | None) -> str:
    """A name made of the path, where nothing else is known.

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


# What cases belong to


def slices(cases: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]) -> list[dict[str, Any]]:
    """The value of each column of `by` for each case, as texts; a list where the column has lists.

    `UnknownName` if a column is neither of the cases nor of the documents, and no band.
    """
    always = (name for name in _ALWAYS if name in cases.columns and cases[name].count())
    names, parts = dict.fromkeys([*by, *always]), [cases.select(_row=pl.lit(0)).clear()]
    # Documents of two benchmarks may have one name, and those of two systems are listed twice.
    for group in cases.with_row_index("_row").partition_by(_CORPUS):
        own = documents.join(group, on=_CORPUS, how="semi").unique("doc_id", keep="first")
        columns = {name: _texts(sliced(group, own, name)) for name in names}
        parts.append(pl.DataFrame({"_row": group["_row"]} | columns))
    return pl.concat(parts, how="diagonal_relaxed").sort("_row").drop("_row").to_dicts()


def _texts(values: pl.Series) -> pl.Series:
    return values.cast(pl.List(pl.String) if values.dtype == pl.List else pl.String)


def findings_of(answers: Sequence[pl.DataFrame], findings: Sequence[Finding]) -> list[list[int]]:
    """Of each case the findings, from 1, that it is behind; row i of every table is case i."""
    systems = pl.concat_list(pl.lit(table["system"]) for table in answers)
    cases = answers[0].select(*KEYS, *_CORPUS, systems=systems).with_row_index("_row")
    members: list[list[int]] = [[] for _ in range(cases.height)]
    for number, finding in enumerate(findings, start=1):
        names = [name for name in _CORPUS if getattr(finding, name)]
        same = [pl.col(name) == getattr(finding, name) for name in names]
        if finding.system and finding.about != "systems":
            same.append(pl.col("systems").list.contains(finding.system))
        behind = cases.filter(True, *same)
        for row in behind.join(finding.cases, on=KEYS, how="semi", nulls_equal=True)["_row"]:
            members[row].append(number)
    return members


def sample(cases: pl.DataFrame, most: int | None) -> tuple[pl.Series, list[list[Any]]]:
    """Which cases to show, at most so many, and ``[cause, shown, all]`` of each cause.

    A sample has of each cause its share (largest remainder), the cases whose `keys` come first.
    """
    most = cases.height if most is None else most
    # Keys are as good as random, and the same in whatever order the cases come.
    key = pl.Series(keys(cases)) if cases.height > most else pl.lit("")
    ranked = cases.select(cause=pl.coalesce("cause", "outcome"), key=key).with_row_index("_row")
    rank, count = pl.col("key").rank("ordinal").over("cause"), pl.len().over("cause").cast(pl.Int64)
    # A cause's nth case comes when n - 1/2 of its cases would be due, as Sainte-Laguë has it.
    chosen = ranked.sort((rank - 0.5) / count, -count, "cause")["_row"].head(most)
    shown = pl.col("_row").is_in(chosen.implode()).sum().alias("shown")
    counts = ranked.group_by("cause").agg(shown, all=pl.len().cast(pl.Int64))
    counts = counts.sort(-pl.col("all"), "cause")
    return chosen.sort(), [list(row) for row in counts.iter_rows()]
