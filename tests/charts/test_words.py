import math
import random

import polars as pl
import pytest

from formlab import charts, metrics
from formlab.analysis import Finding
from tests.seeds import seeds


@pytest.mark.parametrize(
    ("metric", "part", "over"),
    [
        ("cer", "all", "Over whole pages: "),
        ("tree_similarity", "all", "Over all forms: "),
        ("vqa_accuracy", "all", "Over all questions: "),
        ("cer", "fields", "Over all fields: "),
        ("cer", "kind=date", "Over kind=date: "),
    ],
)
def test_caption_says_what_its_numbers_are_taken_over(summary_of, metric, part, over):
    caption = charts.caption("X.", summary_of((metric, part, 0.5)))
    assert over in caption.text
    assert "0.500 (95 % interval 0.400 to 0.600, n = 4 in 2 documents)" in caption.text
    assert caption.settings.startswith(f"b:s|{metric}|level=")


def test_caption_of_several_rows_names_each_and_of_none_says_so(summary_of):
    rows = summary_of(("vqa_accuracy", "all", 0.5), ("consistency_accuracy", "all", 0.25))
    text = charts.caption("X", rows, name="metric", more="Y").text
    assert "vqa_accuracy 0.500 (95 %" in text
    assert "consistency_accuracy 0.250 (95 %" in text
    assert text.endswith(" Y.")
    assert charts.caption("X.", summary_of()).text == "X. Nothing was scored for it."
    assert charts.caption("X.").text == "X."
    undefined = charts.caption("X.", summary_of(("cer", "fields", math.nan))).text
    assert "undefined (n = 4 in 2 documents)" in undefined


def test_n_beside_a_ratio_is_of_the_fields_it_is_taken_over(summary_of):
    # Of four fields one is to be left alone: three clicks are asked for. A mean over documents
    # leaves out documents, and its fields are all there.
    rows = summary_of(("click_accuracy", "fields", 0.5))
    for average, n in (("pooled", 3), ("macro", 4)):
        rows = rows.with_columns(n_undefined=pl.lit(1, pl.Int64), average=pl.lit(average))
        assert f"n = {n} in 2 documents" in charts.caption("X.", rows).text


def test_cards_have_value_interval_and_counts(summary_of):
    rows = summary_of(("cer", "all", 0.5), ("wer", "all", math.nan), ("bleu", "all", 0.1))
    cards = charts.score_cards(
        rows, {"wer": "WER", "cer": "CER"}, "More.", more=[charts.Card("k", 3)]
    )
    assert [(card.label, card.value) for card in cards.cards] == [("CER", 0.5), ("k", 3)]
    assert cards.cards[0].note == "95 % interval 0.400 to 0.600, n = 4 in 2 documents"
    assert cards.finding == "x: CER 0.500. More."
    assert charts.score_cards(rows.clear(), {"cer": "CER"}).finding == "Nothing was scored."
    finding = Finding("Dates are ahead", "kinds")
    assert (
        charts.score_cards(rows, {"bleu": "BLEU"}, finding).finding
        == "x: BLEU 0.100. Dates are ahead."
    )


def test_a_figure_of_notes_alone_is_one_note():
    note, bars = charts.note("None."), charts.bars(pl.DataFrame({"label": ["a"], "value": [1]}))
    over = charts.caption("X.")
    assert charts.figure(over, note, note) == [note]
    assert charts.figure(over, bars, note) == [over, bars, note]


@pytest.mark.parametrize("seed", seeds(30))
def test_every_number_of_a_caption_stands_in_its_rows(summary_of, seed):
    draw = random.Random(seed)
    names = draw.sample(sorted(set(metrics.METRICS)), 3)
    values = [draw.choice([math.nan, 0.0, 1.0, draw.random() * 3]) for _ in names]
    rows = summary_of(*zip(names, ["fields"] * 3, values, strict=True))
    caption = charts.caption("X.", rows, name="metric").text
    for name, value in zip(names, values, strict=True):
        number = "undefined" if math.isnan(value) else f"{value:.3f}"
        assert f"{name} {number} (" in caption
    assert "nan" not in caption.split()
