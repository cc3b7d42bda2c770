"""From the rows of a log's run to an evaluation: with its own gold, or with that of a benchmark."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.errors import DataBroken
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.readers import ROLES, Row, Source, by_role, counted, door
from formlab.readers.answers import moves, renames, with_paths, with_tasks
from formlab.readers.answers import table as records_table
from formlab.readers.samples import SCORE
from formlab.readers.sources import ROWS
from formlab.scoring.batches import own_gold
from formlab.scoring.evaluate import evaluate
from formlab.tables import USABLE

ASKED, ALL = "asked", "all"
MATCHED, FAILED = "samples matched", "samples failed"
STRANGE = "samples that the benchmark does not have"
OTHER_DOCUMENTS = "documents of the benchmark that no sample asks for"
OTHER_FIELDS = "fields of these documents that no sample asks for"
OTHER_GOLD = "targets that differ from the benchmark's gold, which is used"
EPOCHS = "epochs of the log; its own figures are over all of them"
KEY = ["doc_id", "path"]
_DTYPES = tables.DOCUMENTS | tables.RESPONSES | tables.RECORDS
_DTYPES |= {"epoch": pl.Int64, "score": pl.Float64, "n": pl.Int64}
_OF_RUN = ("system", "epoch", "split", "benchmark")
_ALWAYS = ("value", "task", "kind", "status", "error", "scorer", "score", "n")


@dataclasses.dataclass
class Run:
    """The rows of one system and epoch of a log by role; `log` is what an evaluation keeps."""

    system: str
    rows: dict[str, pl.DataFrame]
    log: dict[str, Any]
    notes: Counter[str]
    sources: dict[str, str]

    def of(self, role: str, *columns: str) -> pl.DataFrame:
        """The rows of a role, with `columns`, its value, and others that have something in them."""
        rows, always = self.rows[role].drop(_OF_RUN), {*KEY, "value", *columns}
        return rows.select(c for c in rows if c.name in always or c.null_count() < rows.height)


def runs_of(rows: Iterable[Row], source: Source, form: str) -> list[Run]:
    """The runs of a log, one for each system and epoch; figures are of each of them."""
    frames, stem = _frames(rows), door.stem(source.path)
    # Rows without a system are of every run.
    answered = [frames[role].select("system", "epoch") for role in ("answer", "call")]
    keys = pl.concat(answered).unique(maintain_order=True).rows()
    if not keys:
        raise DataBroken("the log has no samples", where=source.path)
    headline = frames["figure"].select("scorer", metric="kind", value="score", n="n")
    columns = [c for role in ("answer", "document") for c in frames[role].select(f"^{SCORE}.*$")]
    scorers = [c.name.removeprefix(SCORE) for c in columns if c.null_count() < len(c)]
    # The first scorer is the one that the headline is of.
    scorer = next((name for name in (*headline["scorer"], *scorers) if name in scorers), None)
    split = pl.concat(frame["split"] for frame in frames.values()).drop_nulls().first()
    log = {"format": form, "name": split or stem, "source": [file.name for file in source.files]}
    log |= {"headline": headline.to_dicts(), "scorer": scorer}
    sources = {file.name: files.sha256(file) for file in source.files}
    runs, epochs = [], Counter(system for system, _ in keys)
    for system, epoch in keys:
        name, notes = system or source.name or stem, Counter(source.notes)
        if epochs[system] > 1:
            name, notes[EPOCHS] = f"{name}, epoch {epoch}", epochs[system]
        is_of = pl.col("system").eq_missing(system) & (pl.col("epoch") == epoch)
        part = {}
        for role, frame in frames.items():
            of_role = is_of if role in ("answer", "call") else is_of | pl.col("system").is_null()
            named = {f"{SCORE}{scorer}": "log_score"}
            part[role] = frame.filter(of_role).rename(named, strict=False)
        runs.append(Run(name, part, log, notes, sources))
    return runs


def _frames(rows: Iterable[Row]) -> dict[str, pl.DataFrame]:
    """The rows of each role, with the dtypes of tables; rows may leave columns out."""
    none = dict.fromkeys((*_OF_RUN, *KEY, *_ALWAYS))
    found: dict[str, list[pl.DataFrame]] = {role: [_frame([none])[:0]] for role in ROLES}
    rows = iter(rows)
    while some := list(islice(rows, ROWS)):
        for role, part in by_role(some).items():
            found[role] += [_frame(part)] if part else []
    frames = {role: pl.concat(parts, how="diagonal") for role, parts in found.items()}
    return {
        role: frame.with_columns(pl.col("epoch").fill_null(1)) for role, frame in frames.items()
    }


def _frame(rows: list[Row]) -> pl.DataFrame:
    columns = tables.columns_of(rows, {})
    schema = {n: pl.Float64 if n.startswith(SCORE) else _DTYPES.get(n, pl.String) for n in columns}
    try:
        frame = pl.DataFrame(columns, schema=schema, strict=False)
    except UnicodeEncodeError:
        # Texts may have half characters, which polars does not take.
        columns = {name: list(map(files.storable, cells)) for name, cells in columns.items()}
        frame = pl.DataFrame(columns, schema=schema, strict=False)
    # A million times the same.
    return frame.with_columns(pl.col("^(system|split|benchmark|origin)$").cast(pl.Categorical))


def evaluation(
    run: Run,
    corpus: Corpus | None = None,
    *,
    documents: str = ASKED,
    types: Any = None,
    name: str | None = None,
    out: Path | None = None,
) -> Evaluation:
    """The evaluation of a run by its own gold, or by a benchmark's: what is `ASKED`, or `ALL`.

    What was scored is let go, as it takes memory: a run is evaluated once.
    """
    run.system = name or run.system
    if corpus is not None:
        corpus = _joined(run, corpus, documents)
    calls = run.of("call", "status", "error")
    # A sample that asks for an object has several answers, and is counted once.
    run.notes[MATCHED] = calls.height or run.of("answer").height
    failed = calls.filter(~pl.col("status").is_in([*USABLE, "missing"]))
    run.notes[FAILED] = failed.height
    reasons = failed["error"].drop_nulls().value_counts(sort=True).head(5)
    run.notes.update({f"failed with {error[:120]}": count for error, count in reasons.rows()})
    # Single fields of another document may be scored beside whole documents.
    scores = run.of("document").select("doc_id", "^log_.*$").unique("doc_id", keep="last")
    scores = scores.rename(lambda name: name.replace("log_", "log_document_", 1))
    if corpus is None:
        given, gold = run.rows["answer"], run.rows["gold"]
        run.rows["answer"] = with_paths(given, moves(given["path"], gold["path"], run.notes))
    with TemporaryDirectory(prefix="formlab-") as folder:
        gold: Any = _own_gold(run, types, Path(folder, "own")) if corpus is None else [corpus]
        if run.log["scorer"] and scores.height:
            on = {"on": "doc_id", "how": "left", "maintain_order": "left"}
            gold = (dataclasses.replace(c, documents=c.documents.join(scores, **on)) for c in gold)
        return evaluate(iter(gold), partial(_predictions, run), out=out)


def _own_gold(run: Run, types: Any, folder: Path) -> Iterator[Corpus]:
    gold, name, sources = run.of("gold"), run.log["name"], run.sources
    if gold.is_empty():
        what = f"the log has no gold: {run.log['format']} keeps answers alone"
        remedy = "formlab score BENCHMARK --predictions LOG"
        raise DataBroken(what, where=next(iter(sources), None), remedy=remedy)
    del run.rows["gold"]
    if benchmark := run.rows["document"]["benchmark"].drop_nulls().first():
        key = {"benchmark": benchmark, "split": name}
        counts = gold.group_by("doc_id", maintain_order=True).agg(n_fields=pl.col("path").count())
        known = run.of("document").drop("path", "value", "^log_.*$")
        table = counts.join(known, on="doc_id", how="left", maintain_order="left")
        documents = tables.table("documents", table.to_dicts(), **key)
        records = records_table(gold, key | {"role": "gold"})
        yield Corpus(documents=documents, records=records, **key, sources=sources).check()
        return
    # Named, so that no column of the log's own is taken for another.
    columns = {name: name for name in (*KEY, "value")}
    for corpus in own_gold(gold, folder, types=types, columns=columns, name=name):
        yield dataclasses.replace(corpus, sources=sources)


def matched(run: Run, corpus: Corpus) -> pl.DataFrame:
    """Each document and path of a run, and where it is in the corpus: `at` and `at_path`."""
    asked = pl.concat([run.rows[role].select(KEY) for role in ("gold", "answer")])
    known = corpus.documents["doc_id"]
    renamed = renames(asked["doc_id"].unique(), known)
    places = set(corpus.records.select(KEY).rows()) | {(doc_id, None) for doc_id in known}

    def match(name: str, path: str | None) -> tuple[str | None, str | None]:
        # A name may have the field behind the document, such as `0000971160/entities/11`.
        doc_id, _, field = name.partition("/")
        keys = ((renamed.get(name, name), path), (doc_id, f"/{field}"))
        return next((key for key in keys if key in places), (None, None))

    rows = [(*key, *match(*key)) for key in asked.unique(maintain_order=True).rows()]
    return pl.DataFrame(rows, dict.fromkeys([*KEY, "at", "at_path"], pl.String), orient="row")


def fitting(run: Run, corpora: Iterable[Corpus]) -> Corpus:
    """The corpus that a run fits best, each read once, up to one that it is all of."""
    best, least = None, 0
    for corpus in corpora:
        strange = matched(run, corpus)["at"].null_count()
        if best is None or strange < least:
            best, least = corpus, strange
        if not strange:
            break
    return best


def _joined(run: Run, corpus: Corpus, documents: str) -> Corpus:
    """The part of a corpus that a run is of, which gets the keys of its values."""
    places = matched(run, corpus)
    known = places.drop_nulls("at")
    if known.is_empty():
        names, expected = (f["doc_id"].unique().sort().head(3) for f in (places, corpus.documents))
        what = f"no sample is of {corpus.benchmark}:{corpus.split}: they are called"
        what += f" {names.to_list()}, its documents {expected.to_list()}"
        remedy = "doc_id and path in the samples' metadata, or another benchmark or --split"
        raise DataBroken(what, where=next(iter(run.sources), None), remedy=remedy)
    # A whole document goes with its fields.
    whole = known.select("doc_id", pl.lit(None, pl.String).alias("path"), "at")
    found = pl.concat([known, whole], how="diagonal").unique(KEY, keep="first")
    for role, rows in run.rows.items():
        rows = rows.join(found, on=KEY, nulls_equal=True, maintain_order="left")
        run.rows[role] = rows.with_columns(doc_id="at", path="at_path").drop("at", "at_path")
    run.notes[STRANGE] = places["at"].null_count()
    gold = run.of("gold").select(*KEY, target="value")
    both = corpus.records.join(gold, on=KEY, nulls_equal=True).select("value", "target")
    both = both.select(pl.all().str.strip_chars().fill_null(""))
    run.notes[OTHER_GOLD] = both.filter(pl.col("value") != pl.col("target")).height
    if documents == ALL:
        return corpus
    asked = known.select(doc_id="at", path="at_path").unique()
    remaining, records = (
        frame.join(asked, on="doc_id", how="semi", maintain_order="left")
        for frame in (corpus.documents, corpus.records)
    )
    # Who was asked for whole pages was asked for all that stands on them; evidence stays.
    pages = asked.filter(pl.col("path").is_null())
    others = records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout").select(KEY)
    others = others.join(pages, on="doc_id", how="anti").join(asked, on=KEY, how="anti")
    run.notes[OTHER_DOCUMENTS] = corpus.documents.height - remaining.height
    run.notes[OTHER_FIELDS] = others.height
    records = records.join(others, on=KEY, how="anti", maintain_order="left")
    return dataclasses.replace(corpus, documents=remaining, records=records)


def _predictions(run: Run, corpus: Corpus, of_corpus: pl.Expr) -> Predictions:
    """The answers for a part of the gold, with the log's own scores as columns of their own."""
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": run.system}
    given = with_tasks(run.of("answer", "task", "kind", "status").filter(of_corpus), corpus, "text")
    # A log says what its questions are, and nothing of what its answers are.
    records = records_table(given, key | {"role": "prediction"})
    calls = run.of("call").filter(of_corpus)
    calls = calls.select(tables.RESPONSES.keys() & {*calls.columns} - key.keys())
    notes = {f"log: {note}": count for note, count in counted(run.notes).items()}
    run.notes.clear()  # They are of all of the log.
    run.rows |= {role: run.rows[role].filter(~of_corpus) for role in ("answer", "call")}
    return Predictions(
        records=records.with_columns(field=pl.lit(None, pl.String)),
        responses=tables.table("responses", calls.to_dicts(), **key),
        system=run.system,
        settings={"log": run.log},
        sources=run.sources,
        notes=notes,
    ).check()
