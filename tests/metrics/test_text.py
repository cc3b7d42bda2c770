"""Metrics of text, beside the libraries that define them."""

import json
import math
import random

import jiwer
import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from formlab import metrics
from formlab.errors import UnknownName
from formlab.metrics import METRICS, bleu, cer, wer
from tests.seeds import ALL

NAMES = [name for name, metric in METRICS.items() if metric.view == "text"]
# Parts of the word error rate: of nothing read, all of it is omitted.
PARTS = [name for name in METRICS if name.startswith("words_") and name != "words_omitted"]
ROUGES = ["rouge1", "rougeL", "rouge1_stem", "rougeL_stem"]
PIECES = [
    *"aab ,.-0159  &;'\"<>()/%$#_~`^\n\té\u0301\u0316שלום مرحبا日本語😀👩",
    *"\u200d\u200b\u00a0\u2028\u2003\x1c\x85\u3000İßΣK\ud800\udc00\x00\x1b",
    "&amp;", "&quot;", "&lt;", "&gt;", "&amp;lt;", "-\n", "<skipped>", "...", "1,000.5", "3-4",
    ",-.", "running", "cats", "relational", "generously", "flies",
]  # fmt: skip


def random_pairs(count, seed=0):
    """Half the predictions are the gold text with a few pieces changed, half are unrelated."""
    rng = random.Random(seed)
    golds, preds = [], []
    for _ in range(count):
        gold = rng.choices(PIECES, k=rng.choice([0, 1, 3, 10, 40]))
        pred = list(gold) if rng.random() < 0.5 else rng.choices(PIECES, k=rng.randrange(20))
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(pred) + 1)
            pred[place : place + 1] = rng.choices(PIECES, k=rng.randrange(3))
        golds.append("".join(gold))
        preds.append("".join(pred))
    return golds, preds


def funsd_texts(shared):
    """Every entity of FUNSD and every page, its entities one a line; some characters misread."""
    rng = random.Random(5)
    golds = []
    for file in sorted((shared / "data" / "funsd").glob("*/annotations/*.json"))[
        :: 1 if ALL else 4
    ]:
        texts = [entity["text"] for entity in json.loads(file.read_text("utf-8"))["form"]]
        golds += texts[:20]
        golds.append("\n".join(texts)[:900])
    assert golds
    preds = ["".join(c if rng.random() > 0.03 else rng.choice("abc .") for c in g) for g in golds]
    return golds, preds


@pytest.fixture(params=["random", "funsd"])
def texts(request):
    if request.param == "random":
        return random_pairs(1500)
    return funsd_texts(request.getfixturevalue("shared"))


