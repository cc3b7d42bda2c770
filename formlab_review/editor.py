"""One reviewer's session over whole forms: every change is in the file before it counts."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from formlab.charts import theme
from formlab.charts.words import Caption, table
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.folders import Corpus
from formlab_review import changes
from formlab_review.forms import FormNodes
from formlab_review.pages import Pages
from formlab_review.session import file_of, now

if TYPE_CHECKING:
    from formlab_review.form_widget import FormWidget

BENCHMARK = "formcraft"
Row = dict[str, Any]


@dataclasses.dataclass(eq=False)
class FormReview:
    """Forms of FORMCRAFT's schema, their reviewer and the changes so far; shows itself in Lab.

    Parameters
    ----------
    corpus
        The forms, as drafted; of another benchmark there is nothing to review.
    folder
        Of changes (`changes`); this reviewer's file in it is ``<reviewer>.jsonl``.
    reviewer
        A short name; letters, digits and ``.@+-_``.
    pages
        Draws the pages; None shows none.

    Raises
    ------
    DataBroken
        If the reviewer's name is no name for a file, or the file is damaged.

    Examples
    --------
    >>> import tempfile, formlab
    >>> corpus = formlab.load("formcraft")
    >>> desk = FormReview(corpus, tempfile.mkdtemp(), "ada")
    >>> form = desk.form("blood_report")
    >>> desk.make("blood_report", form.edit("/Donor/Name", {"modality_subtype": "handwritten"}))
    >>> desk.make("blood_report", form.verify())
    >>> desk.progress().filter(verified=True).select("doc_id", "changes").rows()
    [('blood_report', 1)]
    """

    corpus: Corpus
    folder: str | Path
    reviewer: str
    pages: Pages | None = None

    def __post_init__(self) -> None:
        self.file = file_of(self.folder, self.reviewer)
        root, names = Path(self.corpus.root or ""), self.corpus.sources
        known = names if self.corpus.benchmark == BENCHMARK else ()
        self._sources = {Path(name).stem: root / name for name in known}
        self._view: FormWidget | None = None
        self.reload()

    @property
    def documents(self) -> list[str]:
        """The forms to review."""
        return list(self._sources)

    def reload(self) -> None:
        """Read the file anew."""
        rows = changes.read(self.file)
        self._changes: dict[str, list[tuple[str, Row]]] = {name: [] for name in self._sources}
        for where, row in rows:
            here = (row["benchmark"], row["split"]) == (self.corpus.benchmark, self.corpus.split)
            if here and row["reviewer"] == self.reviewer and row["doc_id"] in self._changes:
                self._changes[row["doc_id"]].append((where, row))
        self._forms: dict[str, FormNodes] = {}

    def form(self, doc_id: str) -> FormNodes:
        """A form with this reviewer's changes so far.

        Raises
        ------
        UnknownName
            If there is no such form.
        DataBroken
            At the first change that the form in the corpus does not allow (any more).
        """
        if doc_id not in self._sources:
            raise UnknownName.of("form", doc_id, self.documents)
        if doc_id not in self._forms:
            form = FormNodes.of_file(self._sources[doc_id], self.reviewer)
            for where, row in self._changes[doc_id]:
                try:
                    form.apply(row)
                except DataBroken as error:
                    raise DataBroken(error.what, where=where, remedy=error.remedy) from error
            self._forms[doc_id] = form
        return self._forms[doc_id]

    def make(self, doc_id: str, change: Row) -> None:
        """Make and save a change, as the methods of the form give it (`FormNodes`).

        Raises
        ------
        DataBroken
            If the form is another one by now, also by a change in another window, or would be
            none afterwards.
        """
        row = json.loads(json.dumps(self._key(doc_id) | change))
        row |= {"reviewer": self.reviewer, "time": now()}
        try:
            form = self._forms[doc_id]
            form.apply(row)
            form.check()
            changes.record(self.file, row, seen=self._known(doc_id))
        except BaseException:
            # What is not saved did not happen; what another window saved did.
            self._again()
            raise
        self._changes[doc_id].append((str(self.file), row))

    def undo(self, doc_id: str) -> str | None:
        """Take the last change to a form back; the node it was of, or None if there is none."""
        key = self._key(doc_id) | {"reviewer": self.reviewer}
        try:
            row = changes.forget_last(self.file, key, seen=self._known(doc_id))
        finally:
            self._again()
        return None if row is None else row["node"]

    def _known(self, doc_id: str) -> list[Row]:
        return [row for _, row in self._changes[doc_id]]

    def _again(self) -> None:
        self._forms = {}
        with contextlib.suppress(FormlabError, OSError):
            self.reload()

    def _key(self, doc_id: str) -> Row:
        key = (self.corpus.benchmark, self.corpus.split, doc_id)
        return dict(zip(changes.KEY, key, strict=True))

    def progress(self) -> pl.DataFrame:
        """Of each form `doc_id`, the number of `changes`, and whether it is `verified`."""
        schema = {"doc_id": pl.String, "changes": pl.Int64, "verified": pl.Boolean}
        return pl.DataFrame([self.counts(name) for name in self.documents], schema=schema)

    def counts(self, doc_id: str) -> Row:
        """The row of a form in `progress`."""
        rows = self._changes[doc_id]
        # A form that nobody touched cannot be verified, and need not be read.
        verified = bool(rows) and self.form(doc_id).verified
        changed = sum(row["node"] != "" for _, row in rows)
        return {"doc_id": doc_id, "changes": changed, "verified": verified}

    def state(self) -> tuple[Any, ...]:
        """A caption and the table of progress: what a report shows of a review."""
        progress = self.progress()
        done, changed = int(progress["verified"].sum()), int(progress["changes"].sum())
        text = f"{done:,} of {progress.height:,} forms of {self.corpus.benchmark} are verified in "
        text += f"{self.file.name}, with {changed:,} changes to their annotation."
        look = {"cases": {}, "fold": "" if done or changed else "All forms"}
        return Caption(text, label="Table"), table(progress, titles={"doc_id": "form"}, **look)

    def view(self) -> FormWidget:
        """The widget to review in."""
        from formlab_review.form_widget import FormWidget

        if self._view is None:
            self._view = FormWidget(self)
        return self._view

    def show(self) -> tuple[Any, ...]:
        """The widget; in a report, where nobody reviews, the progress."""
        if not self._sources:
            text = "Whole forms are reviewed in FORMCRAFT's schema (`formlab formcraft convert`)."
            return (Caption(text, label="Note"),)
        return self.state() if theme.in_report() else (self.view(),)
