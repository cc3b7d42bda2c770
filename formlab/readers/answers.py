"""Answers as formlab's predictions: rows of a reader, or the values of any table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, readers, tables
from formlab.errors import DataBroken
from formlab.folders import Corpus, Predictions
from formlab.readers import pages, values
from formlab.readers.door import stem
from formlab.readers.rows import Row, Source, by_role, counted
from formlab.readers.sources import document_files
from formlab.readers.values import DOCUMENT, RECORD
from formlab.text.answers import is_json

# The benchmark of a user's own forms.
OWN = "own"
_FOLDED = re.compile(r"[\s_-]+")
# How many names of either side a note gives, and how much of each.
_EXAMPLES, _NAME = 2, 80
_NO_TEXT = pl.lit(None, pl.String)


def of_rows(
    rows: Iterable[Row], corpus: Corpus, source: Source, *, name: str | None = None
) -> Predictions:
    """The predictions that rows of a reader are: its answers, and its calls as responses."""
    roles, notes = by_role(rows), source.notes
    systems = {row.get("system") for row in roles["answer"]} - {None}
    system = name or source.name or system_of(systems, source.path)
    if len({row.get("epoch") for row in roles["answer"]}) > 1:
        raise DataBroken("a log of several epochs", where=source.path, remedy="formlab score LOG")
    mark = {"benchmark": corpus.benchmark, "split": corpus.split, "system": system}
    # What a log says of its own task is nothing of the corpus, and a call has no path.
    known = tables.RESPONSES.keys() - mark.keys()
    responses = [mark | {n: row[n] for n in row if n in known} for row in roles["call"]]
    given = [{n: row[n] for n in row if n not in (*mark, "epoch")} for row in roles["answer"]]
    exact = [mark | {"role": "prediction"} | row for row in given if row.get("task")]
    records = [tables.table("records", exact)]
    if loose := [row for row in given if not row.get("task")]:
        schema = {n: tables.RECORDS.get(n, pl.String) for row in loose for n in row}
        frame = pl.DataFrame(loose, infer_schema_length=None, schema_overrides=schema)
        frame = _matched(frame, corpus, notes)
        records.append(of_values(frame, corpus, name=system, usual=_usual_task(corpus)).records)
    return Predictions(
        records=pl.concat(records, how="diagonal"),
        responses=tables.table("responses", responses),
        system=system,
        sources={file.name: files.sha256(file) for file in source.files},
        notes=counted(notes),
    ).check()


def of_table(
    source: Any, corpus: Corpus, *, name: str | None = None, columns: Mapping[str, str]
) -> Predictions:
    """The predictions in any table, JSON, folder or frame."""
    path, notes = source if isinstance(source, Path) else None, Counter[str]()
    objects = set(corpus.records.filter(pl.col("kind") == "json")["path"].drop_nulls())
    given = pl.concat([*values.pieces(source, columns, notes, objects)], how="diagonal")
    given = of_corpus(given, corpus, notes, others := {})
    check_left(given, others, corpus, path)
    keyed = given.filter(pl.col("value").is_not_null())
    # Several values of a user's own field are a list.
    check_once(keyed.filter(pl.col("path").is_null() | (corpus.benchmark != OWN)), path)
    given = _matched(values.listed(given, values.lists_of(given)), corpus, notes)
    systems = set(given["system"].drop_nulls()) if "system" in given.columns else set()
    name, usual = name or system_of(systems, path), _usual_task(corpus)
    return of_values(given, corpus, name=name, usual=usual, sources=sources_of(path), notes=notes)


def of_corpus(
    given: pl.DataFrame, corpus: Corpus, notes: Counter[str], others: dict[str, str]
) -> pl.DataFrame:
    """The answers without those for another benchmark or split; `others` gets one of either."""
    # In a user's own forms these may be columns of the user's own.
    names = {"benchmark", "split"}.intersection(given.columns) if corpus.benchmark != OWN else ()
    for name in sorted(names):
        is_other = (pl.col(name) != getattr(corpus, name)).fill_null(False)
        strange = given.filter(is_other)[name]
        notes[f"answers for another {name}, left out"] += len(strange)
        others |= {name: strange[0]} if len(strange) else {}
        given = given.filter(~is_other)
    return given


def check_left(
    given: pl.DataFrame, others: Mapping[str, str], corpus: Corpus, path: Path | None
) -> None:
    """`DataBroken` if no answers are left beside those for `others`, see `of_corpus`."""
    for name in others if given.is_empty() else ():
        what = f"answers for {name} {others[name]!r:.80}, not for {getattr(corpus, name)}"
        raise DataBroken(what, where=path, remedy=f"the {name} that was answered")


def check_once(given: pl.DataFrame, path: Path | None) -> None:
    """`DataBroken` if two rows answer one path of a document."""
    twice = given.filter(given.select("doc_id", "path").is_duplicated())
    for doc_id, field in twice.select("doc_id", "path").rows()[:1]:
        same = twice.filter(pl.col("doc_id") == doc_id, pl.col("path").eq_missing(field))
        first, second = same["origin"].head(2)
        what = f"two predictions for doc_id {doc_id!r}{f', path {field!r}' if field else ''}"
        where = (path if path.is_dir() else path.parent) / second if path else second
        raise DataBroken(f"{what}, the first at {first}", where=where, remedy="keep one of them")


def system_of(systems: Collection[str], path: Path | None) -> str:
    """What the system is called whose answers name `systems`, and are in a file."""
    if len(systems) > 1:
        what = f"several systems in one file: {', '.join(sorted(systems))}"
        raise DataBroken(what, where=path, remedy="a file each")
    return next(iter(systems), None) or (stem(path.resolve()) if path else "answers")


def sources_of(path: Path | None) -> dict[str, str]:
    """The SHA-256 of a file, or of each file of a folder that has a document."""
    if path is None or path.is_file():
        return {path.name: files.sha256(path)} if path else {}
    return {file.name: files.sha256(file.where) for file in document_files(path)}


def of_values(
    given: pl.DataFrame,
    corpus: Corpus,
    *,
    name: str,
    usual: str,
    sources: Mapping[str, str] | None = None,
    notes: Mapping[str, int] | None = None,
) -> Predictions:
    """The predictions of values at the gold's names; `usual` is the task of all others."""
    notes = Counter(notes)
    absent = [name for name in ("status", "kind", "task") if name not in given.columns]
    given = given.drop("system", strict=False).with_columns(_NO_TEXT.alias(n) for n in absent)
    given = _claims(_with_choices(given, corpus), corpus)
    for status in ("repaired", "bad_json", "truncated"):
        documents = given.filter(pl.col("status") == status)["doc_id"].n_unique()
        notes[f"documents with answers of status {status}"] += documents
    given = _with_tasks(given, corpus, usual, notes).drop("benchmark", "split", strict=False)
    # Both sides may have a column of one name: each is kept.
    twice = set(tables.own_columns("records", corpus.records)) & set(given.columns)
    given = given.rename({column: f"answer_{column}" for column in twice})
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    return Predictions(
        records=table(given, key | {"role": "prediction"}),
        responses=tables.table("responses", []),
        system=name,
        sources=dict(sources or {}),
        notes=counted(notes),
    ).check()


