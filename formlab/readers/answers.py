"""Answers as formlab's predictions, and how their documents and fields meet those of the gold."""

import dataclasses
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from formlab import files, readers, tables
from formlab.errors import DataBroken
from formlab.folders import MANIFEST, Corpus, Predictions, home_of
from formlab.readers import Row, Source, counted, door, samples, values
from formlab.trees import unescape

OWN = "own"  # The benchmark of a user's own forms.
IMAGES, _OTHERS = map(tuple, door.NAMES["endings"].values())
_ENDING = re.compile(rf"(?<=[^/])(?:{'|'.join(map(re.escape, IMAGES + _OTHERS))})+$", re.IGNORECASE)
_ALONE, _FOLDED = door.PATTERNS["alike"]
RENAMED = "documents named by their files, or alike but for case, punctuation and leading zeros"
_HAS_VALUE, _HAS_PATH = pl.col("value").is_not_null(), pl.col("path").is_not_null()
# The origin of a value inside of a file goes on after `#`.
_STATUS, IN_JSON = pl.col("status"), pl.col("origin").str.contains(r"(?i)\.json$")
# A text of a page that should be JSON: it begins so, or is the content of a JSON file.
UNREAD = ~_HAS_PATH & _HAS_VALUE & ((_STATUS == "bad_json") | IN_JSON).fill_null(value=False)


def of_folder(path: Path, corpus: Corpus, *, scanned: bool = False) -> Predictions:
    """The predictions of a run; `scanned`, they stay on disk."""
    if not files.is_file(home_of(path) / MANIFEST):
        remedy = "the same formlab run … goes on; with --set max_calls=0 a model is asked nothing"
        raise DataBroken("a run that has not ended", where=path, remedy=remedy)
    found = Predictions.load(path, scanned=scanned)
    known = found.scan("records").select(pl.col("benchmark").unique()).collect()["benchmark"]
    if others := sorted({*known} - {corpus.benchmark}):
        raise DataBroken(f"this run read {', '.join(others)}, not {corpus.benchmark}", where=path)
    return found


def of_rows(rows: Iterable[Any], source: Source, name: str | None = None) -> Predictions:
    """The predictions that rows of a reader are: its answers, and its calls as responses."""
    run, *others = samples.runs_of(rows, source)
    if others:
        what = f"the log holds several runs: {', '.join(one.name for one in (run, *others))}"
        raise DataBroken(what, where=source.path, remedy="formlab score LOG")
    source.name = run.name = name or run.name
    given, is_named = run.rows["answer"], pl.col("task").is_null()
    exact = of_run(run, source.corpus, given.filter(~is_named), run.rows["call"])
    given = given.filter(is_named).with_columns(pl.col("origin").cast(pl.String))
    found = of_values(iter([given]), source)
    records = pl.concat([exact.records, found.records], how="diagonal")
    return dataclasses.replace(found, records=records, responses=exact.responses).check()


def of_run(run: Source, corpus: Corpus, given: Any, calls: Any, usual: Any = None) -> Predictions:
    """Answers that a run has at the names of the gold, and its calls, as predictions."""
    given = with_tasks(given, corpus, usual) if usual else given
    key = {"benchmark": corpus.benchmark, "split": corpus.split, "system": run.name}
    # A log says what its questions are, and nothing of what its answers are.
    records = table(given, key | {"role": "prediction"}).with_columns(field=pl.lit(None, pl.String))
    calls = calls.select(tables.RESPONSES.keys() & {*calls.columns} - key.keys())
    responses = tables.table("responses", calls.to_dicts(), **key)
    notes = {f"log: {note}": count for note, count in counted(run.notes).items()}
    return Predictions(records, responses, run.name, {"log": run.log}, run.hashes, notes).check()


def of_values(read: Iterator[pl.DataFrame], source: Source) -> Predictions:
    """The values of a source as predictions for all of its corpus."""
    with TemporaryDirectory(prefix="formlab-") as folder:
        (found,) = in_parts(values.Stored(read, Path(folder)), source)
        return found()


