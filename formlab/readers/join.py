"""From the rows of a log's run to an evaluation: with its own gold, or with that of a benchmark."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers import door
from formlab.readers.answers import OWN
from formlab.readers.answers import table as records_table
from formlab.readers.gold import corpus as own_corpus
from formlab.readers.rows import Row, Source, counted
from formlab.readers.samples import ANSWER
from formlab.scoring.evaluate import evaluate
from formlab.tables import USABLE

ASKED, ALL = "asked", "all"
MATCHED = "samples matched"
STRANGE = "samples that the benchmark does not have"
FAILED = "samples failed"
OTHER_DOCUMENTS = "documents of the benchmark that no sample asks for"
OTHER_FIELDS = "fields of these documents that no sample asks for"
OTHER_GOLD = "targets that differ from the benchmark's gold, which is used"
EPOCHS = "epochs of the log; its own figures are over all of them"
KEY = ["doc_id", "path"]
DTYPES = tables.DOCUMENTS | tables.RESPONSES | tables.RECORDS
DTYPES |= {"epoch": pl.Int64, "score": pl.Float64, "n": pl.Int64}
DTYPES |= {"correct": pl.Boolean, "judged": pl.Boolean}
_OF_RUN = ("role", "system", "epoch", "split", "benchmark")
_SCORES = ("score", "correct", "compared")
_ALWAYS = {"score": ("scorer", *_SCORES), "call": ("value", "status", "error")}
# A document and a path in it; without a path, the whole document.
Key = tuple[str, str | None]
Matches = Mapping[Key, Key | None]


@dataclasses.dataclass
class Run:
    """The rows of one system and epoch of a log; `log` is what an evaluation keeps of it."""

    system: str
    rows: pl.DataFrame
    log: dict[str, Any]
    scorers: list[str]
    notes: Counter[str]
    sources: dict[str, str]

    def of(self, role: str, *columns: str) -> pl.DataFrame:
        """The rows of a role, with `columns` and those that have something in them."""
        rows = self.rows.filter(pl.col("role") == role).drop(_OF_RUN)
        always = (*KEY, *_ALWAYS.get(role, ("value",)), *columns)
        return rows.select(c for c in rows if c.name in always or c.null_count() < rows.height)


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows that may leave columns out as a frame, with the dtypes of tables."""
    rows = list(rows)
    always = (*_OF_RUN, *KEY, "value", "kind", "task", "status", "error", "scorer", *_SCORES)
    names = dict.fromkeys([*always, "judged", "n", *(name for row in rows for name in row)])
    columns = {name: [files.storable(row.get(name)) for row in rows] for name in names}
    schema = {name: DTYPES.get(name, pl.String) for name in names}
    return pl.DataFrame(columns, schema=schema, strict=False)


def runs_of(rows: Iterable[Row], source: Source, form: str) -> dict[str, Run]:
    """The runs in the rows of a log, by name: one for each system and epoch.

    What is said without a system, such as figures, is said of each. `form` names the reader.
    `DataBroken` if there is none.
    """
    frame = frame_of(rows).with_columns(pl.col("epoch").fill_null(1))
    is_answer = pl.col("role").is_in(["answer", "call", "score"])
    keys = frame.filter(is_answer).select("system", "epoch").unique(maintain_order=True).rows()
    if not keys:
        raise DataBroken("the log has no samples", where=source.path)
    stem, scores = door.stem(source.path), frame.filter(role="score")
    headline = frame.filter(role="figure").select("scorer", metric="kind", value="score", n="n")
    # The first is the one that the headline is of.
    scorers = dict.fromkeys([*headline["scorer"], *scores["scorer"]])
    scorers = [name for name in scorers if name in set(scores["scorer"])]
    log = {"format": form, "name": frame["split"].drop_nulls().first() or stem}
    log |= {"source": [file.name for file in source.files], "headline": headline.to_dicts()}
    log["judged"] = sorted(set(scores.filter(judged=True)["scorer"]))
    sources = {file.name: files.sha256(file) for file in source.files if file.is_file()}
    runs = {}
    for system, epoch in keys:
        name, notes = system or source.name or stem, Counter(source.notes)
        epochs = sum(other == system for other, _ in keys)
        if epochs > 1:
            name, notes[EPOCHS] = f"{name}, epoch {epoch}", epochs
        is_of = pl.col("system").eq_missing(system) & (pl.col("epoch") == epoch)
        part = frame.filter(is_of | (pl.col("system").is_null() & ~is_answer))
        runs[name] = Run(name, part, log, scorers, notes, sources)
    return runs