def table(rows: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
    """Rows of values as records: with every column, and those of the user's own after them."""
    for name, usual in {"status": "ok", "task": "text"}.items():
        stated = [pl.col(name)] if name in rows.columns else []
        rows = rows.with_columns(pl.coalesce(*stated, pl.lit(usual)).alias(name))
    kept = ("doc_id", "path", "value", "meta", "origin", *RECORD)
    columns = {
        name: (pl.col(name) if name in kept and name in rows.columns else pl.lit(key.get(name)))
        .cast(dtype)
        .alias(name)
        for name, dtype in tables.RECORDS.items()
    }
    if key["benchmark"] == OWN:
        # All items of a list are one field. It slices: also what only an answer has.
        paths = rows["path"].drop_nulls().unique()
        fields = list(map(values.pattern, paths))
        field = pl.col("path").replace_strict(paths, fields, default=None)
        columns["field"] = field.cast(pl.String).alias("field")
    for name in rows.columns:
        if name not in (*kept, *DOCUMENT):
            free = name if name not in tables.RESERVED else f"own_{name}"
            while free in columns or (free != name and free in rows.columns):
                free = f"own_{free}"
            columns[free] = pl.col(name).alias(free)
    return rows.select(columns.values())


def _with_tasks(
    given: pl.DataFrame, corpus: Corpus, usual: str, notes: Counter[str]
) -> pl.DataFrame:
    """The answers with the task of the gold's value at their path, else of its first step."""
    gold = corpus.records.filter(pl.col("path").is_not_null())
    gold = gold.select("doc_id", "path", gold_task="task", gold_kind="kind")
    gold = gold.unique(["doc_id", "path"])
    given = given.join(gold, on=["doc_id", "path"], how="left", maintain_order="left")
    if corpus.benchmark != OWN:
        is_new = pl.coalesce("task", "gold_task").is_null() & pl.col("path").is_not_null()
        note = f"values at paths that the gold does not have, read as task {usual}"
        notes[note] += given.filter(is_new & pl.col("value").is_not_null()).height
        is_entity = pl.col("path").str.starts_with("/entities/") & pl.col("kind").is_null()
        is_entity &= pl.col("gold_kind").is_not_null() & (pl.col("gold_task") != "layout")
        note = "entities without a kind: the form's tree shows no roles"
        notes[note] += given.filter(is_entity).height
    asked = sorted({"vqa", "consistency"} & set(gold["gold_task"]))
    is_below = {task: pl.col("path").str.starts_with(f"/{task}/") for task in asked}
    is_below |= {"text": pl.col("path").is_null()}
    steps = [pl.when(holds).then(pl.lit(task)) for task, holds in is_below.items()]
    task = pl.coalesce("task", "gold_task", *steps, pl.lit(usual))
    kind = pl.coalesce("kind", pl.when(pl.col("gold_task") == "layout").then("gold_kind"))
    return given.with_columns(task=task, kind=kind).drop("gold_task", "gold_kind")


def _usual_task(corpus: Corpus) -> str:
    found = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    return found["task"].mode().sort()[0] if found.height else "text"


def _with_choices(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with the items of a list as one value where the gold has one, with choices."""
    golds = corpus.records.filter(pl.col("kind").is_in(["choice", "checkbox"]))["path"].unique()
    field, paths = pl.col("path").str.replace(r"/\d+$", ""), given["path"].unique().to_frame()
    paths = paths.filter(field.is_in(golds.implode()))["path"]
    is_item = pl.col("path").is_in(paths.implode()) & pl.col("value").is_not_null()
    if not given.filter(is_item).select("doc_id", field).is_duplicated().any():
        return given
    is_list = (is_item & (is_item.sum().over("doc_id", field) > 1)).fill_null(False)
    items = given.filter(is_list).group_by("doc_id", path=field, maintain_order=True)
    lists = items.agg("value", pl.exclude("doc_id", "path", "value").first())
    texts = [json.dumps(options, ensure_ascii=False) for options in lists["value"].to_list()]
    lists = lists.with_columns(pl.Series("value", texts, dtype=pl.String))
    return pl.concat([given.filter(~is_list), lists.select(given.columns)])


def unread(given: pl.DataFrame) -> pl.Series:
    """Whether each value is a page's text that should be JSON: begins so, or is of a JSON file."""
    is_page = given["path"].is_null() & given["value"].is_not_null()
    pages = given.filter(is_page)
    is_file = pages["origin"].str.to_lowercase().str.ends_with(".json").fill_null(False)
    is_unread = is_file | pages["value"].map_elements(is_json, pl.Boolean).fill_null(False)
    return is_page.scatter(is_page.arg_true(), is_unread)


def _claims(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers that name a value; one row for a document without any, or not read."""
    broken = unread(given)
    status = pl.when(broken).then(pl.lit("bad_json")).otherwise("status").alias("status")
    given = given.with_columns(status, value=pl.when(~broken).then("value"))
    is_said = pl.col("value").is_not_null() | pl.col("status").is_not_null()
    silent = given.filter(~is_said.any().over("doc_id"))
    silent = silent.unique("doc_id", keep="first", maintain_order=True)
    claims = pl.concat([given.filter(is_said), silent.with_columns(path=_NO_TEXT)])
    usual = pl.when(pl.col("value").is_null()).then(pl.lit("missing")).otherwise(pl.lit("ok"))
    page = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    claims = claims.with_columns(
        status=pl.coalesce("status", usual), kind=pl.coalesce(page, "kind")
    )
    failed = pl.col("path").is_null() & pl.col("status").is_in(["bad_json", "truncated"])
    if corpus.benchmark != OWN or claims.filter(failed).is_empty():
        # The page's own row says it of all fields of a benchmark.
        return claims
    asked = corpus.records.filter(pl.col("path").is_not_null()).select("doc_id", field="path")
    rows = claims.filter(failed).join(asked, on="doc_id", how="left", maintain_order="left")
    kind = pl.when(pl.col("field").is_null()).then("kind")
    rows = rows.with_columns(path=pl.col("field"), kind=kind).drop("field")
    return pl.concat([claims.filter(~failed), rows.select(claims.columns)])


def _matched(given: pl.DataFrame, corpus: Corpus, notes: Counter[str]) -> pl.DataFrame:
    """The answers with documents and paths as the gold names them, where it is clear which."""
    renamed = renames(given["doc_id"].unique(), corpus.documents["doc_id"])
    notes["documents named by their files"] += len(renamed)
    gold = corpus.records.filter(pl.col("task") != "layout")["path"].unique()
    # What is read where it stands on the page has paths of its own.
    is_read = pl.col("kind").is_in(["word", "line"]) if "kind" in given.columns else pl.lit(False)
    moved = moves(given.filter(~is_read.fill_null(False))["path"].unique(), gold, notes)
    return with_paths(given.with_columns(pl.col("doc_id").replace(renamed)), moved)


def with_paths(given: pl.DataFrame, moved: Mapping[str, str]) -> pl.DataFrame:
    """The answers at the gold's paths; of two names of one field in a document both stay."""
    place, is_moved = pl.col("path").replace(moved), pl.col("path").is_in(list(moved))
    is_twice = pl.struct("doc_id", place).is_duplicated()
    return given.with_columns(pl.when(is_moved & is_twice).then("path").otherwise(place))


def renames(answered: pl.Series, known: pl.Series) -> dict[str, str]:
    """The documents of the gold that answers name by their files, each by that name."""
    strangers, named = sorted({*answered} - {*known}), dict[str, list[str]]()
    for doc_id in known if strangers else ():
        for name in dict.fromkeys(pages.names(doc_id)):
            named.setdefault(name, []).append(doc_id)
    taken, renamed = {name: name for name in answered}, dict[str, str]()
    for doc_id in strangers:
        candidates = next((named[name] for name in pages.names(doc_id) if name in named), ())
        if len(candidates) == 1:
            if (first := taken.setdefault(candidates[0], doc_id)) != doc_id:
                what = f"two answers for document {candidates[0]!r}: {first!r} and {doc_id!r}"
                raise DataBroken(what, remedy="keep one of them")
            renamed[doc_id] = candidates[0]
    return renamed


def moves(answered: pl.Series, known: pl.Series, notes: Counter[str]) -> dict[str, str]:
    """The paths of answers that stand for others of the gold; notes say what meets none."""
    paths, given = set(known.drop_nulls()), set(answered.drop_nulls())
    fields, folded = {values.pattern(path) for path in paths}, dict[str, list[str]]()
    for field in sorted(fields):
        folded.setdefault(_fold(field), []).append(field)

    def place(path: str) -> str:
        """The path of the gold that a path of an answer stands for; else itself."""
        others = (f"{path}/0", path.removesuffix("/0"), path.removesuffix("/value"))
        return next((p for p in (path, *others, f"{path}/value") if p in paths), path)

    moved, alike = {}, set()
    for path in sorted(given - paths):
        other, field = place(path), values.pattern(path)
        candidates = folded.get(_fold(field), ())
        if other == path and field not in fields and len(candidates) == 1:
            alike.add(field)
            places = (step for step in path.split("/") if step.isdecimal())
            steps = (next(places, s) if s == "*" else s for s in candidates[0].split("/"))
            other = place("/".join(steps))
        moved |= {path: other} if other != path else {}
    notes["fields named alike but for case, spaces, underscores and hyphens"] += len(alike)
    met = {values.pattern(moved.get(path, path)) for path in given}
    if fields and met and not fields & met:
        notes[readers.UNMET] += len(met)
    # Where all answers are texts of pages, fields are searched there.
    lacking, strange = fields - met if met else set(), met - fields
    for what, names, others in (
        ("gold fields that no answer has", lacking, strange),
        ("answer fields that no gold has", strange, fields - met),
    ):
        examples = []
        for name in sorted(names)[:_EXAMPLES]:
            near = get_close_matches(name, sorted(others)[:200], 1) if len(name) < _NAME else []
            examples.append(name[:_NAME] + (f" (nearest: {near[0][:_NAME]})" if near else ""))
        if names:
            listed = ", ".join([*examples, "…"] if len(names) > _EXAMPLES else examples)
            notes[f"{what}: {listed}"] += len(names)
    return moved


def _fold(field: str) -> str:
    return _FOLDED.sub("", pages.composed(field.replace("~1", "/").replace("~0", "~")).casefold())
