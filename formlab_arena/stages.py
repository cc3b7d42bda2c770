"""At which stage a value was lost on its way from a page into a form.

The evidence is that of an arena run over pages: what was read under a field's box, which value its
label was given, what was typed for it, and what the form held at last.
"""

import json
import re
from collections import Counter
from typing import Any

import polars as pl

from formlab import text
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.scoring.causes import STAGE_OF, cause
from formlab_arena.fault_chains import propagation

# In the order in which a value passes them.
STAGES = ("reading", "structure", "relation", "click")
_SCHEMA = {
    "doc_id": pl.String, "template": pl.String, "source": pl.String, "path": pl.String,
    "kind": pl.String, "gold": pl.String, "on_page": pl.String, "read": pl.String,
    "assigned": pl.String, "typed": pl.String, "held": pl.String, "fault": pl.String,
    "first": pl.Boolean, "root": pl.String, "stage": pl.Enum(STAGES), "cause": pl.String,
}  # fmt: skip
# Faults of the hand: the value reached another field, or its own was never reached.
_NEVER_CAME = ("not_shown", "not_reached")
_ELSEWHERE = ("misplaced", "wrong_field", "overwritten", *_NEVER_CAME)
_TYPED = ("date", "number", "money", "checkbox")
_MARKS = ("checkbox", "radio", "choice")
Row = dict[str, Any]


def loss_stages(evaluation: Evaluation, *, required: bool = True) -> pl.DataFrame:
    """Each value that a form filled in from a page has wrong, with the stage at which it was lost.

    Parameters
    ----------
    evaluation
        Of a run of ``formlab arena fill --pages``, as ``formlab arena score`` saves it.
    required
        Whether an evaluation without pages is an error; else it has no rows.

    Returns
    -------
    polars.DataFrame
        A row for each wrong field of `propagation`: `doc_id` and `template` of the form, `source`
        (the document that was read), `path`, `kind`, `gold` (the form's right answer), the evidence
        `on_page` (the gold text), `read` (what the reader saw under the field's box), `assigned`
        (the value that the field's label was given), `typed` and `held` (in the form at last), null
        where nothing was observed, `fault`, `first` and `root` of `propagation`, `stage` and
        `cause`. The stage is the first after which the value was wrong for good:

        - ``reading``: the text under the box was misread, or a mark was;
        - ``structure``: the text was read, and its label was given none or another field's;
        - ``relation``: the label was given the value of another entry of the same list or group,
          or the right value was not brought into the form's notation;
        - ``click``: the right value was at hand, and the mouse or the keyboard lost it.

        Where the right value was at hand and its control never came, the stage is that of the
        field it follows (`root`), as of a misread date for which the form was sent back.

        `cause` is one of `scoring.causes` for the first three, the fault for the last. An agent
        that looks at the page itself shows only what it typed: then that is judged in place of what
        was assigned, and a field that it left empty counts under structure.

    Raises
    ------
    DataBroken
        If pages are required and no document has one.

    Examples
    --------
    >>> from formlab import analysis
    >>> loss_stages(analysis.open_evaluation(), required=False).height
    0
    """
    if required and not any(map(_pages, evaluation.parts())):
        remedy = "formlab arena score, on a folder of formlab arena fill --pages"
        raise DataBroken("no form was filled in from a page", remedy=remedy)
    return evaluation.gathered(_losses)


def _pages(part: Evaluation) -> dict[str, Row]:
    """What is known of the page that each form was filled in from."""
    return {
        doc_id: page
        for doc_id, meta in part.documents.select("doc_id", "meta").iter_rows()
        if (page := json.loads(meta or "{}").get("page"))
    }


def _losses(evaluation: Evaluation) -> pl.DataFrame:
    pages = _pages(evaluation)
    fields = evaluation.cases.filter(pl.col("task") == "click", pl.col("path").is_not_null())
    typed = {
        (doc_id, path): value
        for doc_id, path, value in fields.select("doc_id", "path", "pred").iter_rows()
    }
    exact, rows = evaluation.mode == "official", {}
    for fault in propagation(evaluation, required=False).iter_rows(named=True) if pages else ():
        if page := pages.get(fault["doc_id"]):
            key = fault["doc_id"], fault["path"]
            rows[key] = _Loss(fault, page, typed.get(key), exact=exact).row()
    for row in rows.values():
        if row["stage"] == "click" and row["fault"] in _NEVER_CAME:
            row["stage"] = rows[row["doc_id"], row["root"]]["stage"]
    return pl.DataFrame(list(rows.values()), schema=_SCHEMA)


