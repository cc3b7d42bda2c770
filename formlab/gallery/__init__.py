"""Error cases to look at: the place on the page, gold beside prediction, what differs and why."""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from formlab import tables
from formlab.analysis.finding import Finding
from formlab.benchmarks.corpus import page_images
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.errors import TableBroken
from formlab.folders import Evaluation
from formlab.gallery import cases as _cases
from formlab.gallery.crops import DOCUMENT, MOST, READ, Crops, PageSource
from formlab.gallery.episodes import Episodes, episodes
from formlab.gallery.inline import Live

__all__ = ["Episodes", "Gallery", "episodes", "errors"]

_SAME = [*DOCUMENT, "task", "gold"]


@dataclasses.dataclass(frozen=True, eq=False)
class Gallery(Live):
    """Cases with their pictures; shows itself in JupyterLab and in reports.

    `cases` are plain mappings: what `cards` says of each case, and its picture, whose ``image`` is
    a key of `images`, ``{src, width, height}`` with a data URI. `frame` has the row of each case.
    `total` counts the errors, or cases, before any sample, and `asked` all cases that were scored;
    `claims` are the findings, `replies` the answers on whole documents, by the number in ``whole``,
    and `colours` those of outcomes, causes and systems.
    """

    cases: list[dict[str, Any]]
    images: dict[str, dict[str, Any]]
    frame: pl.DataFrame
    total: int
    asked: int
    claims: list[str]
    replies: list[str]
    colours: dict[str, Mapping[str, str]]
    kind = "gallery"

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"Gallery of {len(self.cases):,} of {self.total:,} cases"

    @property
    def selected(self) -> pl.DataFrame:
        """The rows of `frame` whose cases are shown in JupyterLab, in that order, or else all.

        >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
        ...     "system": "ocr", "task": "value", "outcome": "missing", "path": "/total"}])
        >>> errors(cases).selected["path"].to_list()
        ['/total']
        """
        rows, there = self._listener.rows, range(len(self))
        return self.frame if rows is None else self.frame[[row for row in rows if row in there]]

    @property
    def tagged(self) -> pl.DataFrame:
        """The rows of `frame` that were tagged in JupyterLab, with a column `tags`."""
        tags = {row: tags for row, tags in sorted(self._listener.tags) if row in range(len(self))}
        lists = pl.Series("tags", [*tags.values()], dtype=pl.List(pl.String))
        return self.frame[list(tags)].with_columns(lists)


def errors(
    cases: pl.DataFrame | Evaluation,
    *,
    of: Sequence[Evaluation] = (),
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
    not ``unscored``; with `right` all other cases are shown as well. Each is titled by its label or
    question, where that is known, and shows the part of its page around the boxes, or without
    boxes, or without `crop`, the whole page.

    `cases` are a table of the schema ``cases``, which may have further columns: ``verdict``, what a
    review decided of the case, and ``label`` or ``question``, what it is called; or an evaluation,
    whose cases they are. `of` are the evaluations that they are of, which have the pages, labels
    and whole answers: without one no page is shown. `beside` has tables of the same cases read by
    further systems: row i of each is row i of `cases`.

    The cases can be filtered by the columns `by`: of cases or documents, a user's own among them,
    or bands, as in `analysis.summarise`; and by `findings`, those of the page in its order: the
    cases behind the second are selected by ``finding=2``.

    At most `most` cases are kept, all with None: of more a sample, each cause in proportion, of the
    cases of a cause those whose keys come first, whatever their order. The first `pictures` of them
    have their place on the page, which takes some 5 kB each.

    `TableBroken` if one of `beside` is of other cases; `UnknownName` if a table lacks a column of
    the schema, or a column of `by` is in no table.

    >>> cases = tables.table("cases", [{"benchmark": "b", "split": "s", "doc_id": "1",
    ...     "system": "ocr", "task": "value", "outcome": "mismatch", "gold": "Co", "pred": "C0",
    ...     "path": "/unit_price"}])
    >>> shown = errors(cases)
    >>> shown.cases[0]["diff"], shown.cases[0]["label"]
    ([('equal', 'C'), ('delete', 'o'), ('insert', '0')], 'unit price')
    """
    if isinstance(cases, Evaluation):
        of, cases = [cases, *of], cases.cases
    answers = [cases, *beside]
    for number, table in enumerate(answers):
        if not table.select(*tables.CASES)[_SAME].equals(cases[_SAME]):
            what = f"beside[{number - 1}] is not of the same {cases.height} cases"
            raise TableBroken(what, remedy="align both evaluations first, as analysis.flips does")
    is_wrong = ~pl.col("outcome").is_in(["match", "unscored"]) | right
    wrong = functools.reduce(operator.or_, (t.select(is_wrong).to_series() for t in answers))
    answers = [table.filter(wrong) for table in answers]
    places, total = _cases.sample(answers[0], most), answers[0].height
    answers = [table[places] for table in answers]
    documents, gold, responses = _about(of, answers[0]["doc_id"].unique())
    cards, replies = _cases.cards(answers, documents, gold, responses, by, findings)
    crops = Crops(MOST) if crop else Crops(READ, whole=True)
    rows = [*zip(*(table.iter_rows(named=True) for table in answers), strict=True)]
    shown = crops.of_cases(rows, _sources(documents, of), pictures)
    cards = [card | picture for card, picture in zip(cards, shown, strict=True)]
    asked = cases.filter(pl.col("outcome") != "unscored").height
    claims = [clean(finding, limit=500) for finding in findings]
    answered = (answer for card in cards for answer in (card, *card.get("beside", ())))
    systems = theme.system_colours(sorted({answer["system"] for answer in answered}))
    colours = {"outcome": theme.OUTCOME_COLOURS, "cause": theme.COLOURS["cause"], "system": systems}
    return Gallery(cards, crops.images, answers[0], total, asked, claims, replies, colours)


def _about(of: Sequence[Evaluation], names: pl.Series) -> list[pl.DataFrame]:
    """Rows of some documents: of evaluations, of their gold, and of what was answered on them."""
    rows = {name: [tables.table(name, [])] for name in ("documents", "records", "responses")}
    known = pl.col("doc_id").is_in(names.implode())
    for one in of:
        for name, folder in zip(rows, (one, one.corpus, one.predictions), strict=True):
            for part in folder.parts() if folder else ():
                found = part.scan(name).filter(known).collect()
                # A run may be called otherwise than its rows say.
                rows[name].append(found.with_columns(system=pl.lit(one.system)))
    return [pl.concat(frames, how="diagonal_relaxed") for frames in rows.values()]


def _sources(documents: pl.DataFrame, of: Sequence[Evaluation]) -> dict[Any, PageSource]:
    """The page images of each document whose root is known."""
    # The root of the first evaluation of a corpus is its own.
    roots = {(one.benchmark, one.split): one.root for one in reversed(of) if one.root}
    sources = {}
    for row in documents.drop_nulls("image").iter_rows(named=True):
        if root := roots.get((row["benchmark"], row["split"])):
            source = PageSource(root, tuple(page_images(row)), row["width"])
            sources[tuple(row[name] for name in DOCUMENT)] = source
    return sources


tables.door(globals(), __all__)
