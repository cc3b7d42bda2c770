"""Answers to a user's own gold, or to any benchmark, as formlab's predictions."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from formlab import formats, tables
from formlab.errors import DataBroken, UnknownName
from formlab.folder import Folder
from formlab.folders import Corpus, Predictions
from formlab.formats import Format
from formlab.own import images as own_images
from formlab.own._rows import KNOWN, known_columns, located
from formlab.own.corpus import BENCHMARK, corpus, sources_of, table
from formlab.own.values import read_values
from formlab.text import answers as text_answers

# The names of the column of values that only one side has.
SIDES = ("gold", "prediction")


def predictions(
    answers: Any,
    corpus: Corpus,
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Predictions:
    """Answers to a corpus, whether its user's own or a benchmark.

    A document may be named by its file (``scans/a.png`` for ``a``). One value where the gold has a
    list is its first item, and a list of where the gold has one value begins with it. An answer
    without a value claims nothing: where the gold is blank as well, that is right; a document with
    no other answers is `missing`.

    Parameters
    ----------
    answers
        As for `read_values`; the folder of a run, and other formats of predictions, see
        `formlab.read_predictions`.
    corpus
        What the answers are to.
    name
        What the system is called: by default the column `system`, else the stem of the path, or
        ``answers``.
    columns
        As for `read_values`.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        If something is absent or cannot be read, or the answers are of several systems.

    Examples
    --------
    >>> gold = corpus([{"doc_id": "a", "total": "9.00"}])
    >>> answers = [{"doc_id": "a.png", "total": 9, "date": "2024-05-01"}]
    >>> predictions(answers, gold).records.select("doc_id", "path").rows()
    [('a', '/total'), ('a', '/date')]
    """
    answers = located(answers)
    path = answers if isinstance(answers, Path) else None
    tabular = corpus.benchmark == BENCHMARK or columns
    if path and (is_run(path) or not tabular):
        result = formats.read_predictions(path, corpus)
        return dataclasses.replace(result, system=name or result.system)
    return _read(answers, corpus, path, name, columns)


@tables.uncollected()
def pair(
    gold: Any,
    answers: Any,
    *,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Corpus, Predictions]:
    """Gold and answers as `corpus` and `predictions` read them; what is loaded already stays.

    `columns` name those of either side, or of both: ``gold`` is the column of the gold's values,
    ``prediction`` that of the answers'. `UnknownName` if neither side has one.
    """
    gold, answers = located(gold), located(answers)
    named = sides(gold, answers, columns or {})
    if not isinstance(gold, Corpus):
        gold = corpus(gold, images=images, types=types, columns=named[0])
    if not isinstance(answers, Predictions):
        answers = predictions(answers, gold, columns=named[1])
    return gold, answers


def sides(gold: Any, answers: Any, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of gold and of answers among those that were named for either; see `pair`."""
    known = [
        _columns(side) if columns and not isinstance(side, Folder) else set()
        for side in (gold, answers)
    ]
    named: list[dict[str, str]] = [{}, {}]
    for name, column in columns.items():
        only = SIDES.index(name) if name in SIDES else None
        here = [n for n in range(2) if column in known[n] and only in (None, n)]
        if not here:
            raise UnknownName.of("column", column, known[0] | known[1])
        for n in here:
            named[n]["value" if name in SIDES else name] = column
    return named


def _columns(source: Any) -> set[str]:
    """The names of a source's columns; none of what is no table, such as a run."""
    return set() if is_run(source) else known_columns(source)


def is_run(source: Any) -> bool:
    """Whether a source is the folder of a run."""
    return isinstance(source, Path) and formats.FORMATS["run"].is_one(source)


def is_one(path: Path) -> bool:
    """Whether `path` is a table by the ending of its name."""
    return path.is_file() and path.suffix.lower() in KNOWN


def _read(
    answers: Any, corpus: Corpus, path: Path | None, name: str | None,
    columns: Mapping[str, str] | None,
) -> Predictions:  # fmt: skip
    notes: Counter[str] = Counter()
    values = _of_corpus(read_values(answers, columns=columns, flaws=notes), corpus, path, notes)
    values = _matched(values, corpus, notes)
    if name is None:
        systems = values["system"].drop_nulls() if "system" in values.columns else ()
        name = system_of(set(systems), path)
    return of_values(
        values, corpus, name=name, usual=_usual(corpus), sources=sources_of(path), notes=notes
    )


