"""Relations between the fields of a page, with all that is needed to change a value."""

import datetime
import random
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.benchmarks import formcraft
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab.text.values import date_readings

ITEMS = ("consistency", "vqa")
# How dates are written; the first that gives a date back is how it stands on the page.
_DATES = tuple(
    f"{weekday}{pattern}"
    for weekday in ("", "%a ")
    for pattern in (
        "%Y-%m-%d", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%y", "%d-%m-%y",
        "%d.%m.%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y",
        "%d-%b-%y", "%d %b %y", "%Y/%m/%d",
    )
)  # fmt: skip
_AMOUNT = re.compile(r"(?P<before>\D*?)(?P<number>-?\d[\d,]*(?:\.\d+)?)(?P<after>\D*)")


@dataclass(frozen=True)
class Relation:
    """A value of a page that follows from others there.

    `item` is the path of the check or question that states it, `sources` the paths by their names
    in the `formula`, `dependent` the path of what follows (None for a question, whose answer stands
    nowhere on the page) and `expected` what it has to be. Without a formula it is the sum of a
    `column` of the source, which is a table, or the same as the source. `relation` is one of
    ``sum``, ``product``, ``date``, ``duration``, ``column`` and ``copy``; ``alone`` is a value that
    follows from nothing.
    """

    page_of: str
    item: str
    relation: str
    kind: str | None
    sources: dict[str, str]
    dependent: str | None
    expected: str
    formula: str | None = None
    column: str | None = None

    @property
    def paths(self) -> list[str]:
        """The fields of the relation, the dependent one last."""
        return [*dict.fromkeys(self.sources.values()), *filter(None, [self.dependent])]

    def implied(self, values: Mapping[str, str]) -> str:
        """What the dependent value has to be, by the values at the paths of the sources.

        Raises
        ------
        DataBroken
            If a source is no number, amount or date where the relation needs one.
        """
        sources = {name: values[path] for name, path in self.sources.items()}
        if self.column:
            (table,) = sources.values()
            return written_like(sum(cells_of(table, self.column)), self.expected)
        if self.formula is None:
            return next(iter(sources.values()))
        amounts = {name: amount_of(value) for name, value in sources.items()}
        try:
            return written_like(formcraft.value_of(self.formula, amounts), self.expected)
        except formcraft.NoFormulaError as error:
            raise DataBroken(str(error), where=f"{self.page_of}{self.item}") from error


def relations_of(corpus: Corpus, *, alone: Collection[str] = ()) -> list[Relation]:
    """The relations of a corpus of FORMCRAFT whose values can be computed, page by page.

    Parameters
    ----------
    corpus
        Forms with questions and checks, among them FUNSD and SROIE read as forms.
    alone
        Kinds of fields (``date``, ``money``, ``number``) that are taken without a relation, where
        they are in none.

    Returns
    -------
    list of Relation
        Those whose formula gives the expected value again; others cannot be changed.

    Examples
    --------
    >>> import formlab
    >>> first = relations_of(formlab.load("formcraft"))[0]
    >>> first.page_of, first.relation, first.dependent, first.expected
    ('blood_report', 'date', '/Decision/Next visit', '2023-05-07')
    """
    every = []
    for (page_of,), records in corpus.records.group_by("doc_id", maintain_order=True):
        rows = records.to_dicts()
        values = {
            row["path"]: row["value"] or ""
            for row in rows
            if row["task"] not in ITEMS and row["kind"] != "group"
        }
        of_page = [*_of_items(page_of, rows, values)]
        # A receipt asks the same as a question and as a check.
        stated = {tuple(each.paths) for each in of_page if each.dependent}
        questions = [e for e in of_page if not e.dependent and not _is_stated(e, stated)]
        every += [*(e for e in of_page if e.dependent), *questions]
        bound = {path for each in of_page for path in each.paths}
        for number, row in enumerate(rows):
            path, value = row["path"], row["value"] or ""
            is_field = row["task"] not in ITEMS and row["kind"] in alone
            if is_field and path not in bound and re.search(r"\d", value):
                every.append(
                    Relation(page_of, f"/alone/{number}", "alone", row["kind"], {}, path, value)
                )
    return every


def _is_stated(question: Relation, stated: Collection[tuple[str, ...]]) -> bool:
    sources = set(question.sources.values())
    return any(sources == set(paths[:-1]) for paths in stated)


def _of_items(
    page_of: str, rows: list[dict[str, Any]], values: dict[str, str]
) -> Iterator[Relation]:
    for row in rows:
        meta, expected = formcraft.item_meta(row), row["value"] or ""
        derived = meta.derivation or {}
        sources = dict(derived.get("fields") or {})
        if row["task"] not in ITEMS or (row["task"] == "vqa" and not sources):
            continue
        if not sources and meta.source:
            sources = {"source": meta.source}
        formula, column = derived.get("formula"), derived.get("column")
        if not sources or not {*sources.values(), *filter(None, [meta.dependent])} <= values.keys():
            continue
        relation = Relation(
            page_of, row["path"], _named(formula, column, sources, values, expected), row["kind"],
            sources, meta.dependent, expected, formula, column,
        )  # fmt: skip
        try:
            # A tick that follows from a word is no relation that can be computed.
            holds = same(relation.implied(values), expected, relation.kind)
        except DataBroken:
            holds = False
        if holds and re.search(r"\d", expected):
            yield relation


