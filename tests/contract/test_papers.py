"""The tables of the four papers: a number stands beside a published one only if it measures it."""

import math
import re
from collections import Counter

import pytest

import formlab
from tests.contract.doors import value


def grams(text):
    """N-grams of order 1 to 4, counted, of words as mteval-v13a splits them."""
    text = re.sub(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 ", text)
    text = re.sub(r"([^0-9])([\.,])", r"\1 \2 ", text)
    text = re.sub(r"([\.,])([^0-9])", r" \1 \2", text)
    words = re.sub(r"([0-9])(-)", r"\1 \2 ", text).split()
    return [Counter(zip(*(words[k:] for k in range(n)), strict=False)) for n in (1, 2, 3, 4)]


def bleu(pairs):
    """BLEU-4 of pairs of gold and text together, not smoothed: 0 without a 4-gram in common."""
    sides = [(grams(gold), grams(text)) for gold, text in pairs]
    right = [sum((g[n] & t[n]).total() for g, t in sides) for n in range(4)]
    made = [sum(t[n].total() for _, t in sides) for n in range(4)]
    if not all(right):
        return 0.0
    gold_words = sum(g[0].total() for g, _ in sides)
    mean = sum(math.log(a / b) for a, b in zip(right, made, strict=True)) / 4
    return math.exp(mean + min(0.0, 1 - gold_words / made[0]))


def corners(row):
    return f"[{(row['x0'] + row['x1']) / 2:.0f},{(row['y0'] + row['y1']) / 2:.0f}]"


def shortened(text, share):
    """The first words of a text, filled up to its number of words."""
    words = text.split()
    filling = ["so", "it", "goes", "on", "and", "on", "here", "again"]
    kept = words[: round(share * len(words))]
    return " ".join(kept + [filling[n % 8] for n in range(len(words) - len(kept))])


def test_w1_description_bleu_is_of_the_text_wherever_it_was_clicked(shared, tmp_path):
    corpus = formlab.load("formfactory", root=shared / "data" / "formfactory")
    names = [f"D11-{number:02}" for number in range(1, 11)]
    pairs = []
    for number, name in enumerate(names):
        rows = corpus.records.filter(doc_id=name, kind="description").to_dicts()
        texts = [shortened(row["value"], 0.6) for row in rows]
        # By form: in the right place, on a corner, where the next description belongs.
        places = [rows, [{"x0": 3, "x1": 3, "y0": 3, "y1": 3}] * 3, rows[1:] + rows[:1]][number % 3]
        lines = (f"{corners(at)} {text}\n" for at, text in zip(places, texts, strict=True))
        (tmp_path / f"{name}.txt").write_text("".join(lines), "utf-8")
        pairs += [(row["value"], text) for row, text in zip(rows, texts, strict=True)]
    predictions = formlab.read_predictions(tmp_path, corpus)
    scored = formlab.evaluate(corpus, predictions, mode="official", documents="answered")
    table = formlab.summarise(scored, by=[], resamples=0).to_dicts()
    assert len(pairs) == 30
    assert value(table, "description_bleu") == pytest.approx(bleu(pairs), abs=1e-9)
    assert bleu(pairs) == pytest.approx(0.5332888, abs=1e-7)
