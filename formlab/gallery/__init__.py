"""Error cases to look at: the place on the page, gold beside prediction, what differs and why."""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import frames, tables
from formlab.benchmarks.meta import page_images
from formlab.charts import theme
from formlab.errors import TableBroken
from formlab.gallery import _words, inline
from formlab.gallery._crops import PageSource
from formlab.gallery._pictures import document_key, pictures
from formlab.gallery.episodes import Episodes, episodes
from formlab.gallery.inline import assets

__all__ = ["Episodes", "Gallery", "assets", "episodes", "errors", "rows"]

PART = 500
_NO_ERROR = ("match", "unscored")
_SAME = ("benchmark", "split", "doc_id", "task", "gold")


@dataclasses.dataclass(frozen=True, eq=False)
class Gallery:
    """Cases with their pictures; shows itself in JupyterLab and in reports.

    `cases` are plain mappings: the case's words, ``gold`` and ``pred`` (null where one side is
    absent), ``diff`` runs, ``ladder`` booleans, ``similarity``, ``scores``, and the same of each
    further system in ``beside``; ``image``, a key of `images` or None with the reason in ``why``;
    ``view`` and ``boxes`` as fractions of the image (left, top, width, height); ``sheet``, a
    number that the cases of one page share. `images` maps keys to ``{src, width, height}``; `src`
    is a data URI. `total` counts the cases before any limit.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    total: int

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
            json.dumps(self.cases[start : start + PART], separators=(",", ":"))
            for start in range(0, len(self.cases), PART)
        ]
        colours = {
            "system": theme.system_colours(sorted(systems)),
            "outcome": theme.OUTCOME_COLOURS, "cause": theme.CAUSE_COLOURS,
        }  # fmt: skip
        return {"cases": texts, "images": self.images, "total": self.total, "colours": colours}

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return inline.bundle("gallery", self.payload, str(self))


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
    cases: pl.DataFrame,
    *,
    root: str | Path | None,
    documents: pl.DataFrame | None = None,
    beside: Sequence[pl.DataFrame] = (),
    scores: pl.DataFrame | None = None,
    limit: int | None = None,
    crop: bool = True,
    right: bool = False,
) -> Gallery:
    """A gallery of the errors among `cases`, in their order; filter and sort the frame before.

    An error is a case that one of the systems shown has wrong: another outcome than ``match``, and
    not ``unscored``.

    Pages are kept whole, once each, while they stay legible within 25 MB for each 2,000 cases;
    of more pages than that, only the parts around the boxes.

    Parameters
    ----------
    cases
        A table of the schema ``cases``. It may have a further column ``verdict``: what a review
        decided of the case.
    root
        The folder that `documents.image` is relative to; None shows no images.
    documents
        A table of the schema ``documents``; without it no page image is known.
    beside
        Tables of the same cases read by further systems: row i of each is row i of `cases`.
    scores
        A table of the schema ``scores``: each case shows its own.
    limit
        At most so many cases are kept, the first ones.
    crop
        False shows the whole page first instead of the part around the boxes.
    right
        Whether cases that are right, or not scored, are shown as well.

    Raises
    ------
    TableBroken
        If a table lacks columns, or one of `beside` is of other cases.

    Examples
    --------
    >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
    ...     "system": "ocr", "task": "value", "outcome": "mismatch", "gold": "Co", "pred": "C0"}])
    >>> shown = errors(cases, root=None)
    >>> shown.cases[0]["diff"], shown.cases[0]["why"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'no page image is known')
    """
    for index, table in enumerate([cases, *beside]):
        _check(table, cases, index)
    tabled = [cases, *beside]
    if not right:
        wrong = [~table["outcome"].is_in(_NO_ERROR) for table in tabled]
        tabled = [table.filter(functools.reduce(operator.or_, wrong)) for table in tabled]
    total = tabled[0].height
    kept = [table.head(total if limit is None else limit) for table in tabled]
    rows, *others = [list(table.iter_rows(named=True)) for table in kept]
    further = list(zip(*others, strict=True)) if others else [()] * len(rows)
    folder = None if root is None else Path(root)
    drawn, images = pictures(rows, further, _images(documents), folder, crop=crop)
    scored = _words.scores_by_case(scores, kept)
    shown = [
        _words.case(row, answers, scored) | picture
        for row, answers, picture in zip(rows, further, drawn, strict=True)
    ]
    return Gallery(shown, images, total)


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


def _images(documents: pl.DataFrame | None) -> dict[tuple[str, str, str], PageSource]:
    rows = () if documents is None else documents.drop_nulls("image").iter_rows(named=True)
    return {
        document_key(row): PageSource(
            row["image"], width=row["width"], pages=tuple(page_images(row))
        )
        for row in rows
    }


frames.door(globals(), __all__)