def evaluation(
    run: Run,
    corpus: Corpus | None = None,
    *,
    documents: str = ASKED,
    types: Any = None,
    matches: Matches | None = None,
) -> Evaluation:
    """The evaluation of a run, with its own gold, or with that of the benchmark that it is of.

    `documents` `asked` is what the log has samples of, `all` counts the rest of the benchmark as
    missing. `DataBroken` if the log has no gold, or no sample is of the benchmark.
    """
    run = dataclasses.replace(run, notes=Counter(run.notes))
    if corpus is None:
        corpus = _own_corpus(run, types)
    else:
        matches = matched(run, corpus) if matches is None else matches
        run, corpus = _joined(run, corpus, matches, documents)
    calls = run.of("call")
    # A sample that asks for an object has several answers, and is counted once.
    run.notes[MATCHED] = calls.height or run.of("answer").height
    failed = calls.filter(~pl.col("status").is_in([*USABLE, "missing"]))
    run.notes[FAILED] = failed.height
    reasons = failed["error"].drop_nulls().value_counts(sort=True).head(5)
    run.notes.update({f"failed with {error[:120]}": count for error, count in reasons.rows()})
    scores = _scores(run, calls)
    whole = scores.filter(pl.col("path").is_null()).drop("path")
    predictions = _predictions(run, corpus, scores.filter(pl.col("path").is_not_null()))
    if whole.height:
        # Single fields of another document may be scored beside whole documents.
        whole = whole.rename(lambda name: name.replace("log_", "log_document_", 1))
        table = corpus.documents.join(whole, on="doc_id", how="left", maintain_order="left")
        corpus = dataclasses.replace(corpus, documents=table)
    return evaluate(corpus, predictions)


def _own_corpus(run: Run, types: Any) -> Corpus:
    """The forms of a log with the gold that stands in it."""
    gold, name = run.of("gold"), run.log["name"]
    if gold.is_empty():
        what = f"the log has no gold: {run.log['format']} keeps answers alone"
        raise _broken(run, what, "formlab score BENCHMARK --predictions LOG")
    key = {"benchmark": run.rows["benchmark"].drop_nulls().first() or OWN, "split": name}
    if key["benchmark"] == OWN:
        # Named, so that no column of the log's own is taken for another.
        columns = {name: name for name in (*KEY, "value")}
        corpus = own_corpus(gold, types=types, name=name, columns=columns)
        return dataclasses.replace(corpus, sources=run.sources)
    counts = gold.group_by("doc_id", maintain_order=True)
    counts = counts.agg(n_fields=pl.col("path").is_not_null().sum().cast(pl.Int64))
    known = run.of("document").drop("path", "value")
    table = counts.join(known, on="doc_id", how="left", maintain_order="left")
    records = records_table(gold, key | {"role": "gold"})
    documents = tables.table("documents", table.to_dicts(), **key)
    return Corpus(documents=documents, records=records, **key, sources=run.sources).check()


def matched(run: Run, corpus: Corpus) -> Matches:
    """For each document and path of a run those of the corpus; None where it has none.

    A sample belongs to the field at its `doc_id` and `path`; or to the one that its name spells,
    such as ``0000971160/entities/11``; or, where it names no field, to the only one of its document
    with its target as value. A document may go by the name of its image.
    """
    fields = corpus.records.filter(pl.col("path").is_not_null())
    paths = set(fields.select(KEY).rows())
    by_value: dict[Key, list[str]] = {}
    asked = fields.filter(pl.col("task") != "layout").select("doc_id", "value", "path")
    for doc_id, value, path in asked.rows():
        by_value.setdefault((doc_id, (value or "").strip()), []).append(path)
    listed = corpus.documents.select("doc_id", "image").rows()
    stems = {PurePosixPath(image).stem: doc_id for doc_id, image in listed if image}
    stems |= {PurePosixPath(doc_id).stem: doc_id for doc_id, _ in listed}
    known = {doc_id for doc_id, _ in listed}

    def document(name: str) -> str | None:
        file = PurePosixPath(name)
        return name if name in known else stems.get(file.name) or stems.get(file.stem)

    def match(name: str, path: str | None) -> Key | None:
        if (doc_id := document(name)) is not None:
            if path is None or (doc_id, path) in paths:
                return doc_id, path
            target = (targets.get((name, path)) or "").strip()
            alike = by_value.get((doc_id, target), []) if path == ANSWER and target else []
            return (doc_id, alike[0]) if len(alike) == 1 else None
        steps = name.split("/")
        spelt = (
            (document("/".join(steps[:n])), "/" + "/".join(steps[n:])) for n in range(1, len(steps))
        )
        return next((key for key in spelt if key in paths), None)

    targets = {row[:2]: row[2] for row in run.of("gold").select(*KEY, "value").rows()}
    asked = run.rows.filter(pl.col("role").is_in(["gold", "answer"])).select(KEY)
    return {key: match(*key) for key in asked.unique(maintain_order=True).rows()}


def fitting(run: Run, corpora: Iterable[Corpus]) -> tuple[Corpus, Matches]:
    """The corpus that a run fits best, each read and matched once, up to one that it is all of."""
    best = None
    for corpus in corpora:
        matches = matched(run, corpus)
        count = sum(match is not None for match in matches.values())
        if best is None or count > best[0]:
            best = count, corpus, matches
        if count == len(matches):
            break
    return best[1:]