def _of_corpus(
    values: pl.DataFrame, corpus: Corpus, path: Path | None, notes: Counter[str]
) -> pl.DataFrame:
    """The answers without those for another benchmark or split, where a column says so."""
    # In a user's own forms these may be columns of the user's own.
    named = () if corpus.benchmark == BENCHMARK else {"benchmark", "split"} & {*values.columns}
    for name in sorted(named):
        others = pl.col(name) != getattr(corpus, name)
        strange = values.filter(others)
        if strange.height and strange.height == values.height:
            what = f"answers for {name} {strange[name][0]!r:.80}, not for {getattr(corpus, name)}"
            raise DataBroken(what, where=path, remedy=f"the {name} that was answered")
        notes[f"answers for another {name}, left out"] += strange.height
        values = values.filter(~others | pl.col(name).is_null())
    return values


def system_of(systems: Collection[str], path: Path | None) -> str:
    """What the system is called whose answers name `systems`, and are in a file."""
    if len(systems) > 1:
        what = f"several systems in one file: {', '.join(sorted(systems))}"
        raise DataBroken(what, where=path, remedy="a file each")
    return next(iter(systems), None) or (path.resolve().stem if path else "answers")


def of_values(
    values: pl.DataFrame, corpus: Corpus, *, name: str, usual: str, sources: dict[str, str],
    notes: Mapping[str, int],
) -> Predictions:  # fmt: skip
    """The predictions that values are which name documents and paths as the gold does.

    `usual` is the task of what the gold does not have.
    """
    notes, values = Counter(notes), _without_json(values.drop("system", strict=False))
    values = _failed(_claims(_with_choices(values, corpus)), corpus)
    for status in ("repaired", "bad_json", "truncated"):
        documents = values.filter(pl.col("status") == status)["doc_id"].n_unique()
        notes[f"documents with answers of status {status}"] += documents
    values = values.join(_tasks(corpus), on=["doc_id", "path"], how="left", maintain_order="left")
    task = [pl.col("task")] if "task" in values.columns else []
    values = values.with_columns(pl.coalesce(*task, "gold_task", pl.lit(usual)).alias("task"))
    values = values.drop("gold_task")
    # Both sides may have a column of one name: each is kept.
    twice = set(tables.own_columns("records", corpus.records)) & set(values.columns)
    values = values.rename({column: f"answer_{column}" for column in twice})
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    return Predictions(
        records=table(values, key | {"role": "prediction"}),
        responses=tables.table("responses", []),
        system=name,
        sources=sources,
        notes={what: count for what, count in sorted(notes.items()) if count},
    ).check()


