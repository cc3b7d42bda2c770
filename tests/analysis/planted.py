"""Simulated systems whose weaknesses are known: gold, answers with noise, and plants in them."""

import datetime
import random
from functools import cache

import numpy as np
import polars as pl

import formlab
from tests.real_data import SHARED

TEXTS = ("name", "street", "city", "employer", "remark", "product", "region")
CODES = ("customer", "order", "policy", "branch")
DATES, AMOUNTS = ("issued", "due", "paid"), ("net", "tax", "total")
WORD_LIST = (
    "amber birch cedar delta ember fjord grove heath inlet juniper knoll linden meadow "
    "north ochre pebble quarry river stone timber umber valley willow yarrow zephyr"
)
WORDS = WORD_LIST.split()


def forms(seed, count=60):
    """Gold of invented forms, and of each form the columns scanner, batch and clerk."""
    draw = random.Random(f"forms {seed}")
    gold, columns = {}, {}
    for number in range(count):
        doc = f"f{number:04}"
        columns[doc] = {"scanner": draw.choice("ABC"), "batch": "1234"[number * 4 // count]}
        columns[doc]["clerk"] = draw.choice(("ann", "ben", "cem", "dot", "eve"))
        form = {name: " ".join(draw.sample(WORDS, draw.randint(1, 4))) for name in TEXTS}
        form |= {name: code(draw) for name in CODES} | {"member": draw.choice(["yes", "no"])}
        for name in DATES:
            day = datetime.date(2011, 1, 2) + datetime.timedelta(draw.randrange(3_600))
            form[name] = day.isoformat()
        form |= {name: f"{10 ** draw.uniform(1.5, 5):,.2f}" for name in AMOUNTS}
        for row in range(draw.randint(5, 8)):
            form[f"items/{row}/article"] = " ".join(draw.sample(WORDS, 2))
            form[f"items/{row}/amount"] = f"{10 ** draw.uniform(1, 3.5):,.2f}"
        gold |= {(doc, f"/{path}"): value for path, value in form.items()}
    return gold, columns


def code(draw):
    letters = "".join(draw.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(3))
    return f"{letters}{draw.randrange(10_000, 100_000)}"


def misread(value, draw):
    """The value with one of its characters read as another."""
    places = [n for n, sign in enumerate(value) if sign.isalnum()]
    if not places:
        return value
    at = draw.choice(places)
    signs = "0123456789" if value[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return value[:at] + draw.choice([sign for sign in signs if sign != value[at]]) + value[at + 1 :]


def noisy(gold, noise, seed):
    """Answers in which each value is misread with the same chance."""
    draw = random.Random(f"noise {seed}")
    return {key: misread(v, draw) if draw.random() < noise else v for key, v in gold.items()}


def scored(gold, answers, columns=None, name="system"):
    """The answers to invented forms scored."""
    given, rows = (
        [{"doc_id": doc, "path": path, "value": value} for (doc, path), value in side.items()]
        for side in (answers, gold)
    )
    rows = [row | (columns or {}).get(row["doc_id"], {}) for row in rows]
    return formlab.evaluate(rows, given, name=name)


def one_field_on_one_scanner(gold, answers, columns, draw):
    """A1: one field is misread in 40 % of the forms of scanner B."""
    keys = [key for key in gold if key[1] == "/order" and columns[key[0]]["scanner"] == "B"]
    for key in draw.sample(keys, round(0.4 * len(keys))):
        answers[key] = misread(gold[key], draw)


def late_dates(gold, answers, columns, draw):
    """A2: dates after 2015 are a day early."""
    for key, value in gold.items():
        if key[1][1:] in DATES and value >= "2016":
            day = datetime.date.fromisoformat(value) - datetime.timedelta(1)
            answers[key] = day.isoformat()


def large_amounts(gold, answers, columns, draw):
    """A3: amounts of 10,000 and more lose their separators."""
    for key, value in gold.items():
        if key[1][1:] in AMOUNTS and float(value.replace(",", "")) >= 10_000:
            answers[key] = value.replace(",", "").replace(".", "")


def next_document(gold, answers, columns, draw):
    """A4: one form in twenty is answered with the values of the next."""
    docs = list(columns)
    for at in draw.sample(range(len(docs) - 1), max(1, len(docs) // 20)):
        for doc, path in [key for key in gold if key[0] == docs[at]]:
            answers[doc, path] = gold.get((docs[at + 1], path), answers[doc, path])


def next_row(gold, answers, columns, draw):
    """A5: amounts of items are those of the next row from the fourth on."""
    for doc, path in gold:
        _head, *index = path.split("/items/")
        if index and path.endswith("/amount") and (row := int(index[0].split("/")[0])) >= 3:
            other = (doc, f"/items/{row + 1}/amount")
            other = other if other in gold else (doc, f"/items/{row - 1}/amount")
            answers[doc, path] = gold[other]


OWN = {
    "A1": one_field_on_one_scanner, "A2": late_dates, "A3": large_amounts,
    "A4": next_document, "A5": next_row,
}  # fmt: skip


def planted(*plants, seed, noise=0.02, count=60):
    """Invented forms read by a system with some plants."""
    gold, columns = forms(seed, count)
    answers = noisy(gold, noise, seed)
    for plant in plants:
        OWN[plant](gold, answers, columns, random.Random(f"{plant} {seed}"))
    return scored(gold, answers, columns)


@cache
def both_ways(seed, count=60):
    """Invented forms of which every value is right, and of which every one is misread."""
    gold, columns = forms(seed, count)
    draw = random.Random(f"all {seed}")
    wrong = {key: misread(value, draw) for key, value in gold.items()}
    return scored(gold, gold, columns), scored(gold, wrong, columns)


def drawn(right, wrong, noise, seed, name=""):
    """A look at nothing: each value is misread with the chance `noise`, without scoring again."""
    is_wrong = pl.Series(np.random.default_rng(seed).random(right.cases.height) < noise)
    key, name = ["doc_id", "path"], name or right.system
    rows = [
        each.cases.sort(key).filter(chosen)
        for each, chosen in ((right, ~is_wrong), (wrong, is_wrong))
    ]
    cases = pl.concat(rows, how="diagonal").sort(key).with_columns(system=pl.lit(name))
    return right.changed(cases=cases, system=name)


@cache
def funsd():
    """The test forms of FUNSD, and their values: document, path, kind, value, box, page height."""
    corpus = formlab.load("funsd", root=SHARED / "data" / "funsd", split="test")
    rows = corpus.records.filter(pl.col("task") == "text", pl.col("path").is_not_null())
    names = ("doc_id", "task", "path", "kind", "value", "page", "x0", "y0", "x1", "y1")
    heights = corpus.documents.select("doc_id", "height")
    return corpus, rows.select(names).join(heights, on="doc_id", maintain_order="left")


IS_CAPITALS = pl.col("value") == pl.col("value").str.to_uppercase()
# Where a plant is, and what becomes of the values there: nothing is given, they are cut or misread.
FUNSD = {
    "B1": ((pl.col("y0") + pl.col("y1")) / 2 > pl.col("height") * 2 / 3, None),
    "B2": (pl.col("value").str.len_chars() > 25, lambda value, draw: value[:25]),
    "B3": ((pl.col("kind") == "header") & IS_CAPITALS, misread),
}


def planted_in_funsd(plant, *, seed, noise=0.02):
    """FUNSD's test forms read with noise, and in some fields missing, cut or misread."""
    (corpus, values), (where, change) = funsd(), FUNSD[plant]
    draw, answers = random.Random(f"{plant} {seed}"), []
    for row in values.with_columns(where=where).drop("height").to_dicts():
        is_planted = row.pop("where")
        if draw.random() < noise:
            row["value"] = misread(row["value"], draw)
        if is_planted and change is not None:
            row["value"] = change(row["value"], draw)
        if not is_planted or change is not None:
            answers.append(row)
    return formlab.evaluate(corpus, answers, name="system")


@cache
def funsd_both_ways():
    """FUNSD's test forms, every value right and every value misread."""
    (corpus, values), draw = funsd(), random.Random("funsd")
    right = values.drop("height").to_dicts()
    wrong = [row | {"value": misread(row["value"], draw)} for row in right]
    return formlab.evaluate(corpus, right, name="system"), formlab.evaluate(corpus, wrong)


def numbers_worse(seed, *, noise=0.05):
    """C: two systems of which the second misreads 6 % more of the numbers, all else alike."""
    gold, columns = forms(seed)
    draw = random.Random(f"C {seed}")
    first, second = noisy(gold, noise, seed), noisy(gold, noise, seed + 1_000_000)
    numbers = [key for key in gold if key[1].split("/")[-1] in (*AMOUNTS, "amount")]
    for key in draw.sample(numbers, round(0.06 * len(numbers))):
        second[key] = misread(gold[key], draw)
    return [scored(gold, each, columns, name) for each, name in ((first, "one"), (second, "two"))]