def _named(
    formula: str | None, column: str | None, sources: Mapping[str, str], values: Mapping[str, str],
    expected: str,
) -> str:  # fmt: skip
    if column:
        return "column"
    if formula is None or formula.isidentifier():
        return "copy"
    if is_date(expected):
        return "date"
    if any(is_date(values[path]) for path in sources.values()):
        return "duration"
    return "product" if re.search(r"[*/]", formula) else "sum"


def same(value: str, other: str, kind: str | None) -> bool:
    """Whether two values are the same by formlab's rule for their kind."""
    return text.ladder(value, other, kind=kind, order="day").typed


def is_date(value: str) -> bool:
    """Whether a text is a date and no plain number."""
    return formcraft.number_in(value) is None and text.date(value) is not None


def amount_of(value: str) -> Fraction:
    """A number, an amount of money, or a date as its day since the year 1."""
    amount = formcraft.number_in(value)
    if amount is not None:
        return amount
    day = date_readings(value)[1] or date_readings(value)[0]
    if day is None:
        raise DataBroken(f"{value!r} is no number, amount or date")
    return Fraction(day.toordinal())


def cells_of(table: str, column: str) -> list[Fraction]:
    """The numbers in a column of a table as FORMCRAFT writes it."""
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in table.split("\n"))
    if column not in head:
        raise DataBroken(f"the table has no column {column!r}")
    place = head.index(column)
    return [amount_of(row[place]) for row in rows if place < len(row) and row[place]]


def written_like(amount: Fraction | int, example: str) -> str:
    """An amount, or a day, written as `example` is.

    Examples
    --------
    >>> written_like(Fraction(17920), "$17,290.00"), written_like(Fraction(738000), "May 1, 2019")
    ('$17,920.00', 'Jul 29, 2021')
    """
    if is_date(example):
        try:
            day = datetime.date.fromordinal(int(amount))
        except (ValueError, OverflowError) as error:
            raise DataBroken(f"no day: {amount}") from error
        return _day_like(day, example)
    match = _AMOUNT.fullmatch(example)
    if match is None:
        raise DataBroken(f"{example!r} is not written as a number")
    number = match["number"]
    decimals = len(number.partition(".")[2])
    # As people round: half a cent up.
    rounded = Fraction(int(abs(amount) * 10**decimals * 2 + 1) // 2, 10**decimals)
    sign = "-" if amount < 0 else ""
    separator = "," if "," in number else ""
    return f"{match['before']}{sign}{float(rounded):{separator}.{decimals}f}{match['after']}"


def _day_like(day: datetime.date, example: str) -> str:
    shown = date_readings(example)[1] or date_readings(example)[0]
    for pattern in _DATES:
        # Noughts before a figure: all written, the first left out, all left out.
        for left_out in (None, 1, 0):
            if _shown(shown, pattern, left_out).casefold() == example.strip().casefold():
                written = _shown(day, pattern, left_out)
                return written.upper() if example.isupper() else written
    raise DataBroken(f"{example!r} is a date in no known notation")


def _shown(day: datetime.date, pattern: str, left_out: int | None) -> str:
    written = day.strftime(pattern)
    return written if left_out is None else re.sub(r"\b0(\d)\b", r"\1", written, count=left_out)


def another(value: str, generator: random.Random) -> str:
    """Another value that is written as `value` is: a date near it, or other digits.

    Cents that are nought stay so, and a number keeps its length.

    Examples
    --------
    >>> another("No. 4711", random.Random(1))
    'No. 2711'
    """
    if is_date(value):
        shift = generator.choice([-1, 1]) * generator.randint(5, 200)
        return written_like(amount_of(value) + shift, value)
    # Figures before a decimal point alone, where there are enough.
    whole = re.split(r"\.\d+\D*$", value)[0]
    places = [place for place, letter in enumerate(whole) if letter.isdigit()]
    if not places:
        raise DataBroken(f"{value!r} has no figure to change")
    letters = list(value)
    for place in generator.sample(places, generator.randint(1, len(places))):
        # The first figure of a number is no nought.
        lowest = 0 if place and letters[place - 1].isdigit() else 1
        letters[place] = str(generator.randint(lowest, 9))
    return "".join(letters)


def apart(value: str, others: Collection[str]) -> bool:
    """Whether a value differs from each other one in two characters, if it has more than two.

    A reader that takes one character for another then cannot turn one value into the other.
    """
    least = 2 if len(value) > 2 else 1
    return all(Levenshtein.distance(value, other) >= least for other in others)
