"""Error cases to look at: the place on the page, gold beside prediction, what differs and why."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence
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
from formlab.gallery.crops import PageSource, pictures_of
from formlab.gallery.episodes import Episodes, episodes
from formlab.gallery.inline import Live

__all__ = ["Episodes", "Gallery", "episodes", "errors"]

_SAME = ("benchmark", "split", "doc_id", "task", "gold")
_LONGEST = 4_000  # Characters of a whole answer.


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
    `asked` all cases that were scored; `drawn` has ``[cause, shown, all]`` of each cause, `claims`
    the findings, and `replies` what was answered on whole documents, by the number in ``whole``.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    frame: pl.DataFrame
    total: int
    asked: int
    drawn: list[list[Any]]
    claims: list[str]
    replies: list[str] = dataclasses.field(default_factory=list)
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
        colours = {"outcome": theme.OUTCOME_COLOURS, "cause": theme.CAUSE_COLOURS}
        colours["system"] = theme.system_colours(systems)
        levels = self.frame["level"].unique()
        unit = levels[0] if len(levels) == 1 else "case"
        data = {name: value for name, value in super().payload.items() if name != "frame"}
        return data | {"unit": unit, "colours": colours}

    @property
    def selected(self) -> pl.DataFrame:
        """The rows of `frame` whose cases are shown in JupyterLab, in that order.

        All of them until something is chosen there, and where widgets do not run.

        >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
        ...     "system": "ocr", "task": "value", "outcome": "missing", "path": "/total"}])
        >>> errors(cases).selected["path"].to_list()
        ['/total']
        """
        chosen = self._heard.rows if self._heard else None
        return self.frame if chosen is None else self.frame[self._places(chosen)]

    @property
    def tagged(self) -> pl.DataFrame:
        """The rows of `frame` that were tagged in JupyterLab, with a column `tags`."""
        tags = dict(self._heard.tags) if self._heard else {}
        places = self._places(sorted(tags))
        lists = pl.Series("tags", [tags[place] for place in places], dtype=pl.List(pl.String))
        return self.frame[places].with_columns(lists)

    def _places(self, rows: Sequence[int]) -> list[int]:
        return [row for row in rows if 0 <= row < len(self)]


def errors(
    cases: pl.DataFrame | Evaluation,
    *,
    of: Evaluation | Sequence[Evaluation] = (),
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

    `cases` are a table of the schema ``cases``, which may have further columns: ``verdict``, what a
    review decided of the case, and ``label`` or ``question``, what it is called; or an evaluation,
    of which only the cases shown are read, however large it is. `of` are the evaluations that they
    are of, which have the pages, scores and labels: without one no page is shown. `beside` has
    tables of the same cases read by further systems: row i of each is row i of `cases`.

    The cases can be filtered by the columns `by`: of cases or documents, a user's own among them,
    or bands, as in `analysis.summarise`; and by `findings`, those of the page in its order: the
    cases behind the second are selected by ``finding=2``. With `right` cases that are right, or not
    scored, are shown as well.

    At most `most` cases are kept, all with None: of more a sample, each cause in proportion, of the
    cases of a cause those whose keys come first, whatever their order. At most `pictures` of them
    have their place on the page, which takes some 5 kB each: the first 24, and of those that follow
    one in every few. Without `crop` it is the whole page in place of the part around the boxes.

    `TableBroken` if a table lacks columns, or one of `beside` is of other cases; `UnknownName` if a
    column of `by` is in no table.

    >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
    ...     "system": "ocr", "task": "value", "outcome": "mismatch", "gold": "Co", "pred": "C0",
    ...     "path": "/unit_price"}])
    >>> shown = errors(cases)
    >>> shown.cases[0]["diff"], shown.cases[0]["label"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'unit price')
    """
    evaluations = [of] if isinstance(of, Evaluation) else list(of)
    shown = ~pl.col("outcome").is_in(["match", "unscored"]) | right
    if isinstance(cases, Evaluation):
        evaluations = list(dict.fromkeys([cases, *evaluations]))
        names = [*_cases.KEY, "outcome", "cause"]
        every = cases.gathered(lambda rows: rows.filter(shown).select(names), "cases")
        scored = cases.gathered(lambda rows: rows.select(_scored()), "cases")["asked"].sum()
        places, drawn = _cases.sample(every, most)
        total, answers = every.height, [cases_at(cases, places.to_list(), shown)]
    else:
        answers = [cases, *beside]
        for index, table in enumerate(answers):
            _check(table, cases, f"beside[{index - 1}]" if index else "cases")
        scored = cases.select(_scored()).item()
        wrong = functools.reduce(operator.or_, (t.select(shown).to_series() for t in answers))
        answers = [table.filter(wrong) for table in answers]
        places, drawn = _cases.sample(answers[0], most)
        total, answers = answers[0].height, [table[places] for table in answers]
    documents, scores, gold = _about(evaluations, answers[0]["doc_id"].unique())
    rows = list(zip(*(table.to_dicts() for table in answers), strict=True))
    sources = _sources(documents, evaluations)
    places = [sources.get(tuple(row[name] for name in _SAME[:3])) for row, *_ in rows]
    shots, images = pictures_of(rows, places, most=pictures, crop=crop)
    of_cases = _cases.scores_by_case(scores, answers)
    replies = _replies(evaluations, answers[0]["doc_id"].unique())
    numbers = {key: number for number, key in enumerate(replies)}
    columns = zip(
        rows,
        shots,
        _cases.keys(answers[0]),
        _cases.labels(answers[0], gold, documents),
        _cases.slices(answers[0], documents, by),
        _cases.findings_of(answers, findings),
        strict=True,
    )
    made = [
        _cases.words(row, of_cases, numbers)
        | {"key": key, "label": clean(label, limit=200), "slices": sliced, "finding": behind}
        | picture
        for row, picture, key, label, sliced, behind in columns
    ]
    claims = [clean(finding, limit=500) for finding in findings]
    return Gallery(made, images, answers[0], total, scored, drawn, claims, [*replies.values()])


