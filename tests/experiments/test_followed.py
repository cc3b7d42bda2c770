"""What an answer follows, how often, and with what certainty."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import formlab
from formlab_experiments import follows, leaning, shares
from formlab_experiments.followed import FOLLOWED, interval

COPY = {"page_of": "p", "relation": "sum", "item": "/consistency/c1", "dependent": "/total"}


def evaluation(copies):
    """Of copies with evidence, ink, prior and an answer each, as money."""
    gold = {str(n): {"total": ink or ""} for n, (_, ink, _, _) in enumerate(copies)}
    answers = {str(n): {"total": answer} for n, (*_, answer) in enumerate(copies)}
    done = formlab.evaluate(gold, answers)
    own = pl.DataFrame(
        [
            COPY | {"doc_id": str(n), "change": "contradicted", "evidence": e, "ink": i, "prior": p}
            for n, (e, i, p, _) in enumerate(copies)
        ],
        schema_overrides=dict.fromkeys(("evidence", "ink", "prior"), pl.String),
    )
    documents = done.documents.join(own, on="doc_id", how="left", maintain_order="left")
    return dataclasses.replace(done, documents=documents)


@pytest.mark.parametrize(
    ("copy", "followed"),
    [
        (("9.00", "7.00", "5.00", "9.00"), "evidence"),
        (("9.00", "7.00", "5.00", "7.00"), "ink"),
        (("9.00", "7.00", "5.00", "5.00"), "prior"),
        (("9.00", "7.00", "5.00", "4.00"), "other"),
        (("9.00", "7.00", "5.00", "9"), "evidence"),  # the same amount, written otherwise
        (("9.00", "9.00", "5.00", "9.00"), "both"),
        (("9.00", "7.00", "7.00", "7.00"), "ink"),
        (("9.00", "", "5.00", "5.00"), "prior"),
        ((None, "7.00", "5.00", "5.00"), "prior"),
        (("9.00", "7.00", None, "5.00"), "other"),
    ],
)
def test_answer_follows_what_it_equals(copy, followed):
    assert follows(evaluation([copy]))["follows"].to_list() == [followed]


def test_shares_of_a_group_sum_to_one_and_count_pages():
    answers = pl.DataFrame(
        {"page_of": ["a", "a", "b"], "change": "source", "follows": ["ink", "evidence", "ink"]}
    )
    table = shares(answers, ["change"])
    assert table["follows"].to_list() == list(FOLLOWED)
    assert table["share"].sum() == pytest.approx(1)
    assert set(table["n_units"]) == {2}
    assert table.filter(follows="ink")["share"].item() == pytest.approx(2 / 3)
    one = shares(answers.filter(page_of="b"), ["change"])
    assert one["ci_low"].is_nan().all()


@pytest.mark.parametrize(("share", "spread"), [(0.5, 0.3), (0.9, 0.1), (0.05, 0.05)])
def test_interval_covers_the_share_over_500_seeds(share, spread):
    inside = 0
    for seed in range(500):
        draw = np.random.default_rng(seed)
        alpha = share * (share * (1 - share) / spread**2 - 1)
        beta = alpha * (1 - share) / share
        totals = draw.integers(3, 7, 14)
        hits = draw.binomial(totals, draw.beta(alpha, beta, 14))
        low, high = interval(hits, totals, 0.95)
        inside += low <= share <= high
    # At 95 %, 464 or fewer have a chance of 1.3 %.
    assert inside >= 465


def test_leaning_needs_pages_and_is_adjusted_for_all_groups():
    pages = [f"p{n}" for n in range(6)]
    rows = [
        {"page_of": page, "relation": relation, "change": "contradicted", "follows": follows}
        for relation, follows in (("sum", "ink"), ("date", "evidence"), ("copy", "other"))
        for page in pages
    ]
    table = leaning(pl.DataFrame(rows), ["relation"])
    by = {row["relation"]: row for row in table.to_dicts()}
    # 2 of the 2^6 ways to swap six pages are as extreme.
    assert by["sum"]["p"] == by["date"]["p"] == 2 / 64
    assert by["sum"]["p_adjusted"] == pytest.approx(3 * 2 / 64)
    assert by["sum"]["leans"] is None
    assert by["copy"]["difference"] == 0
    assert leaning(pl.DataFrame(rows[:6]), ["relation"])["leans"].to_list() == ["ink"]