class _Loss:
    """One wrong field with its evidence."""

    def __init__(self, fault: Row, page: Row, typed: str | None, *, exact: bool) -> None:
        self.fault, self.page, self.typed, self.exact = fault, page, typed, exact
        self.field = page["fields"][fault["path"]]
        values = (each["text"] for each in page["fields"].values())
        self.order = text.date_order(value for value in values if value)

    def row(self) -> Row:
        stage, why = self._stage()
        kept = {key: self.fault[key] for key in _SCHEMA if key in self.fault}
        evidence = {"read": self.field["read"], "assigned": self.field["assigned"]}
        return kept | evidence | {
            "source": self.page["doc_id"], "on_page": self.field["text"], "typed": self.typed,
            "stage": stage, "cause": why,
        }  # fmt: skip

    def _stage(self) -> tuple[str, str]:
        assigned, fault = self.field["assigned"], self.fault["fault"]
        value = self.typed or "" if assigned is None else assigned
        if not self.field["text"].strip():
            return ("structure", "spurious") if value.strip() else ("click", fault)
        if self._right(value):
            rewritten = text.normalise(self.fault["gold"]) != text.normalise(self.field["text"])
            if rewritten and fault not in _ELSEWHERE and self.typed and not self._as_asked():
                return "relation", self._notation()
            return "click", fault
        if assigned is None and not value.strip():
            return ("click", fault) if fault in _ELSEWHERE else ("structure", "missed")
        gold, read = self.field["text"], self.field["read"]
        if read is not None and not self._right(read) and _misread(read, gold, value):
            return "reading", cause(gold, read)
        return self._other(value) or self._unlike(value)

    def _unlike(self, value: str) -> tuple[str, str]:
        """The stage of a value that is no other field's and was not seen to be misread."""
        why = cause(self.field["text"], value)
        if not value.strip():
            return "structure", why
        if STAGE_OF[why] == "form" or why == "space":
            return "relation", why
        # A mark is read or it is not; characters that go wrong where nothing else was seen were
        # misread as well.
        is_mark = self.field["kind"] in _MARKS
        misread = is_mark or (self.field["read"] is None and STAGE_OF[why] == "characters")
        return ("reading" if misread else "structure"), why

    def _other(self, value: str) -> tuple[str, str] | None:
        """Structure or relation, where a value is that of another field of the page."""
        own = _leaf(self.field["source"])
        leaves = {
            _leaf(field["source"])
            for field in self.page["fields"].values()
            if field is not self.field and field["text"] and self._same(field, value)
        }
        if own in leaves:
            return "relation", "wrong_row"
        return ("structure", "wrong_field") if leaves else None

    def _as_asked(self) -> bool:
        """Whether what was typed is written as the form's own answer is."""
        return text.normalise(self.typed or "") == text.normalise(self.fault["gold"])

    def _notation(self) -> str:
        """How the right value was written otherwise than the form asks for it."""
        gold, day = text.date(self.field["text"]) or (), text.date(self.typed or "")
        exchanged = len(gold) == 2 and day is not None and day <= gold
        return "date_order" if exchanged else cause(self.fault["gold"], self.typed, right=True)

    def _right(self, value: str) -> bool:
        """Whether a value is right as the page has it, or as the form asks for it."""
        asked = " ".join((self.fault["gold"] or "").split())
        return self._same(self.field, value) or " ".join(value.split()) == asked != ""

    def _same(self, field: Row, value: str) -> bool:
        if not value.strip():
            return False
        # A date or a number may stand on the page in another notation than in the form.
        if self.exact and field["kind"] not in _TYPED:
            return " ".join(field["text"].split()) == " ".join(value.split())
        return text.ladder(field["text"], value, kind=field["kind"], order=self.order).typed


def _leaf(path: str) -> str:
    return path.rpartition("/")[2].partition("#")[0]


def _misread(read: str, gold: str, value: str) -> bool:
    """Whether characters were misread, and the words not only read with others or in other order.

    A value that is what was read, and has the letters of the gold, was misread in its punctuation.
    """
    words = [Counter(re.findall(r"\w+", each.casefold())) for each in (gold, read)]
    letters = ["".join(re.findall(r"[^\W_]+", each.casefold())) for each in (gold, read)]
    if letters[0] == letters[1]:
        return text.normalise(value) == text.normalise(read)
    return not (words[0] <= words[1] or (letters[0] and letters[0] in letters[1]))