def _scored() -> pl.Expr:
    return (pl.col("outcome") != "unscored").sum().alias("asked")


def _about(
    evaluations: Sequence[Evaluation], documents: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Rows of these documents: of the evaluations, their scores, and the gold of their corpora."""
    known = pl.col("doc_id").is_in(documents.implode())
    corpora = [evaluation.corpus for evaluation in evaluations if evaluation.corpus]
    found = []
    for name, folders in (
        ("documents", evaluations),
        ("scores", evaluations),
        ("records", corpora),
    ):
        parts = (part for folder in folders for part in folder.parts())
        frames = [part.scan(name).filter(known).collect() for part in parts]
        found.append(pl.concat([tables.table(name, []), *frames], how="diagonal_relaxed"))
    return tuple(found)


def _replies(evaluations: Sequence[Evaluation], documents: pl.Series) -> dict[Any, str]:
    """What each system answered on each of some documents, by both."""
    asked, known = tables.table("responses", []), pl.col("doc_id").is_in(documents.implode())
    for of in evaluations:
        for part in of.predictions.parts() if of.predictions else ():
            rows = part.scan("responses").filter(known).collect()
            # A run may be called otherwise than its rows say.
            asked = pl.concat([asked, rows.with_columns(system=pl.lit(of.system))])
    said = asked.drop_nulls("text").group_by(*_cases.WHOLE, maintain_order=True)
    texts = said.agg(pl.col("text").str.join("\n\n")).rows()
    return {tuple(key): clean(text, limit=_LONGEST) for *key, text in texts}


def _check(table: pl.DataFrame, cases: pl.DataFrame, name: str) -> None:
    if missing := [column for column in tables.CASES if column not in table.columns]:
        raise TableBroken(f"{name}: missing columns: {', '.join(missing)}")
    same = table.height == cases.height
    if not same or any(cases[column].ne_missing(table[column]).any() for column in _SAME):
        raise TableBroken(
            f"{name} is not of the same {cases.height} cases",
            remedy="align both evaluations first, as analysis.flips does",
        )


def _sources(
    documents: pl.DataFrame, evaluations: Sequence[Evaluation]
) -> dict[tuple[str, ...], PageSource]:
    """The page images of each document whose root is known."""
    # The root of the first evaluation of a corpus is its own.
    roots = {(of.benchmark, of.split): of.root for of in reversed(evaluations) if of.root}
    return {
        tuple(row[name] for name in _SAME[:3]): PageSource(
            root, row["image"], row["width"], tuple(page_images(row))
        )
        for row in documents.drop_nulls("image").iter_rows(named=True)
        if (root := roots.get((row["benchmark"], row["split"])))
    }


tables.door(globals(), __all__)
