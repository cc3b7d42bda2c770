"""What a card of a gallery says of its case: words, label, what differs, slices and findings."""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rapidfuzz.distance import Indel, Levenshtein

from formlab.analysis.finding import KEYS, Finding
from formlab.charts.escaping import clean
from formlab.gallery.crops import DOCUMENT
from formlab.scoring.bands import sliced
from formlab.scoring.causes import STAGE_OF
from formlab.tables import LADDER
from formlab.trees import unescape

Row = Mapping[str, Any]
KEY = ("benchmark", "split", "doc_id", "task", "level", "path", "pred_path")
_CORPUS = ["benchmark", "split"]
_PLACE = [*DOCUMENT, "path"]
_WHOLE = [*DOCUMENT, "system"]  # What a system answered on a document.
_OF_CASE = (*_PLACE, "level", "task", "kind", "gold_origin", "verdict")
_OF_ANSWER = ("system", "outcome", "cause", "status", "pred_origin")
# Columns that charts slice by without being asked.
_ALWAYS = ("modality", "subtype", "field", "flip")
_REPLY, _VALUE, _WORDS = 4_000, 1_200, 300
# Words this similar are compared by character; of others the common characters are chance. Values
# that share less than the second of the shorter one are two different values.
ALIKE, RELATED = 0.5, 0.35
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def cards(
    answers: Sequence[pl.DataFrame],
    documents: pl.DataFrame,
    gold: pl.DataFrame,
    responses: pl.DataFrame,
    by: Sequence[str],
    findings: Sequence[Finding],
) -> tuple[list[dict[str, Any]], list[str]]:
    """What is said of each case, from a table of each of its answers; whole answers by number.

    A card has the words of the case, its ``key`` and ``label``, ``gold`` and ``pred`` (null where
    one side is absent), ``diff`` runs, ``ladder`` booleans, and the same of each further system in
    ``beside``; ``slices``, its values of the columns `by`; ``finding``, the numbers of findings it
    is behind. The other tables have what is known of its documents.
    """
    said = responses.drop_nulls("text").group_by(_WHOLE, maintain_order=True)
    said = said.agg(pl.col("text").str.join("\n\n")).rows()
    numbers = {tuple(key): number for number, (*key, _) in enumerate(said)}
    first = answers[0]
    finite = pl.col("similarity", "confidence").fill_nan(None).round(4)
    columns = zip(
        zip(*(table.with_columns(finite).to_dicts() for table in answers), strict=True),
        keys(first),
        _labels(first, gold),
        _slices(first, documents, by),
        findings_of(answers, findings),
        strict=True,
    )
    made = []
    for rows, key, label, slices, behind in columns:
        gold_text = _text(rows[0]["gold"], _VALUE)
        card = {name: _text(rows[0][name]) for name in _OF_CASE if name in first.columns}
        card |= {"key": key, "label": clean(label, limit=200), "gold": gold_text}
        own, *others = (_answer(row, gold_text, numbers) for row in rows)
        card |= own | {"slices": slices, "finding": behind}
        made.append(card | ({"beside": others} if others else {}))
    return made, [_text(text, _REPLY) for *_, text in said]


def _answer(row: Row, gold: str | None, numbers: Mapping[Any, int]) -> dict[str, Any]:
    pred = _text(row["pred"], _VALUE)
    answer: dict[str, Any] = {name: _text(row[name]) for name in _OF_ANSWER}
    answer |= {"stage": STAGE_OF.get(row["cause"]), "pred": pred, "diff": diff(gold, pred)}
    answer |= {"ladder": [row[rung] for rung in LADDER], "similarity": row["similarity"]}
    more = {
        "confidence": row["confidence"],
        "failed": [_text(path) for path in row["failed"] or ()],
        "whole": numbers.get(tuple(row[name] for name in _WHOLE)),
    }
    return answer | {name: value for name, value in more.items() if value not in (None, [])}


def _text(value: object, limit: int = _WORDS) -> str | None:
    return None if value is None else clean(value, limit=limit)


def keys(cases: pl.DataFrame) -> list[str]:
    """Ten hexadecimal digits for each case, the same in every build and for every system."""
    texts = (json.dumps(row).encode() for row in cases.select(KEY).iter_rows())
    return [hashlib.sha256(text).hexdigest()[:10] for text in texts]


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
    pieces = _runs(_TOKENS.findall(gold), _TOKENS.findall(pred))
    groups = itertools.groupby((piece for piece in pieces if piece[1]), lambda piece: piece[0])
    runs = [(op, "".join(text for _, text in group)) for op, group in groups]
    same = sum(len(text) for op, text in runs if op == "equal")
    if same < RELATED * min(len(gold), len(pred)):
        runs = [(op, text) for op, text in (("delete", gold), ("insert", pred)) if text]
    return runs


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