def _with_choices(values: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with the items of a list as one value where the gold has one, with choices."""
    golds = corpus.records.filter(pl.col("kind").is_in(["choice", "checkbox"]))["path"].unique()
    if golds.is_empty():
        return values
    field = pl.col("path").str.replace(r"/\d+$", "")
    is_item = field.is_in(golds.implode()) & pl.col("value").is_not_null()
    is_list = (is_item & (is_item.sum().over("doc_id", field) > 1)).fill_null(False)
    items = values.filter(is_list).group_by("doc_id", path=field, maintain_order=True)
    lists = items.agg("value", pl.exclude("doc_id", "path", "value").first())
    texts = [json.dumps(options, ensure_ascii=False) for options in lists["value"].to_list()]
    lists = lists.with_columns(pl.Series("value", texts, dtype=pl.String))
    return pl.concat([values.filter(~is_list), lists.select(values.columns)])


def _failed(values: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with what could not be read as failed at each field that was asked for."""
    failed = pl.col("path").is_null() & pl.col("status").is_in(["bad_json", "truncated"])
    asked = corpus.records.filter(pl.col("path").is_not_null()).select("doc_id", field="path")
    rows = values.filter(failed).join(asked, on="doc_id", how="left", maintain_order="left")
    if rows.is_empty():
        return values
    kind = pl.when(pl.col("field").is_null()).then("kind")
    rows = rows.with_columns(path=pl.col("field"), kind=kind).drop("field")
    return pl.concat([values.filter(~failed), rows.select(values.columns)])


def _without_json(values: pl.DataFrame) -> pl.DataFrame:
    """The answers without texts that are JSON and could not be read: `bad_json`."""
    texts = values["value"].to_list()
    broken = pl.Series(
        [
            path is None and text is not None and text_answers.is_json(text)
            for path, text in zip(values["path"], texts, strict=True)
        ],
        dtype=pl.Boolean,
    )
    if not broken.any():
        return values
    stated = values["status"] if "status" in values.columns else pl.lit(None, pl.String)
    status = pl.when(broken).then(pl.lit("bad_json")).otherwise(stated)
    return values.with_columns(status=status, value=pl.when(~broken).then("value"))


def _claims(values: pl.DataFrame) -> pl.DataFrame:
    """The answers without those that name no value; one row for a document without any."""
    empty = pl.col("value").is_null()
    stated = [pl.col("status")] if "status" in values.columns else []
    status = pl.coalesce(*stated, pl.when(empty).then(pl.lit("missing")).otherwise(pl.lit("ok")))
    silent = values.filter(empty.all().over("doc_id"), *(column.is_null() for column in stated))
    silent = silent.unique("doc_id", keep="first", maintain_order=True)
    claims = values.filter(pl.any_horizontal(~empty, *(column.is_not_null() for column in stated)))
    both = pl.concat([claims, silent.with_columns(path=pl.lit(None, pl.String))])
    kind = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    kind = kind.otherwise(pl.col("kind") if "kind" in values.columns else None)
    return both.with_columns(status.alias("status"), kind.alias("kind"))


def _tasks(corpus: Corpus) -> pl.DataFrame:
    known = corpus.records.filter(pl.col("path").is_not_null())
    return known.select("doc_id", "path", gold_task="task").unique(["doc_id", "path"])


def _usual(corpus: Corpus) -> str:
    values = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    return values["task"].mode().sort()[0] if values.height else "text"


def _matched(values: pl.DataFrame, corpus: Corpus, notes: Counter[str]) -> pl.DataFrame:
    """The answers with documents and paths as the gold names them, where it is clear which."""
    renamed = renames(values["doc_id"].unique(), corpus.documents["doc_id"])
    notes["documents named by their files"] += len(renamed)
    moved = moves(values["path"].unique(), corpus.records["path"].unique())
    if renamed:
        values = values.with_columns(pl.col("doc_id").replace(renamed))
    return values.with_columns(pl.col("path").replace(moved)) if moved else values


def renames(answered: pl.Series, known: pl.Series) -> dict[str, str]:
    """The documents of the gold that answers name by their files, each by that name."""
    unmatched = answered.filter(~answered.is_in(known.implode()))
    if unmatched.is_empty():
        return {}
    stems: dict[str, list[str]] = {}
    for doc_id in known:
        name = own_images.stem(doc_id)
        for key in {name, own_images.last(name)}:
            stems.setdefault(key, []).append(doc_id)
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for doc_id in unmatched.sort():
        name = own_images.stem(doc_id)
        candidates = stems.get(name) or stems.get(own_images.last(name)) or []
        if len(candidates) == 1 and candidates[0] not in taken:
            renamed[doc_id] = candidates[0]
            taken.add(candidates[0])
    named = set(answered.filter(answered.is_in(list(taken))))
    return {name: doc_id for name, doc_id in renamed.items() if doc_id not in named}


def moves(answered: pl.Series, known: pl.Series) -> dict[str, str]:
    """The paths of answers that stand for others of the gold."""
    paths = set(known.drop_nulls())
    strange = answered.drop_nulls()
    strange = strange.filter(~strange.is_in(known.implode()))
    plain = {_unescaped(path): path for path in sorted(paths)} if strange.len() else {}
    moved = {path: _path(path, paths, plain) for path in strange}
    return {path: other for path, other in moved.items() if other != path}


def _path(path: str, known: set[str], plain: Mapping[str, str]) -> str:
    """The path of the gold that a path of an answer stands for; else itself."""
    if path in known:
        return path
    if f"{path}/0" in known:
        return f"{path}/0"
    if path.endswith("/0") and path.removesuffix("/0") in known:
        return path.removesuffix("/0")
    return plain.get(_unescaped(path), path)


def _unescaped(path: str) -> str:
    return path.replace("~1", "/").replace("~0", "~")


FORMAT = Format(
    BENCHMARK, "a table: CSV, TSV, JSON or a workbook", is_one,
    lambda path, corpus: _read(path, corpus, path, None, None),
)  # fmt: skip
