"""Error cases to look at: the place on the page, gold beside prediction, what differs and why."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.finding import Finding, cases_at
from formlab.benchmarks.meta import page_images
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.errors import TableBroken
from formlab.folders import Evaluation
from formlab.gallery import cases as _cases
from formlab.gallery.crops import PageSource, document_key, pictures_of
from formlab.gallery.episodes import Episodes, episodes
from formlab.gallery.inline import Live

__all__ = ["Episodes", "Gallery", "episodes", "errors"]

_SAME = ("benchmark", "split", "doc_id", "task", "gold")
_NO_ERROR = ("match", "unscored")


@dataclasses.dataclass(frozen=True, eq=False)
class Gallery(Live):
    """Cases with their pictures; shows itself in JupyterLab and in reports.

    `cases` are plain mappings: the case's words, its ``key`` and ``label``, ``gold`` and ``pred``
    (null where one side is absent), ``diff`` runs, ``ladder`` booleans, ``similarity``,
    ``scores``, and the same of each further system in ``beside``; ``slices``, the values of the
    columns it is sliced by, and ``finding``, the numbers of the findings it is behind; ``image``,
    a key of `images` or None with the reason in ``why``; ``boxes`` as fractions of the image (left,
    top, width, height). `images` maps keys to ``{src, width, height}``; `src` is a data URI.
    `frame` has the row of each case. `total` counts the errors, or cases, before any sample, and
    `asked` all cases that were scored; `drawn` has ``[cause, shown, all]`` of each cause, and
    `claims` the findings.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    frame: pl.DataFrame
    total: int
    asked: int
    drawn: list[list[Any]]
    claims: list[str]
    kind = "gallery"

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"Gallery of {len(self.cases):,} of {self.total:,} cases"

    @property
    def payload(self) -> dict[str, Any]:
        """What ``gallery.js`` draws."""
        answers = (answer for case in self.cases for answer in (case, *case.get("beside", ())))
        systems = sorted({answer["system"] for answer in answers})
        colours = {
            "system": theme.system_colours(systems),
            "outcome": theme.OUTCOME_COLOURS,
            "cause": theme.CAUSE_COLOURS,
        }
        levels = self.frame["level"].unique()
        named = ("cases", "images", "total", "asked", "drawn", "claims")
        return {name: getattr(self, name) for name in named} | {
            "unit": levels[0] if len(levels) == 1 else "case",
            "colours": colours,
            "columns": list(self.cases[0]["slices"]) if self.cases else [],
        }

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
        rows = self._heard.rows if self._heard else None
        places = range(len(self)) if rows is None else [r for r in rows if 0 <= r < len(self)]
        return self.frame[list(places)]

    @property
    def tagged(self) -> pl.DataFrame:
        """The rows of `frame` that were tagged in JupyterLab, with a column `tags`."""
        pairs = dict(self._heard.tags) if self._heard else {}
        places = sorted(row for row in pairs if 0 <= row < len(self))
        tags = pl.Series("tags", [pairs[row] for row in places], dtype=pl.List(pl.String))
        return self.frame[places].with_columns(tags)


def errors(
    cases: pl.DataFrame | Evaluation,
    *,
    of: Evaluation | Sequence[Evaluation] = (),
    root: str | Path | None = None,
    documents: pl.DataFrame | None = None,
    beside: Sequence[pl.DataFrame] = (),
    by: Sequence[str] = (),
    findings: Sequence[Finding] = (),
    most: int | None = 1_000,
    pictures: int = 80,
    crop: bool = True,
    right: bool = False,
) -> Gallery:
    """A gallery of the errors among `cases`, in their order; filter and sort the frame before.

    An error is a case that one of the systems shown has wrong: another outcome than ``match``, and
    not ``unscored``. Each case is titled by its label or question, where that is known, and shows
    the part of its page around the boxes; without boxes the whole page.

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
        The folder that `documents.image` is relative to. Without one there are no images.
    documents
        A table of the schema ``documents``; without it no page is shown.
    beside
        Tables of the same cases read by further systems: row i of each is row i of `cases`.
    by
        Columns that the cases can be filtered by: of cases or documents, a user's own among them,
        or bands, as in `analysis.summarise`.
    findings
        Those of the page, in its order: the cases behind the second are selected by ``finding=2``.
    most
        At most so many cases; of more a sample, each cause in proportion: of the cases of a cause
        those whose keys come first, whatever their order. None keeps all.
    pictures
        At most so many cases stand there with their place on the page, which takes some 5 kB each:
        the first 24, and of those that follow one in every few.
    crop
        False shows the whole page in place of the part around the boxes.
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
    >>> shown.cases[0]["diff"], shown.cases[0]["label"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'unit price')
    """
    evaluations = [of] if isinstance(of, Evaluation) else list(of)
    if isinstance(cases, Evaluation):
        evaluations = [cases, *(other for other in evaluations if other is not cases)]
        shown, total, asked, drawn = _sampled(cases, most, right=right)
    else:
        shown = [cases, *beside]
        for index, table in enumerate(shown):
            _check(table, cases, index)
        asked = cases.filter(pl.col("outcome") != "unscored").height
        if not right:
            wrong = [~table["outcome"].is_in(_NO_ERROR) for table in shown]
            shown = [table.filter(functools.reduce(operator.or_, wrong)) for table in shown]
        total = shown[0].height
        places, drawn = _cases.sample(shown[0], most)
        shown = [table[places] for table in shown]
    evaluations = list(_about(evaluations, shown[0]["doc_id"].unique()))
    if documents is None:
        documents = _together(evaluations, "documents")
    scores = _together(evaluations, "scores")
    first, *others = [list(table.iter_rows(named=True)) for table in shown]
    further = list(zip(*others, strict=True)) if others else [()] * len(first)
    sources = dict(_sources(documents, root, evaluations))
    shots, images = pictures_of(first, further, sources, most=pictures, crop=crop)
    scored = _cases.scores_by_case(scores, shown)
    columns = zip(
        first,
        further,
        shots,
        _cases.keys(shown[0]),
        _cases.labels(shown[0], _gold(evaluations), documents),
        _cases.slices(shown[0], documents, by),
        _cases.findings_of(shown, findings),
        strict=True,
    )
    made = [
        _cases.words(row, answers, scored)
        | {"key": key, "label": clean(label, limit=200), "slices": sliced, "finding": behind}
        | picture
        for row, answers, picture, key, label, sliced, behind in columns
    ]
    claims = [clean(finding, limit=500) for finding in findings]
    return Gallery(made, images, shown[0], total, asked, drawn, claims)


