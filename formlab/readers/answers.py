"""Answers as formlab's predictions: rows of a reader, or the values of any table."""

from __future__ import annotations

import dataclasses
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
from formlab.readers import runs, values
from formlab.readers.door import document_files, stem
from formlab.readers.rows import Row, Source, by_role, counted
from formlab.text import answers as text_answers

OWN = "own"
_FOLDED = re.compile(r"[\s_-]+")
# How many names of either side a note gives, and how much of each.
_EXAMPLES, _NAME = 2, 80


def read(source: Any, corpus: Corpus, name: str | None, columns: Mapping[str, str]) -> Predictions:
    """The answers in any source; see `readers.predictions`."""
    if readers.is_run(source):
        run = runs.read(source, corpus)
        return dataclasses.replace(run, system=name or run.system)
    path = source if isinstance(source, Path) else None
    if path and not columns and (reader := readers.reader_of(path, corpus)):
        found = Source(path, corpus, columns)
        return of_rows(reader.read(found), corpus, found, name=name)
    return of_table(source, corpus, name=name, columns=columns)


def of_rows(
    rows: Iterable[Row], corpus: Corpus, source: Source, *, name: str | None = None
) -> Predictions:
    """The predictions that rows of a reader are: its answers, and its calls as responses.

    Answers that state a task name documents and paths as the gold does; others are matched.
    """
    roles, notes = by_role(rows), source.notes
    systems = {row.get("system") for row in roles["answer"]} - {None}
    system = name or source.name or system_of(systems, source.path)
    if len({row.get("epoch") for row in roles["answer"]}) > 1:
        raise DataBroken("a log of several epochs", where=source.path, remedy="formlab open")
    mark = {"benchmark": corpus.benchmark, "split": corpus.split, "system": system}
    # What a log says of its own task is nothing of the corpus, and a call has no path.
    known = tables.RESPONSES.keys() - mark.keys()
    responses = [mark | {n: row[n] for n in row if n in known} for row in roles["call"]]
    given = [{n: row[n] for n in row if n not in (*mark, "epoch")} for row in roles["answer"]]
    exact = [mark | {"role": "prediction"} | row for row in given if row.get("task")]
    records = [tables.table("records", exact)]
    if loose := [row for row in given if not row.get("task")]:
        frame = pl.DataFrame(loose, infer_schema_length=None, schema_overrides=_schema(loose))
        frame = _matched(frame, corpus, notes)
        records.append(of_values(frame, corpus, name=system, usual=usual_task(corpus)).records)
    return Predictions(
        records=pl.concat(records, how="diagonal"),
        responses=tables.table("responses", responses),
        system=system,
        sources={file.name: files.sha256(file) for file in source.files},
        notes=counted(notes),
    ).check()


def _schema(rows: list[Row]) -> dict[str, Any]:
    names = {name for row in rows for name in row}
    return {name: tables.RECORDS.get(name, pl.String) for name in names}


def of_table(
    source: Any, corpus: Corpus, *, name: str | None = None, columns: Mapping[str, str]
) -> Predictions:
    """The predictions in any table, JSON, folder or frame."""
    path, notes = source if isinstance(source, Path) else None, Counter[str]()
    jsons = corpus.records.filter(pl.col("kind") == "json")["path"].drop_nulls().unique()
    given = pl.concat([*values.pieces(source, columns, notes, set(jsons))], how="diagonal")
    given = _of_corpus(given, corpus, path, notes)
    keyed = given if corpus.benchmark != OWN else given.filter(pl.col("path").is_null())
    check_once(keyed.filter(pl.col("value").is_not_null()), path)
    given = _matched(values.listed(given, values.lists_of(given)), corpus, notes)
    systems = set(given["system"].drop_nulls()) if "system" in given.columns else set()
    return of_values(
        given, corpus, name=name or system_of(systems, path), usual=usual_task(corpus),
        sources=sources_of(path), notes=notes,
    )  # fmt: skip


