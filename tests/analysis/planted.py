"""Simulated systems whose weaknesses are known: gold, answers with noise, and plants in them."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import polars as pl

import formlab
from formlab.folders import Corpus, Evaluation
from tests.real_data import SHARED

Key = tuple[str, str]
Values = dict[Key, str]
TEXTS = ("name", "street", "city", "employer", "remark", "product", "region")
CODES = ("customer", "order", "policy", "branch")
DATES, AMOUNTS = ("issued", "due", "paid"), ("net", "tax", "total")
SCANNERS, BATCHES, CLERKS = "ABC", ("1", "2", "3", "4"), ("ann", "ben", "cem", "dot", "eve")
_WORDS = (
    "amber birch cedar delta ember fjord grove heath inlet juniper knoll linden meadow "
    "north ochre pebble quarry river stone timber umber valley willow yarrow zephyr"
)
WORDS = _WORDS.split()


def forms(seed: int, count: int = 60) -> tuple[Values, dict[str, dict[str, str]]]:
    """Gold of invented forms, and of each form the columns scanner, batch and clerk."""
    draw = random.Random(f"forms {seed}")
    gold: Values = {}
    columns = {}
    for number in range(count):
        doc = f"f{number:04}"
        columns[doc] = {
            "scanner": draw.choice(SCANNERS),
            "batch": BATCHES[number * len(BATCHES) // count],
            "clerk": draw.choice(CLERKS),
        }
        form = {name: " ".join(draw.sample(WORDS, draw.randint(1, 4))) for name in TEXTS}
        form |= {name: _code(draw) for name in CODES} | {"member": draw.choice(["yes", "no"])}
        for name in DATES:
            day = datetime.date(2011, 1, 2) + datetime.timedelta(draw.randrange(3_600))
            form[name] = day.isoformat()
        form |= {name: f"{10 ** draw.uniform(1.5, 5):,.2f}" for name in AMOUNTS}
        for row in range(draw.randint(5, 8)):
            form[f"items/{row}/article"] = " ".join(draw.sample(WORDS, 2))
            form[f"items/{row}/amount"] = f"{10 ** draw.uniform(1, 3.5):,.2f}"
        gold |= {(doc, f"/{path}"): value for path, value in form.items()}
    return gold, columns


def _code(draw: random.Random) -> str:
    letters = "".join(draw.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(3))
    return f"{letters}{draw.randrange(10_000, 100_000)}"


def misread(value: str, draw: random.Random) -> str:
    """The value with one of its characters read as another."""
    places = [n for n, sign in enumerate(value) if sign.isalnum()]
    if not places:
        return value
    at = draw.choice(places)
    signs = "0123456789" if value[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return value[:at] + draw.choice([sign for sign in signs if sign != value[at]]) + value[at + 1 :]


def noisy(gold: Mapping[Key, str], noise: float, seed: int) -> Values:
    """Answers in which each value is misread with the same chance."""
    draw = random.Random(f"noise {seed}")
    return {key: misread(v, draw) if draw.random() < noise else v for key, v in gold.items()}


def scored(
    gold: Mapping[Key, str], answers: Mapping[Key, str],
    columns: Mapping[str, Mapping[str, str]] | None = None, name: str = "system",
) -> Evaluation:  # fmt: skip
    """The answers to invented forms scored."""
    rows = [
        {"doc_id": doc, "path": path, "value": value} | dict((columns or {}).get(doc, {}))
        for (doc, path), value in gold.items()
    ]
    given = [{"doc_id": d, "path": path, "value": v} for (d, path), v in answers.items()]
    return formlab.evaluate(rows, given, name=name)


def one_field_on_one_scanner(gold: Values, answers: Values, columns: Mapping, seed: int) -> None:
    """A1: one field is misread in 40 % of the forms of scanner B."""
    draw = random.Random(f"A1 {seed}")
    keys = [key for key in gold if key[1] == "/order" and columns[key[0]]["scanner"] == "B"]
    for key in draw.sample(keys, round(0.4 * len(keys))):
        answers[key] = misread(gold[key], draw)


def late_dates(gold: Values, answers: Values, columns: Mapping, seed: int) -> None:
    """A2: dates after 2015 are a day early."""
    for key, value in gold.items():
        if key[1][1:] in DATES and value >= "2016":
            day = datetime.date.fromisoformat(value) - datetime.timedelta(1)
            answers[key] = day.isoformat()


def large_amounts(gold: Values, answers: Values, columns: Mapping, seed: int) -> None:
    """A3: amounts of 10,000 and more lose their separators."""
    for key, value in gold.items():
        if key[1][1:] in AMOUNTS and float(value.replace(",", "")) >= 10_000:
            answers[key] = value.replace(",", "").replace(".", "")


def next_document(gold: Values, answers: Values, columns: Mapping, seed: int) -> None:
    """A4: one form in twenty is answered with the values of the next."""
    docs = list(columns)
    draw = random.Random(f"A4 {seed}")
    for at in draw.sample(range(len(docs) - 1), max(1, len(docs) // 20)):
        for doc, path in [key for key in gold if key[0] == docs[at]]:
            answers[doc, path] = gold.get((docs[at + 1], path), answers[doc, path])


def next_row(gold: Values, answers: Values, columns: Mapping, seed: int) -> None:
    """A5: amounts of items are those of the next row from the fourth on."""
    for doc, path in gold:
        _head, *index = path.split("/items/")
        if index and path.endswith("/amount") and (row := int(index[0].split("/")[0])) >= 3:
            other = (doc, f"/items/{row + 1}/amount")
            other = other if other in gold else (doc, f"/items/{row - 1}/amount")
            answers[doc, path] = gold[other]


OWN: dict[str, Callable[[Values, Values, Mapping, int], None]] = {
    "A1": one_field_on_one_scanner, "A2": late_dates, "A3": large_amounts,
    "A4": next_document, "A5": next_row,
}  # fmt: skip


def planted(*plants: str, seed: int, noise: float = 0.02, count: int = 60) -> Evaluation:
    """Invented forms read by a system with some plants."""
    gold, columns = forms(seed, count)
    answers = noisy(gold, noise, seed)
    for plant in plants:
        OWN[plant](gold, answers, columns, seed)
    return scored(gold, answers, columns)


@cache
def both_ways(seed: int, count: int = 60) -> tuple[Evaluation, Evaluation]:
    """Invented forms of which every value is right, and of which every one is misread."""
    gold, columns = forms(seed, count)
    draw = random.Random(f"all {seed}")
    wrong = {key: misread(value, draw) for key, value in gold.items()}
    return scored(gold, gold, columns), scored(gold, wrong, columns)


def drawn(
    right: Evaluation, wrong: Evaluation, noise: np.ndarray | float, seed: int, name: str = ""
) -> Evaluation:
    """A look at nothing: each value is misread with the chance `noise`, without scoring again."""
    count = right.cases.height
    is_wrong = pl.Series(np.random.default_rng(seed).random(count) < noise)
    key = ["doc_id", "path"]
    rows = [
        each.cases.sort(key).filter(chosen)
        for each, chosen in ((right, ~is_wrong), (wrong, is_wrong))
    ]
    cases = pl.concat(rows, how="diagonal").sort(key)
    cases = cases.with_columns(system=pl.lit(name or right.system))
    return right.changed(cases=cases, system=name or right.system)


@cache
def funsd() -> Corpus:
    """The test forms of FUNSD."""
    return formlab.load("funsd", root=SHARED / "data" / "funsd", split="test")


def funsd_values() -> pl.DataFrame:
    """Their values: document, path, kind, value and box, and how high each page is."""
    rows = funsd().records.filter(pl.col("task") == "text", pl.col("path").is_not_null())
    heights = funsd().documents.select("doc_id", "height")
    names = ("doc_id", "task", "path", "kind", "value", "page", "x0", "y0", "x1", "y1")
    return rows.select(names).join(heights, on="doc_id", maintain_order="left")


FUNSD: dict[str, tuple[pl.Expr, Callable[[str, random.Random], str] | None]] = {
    "B1": ((pl.col("y0") + pl.col("y1")) / 2 > pl.col("height") * 2 / 3, None),
    "B2": (pl.col("value").str.len_chars() > 25, lambda value, draw: value[:25]),
    "B3": (
        (pl.col("kind") == "header") & (pl.col("value") == pl.col("value").str.to_uppercase()),
        misread,
    ),
}  # fmt: skip


def planted_in_funsd(plant: str, *, seed: int, noise: float = 0.02) -> Evaluation:
    """FUNSD's test forms read with noise, and in some fields missing, cut or misread."""
    where, change = FUNSD[plant]
    draw = random.Random(f"{plant} {seed}")
    answers = []
    for row in funsd_values().with_columns(where=where).to_dicts():
        is_planted = row.pop("where")
        row.pop("height")
        if draw.random() < noise:
            row["value"] = misread(row["value"], draw)
        if is_planted and change is not None:
            row["value"] = change(row["value"], draw)
        if not is_planted or change is not None:
            answers.append(row)
    return formlab.evaluate(funsd(), answers, name="system")


@cache
def funsd_both_ways() -> tuple[Evaluation, Evaluation]:
    """FUNSD's test forms, every value right and every value misread."""
    draw = random.Random("funsd")
    right = funsd_values().drop("height").to_dicts()
    wrong = [row | {"value": misread(row["value"], draw)} for row in right]
    return formlab.evaluate(funsd(), right, name="system"), formlab.evaluate(funsd(), wrong)


def numbers_worse(seed: int, *, shared: bool = False, noise: float = 0.05) -> list[Evaluation]:
    """C: two systems of which the second misreads 6 % more of the numbers, all else alike."""
    gold, columns = forms(seed)
    draw = random.Random(f"C {seed}")
    first = noisy(gold, noise, seed)
    second = dict(first) if shared else noisy(gold, noise, seed + 1_000_000)
    numbers = [key for key in gold if key[1].split("/")[-1] in (*AMOUNTS, "amount")]
    for key in draw.sample(numbers, round(0.06 * len(numbers))):
        second[key] = misread(gold[key], draw)
    return [scored(gold, each, columns, name) for each, name in ((first, "one"), (second, "two"))]
