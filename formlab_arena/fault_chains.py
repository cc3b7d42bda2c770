"""How one fault on a form leads to others: a misplaced value, and the fields it overwrote.

It reads the log of an arena run, which scoring keeps in the documents' meta.
"""

import json
from typing import Any

import polars as pl

from formlab import text
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.metrics.actions import DESCRIPTION

# From what an agent did wrong to what was done to a field by something else.
FAULTS = (
    "misplaced", "wrong_value", "not_empty", "missing", "wrong_field", "overwritten",
    "not_shown", "not_reached",
)  # fmt: skip
_SCHEMA = {
    "doc_id": pl.String, "template": pl.String, "path": pl.String, "kind": pl.String,
    "gold": pl.String, "held": pl.String, "fault": pl.Enum(FAULTS), "first": pl.Boolean,
    "after": pl.String, "root": pl.String, "chain": pl.Int64, "line": pl.Int64,
}  # fmt: skip
Row = dict[str, Any]


def propagation(evaluation: Evaluation, *, required: bool = True) -> pl.DataFrame:
    """Each field that ended wrong, with its fault and whether it follows an earlier one.

    Parameters
    ----------
    evaluation
        Of a run of the arena, as ``formlab arena score`` saves it.
    required
        Whether documents without a log are an error; else they have no faults to follow.

    Returns
    -------
    polars.DataFrame
        Columns `doc_id`, `template`, `path`, `kind`, `gold`, `held` (what the field held at the
        end), `fault`, `first`, `after` (the field whose fault this one follows), `root` (the
        first fault it goes back to), `chain` (how many wrong fields go back to that one) and
        `line` (the number of the group of actions that made it). The first fault that holds:

        - ``not_shown``: the field that it depends on is wrong, so it never appeared;
        - ``not_reached``: its page never came; it follows the first wrong field of the last page,
          else the first field that was not reached;
        - ``overwritten``: it was right, then took in what was typed for another field;
        - ``wrong_field``: it holds what was typed for another field;
        - ``not_empty``: it should have been left alone;
        - ``misplaced``: its own value was typed, and landed elsewhere;
        - ``wrong_value``: what was entered in it is not its value, or it did not take it;
        - ``missing``: nothing was entered in it.

    Raises
    ------
    DataBroken
        If a log is required and the documents keep none, as those of released screenshots.
    """
    return evaluation.gathered(lambda part: _faults(part, required=required))


def _faults(evaluation: Evaluation, *, required: bool) -> pl.DataFrame:
    rows: list[Row] = []
    fields = evaluation.cases.filter(pl.col("gold").is_not_null(), pl.col("task") == "click")
    orders = text.date_orders(fields["doc_id"], text.orders_shown(*fields.select("doc_id", "gold")))
    by_doc = fields.partition_by("doc_id", as_dict=True, maintain_order=True)
    for document in evaluation.documents.iter_rows(named=True):
        meta = json.loads(document["meta"] or "{}")
        if "lines" not in meta and not required:
            continue
        if "lines" not in meta:
            remedy = "formlab arena score, on a folder of formlab arena fill"
            raise DataBroken(f"no log of what was done with {document['doc_id']}", remedy=remedy)
        if (key := (document["doc_id"],)) in by_doc:
            exact, order = evaluation.mode == "official", orders.get(document["doc_id"])
            form = _Form(by_doc[key].to_dicts(), meta, exact=exact, order=order)
            base = {key: document[key] for key in ("doc_id", "template")}
            rows += [base | row for row in form.faults()]
    return pl.DataFrame(rows, schema=_SCHEMA)