def _of_corpus(
    given: pl.DataFrame, corpus: Corpus, path: Path | None, notes: Counter[str]
) -> pl.DataFrame:
    """The answers without those for another benchmark or split, where a column says so."""
    # In a user's own forms these may be columns of the user's own.
    for name in () if corpus.benchmark == OWN else ("benchmark", "split"):
        if name in given.columns:
            others = (pl.col(name) != getattr(corpus, name)).fill_null(False)
            strange = given.filter(others)
            if strange.height and strange.height == given.height:
                what = f"answers for {name} {strange[name][0]!r:.80}, not for "
                remedy = f"the {name} that was answered"
                raise DataBroken(what + getattr(corpus, name), where=path, remedy=remedy)
            notes[f"answers for another {name}, left out"] += strange.height
            given = given.filter(~others)
    return given


def check_once(given: pl.DataFrame, path: Path | None) -> None:
    """`DataBroken` if two rows answer one path of a document."""
    key = given.select("doc_id", "path")
    if key.is_duplicated().any():
        doc_id, field = key.filter(key.is_duplicated()).row(0)
        same = given.filter(pl.col("doc_id") == doc_id, pl.col("path").eq_missing(field))
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
    if path is None:
        return {}
    if path.is_file():
        return {path.name: files.sha256(path)}
    return {file.name: files.sha256(file.where) for file in document_files(path)}


def of_values(
    given: pl.DataFrame, corpus: Corpus, *, name: str, usual: str,
    sources: Mapping[str, str] | None = None, notes: Mapping[str, int] | None = None,
) -> Predictions:  # fmt: skip
    """The predictions that values are which name documents and paths as the gold does.

    `usual` is the task of what the gold does not have.
    """
    from formlab.own.corpus import table  # It reads values too.

    notes, given = Counter(notes), _without_json(given.drop("system", strict=False))
    given = _failed(_claims(_with_choices(given, corpus)), corpus)
    for status in ("repaired", "bad_json", "truncated"):
        documents = given.filter(pl.col("status") == status)["doc_id"].n_unique()
        notes[f"documents with answers of status {status}"] += documents
    given = _with_tasks(given, corpus, usual, notes)
    # Both sides may have a column of one name: each is kept.
    twice = set(tables.own_columns("records", corpus.records)) & set(given.columns)
    given = given.rename({column: f"answer_{column}" for column in twice})
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    records = table(given.drop("benchmark", "split", strict=False), key | {"role": "prediction"})
    none = tables.table("responses", [])
    return Predictions(records, none, name, {}, dict(sources or {}), counted(notes)).check()


def _with_tasks(
    given: pl.DataFrame, corpus: Corpus, usual: str, notes: Counter[str]
) -> pl.DataFrame:
    """The answers with the task of the gold's value at their path, and a node of a form its kind.

    Questions are asked by number below a step of their own; all else has the usual task.
    """
    gold = corpus.records.filter(pl.col("path").is_not_null())
    gold = gold.select("doc_id", "path", gold_task="task", gold_kind="kind")
    given = given.join(gold.unique(["doc_id", "path"]), on=["doc_id", "path"], how="left",
                       maintain_order="left")  # fmt: skip
    asked = {"vqa", "consistency"} & set(gold["gold_task"])
    steps = [pl.when(pl.col("path").str.starts_with(f"/{task}/")).then(pl.lit(task))
             for task in sorted(asked)]  # fmt: skip
    stated = [pl.col("task")] if "task" in given.columns else []
    is_new = pl.coalesce(*stated, "gold_task").is_null() & pl.col("path").is_not_null()
    if corpus.benchmark != OWN:
        note = f"values at paths that the gold does not have, read as task {usual}"
        notes[note] += given.filter(is_new & pl.col("value").is_not_null()).height
        is_entity = pl.col("path").str.starts_with("/entities/") & pl.col("kind").is_null()
        is_entity &= pl.col("gold_kind").is_not_null() & (pl.col("gold_task") != "layout")
        note = "entities without a kind: the form's tree shows no roles"
        notes[note] += given.filter(is_entity).height
    is_node = pl.col("gold_task") == "layout"
    kind = pl.coalesce("kind", pl.when(is_node).then("gold_kind"))
    paged = pl.when(pl.col("path").is_null()).then(pl.lit("text"))
    task = pl.coalesce(*stated, "gold_task", paged, *steps, pl.lit(usual))
    return given.with_columns(task=task, kind=kind).drop("gold_task", "gold_kind")


