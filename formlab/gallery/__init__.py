"""Error cases to look at: the place on the page, gold beside prediction, what differs and why."""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import frames, tables
from formlab.analysis.finding import Finding
from formlab.benchmarks.meta import page_images
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.errors import TableBroken
from formlab.folders import Evaluation
from formlab.gallery import _slices, _words, inline
from formlab.gallery._crops import PageSource
from formlab.gallery._labels import labels
from formlab.gallery._pictures import boxes_of_pages, document_key, pictures
from formlab.gallery._reading import NO_ERROR, about, gold_of, sampled
from formlab.gallery.episodes import Episodes, episodes
from formlab.gallery.inline import assets

__all__ = ["Episodes", "Gallery", "assets", "episodes", "errors", "rows"]

PART = 500
_SAME = ("benchmark", "split", "doc_id", "task", "gold")
Root = str | Path | Mapping[str, str | Path] | None


@dataclasses.dataclass(frozen=True, eq=False)
class Gallery:
    """Cases with their pictures; shows itself in JupyterLab and in reports.

    `cases` are plain mappings: the case's words, its ``key`` and ``label``, ``gold`` and ``pred``
    (null where one side is absent), ``diff`` runs, ``ladder`` booleans, ``similarity``,
    ``scores``, and the same of each further system in ``beside``; ``slices``, the values of the
    columns it is sliced by, and ``finding``, the numbers of the findings it is behind; ``image``,
    a key of `images` or None with the reason in ``why``; ``view`` and ``boxes`` as fractions of
    the image (left, top, width, height); ``sheet``, a number that the cases of one page share.
    `images` maps keys to ``{src, width, height}``; `src` is a data URI. `pages` has by sheet all
    boxes of the page, ``gold`` and ``pred:<system>``, and `frame` the row of each case. `total`
    counts the errors, or cases, before any sample, and `asked` all cases that were scored; `drawn`
    has ``[cause, shown, all]`` of each cause, and `claims` the findings.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    pages: dict[int, dict[str, Any]]
    frame: pl.DataFrame
    total: int
    asked: int
    drawn: list[list[Any]]
    claims: list[str]

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"Gallery of {len(self.cases):,} of {self.total:,} cases"

    @property
    def payload(self) -> dict[str, Any]:
        """What ``gallery.js`` draws.

        The cases travel as JSON texts of some hundred each: a notebook of 20,000 cases would else
        hold millions of lines, and be checked and written value by value.
        """
        systems = {
            answer["system"] for case in self.cases for answer in (case, *case.get("beside", ()))
        }
        texts = [
            json.dumps([*map(_filled, self.cases[start : start + PART])], separators=(",", ":"))
            for start in range(0, len(self.cases), PART)
        ]
        colours = {
            "system": theme.system_colours(sorted(systems)),
            "outcome": theme.OUTCOME_COLOURS, "cause": theme.CAUSE_COLOURS,
        }  # fmt: skip
        levels = self.frame["level"].unique()
        return {
            "unit": levels[0] if len(levels) == 1 else "case",
            "cases": texts, "images": self.images, "pages": self.pages,
            "count": len(self.cases), "total": self.total, "asked": self.asked,
            "drawn": self.drawn, "claims": self.claims, "colours": colours,
            "columns": list(self.cases[0]["slices"]) if self.cases else [],
        }  # fmt: skip

    @property
    def selected(self) -> pl.DataFrame:
        """The rows of `frame` whose cases are shown in JupyterLab, in that order.

        All of them until something is chosen there, and where widgets do not run.

        Examples
        --------
        >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
        ...     "system": "ocr", "task": "value", "outcome": "missing", "path": "/total"}])
        >>> errors(cases).selected["path"].to_list()
        ['/total']
        """
        rows = self.__dict__["_listener"].rows if "_listener" in self.__dict__ else None
        return (
            self.frame
            if rows is None
            else self.frame[[row for row in rows if 0 <= row < len(self)]]
        )

    @functools.cached_property
    def _listener(self) -> Any:
        # Imported where it is shown: widgets take a second to import.
        from formlab.gallery._live import SelectionListener

        return SelectionListener(token=secrets.token_hex(8))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        token = "" if theme.in_report() else self._listener.token
        return inline.bundle("gallery", self.payload, str(self), token=token)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        if not theme.in_report():
            display(self._listener.bundle(), raw=True)


def _filled(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case without what is null or empty, which the script puts back."""
    filled = {name: value for name, value in case.items() if value not in (None, {}, [])}
    if slices := case.get("slices"):
        filled["slices"] = {name: value for name, value in slices.items() if value is not None}
    if beside := case.get("beside"):
        filled["beside"] = [_filled(answer) for answer in beside]
    return filled


