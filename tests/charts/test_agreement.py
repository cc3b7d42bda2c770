import math

import polars as pl

from formlab import charts
from formlab.analysis.cross import AGREEMENT


def agreement(*rows, **more):
    base = {"benchmark": "b", "split": "s", "system": "x", "unit": "document", "p": 0.5, "n": 9}
    return pl.DataFrame(
        [base | {"metric": m, "other": o, "tau": t, "ci_low": t - 0.1, "ci_high": t + 0.1} | more
         for m, o, t in rows],
        schema=AGREEMENT,
    )  # fmt: skip


def test_each_pair_is_stated_with_its_tau_and_can_be_of_chosen_metrics():
    table = agreement(("cer", "wer", 0.9), ("wer", "bleu", 0.2), ("cer", "bleu", math.nan))
    caption, chart = charts.metric_agreement(table, about=["cer"])
    said = [row["said"] for rows in chart.to_dict()["datasets"].values() for row in rows
            if "said" in row]  # fmt: skip
    assert said == ["τ 0.90: character error rate (CER) ~ word error rate (WER)"]
    assert "over the documents of x on b:s, n = 9, with 95 % intervals" in caption.text
    assert "1 more are undefined" in caption.text
    _, chart = charts.metric_agreement(table)
    assert chart.to_dict()["description"].count("~") == 2


def test_evaluations_have_a_chart_each_and_published_systems_need_no_name():
    both = pl.concat([
        agreement(("cer", "wer", 0.9)), agreement(("cer", "wer", 0.1), system="y", n=7),
        agreement(("cer", "wer", 0.3), system=None, split=None, unit="system"),
    ])  # fmt: skip
    shown = charts.metric_agreement(both)
    assert len(shown) == 6
    assert "documents of y on b:s, n = 7" in shown[2].text
    assert "systems of b, n = 9" in shown[4].text


def test_caption_makes_no_claim_about_which_pair_agrees_more():
    caption, _ = charts.metric_agreement(agreement(("cer", "wer", 0.9), ("wer", "bleu", 0.2)))
    assert not {"least", "most", "best", "worst", "more", "better"} & set(caption.text.split())


def test_where_nothing_is_defined_a_note_says_so():
    (note,) = charts.metric_agreement(agreement(("cer", "wer", math.nan)))
    assert note.label == "Note"
    assert charts.metric_agreement(agreement())[0].label == "Note"
