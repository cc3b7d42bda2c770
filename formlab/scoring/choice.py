"""Which documents are scored: all, those that were answered, or a list."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus, Predictions

ALL, ANSWERED = "all", "answered"
UNANSWERED = "documents without any answer, counted as missing"
LEFT_OUT = "documents that were not chosen, left out"
NOTES = (UNANSWERED, LEFT_OUT)


def answered(predictions: Predictions, split: str) -> set[str]:
    """The documents of a split with at least one attempt."""
    # A refusal, a crash and an unreadable answer are attempts: failing cannot improve a score.
    is_given = pl.col("status") != "missing"
    tried = is_given | (pl.col("attempts") > 0).fill_null(value=False)
    of_tables = {"records": is_given, "responses": tried}.items()
    names = (predictions.scan(n).filter(row, split=split).select("doc_id") for n, row in of_tables)
    return {*pl.concat(names).unique().collect(engine="streaming")["doc_id"]}


def decide(
    names: list[str], with_answer: set[str], documents: Any, *, where: str
) -> tuple[list[str], str, dict[str, int]]:
    """Which of the documents `names` are scored, in their order; this in words, and notes."""
    if documents == ALL:
        chosen, word = names, ALL
    elif documents == ANSWERED:
        chosen, word = [name for name in names if name in with_answer], ANSWERED
        if not chosen:
            what = f"none of the {len(names)} documents of {where} was answered"
            raise DataBroken(what, remedy="predictions for this split, or --documents all")
    elif isinstance(documents, str):
        raise UnknownName.of("choice of documents", documents, (ALL, ANSWERED))
    elif isinstance(documents, int):
        chosen, word = names[:documents], f"{ALL}, the first {documents}"
    else:
        chosen, word = _named(names, documents, where), "listed"
    notes = {UNANSWERED: len(set(chosen) - with_answer), LEFT_OUT: len(names) - len(chosen)}
    notes = {note: count for note, count in notes.items() if count}
    if len(chosen) == len(names):
        return chosen, ALL, notes
    digest = hashlib.sha256("\n".join(chosen).encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return chosen, f"{word}: {len(chosen)} of {len(names)}, sha256 {digest}", notes


def _named(names: list[str], documents: Path | Iterable[str], where: str) -> list[str]:
    """Those of `names` that are in a list, or in a file with one a line."""
    if isinstance(documents, Path):
        lines = enumerate(files.read_text(documents).splitlines(), start=1)
        places = {line.strip(): f"{documents}:{n}" for n, line in lines if line.strip()}
    else:
        places = dict.fromkeys(documents, where)
    if not places:
        raise DataBroken("no document is listed", where=where, remedy="one doc_id a line")
    known = set(names)
    if strange := [name for name in places if name not in known]:
        near = get_close_matches(strange[0], names, n=1) or names[:3]
        more = f", and {len(strange) - 1} more that are not there" if len(strange) > 1 else ""
        what = f"unknown document {strange[0]!r}{more}"
        remedy = f"a doc_id as the benchmark spells it, such as {', '.join(map(repr, near))}"
        raise UnknownName(what, where=places[strange[0]], remedy=remedy)
    return [name for name in names if name in places]


def partial_note(count: int, settings: Mapping[str, Any], notes: Mapping[str, int]) -> str:
    """What a reader must know of an evaluation of `count` documents if it is not of all."""
    sentences = []
    if left := notes.get(LEFT_OUT):
        word = str(settings.get("documents", "")).partition(":")[0]
        sentences.append(f"Scored on {count} of {count + left} documents ({word})")
    if gone := notes.get(UNANSWERED):
        rest = "all of them count as missing"
        if scored := count - gone:
            rest = f"the rest count as missing (`--documents answered` scores the {scored})"
        sentences.append(f"{scored} of {count} documents were answered; {rest}")
    return ". ".join(sentences)


def unmatched(
    corpus: Corpus, predictions: Predictions, strange: list[tuple[str, str]], names: list[str]
) -> DataBroken:
    """The error for predictions for none of the documents `names`, but for `strange` ones."""
    splits, predicted = (sorted({row[n] for row in strange}) for n in range(2))
    remedy = "the --split that was predicted, and doc_id as the benchmark spells it"
    if corpus.benchmark == "own":
        remedy = "doc_id as the gold spells it, or as the files of the forms are called"
    what = f"none of the predictions is for a document of {corpus.benchmark}:{corpus.split}: they "
    what += f"are for {predicted[:3]} of {splits}, the corpus has {names[:3]} and so on"
    return DataBroken(what, where=", ".join(predictions.sources) or None, remedy=remedy)