def _joined(run: Run, corpus: Corpus, matches: Matches, documents: str) -> tuple[Run, Corpus]:
    """The run with the keys of the benchmark's values, and the part of the corpus that it is of."""
    known = {key: match for key, match in matches.items() if match}
    if not known:
        names = sorted(doc_id for doc_id, _ in matches)[:3]
        expected = corpus.documents["doc_id"].head(3).to_list()
        what = f"no sample is of {corpus.benchmark}:{corpus.split}: they are called {names}"
        remedy = "doc_id and path in the samples' metadata, or another benchmark or --split"
        raise _broken(run, f"{what}, its documents {expected}", remedy)
    # A whole document goes with its fields.
    whole = {(doc_id, None): (match[0], None) for (doc_id, _), match in known.items()}
    places = [(*key, *match) for key, match in (whole | known).items()]
    places = pl.DataFrame(places, dict.fromkeys([*KEY, "at", "at_path"], pl.String), orient="row")
    moved = run.rows.join(places, on=KEY, nulls_equal=True, maintain_order="left")
    moved = moved.with_columns(doc_id="at", path="at_path").drop("at", "at_path")
    run = dataclasses.replace(run, rows=moved)
    run.notes[STRANGE] = sum(match is None for match in matches.values())
    gold = run.of("gold").select(*KEY, target=pl.col("value").str.strip_chars())
    both = corpus.records.join(gold, on=KEY, nulls_equal=True)
    value, target = pl.col("value").str.strip_chars().fill_null(""), pl.col("target").fill_null("")
    run.notes[OTHER_GOLD] = both.filter(value != target).height
    return run, corpus if documents == ALL else _asked(corpus, set(known.values()), run.notes)


def _asked(corpus: Corpus, keys: set[Key], notes: Counter[str]) -> Corpus:
    """The part of the corpus that the log asks for; what is evidence, and no field, stays."""
    asked = pl.DataFrame(list(keys), dict.fromkeys(KEY, pl.String), orient="row")
    documents, records = (
        frame.join(asked, on="doc_id", how="semi", maintain_order="left")
        for frame in (corpus.documents, corpus.records)
    )
    # Who was asked for whole pages was asked for all that stands on them.
    whole = asked.filter(pl.col("path").is_null())
    others = records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout").select(KEY)
    others = others.join(whole, on="doc_id", how="anti").join(asked, on=KEY, how="anti")
    notes[OTHER_DOCUMENTS] = corpus.documents.height - documents.height
    notes[OTHER_FIELDS] = others.height
    records = records.join(others, on=KEY, how="anti", maintain_order="left")
    return dataclasses.replace(corpus, documents=documents, records=records)


def _scores(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """A row per sample: `log_score` and so on by the log's first scorer, `log_by_` the others.

    The first is the one that its headline is of; a sample that failed has no score.
    """
    scores = run.of("score")
    wide = pl.concat([calls.select(KEY), scores.select(KEY)]).unique(maintain_order=True)
    for name in run.scorers:
        part = scores.filter(pl.col("scorer") == name).unique(KEY, keep="last")
        named = {f"log_{column}": column for column in _SCORES}
        named = named if name == run.scorers[0] else {f"log_by_{name}": "score"}
        part = part.select(*KEY, **named)
        wide = wide.join(part, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    return wide.with_columns(log_scorer=pl.lit(run.scorers[0])) if run.scorers else wide.clear()


def _predictions(run: Run, corpus: Corpus, scores: pl.DataFrame) -> Predictions:
    """The answers, with the log's own scores as columns of their own."""
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": run.system}
    # The task is that of the gold at the same path; a page's own is text.
    tasks = corpus.records.select(*KEY, usual="task").unique(KEY)
    answers = run.of("answer", "task", "kind")
    answers = answers.join(tasks, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    page = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    task = pl.coalesce("task", "usual", pl.lit("text"))
    answers = answers.with_columns(task=task, kind=pl.coalesce(page, "kind")).drop("usual")
    if scores.height:
        answers = answers.join(scores, on=KEY, how="left", maintain_order="left")
    records = records_table(answers, key | {"role": "prediction"})
    # A log says what its questions are, and nothing of what its answers are.
    records = records.with_columns(field=pl.lit(None, pl.String))
    calls = run.of("call").drop("path", "value")
    calls = calls.select(name for name in calls.columns if name in tables.RESPONSES)
    return Predictions(
        records=records,
        responses=tables.table("responses", calls.to_dict(as_series=False), **key),
        system=run.system,
        settings={"log": run.log},
        sources=run.sources,
        notes={f"log: {note}": count for note, count in counted(run.notes).items()},
    )


def _broken(run: Run, what: str, remedy: str) -> DataBroken:
    return DataBroken(what, where=next(iter(run.sources), None), remedy=remedy)
