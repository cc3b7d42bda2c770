"""Writes drafts that people accepted into forms of FORMCRAFT: the last step of drafting."""

import dataclasses
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from formlab import decisions as decided
from formlab import files
from formlab.analysis.label_corrections import resolved_decisions
from formlab.benchmarks.corpus import page_images
from formlab.benchmarks.formcraft import modality_of
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab_review import drafts
from formlab_review.attributes import readdressed
from formlab_review.drafts import Draft
from formlab_review.faults import faults, field_faults
from formlab_review.forms import FormNodes
from formlab_review.items import LISTS, Item, ItemDecisions, of_records

# Outcomes of drafts. People accepted what is `kept_out`, and there is a reason against it;
# `unsound` ones were never shown to anybody.
OUTCOMES = ("accepted", "edited", "rejected", "undecided", "disputed", "kept_out", "unsound")
KEPT = ("accepted", "edited")
_OUTCOME_OF = {"accept": "accepted", "edit": "edited", "reject": "rejected"}
_KINDS = ("form", "field", "vqa", "consistency")
Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Accepted:
    """The forms that people accepted, and the outcome of every draft.

    Parameters
    ----------
    corpus
        The forms that the drafts are about.
    forms
        The JSON of each form to be written, by document; or its text, written as it is.
    fates
        Of each draft its document, kind (``form``, ``field``, ``vqa``, ``consistency``), path,
        outcome (one of `OUTCOMES`) and, of one kept out, why.
    notes
        Counts of decisions that no longer apply to anything here.
    """

    corpus: Corpus
    forms: dict[str, Any]
    fates: list[tuple[str, str, str | None, str, str]]
    notes: dict[str, int]

    def counts(self) -> pl.DataFrame:
        """How many drafts of each kind have each outcome: `drafted`, `drafts`, and `OUTCOMES`."""
        count = Counter((kind, outcome) for _, kind, _, outcome, _ in self.fates)
        rows = [
            {"drafted": kind, "drafts": sum(count[kind, outcome] for outcome in OUTCOMES)}
            | {outcome: count[kind, outcome] for outcome in OUTCOMES}
            for kind in _KINDS
        ]
        schema = {"drafted": pl.String} | dict.fromkeys(("drafts", *OUTCOMES), pl.Int64)
        return pl.DataFrame(rows, schema=schema)

    def kept_out(self) -> list[tuple[str, str | None, str]]:
        """Document, path and reason of what people accepted and is kept out all the same."""
        return [
            (doc, path, why) for doc, _, path, outcome, why in self.fates if outcome == "kept_out"
        ]

    def save(self, out: str | Path) -> Path:
        """Write the forms and their images to a folder that benchmark formcraft loads.

        Raises
        ------
        DataBroken
            If `out` is the folder of the drafts' own forms, or holds a form that is not of these:
            an earlier state of the decisions would be taken for this one.
        """
        out = Path(out)
        root = self.corpus.root
        if root is not None and out.resolve() == root.resolve():
            raise DataBroken("these forms are the ones drafted on", where=out, remedy="other --out")
        base = out / self.corpus.split
        others = {file.stem for file in (base / "forms").glob("*.json")} - set(self.forms)
        if others:
            what = f"{min(others)}.json, which is not among the accepted forms"
            raise DataBroken(what, where=base / "forms", remedy="an empty folder")
        documents = {row["doc_id"]: row for row in self.corpus.documents.iter_rows(named=True)}
        for doc_id, form in self.forms.items():
            images = [Path(root or "") / name for name in page_images(documents[doc_id])]
            for image in filter(Path.is_file, images):
                with files.atomic(base / "images" / image.name) as copy:
                    shutil.copyfile(image, copy)
            write = files.write_text if isinstance(form, str) else files.write_json
            write(base / "forms" / f"{doc_id}.json", form)
        return out