class _Form:
    """One form filled in: its fields in order, what was done, and what they came to hold."""

    def __init__(self, cases: list[Row], meta: Row, *, exact: bool, order: str | None) -> None:
        self.cases = {case["path"]: case for case in cases}
        self.lines: list[Row] = meta["lines"]
        self.content: dict[str, str] = meta["content"]
        self.when: dict[str, list[str]] = meta["when"]
        self.exact, self.order = exact, order
        self.pages = {path: set() for path in self.cases}
        for page, *_, path in meta["elements"]:
            self.pages.setdefault(path, set()).add(page)
        self.last_page = max((page for pages in self.pages.values() for page in pages), default=0)
        self.wrong = [path for path in self.cases if not self._right(path, self._content(path))]
        numbers = {f"/lines/{number}": number for number in range(len(self.lines))}
        self.own = {
            numbers[case["pred_path"]]: path
            for path, case in self.cases.items()
            if case["pred_path"] in numbers
        }
        self.targets = [self._target(number) for number in range(len(self.lines))]

    def _content(self, path: str) -> str:
        return self.content.get(path, "")

    def _right(self, path: str, content: str) -> bool:
        case = self.cases[path]
        if not case["gold"]:
            return not content.strip()
        rungs = text.ladder(
            case["gold"], content, kind=case["kind"], accepted=case["accepted"] or (),
            threshold=0.8, order=self.order,
        )  # fmt: skip
        if case["kind"] == DESCRIPTION:
            return rungs.fuzzy
        return rungs.exact if self.exact else rungs.typed

    def _target(self, number: int) -> str | None:
        """The field that a line is meant for: as it was scored, else the one with its value."""
        if number in self.own:
            return self.own[number]
        typed = text.normalise(self.lines[number]["value"])
        golds = (path for path, c in self.cases.items() if text.normalise(c["gold"]) == typed)
        return next(golds, None) if typed else None

    def faults(self) -> list[Row]:
        """A row for each wrong field, in the order of the form."""
        faults = {path: self._fault(path) for path in self.wrong}
        roots = {path: _root(path, faults) for path in faults}
        size = {root: list(roots.values()).count(root) for root in set(roots.values())}
        return [
            {
                "path": path, "kind": self.cases[path]["kind"], "gold": self.cases[path]["gold"],
                "held": self._content(path), "fault": fault, "first": roots[path] == path,
                "after": after, "root": roots[path], "chain": size[roots[path]], "line": line,
            }
            for path, (fault, after, line) in faults.items()
        ]  # fmt: skip

    def _fault(self, path: str) -> tuple[str, str | None, int | None]:
        """The name of the fault, the field that it follows, and the line that made it."""
        if not self.pages[path]:
            blocking = [name for name in self.when.get(path, ()) if name in self.wrong]
            if blocking:
                return "not_shown", blocking[0], None
            return "not_reached", self._stopped(path), None
        wrote = [
            (number, after)
            for number, line in enumerate(self.lines)
            for changed, _, after in line["changed"]
            if changed == path
        ]
        own = next((number for number, target in self.own.items() if target == path), None)
        if wrote:
            last = wrote[-1][0]
            target = self.targets[last]
            was_right = any(self._right(path, after) for _, after in wrote[:-1])
            if target is not None and target != path:
                return "overwritten" if was_right else "wrong_field", target, last
            case = self.cases[path]
            is_no = case["kind"] == "checkbox" and text.checked(case["gold"]) is False
            if not case["gold"] or is_no:
                return "not_empty", None, last
        if own is not None and own not in [number for number, _ in wrote]:
            # A number's field, say, takes no words: then nothing of it landed elsewhere either.
            refused = self.lines[own]["path"] == path
            return "wrong_value" if refused else "misplaced", None, own
        return ("wrong_value", None, wrote[-1][0]) if wrote else ("missing", None, None)

    def _stopped(self, path: str) -> str | None:
        """Where the form was left: the first wrong field of the last page, else the next field."""
        stuck = [name for name in self.wrong if self.last_page in self.pages[name]]
        never = [name for name in self.wrong if not self.pages[name]]
        first = (stuck or never)[0]
        return None if first == path else first


def _root(path: str, faults: dict[str, tuple[str, str | None, int | None]]) -> str:
    """The first fault that a fault goes back to: one that follows no other wrong field.

    Values that changed places follow each other in a ring: there the earliest line was first.
    """
    trail = [path]
    while (after := faults[trail[-1]][1]) in faults:
        if after in trail:
            ring = trail[trail.index(after) :]
            return min(ring, key=lambda name: (faults[name][2] is None, faults[name][2] or 0))
        trail.append(after)
    return trail[-1]