def _sampled(
    evaluation: Evaluation, most: int | None, *, right: bool
) -> tuple[list[pl.DataFrame], int, int, list[list[Any]]]:
    """The cases of an evaluation to show, how many there are and were scored, and of each cause."""
    shown = pl.lit(True) if right else ~pl.col("outcome").is_in(_NO_ERROR)
    columns = [*_cases.KEY, "outcome", "cause"]
    scored = (pl.col("outcome") != "unscored").sum().alias("asked")
    asked = evaluation.gathered(lambda part: part.scan("cases").select(scored).collect())
    every = evaluation.gathered(
        lambda part: part.scan("cases").filter(shown).select(columns).collect()
    )
    places, counts = _cases.sample(every, most)
    cases = cases_at(evaluation, places.to_list(), shown)
    return [cases], every.height, int(asked["asked"].sum()), counts


def _about(evaluations: Sequence[Evaluation], documents: pl.Series) -> Iterator[Evaluation]:
    """The parts that have some of the documents, without all others."""
    known = pl.col("doc_id").is_in(documents.implode())
    for part in (part for evaluation in evaluations for part in evaluation.parts()):
        if part.documents["doc_id"].is_in(documents.implode()).any():
            yield part.changed({n: functools.partial(_rows, n, known) for n in part.TABLES})


def _rows(table: str, known: pl.Expr, part: Evaluation) -> pl.DataFrame:
    return part.scan(table).filter(known).collect()


def _gold(evaluations: Sequence[Evaluation]) -> pl.DataFrame | None:
    """The gold records of their documents, once each; None where no corpus was kept."""
    parts, seen = [], dict[tuple[str, str], set[str]]()
    for part in evaluations:
        # Evaluations of one corpus have the same gold.
        known = seen.setdefault((part.benchmark, part.split), set())
        if part.corpus and (new := set(part.documents["doc_id"]) - known):
            known |= new
            parts.append(part.corpus.records.filter(pl.col("doc_id").is_in(list(new))))
    return pl.concat(parts, how="diagonal_relaxed") if parts else None


def _check(table: pl.DataFrame, cases: pl.DataFrame, index: int) -> None:
    name = f"beside[{index - 1}]" if index else "cases"
    if missing := [column for column in tables.CASES if column not in table.columns]:
        raise TableBroken(f"{name}: missing columns: {', '.join(missing)}")
    same = table.height == cases.height
    if not same or any(cases[column].ne_missing(table[column]).any() for column in _SAME):
        raise TableBroken(
            f"{name} is not of the same {cases.height} cases",
            remedy="align both evaluations first, as analysis.flips does",
        )


def _together(parts: Sequence[Evaluation], name: str) -> pl.DataFrame:
    found = [getattr(part, name) for part in parts]
    return pl.concat([tables.table(name, []), *found], how="diagonal_relaxed")


def _sources(
    documents: pl.DataFrame, root: str | Path | None, evaluations: Sequence[Evaluation]
) -> Iterator[tuple[tuple[str, str, str], PageSource]]:
    """The page images of each document whose root is known."""
    roots = {
        (part.benchmark, part.split): part.root
        for part in reversed(evaluations)
        if part.root is not None
    }
    for row in documents.drop_nulls("image").iter_rows(named=True):
        folder = root or roots.get((row["benchmark"], row["split"]))
        if folder is not None:
            pages = tuple(page_images(row))
            yield document_key(row), PageSource(Path(folder), row["image"], row["width"], pages)


tables.door(globals(), __all__)
