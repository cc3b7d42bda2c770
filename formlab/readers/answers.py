"""Answers as formlab's predictions: rows of a reader, or the values of any table."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from formlab import files, readers, tables
from formlab.errors import DataBroken
from formlab.folders import MANIFEST, Corpus, Predictions, home_of
from formlab.readers import Row, Source, by_role, counted, values
from formlab.readers.door import stem
from formlab.readers.sources import document_files
from formlab.readers.values import DOCUMENT, RECORD
from formlab.trees import unescape

# The benchmark of a user's own forms.
OWN = "own"
IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif", ".pdf")
_ENDINGS = (*IMAGES, ".heic", ".jp2", ".json", ".txt", ".md", ".xml", ".html", ".csv", ".docx")
_ENDING = re.compile(rf"(?<=[^/])(?:{'|'.join(map(re.escape, _ENDINGS))})$", re.IGNORECASE)
_FOLDED = re.compile(r"[^\w*]+|_+|(?<=[^/])[*]+")
RENAMED = "documents named by their files, or alike but for punctuation and leading zeros"
# How many names of either side a note gives.
_EXAMPLES = 2
_HAS_VALUE, _HAS_PATH = pl.col("value").is_not_null(), pl.col("path").is_not_null()
_OTHERS = "answers for another {}, left out"
# The origin of a value inside of a file goes on after `#`.
_STATUS, IN_JSON = pl.col("status"), pl.col("origin").str.contains(r"(?i)\.json$")
# A text of a page that should be JSON: it begins so, or is the content of a JSON file.
UNREAD = ~_HAS_PATH & _HAS_VALUE
UNREAD &= ((_STATUS == "bad_json") | IN_JSON).fill_null(value=False)


def of_run(path: Path, corpus: Corpus, *, scanned: bool = False) -> Predictions:
    """The predictions of a folder of `formlab run`, of a killed one those so far (`unfinished`).

    Those of a finished run stay on disk until they are read, if `scanned`.
    """
    if is_finished(path):
        found = Predictions.load(path, scanned=scanned)
    else:
        # Nothing else here needs what runs systems.
        from formlab import systems

        found = systems.unfinished(path)
    if found is None:
        raise DataBroken("a run that has not begun", where=path, remedy="formlab run … --out")
    known = found.scan("records").select(pl.col("benchmark").unique()).collect()["benchmark"]
    if others := sorted({*known} - {corpus.benchmark}):
        raise DataBroken(f"this run read {', '.join(others)}, not {corpus.benchmark}", where=path)
    return found


def is_finished(source: Any) -> bool:
    """Whether a source is the folder of a run that has ended."""
    return isinstance(source, Path) and files.is_file(home_of(source) / MANIFEST)


def of_rows(
    rows: Iterable[Row], corpus: Corpus, source: Source, *, name: str | None = None
) -> Predictions:
    """The predictions that rows of a reader are: its answers, and its calls as responses."""
    roles, notes = by_role(rows), source.notes
    answers = roles["answer"]
    name = name or source.name or system_of({row.get("system") for row in answers}, source.path)
    if len({row.get("epoch") for row in answers}) > 1:
        raise DataBroken("a log of several epochs", where=source.path, remedy="formlab score LOG")
    # What a log says of its own task is nothing of the corpus.
    mark = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    known = tables.RESPONSES.keys() - mark.keys()
    responses = [mark | {n: row[n] for n in row if n in known} for row in roles["call"]]
    given = [{n: row[n] for n in row if n not in (*mark, "epoch")} for row in answers]
    exact = [mark | {"role": "prediction"} | row for row in given if row.get("task")]
    records = [tables.table("records", exact)]
    if loose := [row for row in given if not row.get("task")]:
        schema = {n: tables.RECORDS.get(n, pl.String) for row in loose for n in row}
        frame = pl.DataFrame(loose, infer_schema_length=None, schema_overrides=schema)
        frame = _matched(frame, corpus, notes)
        records.append(of_values(frame, corpus, name=name, usual=_usual_task(corpus)).records)
    return Predictions(
        records=pl.concat(records, how="diagonal"),
        responses=tables.table("responses", responses),
        system=name,
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
    given = of_corpus(given, corpus, notes)
    check_left(given, corpus, path, notes)
    # Several values of a user's own field are a list.
    check_once(given.filter(_HAS_VALUE, ~_HAS_PATH | (corpus.benchmark != OWN)), path)
    given = _matched(values.listed(given, values.lists_of(given)), corpus, notes)
    name = name or system_of(given["system"] if "system" in given.columns else (), path)
    sources, usual = sources_of(path), _usual_task(corpus)
    return of_values(given, corpus, name=name, usual=usual, sources=sources, notes=notes)


def of_corpus(given: pl.DataFrame, corpus: Corpus, notes: Counter[str]) -> pl.DataFrame:
    """The rows but for those that answer another benchmark or split, which are counted."""
    # In a user's own forms these may be columns of the user's own.
    names = {"benchmark", "split"}.intersection(given.columns) if corpus.benchmark != OWN else ()
    for name in sorted(names):
        is_other = (pl.col(name) != getattr(corpus, name)).fill_null(value=False)
        notes[_OTHERS.format(name)] += given.filter(is_other).height
        given = given.filter(~is_other)
    return given


def check_left(given: pl.DataFrame, corpus: Corpus, path: Path | None, notes: Counter[str]) -> None:
    """`DataBroken` if nothing is left but answers for another benchmark or split."""
    for name in ("benchmark", "split"):
        if given.is_empty() and notes[_OTHERS.format(name)]:
            what = f"all answers are for another {name}, not for {getattr(corpus, name)}"
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


def system_of(systems: Iterable[str | None], path: Path | None) -> str:
    """What the system is called whose answers name `systems`, and are in a file."""
    names = {*systems} - {None}
    if len(names) > 1:
        what = f"several systems in one file: {', '.join(sorted(names))}"
        raise DataBroken(what, where=path, remedy="a file each")
    return next(iter(names), None) or (stem(path.resolve()) if path else "answers")


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
    given = given.drop("system", "benchmark", "split", strict=False)
    given = given.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    given = with_tasks(_claims(_with_choices(given, corpus), corpus), corpus, usual)
    for status in ("repaired", "bad_json", "truncated"):
        documents = given.filter(pl.col("status") == status)["doc_id"].n_unique()
        notes[f"documents with answers of status {status}"] += documents
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
    kept = [n for n in ("doc_id", "path", "value", "meta", "origin", *RECORD) if n in rows.columns]
    known = {n: pl.lit(value) for n, value in key.items()} | {name: pl.col(name) for name in kept}
    for name, usual in {"status": "ok", "task": "text"}.items():
        known[name] = pl.coalesce(known.get(name), pl.lit(usual))
    if key["benchmark"] == OWN:
        # All items of a list are one field. It slices: also what only an answer has.
        paths = rows["path"].drop_nulls().unique()
        fields = list(map(values.pattern, paths))
        known["field"] = pl.col("path").replace_strict(paths, fields, default=None)
    columns = {n: known.get(n, pl.lit(None)).cast(d).alias(n) for n, d in tables.RECORDS.items()}
    for name in rows.columns:
        if name not in (*kept, *DOCUMENT):
            free = name if name not in tables.RESERVED else f"own_{name}"
            while free in columns or (free != name and free in rows.columns):
                free = f"own_{free}"
            columns[free] = pl.col(name).alias(free)
    return rows.select(columns.values())


def with_tasks(given: pl.DataFrame, corpus: Corpus, usual: str) -> pl.DataFrame:
    """The answers with the task of the gold's value at their path, else of its first step."""
    gold = corpus.records.filter(_HAS_PATH)
    gold = gold.select("doc_id", "path", gold_task="task", gold_kind="kind")
    gold = gold.unique(["doc_id", "path"])
    given = given.join(gold, on=["doc_id", "path"], how="left", maintain_order="left")
    steps = [
        pl.when(pl.col("path").str.starts_with(f"/{task}/")).then(pl.lit(task))
        for task in sorted({"vqa", "consistency"} & set(gold["gold_task"]))
    ]
    steps.append(pl.when(~_HAS_PATH).then(pl.lit("text")))
    task = pl.coalesce("task", "gold_task", *steps, pl.lit(usual))
    page, read = pl.when(~_HAS_PATH), pl.when(pl.col("gold_task") == "layout")
    kind = pl.coalesce(page.then(pl.lit("page")), "kind", read.then("gold_kind"))
    return given.with_columns(task=task, kind=kind).drop("gold_task", "gold_kind")


