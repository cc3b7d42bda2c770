import random

from rapidfuzz.distance import Levenshtein

from formlab.metrics import METRICS
from formlab.metrics.page import ERRORS, word_edits

WORDS = ["a", "b", "the", "name", "total", "due", "9.00", "total:", "nane", "address"]


def counts(gold, pred):
    return word_edits(gold, pred)


def only(**said):
    return dict.fromkeys(ERRORS, 0) | said


def test_hand_count():
    # "total" is inserted before "name ada" and replaced behind it by "addres", the reading of
    # "address", which "thank" replaces, as "you" does "12": 4 edits, and nothing is lost but "12".
    edits = counts("name ada total address 12", "total name ada addres thank you")
    assert edits == only(order=1, substituted=2, inserted=1)
    assert counts("a b c d e", "c a b d e") == only(order=2)
    assert counts("a b c", "a c") == only(omitted=1)
    assert counts("a c", "a b c") == only(inserted=1)
    assert counts("a name c", "a nane c") == only(substituted=1)
    # Two words become one, or one two: one edit replaces, one deletes, and neither word is lost.
    assert counts("a date october", "a dateoctober") == only(substituted=2)
    assert counts("a dateoctober", "a date october") == only(substituted=2)


def test_the_four_sum_to_the_word_errors():
    for rng in map(random.Random, range(150)):
        gold, pred = (rng.choices(WORDS, k=rng.randrange(12)) for _ in range(2))
        texts = " ".join(gold), " ".join(pred)
        edits = word_edits(*texts)
        assert sum(edits.values()) == Levenshtein.distance(gold, pred)
        tallies = [METRICS[name](*texts) for name in METRICS if name.startswith("words_")]
        whole = METRICS["wer"](*texts)
        assert sum(tally.parts[0] for tally in tallies) == whole.parts[0]
        assert {tally.parts[1] for tally in tallies} == {whole.parts[1]}
