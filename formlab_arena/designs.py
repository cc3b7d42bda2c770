"""Web forms made to a plan, in which no factor goes along with another one.

Plans and effects are those of `formlab_experiments`, the forms and their texts the arena's.
"""

import dataclasses
import datetime
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.scoring.evaluate import evaluate
from formlab_arena import instances
from formlab_arena.evaluation import read_run
from formlab_arena.spec import WIDGETS, FormField, FormPage, WebForm
from formlab_arena.texts import TaskSet
from formlab_experiments.designs import EXPERIMENT, PLAN, begin, crossed
from formlab_experiments.form_contents import Cell, dealt

# What can vary, its levels where none are named, and its level where it does not vary.
FACTORS: dict[str, tuple[Any, ...]] = {
    "fields": (5, 10, 20), "kinds": (1, 2, 4, 8), "pages": (1, 2), "widgets": WIDGETS,
}  # fmt: skip
USUAL = {"fields": 10, "kinds": 4, "pages": 1, "widgets": WIDGETS[0]}
MOST = 40
_NOTES = (
    "It came with a broken seal.", "Nobody was at the gate.", "Two crates were wet.",
    "The scale was checked in May.", "Ring the bell at the yard.", "All papers were in order.",
)  # fmt: skip
_DAYS = {"between": (datetime.date(2024, 1, 1), datetime.date(2027, 12, 31))}
# Kinds of controls: what they ask for, and what an answer is made from.
_ASKED: dict[str, dict[str, dict[str, Any]]] = {
    "string": {
        "Name": {"any": ("Ada Marsh", "Ivo Brandt", "Lena Okoro", "Rufus Abara", "Tove Lind")},
        "Town": {"any": ("Ashmouth", "Saltby Quay", "Pellworth", "Ostwick", "Harrow End")},
        "Reference": {"like": "@@-####"}, "Account": {"like": "@## ### ###"},
        "Street": {"any": ("12 Mill Lane", "7 Quay Street", "31 Cedar Avenue", "4 Hill Terrace")},
    },
    "description": {
        name: {"any": _NOTES} for name in ("Remarks", "History", "Wishes", "Complaint", "Report")
    },
    "number": {
        "Age": {"range": (18, 90)}, "Crates": {"range": (2, 400)}, "Rooms": {"range": (1, 60)},
        "Weight": {"range": (100, 9000)}, "Deposit": {"range": (50, 5000)},
    },
    "date": dict.fromkeys(("Arrival", "Departure", "Signature", "Payment", "Visit"), _DAYS),
    "dropdown": {
        "Country": {"options": ("Austria", "Denmark", "Ghana", "Japan", "Mexico", "Norway")},
        "Colour": {"options": ("Blue", "Green", "Orange", "Purple", "White")},
        "Trade": {"options": ("Foods", "Logistics", "Optics", "Textiles", "Tools")},
        "Language": {"options": ("Arabic", "Danish", "French", "Polish", "Swahili")},
        "Month": {"options": ("January", "March", "June", "August", "October", "December")},
    },
    "radio": {
        "Transport": {"options": ("Road", "Rail", "Ship")},
        "Shift": {"options": ("Early", "Late", "Night")},
        "Condition": {"options": ("New", "Used", "Damaged")},
        "Contact": {"options": ("Letter", "Telephone", "Courier")},
        "Size": {"options": ("Small", "Medium", "Large")},
    },
    "checkbox": {
        name: {} for name in ("Insurance", "Newsletter", "Discount", "Escort", "Parking")
    },
    "multiple": {
        "Papers": {"options": ("Passport", "Permit", "Licence", "Invoice")},
        "Meals": {"options": ("Breakfast", "Lunch", "Supper", "Tea")},
        "Tools": {"options": ("Hammer", "Ladder", "Saw", "Torch")},
        "Goods": {"options": ("Copper", "Glass", "Timber", "Wool")},
        "Cleaning": {"options": ("Attic", "Cellar", "Kitchen", "Office")},
    },
}  # fmt: skip
KINDS = tuple(_ASKED)
_OF = ("sender", "buyer", "carrier", "witness", "agent", "owner", "tenant", "guest")


