"""Gold and predictions of any size in parts of whole documents, and which documents are scored."""

import hashlib
import itertools
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, readers, tables
from formlab.benchmarks.corpus import Reading, made
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Corpus, Predictions
from formlab.readers import answers, values
from formlab.readers.door import stem

ALL, ANSWERED = "all", "answered"
UNANSWERED = "documents without any answer, counted as missing"
LEFT_OUT = "documents that were not chosen, left out"
NOTES = (UNANSWERED, LEFT_OUT)


def batches(
    first: list[Corpus | Reading],
    others: Iterator[Corpus | Reading],
    predictions: Any,
    folder: Path,
    *,
    results: Callable[..., list[Any]],
    given: Any,
    columns: Mapping[str, str],
    name: str | None,
    fallback: str | None,
) -> tuple[Corpus, Predictions]:
    """Gold, `first` and the `others`, and predictions in parts; the last may be of strangers.

    Of several they are written where the evaluation in `folder` has them. `results` are those of a
    function for jobs, in their order; `given` waits for those of `stored`, if a process has begun.
    """
    if is_one := len(first) == 1:
        corpus = replace(made(first[0]))
    else:
        write, jobs = partial(_write, folder / "corpus", None), itertools.chain(first, others)
        corpus, places = _joined(results("gold", write, enumerate(jobs)))
    found, is_run = predictions, readers.is_run(predictions)
    is_path, is_made = isinstance(found, Path), isinstance(found, Predictions) or callable(found)
    if is_run:
        found = answers.of_folder(found, corpus, scanned=not is_one)
    elif not is_made and (is_one or (is_path and not columns and readers.reader_of(found, corpus))):
        # Some formats of answers are read beside all of the gold.
        found = readers.read_predictions(found, corpus, columns=columns)
    elif not is_made:
        # A process has stored them, if it was begun and not killed.
        here = found, columns, folder / "batches" / "read"
        kept, notes = (given and given()) or stored(*here, is_table=True)
        found = kept, readers.Source(found if is_path else None, corpus, columns, notes)
    if not is_one:
        corpus, found = _beside(corpus, found, places, folder, results)
    elif callable(found):
        found = made(found(corpus, pl.lit(value=True)))
    is_stem = is_path and not is_run and found.system == stem(predictions.resolve())
    system = {"system": name or (fallback if is_stem else None) or found.system}
    return corpus, replace(found, **system) if is_one else found.with_scans(found._scans, **system)


@tables.uncollected()
def _write(folder: Path, strangers: int | None, job: tuple[int, Any]) -> tuple[Any, Any]:
    """Write a part, of `strangers` only if it has a row; what scans it, and all but its tables."""
    number, part = job[0], made(job[1])
    is_there = number != strangers or any(getattr(part, table).height for table in part.TABLES)
    return is_there and part.write_part(folder, number), part.with_scans([])


def _joined(written: list[tuple[Any, Corpus]]) -> tuple[Corpus, pl.DataFrame]:
    """Corpora as one that is in files, and the part of each document: doc_id, batch."""
    scans, parts = zip(*written, strict=True)
    named = (scan("documents").select("doc_id", batch=n) for n, scan in enumerate(scans))
    documents = pl.concat(named).collect()
    if (twice := documents["doc_id"].is_duplicated()).any():
        what = f"document {documents['doc_id'].filter(twice)[0]!r} is twice in the gold"
        raise DataBroken(what, where=f"{parts[0].benchmark}:{parts[0].split}")
    whole = {"flaws": dict(sum((Counter(part.flaws) for part in parts), Counter()))}
    for name in ("sources", "unreadable"):
        whole[name] = dict(ChainMap(*(getattr(part, name) for part in reversed(parts))))
    return parts[0].with_scans(scans, **whole), documents


def stored(table: Any, columns: Any, folder: Path, *, is_table: bool = False) -> Any:
    """The values of a table in files of `folder`, and notes of what is odd; null of a log."""
    notes = Counter[str]()
    if is_table or columns or readers.reader_of(table) is None:
        return values.Stored(values.pieces(table, columns, notes), folder), notes
    return None


def _beside(
    corpus: Corpus, found: Any, places: pl.DataFrame, folder: Path, results: Any
) -> tuple[Corpus, Predictions]:
    """Corpus and predictions in its parts, with a last part for strangers, if there are any."""
    count, name = len(corpus._scans), pl.col("doc_id")
    none = next(corpus.parts()).filtered(pl.lit(value=False))

    def parts() -> Iterator[tuple[Corpus, pl.Expr]]:
        for part in corpus.parts():
            names = part.documents["doc_id"]
            # Files are sorted mostly: what has none of the names is not even read.
            is_near = name.is_between(pl.lit(names.min()), pl.lit(names.max()))
            yield part, is_near & name.is_in(names.implode())
        yield none, ~name.is_in(places["doc_id"].implode())

    if isinstance(found, Predictions):
        each = (found.with_scans([partial(_rows, found, rows)], notes={}) for _, rows in parts())
    elif callable(found):
        # The answers of a log are in memory here.
        each = itertools.starmap(found, parts())
    else:
        each = answers.in_parts(*found, (part for part, _ in parts()), places, strangers=count)
    written = results("answers", partial(_write, folder / "predictions", count), enumerate(each))
    scans, last = [scan for scan, _ in written if scan], written[-1][1]
    notes = dict(sum((Counter(part.notes) for _, part in written), Counter()))
    notes |= found.notes if isinstance(found, Predictions) else {}
    if len(scans) > count:
        corpus = corpus.with_scans([*corpus._scans, none.write_part(folder / "corpus", count)])
    return corpus, last.with_scans(scans, notes=notes)


def _rows(found: Predictions, rows: pl.Expr, table: str) -> pl.LazyFrame:
    return found.scan(table).filter(rows)


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
    if strange := list(itertools.filterfalse({*names}.__contains__, places)):
        raise UnknownName.of("document", strange[0], names, where=places[strange[0]])
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
