"""A system with known weaknesses: each tool for experiments has to find these and no others."""

import random
from functools import partial

from formlab.systems import System
from formlab.tables import BOX
from formlab.text.values import date_readings

FIELDS = ("text", "marking", "visual", "cross", "value", "entity")
# What a total is guessed from, in cents: no page has it.
CENTS = (1_000, 999_999)


def is_date(row):
    """Whether a field holds a date: by an experiment's column `content`, else as it reads."""
    if row.get("content"):
        return row["content"] == "date"
    return row["kind"] == "date" or bool(date_readings(row["value"])[1])


def is_total(row):
    """Whether a field is a total: by an experiment's column `content`, else by its label."""
    if row.get("content"):
        return row["content"] == "total"
    return "total" in f"{row['path'].rpartition('/')[2]} {row['kind']}".lower()


def is_field(row):
    """Whether a record of the gold is a field."""
    return row["path"] is not None and row["task"] in FIELDS and row["value"] is not None


def scale_of(page):
    """How much smaller a page is than the one that the gold's `print` was measured on."""
    if page.get("degradation") == "scale":
        return page["amount"]
    return page.get("scale") or 1.0


def planted(
    corpus, *, small=8.0, every_third_date=True, guesses_totals=True, misses=0.03, seed=0
) -> System:
    """A system that answers from the gold of `corpus`, but for what is planted.

    It answers nothing where the print (the column `print` of the gold or of the document, times the
    page's scale) is below `small`; loses every third date, the same ones on all pages that were
    made of one; gives totals that do not depend on the page; and misses any other field with the
    chance `misses`, for each document and each `seed` anew.
    """
    pages = {row["doc_id"]: row for row in corpus.documents.iter_rows(named=True)}
    origin = {name: page.get("page_of") or name for name, page in pages.items()}
    gold: dict[str, list] = {name: [] for name in pages}
    for row in corpus.records.iter_rows(named=True):
        gold[row["doc_id"]].append(row)
    fields = [row for rows in gold.values() for row in rows if is_field(row)]
    dates = sorted({(origin[row["doc_id"]], row["path"]) for row in fields if is_date(row)})
    lost = set(dates[2::3]) if every_third_date else set()

    def answer(row, page):
        chance = random.Random(f"{seed}|{row['doc_id']}|{row['path']}")
        size = row.get("print") or page.get("print")
        if size is not None and size * scale_of(page) < small:
            return None
        if (origin[row["doc_id"]], row["path"]) in lost or chance.random() < misses:
            return None
        guess = f"{chance.randint(*CENTS) / 100:,.2f}"
        return guess if guesses_totals and is_total(row) else row["value"]

    def read(document, root):
        rows = gold[document["doc_id"]]
        answers = {r["path"]: answer(r, pages[document["doc_id"]]) for r in rows if is_field(r)}
        return [
            {name: row[name] for name in ("task", "path", "kind", "page", *BOX)} | {"value": value}
            for row, value in (_answered(row, answers) for row in rows)
            if value is not None
        ]

    start = partial(_start, read)
    return System("planted", "a system with known weaknesses", start, images=False)


def _start(read, settings, threads):
    return read


def _answered(row, answers):
    """A row of the gold and what is answered in its place, None for nothing.

    On a page of words (FUNSD) the words are the answer, of which the first has a guess whole.
    """
    entity, _, number = (row["path"] or "").rpartition("/words/")
    if row["task"] == "layout" and entity in answers:
        whole = answers[entity]
        is_guess = whole is not None and row["value"] not in whole.split()
        if whole is None or (is_guess and number != "0"):
            return row, None
        return row, whole if is_guess else row["value"]
    is_words = row["path"] is not None and row["path"].startswith("/entities/")
    return row, None if is_words else answers.get(row["path"])