def in_parts(
    given: values.Stored, source: Source, *parts: Any, strangers: int = 0
) -> Iterator[Callable[[], Predictions]]:
    """What reads the values of a source as predictions; names, lists and tasks follow from all.

    `parts` are those of the corpus, one after another, and the number of each document's: doc_id,
    batch; without them it is one. Documents that it has not are in the part of `strangers`.
    """
    corpus, notes = source.corpus, source.notes
    each, places = parts or ([corpus], corpus.documents.select("doc_id", batch=pl.lit(0)))
    fields = corpus.scan("records").drop_nulls("path").filter(pl.col("task") != "layout")
    fields = fields.group_by("path", "task").len().collect(engine="streaming")
    renamed = renames(given.documents["doc_id"], places["doc_id"], notes)
    named = given.documents.select("doc_id", name=pl.col("doc_id").replace(renamed))
    places = named.join(places.rename({"doc_id": "name"}), on="name", how="left")
    paths = given.cut(places.with_columns(pl.col("batch").fill_null(strangers)))
    moved = moves(paths, fields["path"], notes)
    tasks = fields.group_by("task").agg(pl.col("len").sum())
    usual = tasks.sort("len", "task", descending=[True, False])["task"].first() or "text"
    if len(given.systems) > 1 and not source.name:
        what = f"several systems in one file: {', '.join(sorted(given.systems))}"
        raise DataBroken(what, where=source.path, remedy="a file each")
    usual_name = door.stem(source.path.resolve()) if source.path else "answers"
    said = {"system": source.name or next(iter(given.systems), usual_name)}
    said |= {"sources": source.hashes or sources_of(source.path)}
    read = partial(_of_part, given, moved, usual, said)
    # What is odd in the whole is counted once.
    return (partial(read, part, n, Counter() if n else notes) for n, part in enumerate(each))


def _of_part(
    given: values.Stored, moved: Any, usual: str, said: Row, part: Corpus, number: int, notes: Any
) -> Predictions:
    """The values of a part of a corpus as predictions."""
    # Several values of a user's own field are a list.
    rows = given.rows(number, given.lists if part.benchmark == OWN else ())
    rows = _records(with_paths(rows, moved), part, usual, notes)
    key = {"benchmark": part.benchmark, "split": part.split, "system": said["system"]}
    records, none = table(rows, key | {"role": "prediction"}), tables.table("responses", [], **key)
    return Predictions(records, none, **said, notes=counted(notes))


def sources_of(path: Path | None) -> dict[str, str]:
    """The SHA-256 of a file, or of each file of a folder that has a document."""
    if path is None or path.is_file():
        return {path.name: files.sha256(path)} if path else {}
    return {file.name: files.sha256(file.where) for file in door.document_files(path)}


def _records(given: pl.DataFrame, corpus: Corpus, usual: str, notes: Counter[str]) -> pl.DataFrame:
    """Values at the gold's names as rows with tasks and status; `usual` is the task of others."""
    given = given.drop("system", "benchmark", "split", strict=False)
    twice = given.filter(_HAS_VALUE, ~pl.struct("doc_id", "path").is_first_distinct())
    for doc_id, field, origin in twice.select("doc_id", "path", "origin").rows()[:1]:
        what = f"two predictions for doc_id {doc_id!r}{f', path {field!r}' if field else ''}"
        raise DataBroken(what, where=origin, remedy="keep one of them")
    given = with_tasks(_claims(_with_choices(given, corpus), corpus), corpus, usual)
    for status in ("repaired", "bad_json", "truncated"):
        documents = given.filter(pl.col("status") == status)["doc_id"].n_unique()
        notes[f"documents with answers of status {status}"] += documents
    # Both sides may have a column of one name: each is kept.
    twice = {*tables.own_columns("records", corpus.records)} & {*given.columns}
    return given.rename({column: f"answer_{column}" for column in twice})


def table(rows: pl.DataFrame, key: Mapping[str, str]) -> pl.DataFrame:
    """Rows of values as records: with every column, and those of the user's own after them."""
    rows = rows.with_columns(pl.col("status").fill_null("ok"), pl.col("task").fill_null("text"))
    kept = {"doc_id", "path", "value", "meta", "origin", *values.RECORD} & {*rows.columns}
    known = {n: pl.lit(value) for n, value in key.items()} | {name: pl.col(name) for name in kept}
    if key["benchmark"] == OWN:
        # All items of a list are one field. It slices: also what only an answer has.
        known["field"] = values.by_text(rows["path"], values.pattern)
    columns = {n: known.get(n, pl.lit(None)).cast(d).alias(n) for n, d in tables.RECORDS.items()}
    for name in rows.columns:
        if name not in (*kept, *values.DOCUMENT):
            free = name
            while free in tables.RESERVED | columns.keys() or free in {*rows.columns} - {name}:
                free = f"own_{free}"
            columns[free] = pl.col(name).alias(free)
    return rows.select(columns.values())


