"""Speed of the text metrics beside the library a user would pick instead, and their memory.

Run: python performance/text_metrics.py [--json]

One run, one core, CPU time, best of three rounds for both sides. Exit code 1 when a target is
missed.
"""

from __future__ import annotations

from measure import Row, apart, beside, fastest, peak, report  # isort: skip

import random
import sys

import jiwer
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from formlab import metrics, text

FIELDS, PAGES, PAGES_THEIRS, SENTENCES = 100_000, 60, 3, 3_000
MEMORY_PAGES, MEMORY_METRICS = (200, 800, 3_200), ("cer", "wer", "bleu", "rougeL", "rougeL_stem")
# What the peak may differ by while the pages grow sixteenfold.
MEMORY_TARGET = 32.0
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def vocabulary(generator: random.Random, size: int) -> list[str]:
    """Words of 1 to 11 letters, common letters more often."""
    weights = [1 / (rank + 2) for rank in range(len(LETTERS))]
    lengths = generator.choices(range(1, 12), [2, 8, 14, 16, 13, 11, 9, 7, 5, 3, 2], k=size)
    return ["".join(generator.choices(LETTERS, weights, k=length)) for length in lengths]


def field(generator: random.Random, words: list[str]) -> str:
    """A label, a name, an amount, a date or a code, about 18 characters long on average."""
    sort = generator.random()
    if sort < 0.12:
        return f"${generator.randint(1, 99_999):,}.{generator.randint(0, 99):02d}"
    if sort < 0.22:
        return f"{generator.randint(1, 12)}/{generator.randint(1, 28)}/{generator.randint(60, 99)}"
    if sort < 0.3:
        return f"{generator.choice('ABCDEF')}{generator.randint(1000, 999_999)}"
    count = generator.choices((1, 2, 3, 5, 8, 14), (30, 25, 20, 12, 8, 5))[0]
    label = " ".join(generator.choices(words, k=count)).capitalize()
    return f"{label}:" if sort < 0.55 else label


def misread(generator: random.Random, value: str, rate: float) -> str:
    """`value` with each character at `rate` changed, doubled, dropped or followed by a space."""
    chars = list(value)
    for index in range(len(chars)):
        if generator.random() < rate:
            char = chars[index]
            chars[index] = generator.choice((generator.choice(LETTERS), char * 2, "", f"{char} "))
    return "".join(chars)


def page(generator: random.Random, words: list[str], count: int) -> str:
    """Sentences of `count` words in all, some words far more frequent than others."""
    weights = [1 / (rank + 10) for rank in range(len(words))]
    drawn = generator.choices(words, weights, k=count)
    return " ".join(
        w + generator.choice((",", ".", "")) if i % 9 == 8 else w for i, w in enumerate(drawn)
    )


def pages(generator: random.Random, words: list[str], count: int, length: int) -> list[list[str]]:
    """Gold and predicted pages, each prediction with a few misread characters."""
    golds = [page(generator, words, length) for _ in range(count)]
    return [golds, [misread(generator, gold, 0.02) for gold in golds]]


def speed() -> list[Row]:
    """One row per comparison."""
    generator = random.Random(0)
    words = vocabulary(generator, 3_000)
    golds = [field(generator, words) for _ in range(FIELDS)]
    preds = [misread(generator, v, 0.06) if generator.random() < 0.5 else v for v in golds]
    long = pages(generator, words, PAGES, 1_200)
    sentences = pages(generator, words, SENTENCES, 20)
    # The first call imports stemmers and the like; that is not counted.
    for metric in metrics.METRICS.values():
        if metric.view == "text":
            metric.tallies(["to be"], ["to bee"])
    rouge, bleu = RougeScorer(["rougeL"]), BLEU(effective_order=True)

    def row(what, target, data, name, other, theirs, sample=None):
        ours = fastest(lambda: metrics.get(name).tallies(*data))
        sample = sample or len(data[0])
        sides = [side[:sample] for side in data]
        other_seconds = fastest(lambda: list(map(theirs, *sides))) * len(data[0]) / sample
        return beside(what, ours, other, other_seconds, target, beside_measured=sample)

    rows = [
        row(f"cer, {FIELDS:,} fields", 50, (golds, preds), "cer", "jiwer.cer", jiwer.cer),
        row(f"wer, {FIELDS:,} fields", 1.5, (golds, preds), "wer", "jiwer.wer", jiwer.wer),
        row(
            f"rougeL, {PAGES} pages of 1,200 words", 100, long, "rougeL", "rouge-score",
            rouge.score, PAGES_THEIRS,
        ),
        row(
            f"sentence bleu, {SENTENCES:,} of 20 words", 2, sentences, "bleu", "sacrebleu",
            lambda gold, pred: bleu.sentence_score(pred, [gold]),
        ),
    ]  # fmt: skip
    seconds = fastest(lambda: text.ladders(golds, preds))
    return [*rows, {"what": f"ladder, {FIELDS:,} fields", "formlab_seconds": seconds}]


def grown(count: int) -> tuple[int, float, float]:
    """Pages, megabytes of text, and by how many megabytes scoring them raised the peak."""
    generator = random.Random(0)
    words = vocabulary(generator, 3_000)
    # A full chunk first: buffers of bounded size are not what is looked for.
    for name in MEMORY_METRICS:
        metrics.get(name).tallies(*pages(generator, words, 80, 1_200))
    data = pages(generator, words, count, 1_200)
    before = peak()
    for name in MEMORY_METRICS:
        metrics.get(name).tallies(*data)
    return count, sum(len(text) for side in data for text in side) / 2**20, peak() - before


def memory() -> list[Row]:
    """One row per number of pages, each in a process of its own."""
    measured = [apart(grown, count) for count in MEMORY_PAGES]
    least = measured[0][2]
    return [
        {
            "what": f"{', '.join(MEMORY_METRICS)} on {count:,} pages", "pages": count,
            "text_megabytes": size, "peak_growth_megabytes": growth, "target": MEMORY_TARGET,
            "holds": growth - least <= MEMORY_TARGET,
        }
        for count, size, growth in measured
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(report([*speed(), *memory()]))