def accepted(corpus: Corpus, drafted: Iterable[Draft], decisions: pl.DataFrame) -> Accepted:
    """The drafts that people accepted, in the forms that the drafts are about.

    A converted form is in it once each of its fields is accepted, edited or rejected; in a form
    with some of its fields, right answers of a system would count as errors. A rejected field is
    taken out. Questions and checks are added one by one, and all are checked against the fields
    as they now are (`faults`). Disputed ones are left out.

    Parameters
    ----------
    corpus
        Forms of FORMCRAFT's, as loaded; other forms than those drafted on are in it unchanged.
    drafted
        As from `drafts.read`; those of other splits are left aside.
    decisions
        As from `formlab.decisions.read`.

    Raises
    ------
    DataBroken
        If a draft is about a form that is not in `corpus`.
    """
    sources = {Path(name).stem: Path(corpus.root or "") / name for name in corpus.sources}
    by_form: dict[str, list[Draft]] = {name: [] for name in sorted(sources)}
    for draft in drafted:
        if draft.split == corpus.split:
            by_form.setdefault(draft.doc_id, []).append(draft)
            if draft.path and draft.doc_id not in sources:
                what = f"no form of {draft.doc_id}, which {draft.path} is drafted on"
                remedy = "--root with the folder of the forms"
                raise DataBroken(what, where=corpus.root, remedy=remedy)
    here = pl.col("split").is_null() | (pl.col("split") == corpus.split)
    review = ItemDecisions(decisions.filter(here), decided.REVIEW)
    # All at once, because the parts that an edit may have depend on all records, as in a review.
    fields: dict[str, list[Item]] = {name: [] for name in sources}
    for item in of_records(corpus.records):
        if item.key["task"] not in drafts.TASKS:
            fields[str(item.key["doc_id"])].append(item)
    forms, fates = {}, []
    for doc_id, of_form in by_form.items():
        form_drafts = _FormDrafts(doc_id, review)
        if doc_id not in sources:
            form_drafts.note("form", None, "unsound")
        elif (form := form_drafts.form(sources[doc_id], fields[doc_id], of_form)) is not None:
            forms[doc_id] = form
        fates += form_drafts.fates
    notes = {
        "decisions on a draft that reads otherwise by now": review.stale,
        "decisions on what is no draft here": review.unmet,
    }
    return Accepted(corpus, forms, fates, {name: count for name, count in notes.items() if count})