def with_tasks(given: pl.DataFrame, corpus: Corpus, usual: str) -> pl.DataFrame:
    """The answers with the task of the gold's value at their path, else of its first step."""
    gold = corpus.records.select("doc_id", "path", gold_task="task", gold_kind="kind")
    gold = gold.filter(_HAS_PATH)
    tasks, paths = (pl.lit(part.unique()).implode() for part in (gold["gold_task"], given["path"]))
    gold = gold.filter(pl.col("path").is_in(paths)).unique(["doc_id", "path"])
    given = given.join(gold, on=["doc_id", "path"], how="left", maintain_order="left")
    step = pl.col("path").str.extract("^/(vqa|consistency)/")
    step = pl.when(step.is_in(tasks)).then(step)
    page, read = pl.when(~_HAS_PATH), pl.when(pl.col("gold_task") == "layout")
    task = pl.coalesce("task", "gold_task", step, page.then(pl.lit("text")), pl.lit(usual))
    kind = pl.coalesce(page.then(pl.lit("page")), "kind", read.then("gold_kind"))
    return given.with_columns(task=task, kind=kind).drop("gold_task", "gold_kind")


def _with_choices(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers with the items of a list as one value where the gold has one, with choices."""
    choices = corpus.records["path"].filter(corpus.records["kind"].is_in(["choice", "checkbox"]))
    field = values.by_text(given["path"], lambda path: re.sub(r"/\d+\Z", "", path))
    field = pl.when(field.is_in(choices.unique().implode()), _HAS_VALUE).then(field)
    is_option = field.is_not_null() & pl.struct("doc_id", field).is_duplicated()
    if choices.is_empty() or not given.select(is_option.any()).item():
        return given
    lists = given.filter(is_option).group_by("doc_id", path=field, maintain_order=True)
    lists = lists.agg("value", pl.exclude("doc_id", "path", "value").first())
    texts = pl.Series("value", [*map(door.as_text, lists["value"].to_list())], pl.String)
    return pl.concat([given.filter(~is_option), lists.with_columns(texts).select(given.columns)])


def _claims(given: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """The answers that name a value; one row for a document without any, or not read."""
    # Nothing written is an empty answer, whatever the file's ending.
    is_unread = UNREAD & (pl.col("value").str.strip_chars() != "").fill_null(value=False)
    status = pl.when(is_unread).then(pl.lit("bad_json")).otherwise(_STATUS)
    given = given.with_columns(status=status, value=pl.when(~is_unread).then("value"))
    is_said = _HAS_VALUE | _STATUS.is_not_null()
    silent = pl.col("doc_id").is_first_distinct() & ~is_said.any().over("doc_id")
    usual = pl.when(_HAS_VALUE).then(pl.lit("ok")).otherwise(pl.lit("missing"))
    said = {"path": pl.when(is_said).then("path"), "status": pl.coalesce(_STATUS, usual)}
    claims = given.filter(is_said | silent).with_columns(**said)
    if corpus.benchmark != OWN:
        # The page's own row says it of all fields of a benchmark.
        return claims
    failed = ~_HAS_PATH & _STATUS.is_in(["bad_json", "truncated"])
    asked = corpus.records.filter(_HAS_PATH).select("doc_id", field="path")
    rows = claims.filter(failed).join(asked, on="doc_id", how="left", maintain_order="left")
    rows = rows.with_columns(path="field", kind=pl.lit(None, pl.String)).select(claims.columns)
    return pl.concat([claims.filter(~failed), rows])


def by_key(names: Collection[str], keys: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """The names by those of their keys that no other name has; the first keys come first."""
    found, names = dict[str, str](), {*names}
    for level in reversed([*zip(*map(keys, names), strict=True)]):
        counts = Counter(level)
        found |= {key: name for key, name in zip(level, names, strict=True) if counts[key] == 1}
    return found


def with_paths(given: pl.DataFrame, moved: Mapping[str, str]) -> pl.DataFrame:
    """The answers at the gold's paths; of two names of one field in a document both stay."""
    place = pl.col("path").replace(moved)
    is_twice = pl.struct("doc_id", place).is_duplicated()
    return given.with_columns(pl.when(is_twice).then("path").otherwise(place))


def renames(names: Iterable[str], known: Collection[str], notes: dict[str, int]) -> dict[str, str]:
    """The documents of the gold that answers name by files, or alike (case aside, if one alone)."""
    taken, renamed = {name: name for name in names}, dict[str, str]()
    strangers = sorted(taken.keys() - {*known})
    named, single = (by_key(of if strangers else (), file_names) for of in (known, strangers))
    named = {key: name for key, name in named.items() if key[:1] != " " or key in single}
    for doc_id in strangers:
        for target in [named[name] for name in file_names(doc_id) if name in named][:1]:
            if (first := taken.setdefault(target, doc_id)) == doc_id:
                renamed[doc_id] = target
            elif not {*file_names(doc_id)[:2]}.isdisjoint(file_names(target)[:2]):
                what = f"two answers for document {target!r}: {first!r} and {doc_id!r}"
                raise DataBroken(what, remedy="keep one of them")
    examples = [f"{name:.80} for {target:.80}" for name, target in renamed.items()][:2]
    notes[f"{RENAMED}: {', '.join(examples)}"] = len(renamed)
    return renamed


def file_names(document: str) -> tuple[str, ...]:
    """A document's name without endings, its last step, that plain, and after a space folded."""
    name = unquote(urlsplit(document).path) if "://" in document else document
    # File systems write accents in two ways.
    name = _ENDING.sub("", unicodedata.normalize("NFC", name))
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    plain = re.sub("(?<![0-9])0+(?=[0-9])", "", _FOLDED.sub("-", last.removesuffix(".0")))
    return name, last, plain, " " + re.sub("(?<![0-9])-|-(?![0-9])", "", plain.casefold())


def moves(answered: Iterable[str], known: Iterable[str], notes: Counter[str]) -> dict[str, str]:
    """The paths of answers that stand for others of the gold; notes say what meets none."""
    paths, given = {*known} - {None}, {*answered} - {None}
    fields, alike = {*map(values.pattern, paths)}, set[str]()
    # A value alone stands for the first item of a list, or has an object of its own.
    placed = by_key(paths, lambda path: [path, _ALONE.sub("", path)])
    folded = by_key(fields, lambda field: [_fold(field)])

    def meant(path: str) -> str:
        found, field = placed.get(path, placed.get(_ALONE.sub("", path))), values.pattern(path)
        # A list of one document is that document; of several the first is.
        is_item = path.startswith("/0/") and field not in fields
        if is_item and values.pattern(inner := meant(path[2:])) in fields:
            return inner
        if found or field in fields or (other := folded.get(_fold(field))) is None:
            return found or path
        alike.add(field)
        numbers = (step for step in path.split("/") if step.isdecimal())
        other = "/".join(next(numbers, step) if step == "*" else step for step in other.split("/"))
        return placed.get(other, placed.get(_ALONE.sub("", other), other))

    moved = {path: other for path in given - paths if (other := meant(path)) != path}
    met = {values.pattern(moved.get(path, path)) for path in given}
    if fields and met and met.isdisjoint(fields):
        # All may stand in one object, such as `invoice`: in that which holds most of the gold's.
        inside = defaultdict[str, dict[str, str]](dict)
        for path in given:
            for step in re.finditer("(?<!^)/", path):
                if values.pattern(inner := meant(path[step.start() :])) in fields:
                    inside[path[: step.start()]][path] = inner
        most = max(map(len, inside.values()), default=0)
        # Of two objects with as many nothing says which one it is: a field of both stays.
        moved = {p: to for m in inside.values() if len(m) == most for p, to in m.items()}
        notes["fields taken out of an object around them"] += len(moved)
        notes[readers.UNMET] += 0 if moved else len(met)
        met = {values.pattern(moved.get(path, path)) for path in given}
    notes["fields named alike but for case, spaces and punctuation"] += len(alike)
    # Where all answers are texts of pages, fields are searched there.
    lacking, strange = fields - met if met else set(), met - fields
    gold, answer = "gold fields that no answer has", "answer fields that no gold has"
    for what, own, others in ((gold, lacking, strange), (answer, strange, lacking)):
        # With two of them and that of the others which is most like each.
        near = {n: get_close_matches(n[:80], sorted(others)[:200], 1) for n in sorted(own)[:2]}
        found = [f"{n:.80} (nearest: {of[0]:.80})" if of else f"{n:.80}" for n, of in near.items()]
        notes[f"{what}: {', '.join([*found, '…'][: len(own)])}"] += len(own)
    return moved


def _fold(field: str) -> str:
    return _FOLDED.sub("", unicodedata.normalize("NFC", unescape(field)).casefold()) or field