# What a case is called, and belongs to


def _labels(cases: pl.DataFrame, gold: pl.DataFrame) -> list[str]:
    """The label of each case: its column ``label`` or ``question``, the same in the gold's `meta`,
    the question that the gold links to it, or the last part of its path.
    """
    names = ("label", "question")
    stated = pl.coalesce(pl.col("meta").str.json_path_match(f"$.{name}") for name in names)
    ends = pl.col("value").str.split_exact(" ", 1).struct.rename_fields(["path", "end"])
    links = gold.filter(kind="link").select(*DOCUMENT, ends.alias("ends")).unnest("ends")
    questions = gold.filter(kind="question").select(*_PLACE, _label=pl.col("value"))
    linked = links.join(questions, on=_PLACE, maintain_order="left")
    linked = linked.select(*DOCUMENT, pl.col("_label").str.strip_chars(), path="end")
    known = pl.concat([linked, gold.select(*DOCUMENT, _label=stated, path="path")])
    known = known.drop_nulls("_label").unique(_PLACE, keep="last")
    same = {"on": _PLACE, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    shown = pl.coalesce(*(name for name in names if name in cases.columns), "_label")
    path, kind = pl.coalesce("path", "pred_path"), pl.coalesce("kind", "level")
    labels = []
    for label, at, noun in cases.join(known, **same).select(a=shown, b=path, c=kind).rows():
        last = unescape((at or "").rpartition("/")[2])
        name = f"{noun or 'item'} {last}" if last.isdecimal() else last or noun or "case"
        labels.append(label or name.replace("_", " "))
    return labels


def _slices(cases: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]) -> list[Row]:
    """The value of each column of `by` for each case: texts, or lists of texts."""
    always = (name for name in _ALWAYS if name in cases.columns and cases[name].count())
    # Documents of two benchmarks may have one name, and those of two systems are listed twice.
    name_of = pl.struct(DOCUMENT).alias("doc_id")
    documents = documents.with_columns(name_of).unique("doc_id", keep="first")
    of_document, columns = cases.with_columns(name_of), {}
    for name in dict.fromkeys([*by, *always]):
        values = cases[name] if name == "doc_id" else sliced(of_document, documents, name)
        dtype = pl.List(pl.String) if values.dtype == pl.List else pl.String
        columns[name] = values.cast(dtype).to_list()
    return [{name: of[row] for name, of in columns.items()} for row in range(cases.height)]


def findings_of(answers: Sequence[pl.DataFrame], findings: Sequence[Finding]) -> list[list[int]]:
    """Of each case the findings, from 1, that it is behind; row i of every table is case i."""
    systems = pl.concat_list(pl.lit(table["system"]) for table in answers)
    cases = answers[0].select(*KEYS, *_CORPUS, systems=systems).with_row_index("_row")
    members: list[list[int]] = [[] for _ in range(cases.height)]
    for number, finding in enumerate(findings, start=1):
        same = [pl.col(name) == value for name in _CORPUS if (value := getattr(finding, name))]
        if finding.system and finding.about != "systems":
            same.append(pl.col("systems").list.contains(finding.system))
        behind = cases.filter(True, *same)
        for row in behind.join(finding.cases, on=KEYS, how="semi", nulls_equal=True)["_row"]:
            members[row].append(number)
    return members


def sample(cases: pl.DataFrame, most: int | None) -> pl.Series:
    """Which cases to show, at most so many: each cause in proportion, those of the first `keys`."""
    # Keys are as good as random, and the same in whatever order the cases come.
    key, cause = pl.Series(keys(cases), dtype=pl.String), pl.coalesce("cause", "outcome")
    ranked = cases.select(cause=cause, key=key).with_row_index("_row")
    rank, count = pl.col("key").rank("ordinal").over("cause"), pl.len().over("cause").cast(pl.Int64)
    # A cause's nth case comes when n - 1/2 of its cases would be due, as Sainte-Laguë has it.
    chosen = ranked.sort((rank - 0.5) / count, -count, "cause")["_row"]
    return (chosen if most is None else chosen.head(most)).sort()