def usual_task(corpus: Corpus) -> str:
    """The commonest task of a corpus' values."""
    found = corpus.records.filter(pl.col("path").is_not_null(), pl.col("task") != "layout")
    return found["task"].mode().sort()[0] if found.height else "text"


def _with_choices(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with the items of a list as one value where the gold has one, with choices."""
    golds = corpus.records.filter(pl.col("kind").is_in(["choice", "checkbox"]))["path"].unique()
    if golds.is_empty():
        return given
    field = pl.col("path").str.replace(r"/\d+$", "")
    is_item = field.is_in(golds.implode()) & pl.col("value").is_not_null()
    is_list = (is_item & (is_item.sum().over("doc_id", field) > 1)).fill_null(False)
    items = given.filter(is_list).group_by("doc_id", path=field, maintain_order=True)
    lists = items.agg("value", pl.exclude("doc_id", "path", "value").first())
    texts = [json.dumps(options, ensure_ascii=False) for options in lists["value"].to_list()]
    lists = lists.with_columns(pl.Series("value", texts, dtype=pl.String))
    return pl.concat([given.filter(~is_list), lists.select(given.columns)])


def _failed(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with what could not be read as failed at each field that was asked for."""
    failed = pl.col("path").is_null() & pl.col("status").is_in(["bad_json", "truncated"])
    if corpus.benchmark != "own":
        # The page's own row says it of all its fields.
        return given
    asked = corpus.records.filter(pl.col("path").is_not_null()).select("doc_id", field="path")
    rows = given.filter(failed).join(asked, on="doc_id", how="left", maintain_order="left")
    if rows.is_empty():
        return given
    kind = pl.when(pl.col("field").is_null()).then("kind")
    rows = rows.with_columns(path=pl.col("field"), kind=kind).drop("field")
    return pl.concat([given.filter(~failed), rows.select(given.columns)])


def unread(given: pl.DataFrame) -> pl.DataFrame:
    """The texts of pages that should be JSON: what begins so, and what a file of JSON has."""
    texts = given.filter(pl.col("path").is_null(), pl.col("value").is_not_null())
    broken = [text_answers.is_json(text) for text in texts["value"]]
    is_file = pl.col("origin").str.to_lowercase().str.ends_with(".json")
    return texts.filter(pl.Series(broken, dtype=pl.Boolean) | is_file)


def _without_json(given: pl.DataFrame) -> pl.DataFrame:
    """The answers without texts that are JSON and could not be read: `bad_json`."""
    given = given.with_row_index("number")
    broken = pl.col("number").is_in(unread(given)["number"].implode())
    stated = pl.col("status") if "status" in given.columns else pl.lit(None, pl.String)
    status = pl.when(broken).then(pl.lit("bad_json")).otherwise(stated).alias("status")
    return given.with_columns(status, value=pl.when(~broken).then("value")).drop("number")


def _claims(given: pl.DataFrame) -> pl.DataFrame:
    """The answers without those that name no value; one row for a document without any."""
    empty = pl.col("value").is_null()
    stated = [pl.col("status")] if "status" in given.columns else []
    status = pl.coalesce(*stated, pl.when(empty).then(pl.lit("missing")).otherwise(pl.lit("ok")))
    silent = given.filter(empty.all().over("doc_id"), *(column.is_null() for column in stated))
    silent = silent.unique("doc_id", keep="first", maintain_order=True)
    claims = given.filter(pl.any_horizontal(~empty, *(column.is_not_null() for column in stated)))
    both = pl.concat([claims, silent.with_columns(path=pl.lit(None, pl.String))])
    kind = pl.when(pl.col("path").is_null()).then(pl.lit("page"))
    known = pl.col("kind") if "kind" in given.columns else pl.lit(None, pl.String)
    return both.with_columns(status.alias("status"), kind.otherwise(known).alias("kind"))


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
    from formlab.own import images

    unmatched = answered.filter(~answered.is_in(known.implode()))
    if unmatched.is_empty():
        return {}
    stems: dict[str, list[str]] = {}
    for doc_id in known:
        for key in {images.stem(doc_id), images.last(images.stem(doc_id))}:
            stems.setdefault(key, []).append(doc_id)
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    for doc_id in unmatched.sort():
        name = images.stem(doc_id)
        candidates = stems.get(name) or stems.get(images.last(name)) or []
        if len(candidates) == 1 and candidates[0] not in taken:
            renamed[doc_id] = candidates[0]
            taken.add(candidates[0])
    named = set(answered.filter(answered.is_in(list(taken))))
    return {name: doc_id for name, doc_id in renamed.items() if doc_id not in named}


def moves(answered: pl.Series, known: pl.Series, notes: Counter[str]) -> dict[str, str]:
    """The paths of answers that stand for others of the gold; notes say what meets none."""
    paths, given = set(known.drop_nulls()), set(answered.drop_nulls())
    fields = {values.pattern(path) for path in paths}
    folded: dict[str, list[str]] = {}
    for field in sorted(fields):
        folded.setdefault(_fold(field), []).append(field)
    moved, alike = {}, set()
    for path in sorted(given - paths):
        other = _path(path, paths)
        field = values.pattern(path)
        candidates = folded.get(_fold(field), ())
        if other == path and field not in fields and len(candidates) == 1:
            alike.add(field)
            other = _path(_at(candidates[0], path), paths)
        if other != path:
            moved[path] = other
    notes["fields named alike but for case, spaces, underscores and hyphens"] += len(alike)
    met = {values.pattern(moved.get(path, path)) for path in given}
    _note_strangers(fields, met, notes)
    return moved


def _note_strangers(fields: set[str], met: set[str], notes: Counter[str]) -> None:
    """Note the fields of the gold that no answer has, and those of answers that no gold has."""
    lacking, strange = sorted(fields - met), sorted(met - fields)
    if fields and met and not fields & met:
        notes[readers.UNMET] += len(met)
    for what, names, others in (
        ("gold fields that no answer has", lacking, strange),
        ("answer fields that no gold has", strange, lacking),
    ):
        examples = []
        for name in names[:_EXAMPLES]:
            near = get_close_matches(name, others[:200], 1) if len(name) < _NAME else []
            examples.append(name[:_NAME] + (f" (nearest: {near[0][:_NAME]})" if near else ""))
        if names:
            more = ", …" if len(names) > _EXAMPLES else ""
            notes[f"{what}: {', '.join(examples)}{more}"] += len(names)


def _fold(field: str) -> str:
    return _FOLDED.sub("", field.replace("~1", "/").replace("~0", "~").casefold())


def _at(field: str, path: str) -> str:
    """The path in a field of lists that has the places of another path."""
    places = (step for step in path.split("/") if step.isdecimal())
    return "/".join(next(places, step) if step == "*" else step for step in field.split("/"))


def _path(path: str, known: Collection[str]) -> str:
    """The path of the gold that a path of an answer stands for; else itself."""
    candidates = [path, f"{path}/0", path.removesuffix("/0"), path.removesuffix("/value"),
                  f"{path}/value"]  # fmt: skip
    return next((other for other in candidates if other in known), path)
