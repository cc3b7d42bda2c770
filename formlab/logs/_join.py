"""From a run in a log to an evaluation: with the log's own gold, or with that of a benchmark."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from formlab import benchmarks, files, own, tables
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.logs._samples import ANSWER
from formlab.logs._spec import LogRun
from formlab.scoring.evaluate import evaluate
from formlab.tables import USABLE

ASKED, ALL = "asked", "all"
MATCHED = "samples matched"
STRANGE = "samples that the benchmark does not have"
FAILED = "samples failed"
OTHER_DOCUMENTS = "documents of the benchmark that no sample asks for"
OTHER_FIELDS = "fields of these documents that no sample asks for"
OTHER_GOLD = "targets that differ from the benchmark's gold, which is used"
# How many reasons of failed samples are named.
_REASONS = 5
# A document and a path in it; without a path, the whole document.
Key = tuple[str, str | None]


def evaluation(
    run: LogRun, corpus: Corpus | None = None, *, documents: str = ASKED, types: Any = None
) -> Evaluation:
    """The evaluation of a run.

    Parameters
    ----------
    run
        As a reader of logs gives it.
    corpus
        Of the benchmark that the log is of; without one, the log's own gold is used.
    documents
        With a benchmark: `asked`, only what the log has samples of, or `all`, where the rest of
        the benchmark counts as missing.
    types
        Of the log's own gold, as for `own.corpus`.

    Raises
    ------
    DataBroken
        If the log has no gold and no benchmark is given, or no sample is of the benchmark.
    """
    notes = Counter(run.notes)
    if corpus is None:
        if not run.gold.height:
            what = f"the log has no gold: {run.format} keeps answers alone"
            raise DataBroken(
                what, where=_where(run), remedy="--benchmark with the gold they are of"
            )
        corpus = own_corpus(run, types)
    else:
        run, corpus = joined(run, corpus, notes, documents=documents)
    # A sample that asks for an object has several answers, and is counted once.
    single = run.answers.height <= run.responses.height
    notes[MATCHED] = (run.answers if single else run.responses).height
    failed = run.responses.filter(~pl.col("status").is_in([*USABLE, "missing"]))
    notes[FAILED] = failed.height
    if "error" in failed.columns:
        why = failed["error"].drop_nulls().value_counts(sort=True).head(_REASONS)
        notes.update({f"failed with {str(error)[:120]}": n for error, n in why.rows()})
    predictions = _predictions(run, corpus, notes)
    scored = run.scores.filter(pl.col("path").is_null())
    if scored.height:
        wide = _scored(scored, run, ["doc_id"])
        # Single fields of another document may be scored beside whole documents.
        wide = wide.rename(lambda n: n.replace("log_", "log_document_", 1))
        table = corpus.documents.join(wide, on="doc_id", how="left", maintain_order="left")
        corpus = dataclasses.replace(corpus, documents=table)
    return evaluate(corpus, predictions)


def own_corpus(run: LogRun, types: Any = None) -> Corpus:
    """The forms of a log with the gold that stands in it."""
    gold = run.gold
    if run.benchmark == own.BENCHMARK:
        # Named, so that no column of the log's own is taken for another.
        columns = {name: name for name in ("doc_id", "path", "value")}
        corpus = own.corpus(gold, types=types, name=run.name, columns=columns)
        return dataclasses.replace(corpus, sources=_hashes(run))
    table = pl.DataFrame({"doc_id": gold["doc_id"].unique(maintain_order=True)})
    counts = gold.filter(pl.col("path").is_not_null()).group_by("doc_id")
    counts = counts.agg(pl.len().cast(pl.Int64).alias("n_fields"))
    for more in (counts, run.documents):
        table = table.join(more, on="doc_id", how="left", maintain_order="left")
    key = {"benchmark": run.benchmark, "split": run.name}
    if "status" not in gold.columns:
        gold = gold.with_columns(status=pl.lit("ok"))
    return Corpus(
        documents=_as("documents", table, key),
        records=_as(
            "records", gold.with_columns(pl.col("status").fill_null("ok")), key | {"role": "gold"}
        ),
        benchmark=run.benchmark,
        split=run.name,
        sources=_hashes(run),
    ).check()


def joined(
    run: LogRun, corpus: Corpus, notes: Counter[str], *, documents: str
) -> tuple[LogRun, Corpus]:
    """The run with the keys of the benchmark's values, and the part of the corpus that it is of.

    A sample belongs to the field at its `doc_id` and `path`; or to the one that its name spells,
    such as ``0000971160/entities/11``; or, where it names no field, to the only one of its document
    with its target as value. A document may go by the name of its image. `notes` counts what has
    no partner on either side.
    """
    matches = _Matcher(corpus).matches(run)
    known = {key: match for key, match in matches.items() if match}
    if not known:
        doc_ids = [doc_id for doc_id, _ in list(matches)[:3]]
        expected = corpus.documents["doc_id"].head(3).to_list()
        raise DataBroken(
            f"no sample is of {corpus.benchmark}:{corpus.split}: they are called {doc_ids}, its "
            f"documents {expected}", where=_where(run),
            remedy="doc_id and path in the samples' metadata, or another --benchmark or --split",
        )  # fmt: skip
    left = {doc_id for doc_id, _ in matches} - {doc_id for doc_id, _ in known}
    notes[STRANGE] = sum(key not in known for key in matches)
    there = pl.DataFrame(
        [(*key, *match) for key, match in known.items()],
        schema={"doc_id": pl.String, "path": pl.String, "at": pl.String, "at_path": pl.String},
        orient="row",
    )
    names = dict(there.select("doc_id", "at").unique("doc_id").rows())
    moved = {}
    for table in ("gold", "answers", "scores"):
        moved[table] = _moved(getattr(run, table), there, names)
    responses = run.responses.filter(~pl.col("doc_id").is_in(sorted(left)))
    moved["responses"] = responses.with_columns(pl.col("doc_id").replace(names))
    run = dataclasses.replace(run, **moved)
    notes[OTHER_GOLD] = _other_gold(run, corpus)
    if documents != ALL:
        corpus = _asked(corpus, set(known.values()), notes)
    return run, corpus


class _Matcher:
    """Finds the value of a corpus that a sample of a log is of."""

    def __init__(self, corpus: Corpus) -> None:
        gold = corpus.records.filter(pl.col("path").is_not_null())
        self.paths = set(gold.select("doc_id", "path").rows())
        self.values: dict[tuple[str, str], list[str]] = {}
        asked = gold.filter(pl.col("task") != "layout").select("doc_id", "value", "path")
        for doc, value, path in asked.rows():
            self.values.setdefault((doc, (value or "").strip()), []).append(path)
        names = corpus.documents.select("doc_id", "image").rows()
        self.stems = {PurePosixPath(image).stem: doc for doc, image in names if image}
        self.stems |= {PurePosixPath(doc).stem: doc for doc, _ in names}
        self.names = {doc for doc, _ in names}

    def matches(self, run: LogRun) -> dict[Key, Key | None]:
        """For each document and path of a run those of the corpus; None where it has none."""
        asked = [
            table.select("doc_id", "path") for table in (run.answers, run.gold) if table.height
        ]
        keys = pl.concat(asked).unique(maintain_order=True).rows()
        targets = {}
        if run.gold.height:
            targets = {row[:2]: row[2] for row in run.gold.select("doc_id", "path", "value").rows()}
        return {key: self._match(*key, targets.get(key)) for key in keys}

    def _match(self, doc_id: str, path: str | None, target: str | None) -> Key | None:
        doc = self._document(doc_id)
        if doc is not None:
            if path is None or (doc, path) in self.paths:
                return doc, path
            alike = self.values.get((doc, (target or "").strip()), [])
            return (doc, alike[0]) if path == ANSWER and target and len(alike) == 1 else None
        pieces = doc_id.split("/")
        for count in range(1, len(pieces)):
            doc = self._document("/".join(pieces[:count]))
            spelt = "/" + "/".join(pieces[count:])
            if doc is not None and (doc, spelt) in self.paths:
                return doc, spelt
        return None

    def _document(self, name: str) -> str | None:
        if name in self.names:
            return name
        return self.stems.get(PurePosixPath(name).name) or self.stems.get(PurePosixPath(name).stem)


def _moved(frame: pl.DataFrame, there: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """A table of a run with the keys of the corpus; rows of whole documents go with these."""
    if not frame.height:
        return frame
    whole = frame.filter(pl.col("path").is_null(), pl.col("doc_id").is_in(list(names)))
    whole = whole.with_columns(pl.col("doc_id").replace(names))
    fields = frame.filter(pl.col("path").is_not_null()).join(
        there, on=["doc_id", "path"], how="inner", maintain_order="left"
    )
    fields = fields.with_columns(doc_id="at", path="at_path").drop("at", "at_path")
    return pl.concat([whole, fields])


def _other_gold(run: LogRun, corpus: Corpus) -> int:
    """How many values the log asks for otherwise than the benchmark does."""
    if not run.gold.height:
        return 0
    theirs = run.gold.select("doc_id", "path", target=pl.col("value").str.strip_chars())
    both = corpus.records.join(theirs, on=["doc_id", "path"], nulls_equal=True)
    value = pl.col("value").str.strip_chars().fill_null("")
    return both.filter(value != pl.col("target").fill_null("")).height


def _asked(corpus: Corpus, keys: set[Key], notes: Counter[str]) -> Corpus:
    """The part of the corpus that the log asks for; what is evidence, and no field, stays."""
    docs = {doc for doc, _ in keys}
    here = pl.col("doc_id").is_in(sorted(docs))
    notes[OTHER_DOCUMENTS] = corpus.documents.filter(~here).height
    records = corpus.records.filter(here)
    # Who was asked for whole pages was asked for all that stands on them.
    whole = {doc for doc, path in keys if path is None}
    named = pl.DataFrame(
        [key for key in keys if key[1]], orient="row",
        schema={"doc_id": pl.String, "path": pl.String},
    )  # fmt: skip
    field = pl.col("path").is_not_null() & (pl.col("task") != "layout")
    field &= ~pl.col("doc_id").is_in(sorted(whole))
    other = records.filter(field).join(named, on=["doc_id", "path"], how="anti")
    notes[OTHER_FIELDS] = other.height
    kept = records.join(other.select("doc_id", "path"), on=["doc_id", "path"], how="anti")
    return dataclasses.replace(corpus, documents=corpus.documents.filter(here), records=kept)


def _predictions(run: LogRun, corpus: Corpus, notes: Counter[str]) -> Predictions:
    """The answers, with the log's own scores as columns of their own."""
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": run.system}
    answers = run.answers
    if "task" not in answers.columns:
        # The task is that of the gold at the same path; a page's own is text.
        tasks = corpus.records.select("doc_id", "path", "task").unique(["doc_id", "path"])
        answers = answers.join(
            tasks, on=["doc_id", "path"], how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(pl.col("task").fill_null("text"))
    page = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    kind = page.otherwise("kind") if "kind" in answers.columns else page
    answers = answers.with_columns(kind.alias("kind"))
    scored = run.scores.filter(pl.col("path").is_not_null())
    if scored.height:
        wide = _scored(scored, run, ["doc_id", "path"])
        answers = answers.join(wide, on=["doc_id", "path"], how="left", maintain_order="left")
    stated = {
        "format": run.format, "name": run.name, "source": [file.name for file in run.source],
        "headline": list(run.headline), "judged": sorted(run.judged),
    }  # fmt: skip
    return Predictions(
        records=_as("records", answers, key | {"role": "prediction"}),
        responses=_as("responses", run.responses, key),
        system=run.system,
        settings={"log": stated},
        sources=_hashes(run),
        notes={f"log: {note}": count for note, count in notes.items() if count},
    )


def _scored(scores: pl.DataFrame, run: LogRun, key: list[str]) -> pl.DataFrame:
    """A row per sample: `log_score` and `log_correct` by the log's first scorer, then the others.

    The first is the one that its headline is of.
    """
    names = [figure["scorer"] for figure in run.headline] + scores["scorer"].to_list()
    there = set(scores["scorer"])
    first, *others = [name for name in dict.fromkeys(names) if name in there]
    main = scores.filter(pl.col("scorer") == first)
    wide = main.select(
        *key, log_score="value", log_correct="correct", log_compared="compared",
        log_scorer="scorer",
    )  # fmt: skip
    for name in others:
        more = scores.filter(pl.col("scorer") == name)
        more = more.select(*key, pl.col("value").alias(f"log_by_{name}"))
        wide = wide.join(more, on=key, how="full", coalesce=True, maintain_order="left")
    return wide


def _as(name: str, frame: pl.DataFrame, shared: dict[str, Any]) -> pl.DataFrame:
    """A frame in the schema of a table: what is absent is null, columns of its own stay."""
    schema = tables.SCHEMAS[name]
    frame = frame.with_columns(pl.lit(value).alias(column) for column, value in shared.items())
    absent = [pl.lit(None, kind).alias(c) for c, kind in schema.items() if c not in frame.columns]
    own = [] if name == "responses" else tables.own_columns(name, frame)
    known = [pl.col(column).cast(kind) for column, kind in schema.items()]
    return frame.with_columns(absent).select(*known, *own)


def _hashes(run: LogRun) -> dict[str, str]:
    return {file.name: files.sha256(file) for file in run.source if file.is_file()}


def _where(run: LogRun) -> str | None:
    return str(run.source[0]) if run.source else None


def best_split(run: LogRun, name: str, *, root: Any = None, split: str | None = None) -> Corpus:
    """The corpus of a benchmark that a run is of: of `split`, else of the one that it fits best."""
    entry = benchmarks.get(name)
    first = benchmarks.load(name, root=root, split=split)
    others = [] if split else [s for s in entry.splits_in(first.root) if s != first.split]
    asked = len(_Matcher(first).matches(run))

    def matched(corpus: Corpus) -> int:
        return sum(match is not None for match in _Matcher(corpus).matches(run).values())

    best, count = first, matched(first)
    for other in others:
        if count == asked:
            break
        try:
            corpus = benchmarks.load(name, root=root, split=other)
        except DataMissing:
            continue
        if (more := matched(corpus)) > count:
            best, count = corpus, more
    return best