def assert_same(ours, theirs):
    """Equal, where the library's 0 for nothing at all is NaN here."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    undefined = np.isnan(ours)
    assert (theirs[undefined] == 0).all()
    np.testing.assert_allclose(ours[~undefined], theirs[~undefined], rtol=1e-12, atol=1e-15)
    # A comparison of zeros and ones alone would prove little.
    assert len(np.unique(ours[~undefined])) > 30


def counts(output):
    edits = output.substitutions + output.insertions + output.deletions
    return [edits, output.hits + output.substitutions + output.deletions]


# How jiwer counts the errors of each rate; words stand between any white space.
SPACES = jiwer.SubstituteRegexes({r"\s+": " "})
WORDS = jiwer.Compose([SPACES, jiwer.Strip(), jiwer.ReduceToListOfListOfWords()])
JIWER = {
    "cer": (jiwer.process_characters, jiwer.ReduceToListOfListOfChars()),
    "wer": (jiwer.process_words, WORDS),
}


@pytest.mark.parametrize("name", JIWER)
def test_error_rates_count_as_jiwer_counts(name, texts):
    process, parts = JIWER[name]
    pairs = zip(*texts, strict=True)
    expected = [counts(process(gold, pred, parts, parts)) for gold, pred in pairs]
    np.testing.assert_array_equal(METRICS[name].tallies(*texts), expected)


def test_sentence_bleu_is_that_of_sacrebleu(texts):
    reference = BLEU(effective_order=True)
    expected = [
        reference.sentence_score(pred, [gold]).score / 100
        for gold, pred in zip(*texts, strict=True)
    ]
    assert_same(bleu.values(bleu.tallies(*texts)), expected)


@pytest.mark.parametrize("size", [2, 40, 4000])
def test_corpus_bleu_is_that_of_sacrebleu(texts, size):
    golds, preds = (side[:size] for side in texts)
    value = bleu.score(bleu.tallies(golds, preds).sum(axis=0))
    expected = BLEU().corpus_score(preds, [golds]).score / 100
    assert value == pytest.approx(expected, rel=1e-12) or (np.isnan(value) and expected == 0)


@pytest.mark.parametrize("name", ROUGES)
def test_rouge_is_that_of_rouge_score(name, texts):
    kind, _, stem = name.partition("_")
    reference = RougeScorer([kind], use_stemmer=bool(stem))
    # rouge-score fills a table in Python, so of the long texts a few are enough.
    every = list(zip(*texts, strict=True))
    long = [pair for pair in every if len(pair[0]) > 400]
    pairs = [pair for pair in every if len(pair[0]) <= 400][:2500] + long[:40]
    golds, preds = map(list, zip(*pairs, strict=True))
    expected = [reference.score(gold, pred)[kind].fmeasure for gold, pred in pairs]
    assert_same(METRICS[name].values(METRICS[name].tallies(golds, preds)), expected)


@pytest.mark.parametrize(
    ("name", "gold", "pred", "parts"),
    [
        # k>s, e>i, +g, three edits on six letters; seven is the longer length.
        ("cer", "kitten", "sitting", (3, 6)),
        ("edit_distance", "kitten", "sitting", (3, 7)),
        # One word changed, one dropped, of three. Uncapped: five words too many for one.
        ("wer", "the cat sat", "the\n bat", (2, 3)),
        ("wer", "a", "a b c d e f", (5, 1)),
        # 4/5, 3/4, 2/3, 1/2 n-grams right; as long as the gold text, so no penalty.
        ("bleu", "the cat sat on mats", "the cat sat on it", (4, 3, 2, 1, 5, 4, 3, 2, 5, 5)),
        # 2 words shared, 1 in order, of 3 and 3.
        ("rouge1", "The cat sat", "sat, the dog", (4, 6)),
        ("rougeL", "The cat sat", "sat, the dog", (2, 6)),
        ("rouge1", "cats running", "cat runs", (0, 4)),
        # Porter makes running and runs run, cats cat; but ROUGE stems no word of three letters.
        ("rouge1_stem", "cats running", "cat runs", (4, 4)),
        ("rouge1_stem", "his", "hi", (0, 2)),
    ],
)
def test_parts_by_hand(name, gold, pred, parts):
    assert METRICS[name](gold, pred).parts == parts


def test_tallies_are_added_and_bleu_of_one_sentence_has_effective_order():
    assert (cer("abcd", "abcx") + cer("ab", "ab")).value == pytest.approx(1 / 6)
    # (4/5 * 3/4 * 2/3 * 1/2) ** (1/4)
    tally = bleu("the cat sat on mats", "the cat sat on it")
    assert tally.value == pytest.approx(0.2**0.25)
    one = bleu("the cat", "the cat")
    assert one.value == 1
    # Two words have no n-grams of order 3: the plain corpus score of them alone is 0.
    assert bleu.score(np.array(one.parts)) == 0
    # Added up: 1-grams 2 of 2, 2-grams 1 of 1, none of order 3; still 0, as a corpus score.
    assert (one + bleu("", "")).value == 0


@pytest.mark.parametrize("name", NAMES)
def test_values_keep_to_the_range_and_have_its_ends(name):
    metric = METRICS[name]
    golds, preds = random_pairs(1500, seed=2)
    values, same = (metric.values(metric.tallies(golds, side)) for side in (preds, golds))
    assert np.nanmin(values) >= metric.low
    assert metric.high is None or np.nanmax(values) <= metric.high
    # Gold against itself is best, nothing for something worst, nothing for nothing undefined.
    best = metric.low if metric.direction == "down" else metric.high
    assert np.nanmin(same) == np.nanmax(same) == best
    worst = 1.0 if metric.direction == "down" and name not in PARTS else 0.0
    if name != "spurious_rate":  # where nothing is given, nothing is spurious
        assert metric("some words here and there", "").value == worst
    assert math.isnan(metric("", "").value)
    assert math.isnan(metric.score(metric.tallies([], []).sum(axis=0)))
    if name in ("edit_distance", *ROUGES):
        np.testing.assert_array_equal(metric.tallies(golds, preds), metric.tallies(preds, golds))


def test_spurious_is_what_is_given_where_the_gold_has_nothing():
    # Of three values given one stands where the gold is blank; the second field is left blank.
    tallies = METRICS["spurious_rate"].tallies(["a", "b", " ", "c", ""], ["a", "", "x", "y", " "])
    assert tallies.sum(axis=0).tolist() == [1, 3]


def test_a_megabyte_of_anything_is_scored_and_sides_of_different_length_are_refused():
    hostile = "<b>\x1b[31m\ud800\u2028 .,-" * 50_000
    for name in NAMES:
        assert METRICS[name]("a short gold text", hostile).value >= 0
        with pytest.raises(ValueError, match="2 gold and 1 predicted"):
            METRICS[name].tallies(["a", "b"], ["a"])


def test_registry_names_its_metrics_and_knows_no_others():
    assert all(metric.name == name for name, metric in METRICS.items())
    assert metrics.get("wer") is wer
    assert metrics.title("cer", "macro") == "character error rate (CER), mean over documents"
    with pytest.raises(UnknownName, match="Try: 'rougeL'"):
        metrics.get("rougeLL")