def web_plan(
    factors: Mapping[str, Sequence[Any]], *, replicates: int = 1, runs: int | None = None,
    seed: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """The web forms to make: all combinations of the factors' levels, or a balanced fraction.

    Parameters
    ----------
    factors
        The levels of each factor that varies: `fields` (1 to 40), `kinds` (of how many kinds of
        controls they are, 1 to 8: see `KINDS`), `pages` (over which they are spread) and `widgets`
        (``native`` or ``custom``). No level of a factor: those of `FACTORS`.
    replicates, runs, seed
        As for `formlab_experiments.design_plan`.

    Returns
    -------
    polars.DataFrame
        A row for each form, as from `formlab_experiments.design_plan`; `doc_id` is the form's code.

    Raises
    ------
    UnknownName, DataBroken
        If a factor or library is unknown, or a level makes no form.

    Examples
    --------
    >>> web_plan({"fields": [5], "widgets": []})["doc_id"].to_list()
    ['f5wnativer1', 'f5wcustomr1']
    """
    levels = {name: _levels(name, values) for name, values in factors.items()}
    table = crossed(
        levels, USUAL, len(KINDS), replicates=replicates, runs=runs, seed=seed, between=""
    )
    for row in table.iter_rows(named=True):
        fields = row["fields"]
        for name, most in (("fields", MOST), ("kinds", min(len(KINDS), fields)), ("pages", fields)):
            if not 1 <= row[name] <= most:
                what = f"no form has {name}={row[name]} with {fields} fields"
                raise DataBroken(what, where=name, remedy=f"from 1 to {most}")
    return table


def _levels(name: str, values: Sequence[Any]) -> list[Any]:
    if name not in FACTORS:
        raise UnknownName.of("factor", name, FACTORS)
    if name == "widgets":
        if unknown := [value for value in values if value not in WIDGETS]:
            raise UnknownName.of("library of widgets", unknown[0], WIDGETS)
        return list(values or WIDGETS)
    try:
        return [int(value) for value in values or FACTORS[name]]
    except ValueError as error:
        remedy = f"whole numbers with commas between, as in {name}=5,10"
        raise DataBroken(f"no levels: {values}", where=name, remedy=remedy) from error


def web_form(row: Mapping[str, Any], seed: int) -> WebForm:
    """The form of a row of a plan; each label is on it once.

    Examples
    --------
    >>> form = web_form(web_plan({"fields": [6], "pages": [2]}).row(0, named=True), 0)
    >>> [len(page.fields) for page in form.pages], len({field.type for field in form.fields})
    ([3, 3], 4)
    """
    stream = random.Random(f"{seed}/{row['doc_id']}")
    count, pages = row["fields"], row["pages"]
    kinds = dealt(KINDS, Cell(fields=count, kinds=row["kinds"]), row["first"], stream)
    labels = {}
    for kind, asked in _ASKED.items():
        pairs = list(product(asked, _OF))
        labels[kind] = iter(stream.sample(pairs, len(pairs)))
    fields = []
    for number, kind in enumerate(kinds):
        thing, of = next(labels[kind])
        # A tick may stay empty; all else has a value.
        label, required = f"{thing} of the {of}", kind != "checkbox"
        made = FormField(f"q{number}", kind, label, required, **_ASKED[kind][thing])
        fields.append(made)
    edges = [round(count * page / pages) for page in range(pages + 1)]
    style = {"layout": "stacked", "font": "sans", "colour": "#204a9e", "widgets": row["widgets"]}
    title = f"Form {stream.randint(1000, 9999)}"
    screens = tuple(FormPage("", tuple(fields[start:end])) for start, end in pairwise(edges))
    return WebForm(row["doc_id"], title, "designed", style, screens)


def web_tasks(
    factors: Mapping[str, Sequence[Any]], *, out: Path, replicates: int = 1,
    runs: int | None = None, seed: int = 0,
) -> TaskSet:  # fmt: skip
    """Write the experiment's plan and forms below `out`; their tasks, in texts that quote.

    `DataBroken` if `out` has another experiment.
    """
    table = web_plan(factors, replicates=replicates, runs=runs, seed=seed)
    head = {
        "kind": "web design", "factors": {n: _levels(n, v) for n, v in factors.items()},
        "replicates": replicates, "runs": runs, "seed": seed,
    }  # fmt: skip
    begin(out, head, table)
    forms = {row["doc_id"]: web_form(row, seed) for row in table.to_dicts()}
    made = tuple(instances.make(form, 1, seed=seed) for form in forms.values())
    tasks = TaskSet(made, forms, files.sha256(out / PLAN)[:16])
    tasks.write_forms(out)
    return tasks


def web_evaluation(out: Path, run: Path) -> Evaluation:
    """The evaluation of a run on the forms of `out`, with the factors as columns of documents.

    A field's `content` is its kind of control, `page_of` the form.
    """
    corpus, predictions = read_run(run)
    table = pl.read_csv(out / PLAN, glob=False).select(pl.col("doc_id").alias("template"), *FACTORS)
    documents = corpus.documents.join(table, on="template", how="left", maintain_order="left")
    corpus = dataclasses.replace(
        corpus, documents=documents.with_columns(page_of="template"),
        records=corpus.records.with_columns(content="kind"),
    )  # fmt: skip
    return evaluate(corpus, predictions)


def varied(out: Path) -> dict[str, list[Any]]:
    """The factors that vary in the experiment of `out`, with their levels in order."""
    levels = files.read_json(out / EXPERIMENT)["factors"]
    return {name: values for name, values in levels.items() if len(values) > 1}