class _FormDrafts:
    """One form: its drafts, the decisions on them, and the resulting form."""

    def __init__(self, doc_id: str, decisions: ItemDecisions) -> None:
        self.doc_id, self.decisions = doc_id, decisions
        self.fates: list[tuple[str, str, str | None, str, str]] = []

    def note(self, kind: str, path: str | None, outcome: str, why: Iterable[str] = ()) -> None:
        self.fates.append((self.doc_id, kind, path, outcome, "; ".join(why)))

    def form(self, file: Path, fields: list[Item], of_form: list[Draft]) -> Row | None:
        """The form's JSON with the accepted drafts; None if the form itself is not written."""
        form, written = FormNodes.of_file(file, "drafts"), True
        if any(draft.task == "layout" and draft.path for draft in of_form):
            verdicts = self._fields(fields)
            written = self._form(verdicts.values())
            _revise(form, verdicts)
        paths, rows = form.paths(), form.check()
        known = {old: rows[path] for old, path in paths.items() if path in rows}
        known = {old: row for old, row in known.items() if row["kind"] != "group"}
        items = [draft for draft in of_form if draft.task != "layout" and draft.path]
        passed = [
            dataclasses.replace(draft, item=readdressed(draft.item or {}, paths))
            for draft in self._items(items, known, written=written)
        ]
        return drafts.added(form.content(), passed) if written else None

    def _verdict(self, item: Item) -> Row:
        """The decision on an item: ``undecided`` and ``disputed`` are decisions here as well."""
        rows = self.decisions.on(item)
        if rows is None:
            return {"outcome": "undecided"}
        (row,) = resolved_decisions(rows, words=decided.REVIEW).to_dicts()
        return row | {"outcome": _OUTCOME_OF.get(row["decision"], "disputed")}

    def _fields(self, items: list[Item]) -> dict[str, Row]:
        verdicts = {}
        for item in items:
            verdict = self._verdict(item)
            why: tuple[str, ...] = ()
            if verdict["outcome"] == "edited":
                parts, why = _edit(verdict, item)
                if not why and not parts.keys() <= {"value"}:
                    whole = dict(item.parts) | parts
                    why = field_faults(whole.get("modality"), whole.get("subtype"))
                verdict |= {"parts": parts, "outcome": "kept_out" if why else "edited"}
            path = str(item.key["path"])
            self.note("field", path, verdict["outcome"], why)
            verdicts[path] = verdict
        return verdicts

    def _form(self, verdicts: Iterable[Row]) -> bool:
        """Note the outcome of a converted form; whether it is written."""
        outcomes = {verdict["outcome"] for verdict in verdicts}
        outcome = min(outcomes) if len(outcomes) == 1 else "edited"
        for name in ("undecided", "disputed", "kept_out"):
            outcome = name if name in outcomes else outcome
        why = ["one of its fields is kept out"] if outcome == "kept_out" else []
        self.note("form", None, outcome, why)
        return outcome in KEPT

    def _items(
        self, of_form: list[Draft], rows: Mapping[str, Row], *, written: bool
    ) -> Iterator[Draft]:
        """The drafts of questions and checks that pass, as edited."""
        for draft in of_form:
            if not drafts.sound([draft]):
                self.note(draft.task, draft.path, "unsound")
                continue
            (item,) = of_records(drafts.records([draft]))
            verdict = self._verdict(item)
            outcome, why = verdict["outcome"], ()
            if outcome == "edited":
                parts, why = _edit(verdict, item)
                draft = dataclasses.replace(draft, item=(draft.item or {}) | parts)
            if outcome in KEPT:
                # Also of an item accepted as it is: its fields may have been edited since.
                why = why or faults(draft.task, draft.item or {}, rows)
                why = why or (() if written else ("its form is not accepted",))
            self.note(draft.task, draft.path, "kept_out" if why else outcome, why)
            if outcome in KEPT and not why:
                yield draft


def _revise(form: FormNodes, verdicts: Mapping[str, Row]) -> None:
    """Take rejected fields out of a form and put edits in."""
    for path, verdict in verdicts.items():
        if verdict["outcome"] == "rejected":
            form.apply(form.delete(path))
        elif verdict["outcome"] == "edited":
            now, parts = form.texts(path), verdict["parts"]
            # Other accepted values belong to the old value.
            new = {"value": parts["value"], "accepted": ""} if "value" in parts else {}
            if parts.keys() - {"value"}:
                subtype = parts.get("subtype", now["modality_subtype"])
                pair = modality_of(parts.get("modality", now["modality"]), subtype)
                new |= dict(zip(("modality", "modality_subtype"), map(str, pair), strict=True))
            if any(text != now[name] for name, text in new.items()):
                form.apply(form.edit(path, new))


def _edit(verdict: Row, item: Item) -> tuple[Row, tuple[str, ...]]:
    """The parts that an edit changes, and what is wrong with the edit itself."""
    parts = files.parse_json(verdict["parts"] or "{}", where=str(item.key["path"]))
    parts |= {} if verdict["value"] is None else {"value": verdict["value"]}
    unknown = [name for name in parts if name not in item.parts]
    if unknown:
        return {}, (f"the edit is of {', '.join(unknown)}, and the item has no such part",)
    for name in LISTS:
        if isinstance(parts.get(name), list):
            # An emptied box of text is one empty line.
            parts[name] = [text for text in parts[name] if str(text).strip()]
    return parts, () if parts else ("the edit says nothing",)
