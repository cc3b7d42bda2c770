"""The text of FUNSD's pages with faults planted in it, one kind a page."""

import random

import polars as pl

from formlab import tables
from formlab.folders import Predictions

FAULTS = ("none", "dropped", "shuffled", "hallucinated", "noise")
LINES = ["The quick brown fox vaults over seventeen lazy zebras", "Kindly return by zeppelin mail"]


def entities(corpus, doc_id):
    """Pairs of path and text, in the order of the gold's page text."""
    gold = tables.only(corpus.records, doc_id=doc_id, task="text")
    gold = gold.filter(pl.col("path").is_not_null(), pl.col("value").str.strip_chars() != "")
    return gold.select("path", "value").rows()


def noisy(value):
    """`value` with one letter of each word of five letters and more made another."""
    return " ".join(
        word[:2] + "§" + word[3:] if len(word) >= 5 and word.isalpha() else word
        for word in value.split()
    )


def planted(corpus):
    """What was done to each page, which fields it concerns, and its text."""
    rng = random.Random(0)
    found = {}
    for place, doc_id in enumerate(corpus.documents["doc_id"]):
        fault, rows = FAULTS[place % len(FAULTS)], entities(corpus, doc_id)
        third = max(1, len(rows) // 3)
        concerned = []
        lines = [value for _, value in rows]
        if fault == "dropped":
            concerned = [path for path, _ in rows[third : 2 * third]]
            lines = lines[:third] + lines[2 * third :]
        elif fault == "shuffled":
            blocks = [lines[:third], lines[third : 2 * third], lines[2 * third :]]
            lines = blocks[1] + blocks[2] + blocks[0]
        elif fault == "hallucinated":
            at = rng.randrange(len(lines))
            lines = lines[:at] + LINES + lines[at:]
        elif fault == "noise":
            concerned = [path for path, value in rows if noisy(value) != value]
            lines = [noisy(value) for value in lines]
        found[doc_id] = (fault, concerned, "\n".join(lines))
    return found


def page_texts(corpus, texts, system="parser"):
    """Predictions that give the text of pages and nothing else."""
    head = {"benchmark": corpus.benchmark, "split": corpus.split, "role": "prediction"}
    head |= {"system": system, "task": "text", "kind": "page", "status": "ok"}
    rows = [head | {"doc_id": doc_id, "value": text} for doc_id, text in texts.items()]
    responses = tables.table("responses", [])
    return Predictions(tables.table("records", rows), responses, system=system)
