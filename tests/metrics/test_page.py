import random

import pytest
from rapidfuzz.distance import Levenshtein

from formlab.metrics import METRICS
from formlab.metrics.page import ERRORS, structure_shares, word_edits

WORDS = ["a", "b", "the", "name", "total", "due", "9.00", "total:", "nane", "address"]


def only(**said):
    return dict.fromkeys(ERRORS, 0) | said


def test_hand_count():
    # "total" is inserted before "name ada" and replaced behind it by "addres", the reading of
    # "address", which "thank" replaces, as "you" does "12": 4 edits, and nothing is lost but "12".
    edits = word_edits("name ada total address 12", "total name ada addres thank you")
    assert edits == only(order=1, substituted=2, inserted=1)
    assert word_edits("a b c d e", "c a b d e") == only(order=2)
    assert word_edits("a b c", "a c") == only(omitted=1)
    assert word_edits("a c", "a b c") == only(inserted=1)
    assert word_edits("a name c", "a nane c") == only(substituted=1)
    # Two words become one, or one two: one edit replaces, one deletes, and neither word is lost.
    assert word_edits("a date october", "a dateoctober") == only(substituted=2)
    assert word_edits("a dateoctober", "a date october") == only(substituted=2)


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


ROWS = "".join(
    f"<tr><td>Row {name}</td><td>{n}</td><td>{n + 40}</td></tr>" for n, name in enumerate("abcdef")
)
PAGE = f"<html><body><h1>Title</h1><table>{ROWS}</table><p>End note</p></body></html>"


@pytest.mark.parametrize(
    ("pred", "score", "shares"),
    [
        (PAGE, 2, dict.fromkeys(("closed", "order", "tables", "rows", "columns"), 1.0)),
        # 5 of 6 rows are 0.83, and 17 of 20 blocks 0.85: below 0.9, above 0.5.
        (PAGE.replace("<tr><td>Row c</td><td>2</td><td>42</td></tr>", ""), 1,
         {"order": 17 / 20, "rows": 5 / 6}),
        # 20 blocks in another order, of which the table's 18 keep theirs.
        (f"<html><body><p>End note</p><table>{ROWS}</table><h1>Title</h1></body></html>", None,
         {"order": 0.9}),
    ],
)  # fmt: skip
def test_shares_of_a_page_by_hand(pred, score, shares):
    assert score in (None, METRICS["structure_score"](PAGE, pred).value)
    found = structure_shares(PAGE, pred)
    assert {name: found[name] for name in shares} == pytest.approx(shares, abs=0.03)


def test_tags_left_open_are_not_closed():
    pred = PAGE.replace("</h1>", "").replace("</table>", "")
    assert structure_shares(PAGE, pred)["closed"] < 1


@pytest.mark.parametrize(
    ("gold", "pred", "scores"),
    [
        *((PAGE, p, {0}) for p in ("", "  \n", "Row a 0 40\nRow b 1 41", "<" * 10_000, "\ud800\0")),
        ("<p>One.</p><p>Two.</p>", "One.\nTwo.", {2}),
        # Fact tags do not count as structure; columns that run together lose the score.
        (PAGE.replace("<td>5</td>", "<td><number>5</number></td>"), PAGE, {2}),
        (PAGE, PAGE.replace("</td><td>4", " 4"), {0, 1}),
    ],
)
def test_points_of_a_page(gold, pred, scores):
    assert METRICS["structure_score"](gold, pred).value in scores