def rows(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cases of a gallery's payload as flat rows: its words and numbers, without pictures.

    Of further systems, ``system_2``, ``outcome_2``, ``cause_2``, ``pred_2`` and so on.

    Raises
    ------
    ValueError
        If a part of the payload is no JSON text.

    Examples
    --------
    >>> rows({"cases": ['[{"gold":"Co","sheet":0,"beside":[{"pred":"C0"}]}]']})
    [{'gold': 'Co', 'pred_2': 'C0'}]
    """
    try:
        cases = [case for text in payload["cases"] for case in json.loads(text)]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    plain = (str, int, float, type(None))
    return [
        {
            name + (f"_{number}" if number > 1 else ""): value
            for number, answer in enumerate([case, *case.get("beside", ())], start=1)
            for name, value in answer.items()
            if isinstance(value, plain) and name not in ("image", "sheet")
        }
        for case in cases
    ]


def errors(
    cases: pl.DataFrame | Evaluation,
    *,
    of: Evaluation | Sequence[Evaluation] = (),
    root: Root = None,
    documents: pl.DataFrame | None = None,
    beside: Sequence[pl.DataFrame] = (),
    scores: pl.DataFrame | None = None,
    by: Sequence[str] = (),
    findings: Sequence[Finding] = (),
    most: int | None = 5_000,
    crop: bool = True,
    right: bool = False,
) -> Gallery:
    """A gallery of the errors among `cases`, in their order; filter and sort the frame before.

    An error is a case that one of the systems shown has wrong: another outcome than ``match``, and
    not ``unscored``. Each case is titled by its label or question, where that is known.

    Pages are kept whole, once each, while they stay legible; of more pages than that, only the
    parts around the boxes. Up to 2,000 cases are within 25 MB, 20,000 cases on 2,000 pages within
    60 MB, those of many pages in four shades of grey.

    Parameters
    ----------
    cases
        A table of the schema ``cases``; or an evaluation, of which only the cases shown are read,
        however large it is. A table may have further columns: ``verdict``, what a review
        decided of the case, and ``label`` or ``question``, what the case is called.
    of
        The evaluations that the cases are of. Their roots, documents and scores are taken unless
        given here, and labels from the gold of their corpora.
    root
        The folder that `documents.image` is relative to; or one for each benchmark, named
        ``benchmark`` or ``benchmark:split``. Without one there are no images.
    documents
        A table of the schema ``documents``; without it no page image is known.
    beside
        Tables of the same cases read by further systems: row i of each is row i of `cases`.
    scores
        A table of the schema ``scores``: each case shows its own.
    by
        Columns that the cases can be filtered by: of cases or documents, a user's own among them,
        or bands, as in `analysis.summarise`.
    findings
        Those of the page, in its order: the cases behind the second are selected by ``finding=2``.
    most
        At most so many cases; of more a sample, each cause in proportion: of the cases of a cause
        those whose `keys` come first, whatever their order. None keeps all.
    crop
        False shows the whole page first instead of the part around the boxes.
    right
        Whether cases that are right, or not scored, are shown as well.

    Raises
    ------
    TableBroken
        If a table lacks columns, or one of `beside` is of other cases.
    UnknownName
        If a column of `by` is in no table.

    Examples
    --------
    >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
    ...     "system": "ocr", "task": "value", "outcome": "mismatch", "gold": "Co", "pred": "C0",
    ...     "path": "/unit_price"}])
    >>> shown = errors(cases)
    >>> shown.cases[0]["diff"], shown.cases[0]["label"], shown.cases[0]["why"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'unit price', 'no page image is known')
    """
    evaluations = [of] if isinstance(of, Evaluation) else list(of)
    if isinstance(cases, Evaluation):
        evaluations = [cases, *(each for each in evaluations if each is not cases)]
        kept, total, asked, drawn = sampled(cases, most, right=right)
        every = kept
    else:
        for index, table in enumerate([cases, *beside]):
            _check(table, cases, index)
        wrong = [~table["outcome"].is_in(NO_ERROR) for table in (cases, *beside)]
        every = kept = [cases, *beside]
        asked = cases.filter(pl.col("outcome") != "unscored").height
        if not right:
            kept = [table.filter(functools.reduce(operator.or_, wrong)) for table in kept]
        total = kept[0].height
        chosen, drawn = _slices.drawn(kept[0], most)
        kept = [table[chosen] for table in kept] if len(chosen) < total else kept
    evaluations = list(about(evaluations, kept[0]["doc_id"].unique()))
    if documents is None:
        documents = _together([each.documents for each in evaluations], "documents")
    if scores is None and evaluations:
        scores = _together([each.scores for each in evaluations], "scores")
    rows, *others = [list(table.iter_rows(named=True)) for table in kept]
    further = list(zip(*others, strict=True)) if others else [()] * len(rows)
    read = [each.cases for each in evaluations] or every
    drawn_pages, images, pages = pictures(
        rows, further, dict(_images(documents, root, evaluations)),
        boxes_of_pages(read, kept[0]), crop=crop,
    )  # fmt: skip
    scored = _words.scores_by_case(scores, kept)
    parts = zip(
        rows, further, drawn_pages, _slices.keys(kept[0]),
        labels(kept[0], gold_of(evaluations), documents), _slices.slices(kept[0], documents, by),
        _slices.numbers(kept, findings), strict=True,
    )  # fmt: skip
    shown = [
        _words.case(row, answers, scored)
        | {"key": key, "label": clean(label, limit=200), "slices": sliced, "finding": behind}
        | picture
        for row, answers, picture, key, label, sliced, behind in parts
    ]
    claims = [clean(finding, limit=500) for finding in findings]
    return Gallery(shown, images, pages, kept[0], total, asked, drawn, claims)


def _check(table: pl.DataFrame, cases: pl.DataFrame, index: int) -> None:
    what = f"beside[{index - 1}]" if index else "cases"
    if missing := [name for name in tables.CASES if name not in table.columns]:
        raise TableBroken(f"{what}: missing columns: {', '.join(missing)}")
    if table.height != cases.height:
        raise TableBroken(f"{what} has {table.height} rows, cases has {cases.height}")
    other = pl.any_horizontal(cases[name].ne_missing(table[name]).alias(name) for name in _SAME)
    if index and (rows := pl.select(other.arg_true()).to_series()).len():
        raise TableBroken(
            f"{what} is not of the same cases: {rows.len()} rows differ, first {rows[0]}",
            remedy="align both evaluations first, as analysis.flips does",
        )


def _together(parts: Sequence[pl.DataFrame], name: str) -> pl.DataFrame:
    return pl.concat([tables.table(name, []), *parts], how="diagonal_relaxed")


def _images(
    documents: pl.DataFrame, root: Root, evaluations: Sequence[Evaluation]
) -> Iterator[tuple[tuple[str, str, str], PageSource]]:
    """The page image of each document whose root is known."""
    roots: dict[str, Any] = dict(root) if isinstance(root, Mapping) else {}
    for each in reversed(evaluations):
        if each.root is not None:
            roots.setdefault(f"{each.benchmark}:{each.split}", each.root)
    for row in documents.drop_nulls("image").iter_rows(named=True):
        names = (f"{row['benchmark']}:{row['split']}", row["benchmark"])
        folder = next((roots[name] for name in names if name in roots), None)
        folder = folder if root is None or isinstance(root, Mapping) else root
        if folder is not None:
            yield (
                document_key(row),
                PageSource(
                    row["image"],
                    width=row["width"],
                    pages=tuple(page_images(row)),
                    root=Path(folder),
                ),
            )


frames.door(globals(), __all__)