def _usual_task(corpus: Corpus) -> str:
    found = corpus.records.filter(_HAS_PATH, pl.col("task") != "layout")["task"]
    return found.mode().sort()[0] if len(found) else "text"


def _with_choices(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with the items of a list as one value where the gold has one, with choices."""
    choices = corpus.records.filter(pl.col("kind").is_in(["choice", "checkbox"]))["path"].unique()
    field = pl.col("path").str.replace(r"/\d+$", "")
    is_option = field.is_in(choices.implode()) & _HAS_VALUE
    is_listed = (is_option & (is_option.sum().over("doc_id", field) > 1)).fill_null(value=False)
    if choices.is_empty() or (lists := given.filter(is_listed)).is_empty():
        return given
    lists = lists.group_by("doc_id", path=field, maintain_order=True)
    lists = lists.agg("value", pl.exclude("doc_id", "path", "value").first())
    texts = [json.dumps(options, ensure_ascii=False) for options in lists["value"].to_list()]
    lists = lists.with_columns(value=pl.Series(texts, dtype=pl.String))
    return pl.concat([given.filter(~is_listed), lists.select(given.columns)])


def _claims(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers that name a value; one row for a document without any, or not read."""
    status = pl.when(UNREAD).then(pl.lit("bad_json")).otherwise(_STATUS)
    given = given.with_columns(status=status, value=pl.when(~UNREAD).then("value"))
    is_said = _HAS_VALUE | _STATUS.is_not_null()
    silent = given.filter(~is_said.any().over("doc_id"))
    silent = silent.unique("doc_id", keep="first", maintain_order=True)
    claims = pl.concat([given.filter(is_said), silent.with_columns(path=pl.lit(None, pl.String))])
    usual = pl.when(_HAS_VALUE).then(pl.lit("ok")).otherwise(pl.lit("missing"))
    claims = claims.with_columns(status=pl.coalesce(_STATUS, usual))
    failed = ~_HAS_PATH & _STATUS.is_in(["bad_json", "truncated"])
    if corpus.benchmark != OWN or claims.filter(failed).is_empty():
        # The page's own row says it of all fields of a benchmark.
        return claims
    asked = corpus.records.filter(_HAS_PATH).select("doc_id", field="path")
    rows = claims.filter(failed).join(asked, on="doc_id", how="left", maintain_order="left")
    rows = rows.with_columns(path="field", kind=pl.lit(None, pl.String)).select(claims.columns)
    return pl.concat([claims.filter(~failed), rows])


def _matched(given: pl.DataFrame, corpus: Corpus, notes: Counter[str]) -> pl.DataFrame:
    """The answers with documents and paths as the gold names them, where it is clear which."""
    renamed = renames(given["doc_id"].unique(), corpus.documents["doc_id"])
    notes[RENAMED] += len(renamed)
    gold = corpus.records.filter(pl.col("task") != "layout")["path"].unique()
    # What is read where it stands on the page has paths of its own.
    is_read = pl.col("kind").is_in(["word", "line"]) if "kind" in given.columns else pl.lit(False)
    moved = moves(given.filter(~is_read.fill_null(value=False))["path"].unique(), gold, notes)
    return with_paths(given.with_columns(pl.col("doc_id").replace(renamed)), moved)


def with_paths(given: pl.DataFrame, moved: Mapping[str, str]) -> pl.DataFrame:
    """The answers at the gold's paths; of two names of one field in a document both stay."""
    place, is_moved = pl.col("path").replace(moved), pl.col("path").is_in(list(moved))
    is_twice = pl.struct("doc_id", place).is_duplicated()
    return given.with_columns(pl.when(is_moved & is_twice).then("path").otherwise(place))


def renames(answered: pl.Series, known: pl.Series) -> dict[str, str]:
    """The documents of the gold that answers name by their files, each by that name.

    Of what is left, also those named alike but for punctuation and leading zeros.
    """
    strangers, named = sorted({*answered} - {*known}), dict[str, set[str]]()
    for doc_id in known if strangers else ():
        for name in (*file_names(doc_id), _alike(doc_id)):
            named.setdefault(name, set()).add(doc_id)
    taken, renamed = {name: name for name in answered}, dict[str, str]()
    for doc_id in strangers:
        names = (*file_names(doc_id), _alike(doc_id))
        target, *others = next((named[name] for name in names if name in named), [None])
        if target is None or others:
            continue
        if (first := taken.setdefault(target, doc_id)) == doc_id:
            renamed[doc_id] = target
        elif not {*file_names(doc_id)}.isdisjoint(file_names(target)):
            what = f"two answers for document {target!r}: {first!r} and {doc_id!r}"
            raise DataBroken(what, remedy="keep one of them")
    return renamed


def file_names(document: str) -> tuple[str, str]:
    """What files of a document may be called: its name without endings, and its last step."""
    name = composed(unquote(urlsplit(document).path) if "://" in document else document)
    while (shorter := _ENDING.sub("", name)) != name:
        name = shorter
    return name, name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _alike(document: str) -> str:
    """The file's name of a document without leading zeros and the kind of its punctuation."""
    name = _FOLDED.sub("-", file_names(document)[1].removesuffix(".0"))
    return re.sub("(?<![0-9])0+(?=[0-9])", "", name)


def composed(name: str) -> str:
    """A name in the one form of its accents that file systems write in two."""
    return unicodedata.normalize("NFC", name)


def moves(answered: pl.Series, known: pl.Series, notes: Counter[str]) -> dict[str, str]:
    """The paths of answers that stand for others of the gold; notes say what meets none."""
    paths, given = set(known.drop_nulls()), set(answered.drop_nulls())
    fields, folded = {values.pattern(path) for path in paths}, dict[str, list[str]]()
    for field in fields:
        folded.setdefault(_fold(field), []).append(field)

    def place(path: str) -> str:
        """The path of the gold that a path of an answer stands for; else itself."""
        others = (f"{path}/0", path.removesuffix("/0"), path.removesuffix("/value"))
        return next((p for p in (path, *others, f"{path}/value") if p in paths), path)

    def meant(path: str) -> str:
        """The same where names differ in case or punctuation as well."""
        other, field = place(path), values.pattern(path)
        candidates = folded.get(_fold(field), ())
        if other != path or field in fields or len(candidates) != 1:
            return other
        alike.add(field)
        places = (step for step in path.split("/") if step.isdecimal())
        steps = (next(places, s) if s == "*" else s for s in candidates[0].split("/"))
        return place("/".join(steps))

    alike = set[str]()
    moved = {path: other for path in given - paths if (other := meant(path)) != path}
    met = {values.pattern(moved.get(path, path)) for path in given}
    if fields and met and not fields & met:
        moved = _inside(given, meant, fields)
        notes["fields taken out of an object around them"] += len(moved)
        notes[readers.UNMET] += 0 if moved else len(met)
        met = {values.pattern(moved.get(path, path)) for path in given}
    notes["fields named alike but for case, spaces and punctuation"] += len(alike)
    # Where all answers are texts of pages, fields are searched there.
    lacking, strange = fields - met if met else set(), met - fields
    for what, names, others in (
        ("gold fields that no answer has", lacking, strange),
        ("answer fields that no gold has", strange, fields - met),
    ):
        if names:
            notes[f"{what}: {_examples(names, others)}"] += len(names)
    return moved


def _inside(
    given: Collection[str], meant: Callable[[str], str], fields: Collection[str]
) -> dict[str, str]:
    """The paths within the object that holds most fields of the gold, each as that of the gold."""
    found = defaultdict[str, dict[str, str]](dict)
    for path in given:
        for step in re.finditer("(?<!^)/", path):
            if values.pattern(inner := meant(path[step.start() :])) in fields:
                found[path[: step.start()]][path] = inner
    most = max(map(len, found.values()), default=0)
    # Of two objects with as many nothing says which one it is: a field of both stays.
    return dict(chain.from_iterable(m.items() for m in found.values() if len(m) == most))


def _examples(fields: Collection[str], others: Collection[str]) -> str:
    """Some names, each with that of the others which is most like it."""
    found = []
    for name in sorted(fields)[:_EXAMPLES]:
        near = get_close_matches(name[:80], sorted(others)[:200], 1)
        found.append(f"{name:.80}" + (f" (nearest: {near[0]:.80})" if near else ""))
    return ", ".join([*found, "…"] if len(fields) > _EXAMPLES else found)


def _fold(field: str) -> str:
    return _FOLDED.sub("", composed(unescape(field)).casefold()) or field
