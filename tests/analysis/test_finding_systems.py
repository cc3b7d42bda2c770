"""Two systems: equal, different, by chance, by pages alone."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from formlab import analysis
from formlab.analysis.finding_systems import tell_apart
from formlab.analysis.flips import MATRIX
from tests.analysis.made_pairs import built, from_matrix, made

FEW = {"resamples": 200, "permutations": 999}


def told(*evaluations, **more):
    ground = analysis.common(evaluations).evaluations
    matrix = analysis.flip_matrices(ground, **FEW)
    return tell_apart(ground, matrix, **FEW, **more)


def noise(seed, rate, docs=20, fields=8, spread=0.2):
    draw = np.random.default_rng(seed)
    ease = draw.uniform(-spread, spread, (docs, 1))
    return (draw.random((docs, fields)) < rate + ease).astype(int)


def with_pages(evaluation, values):
    """Its whole pages scored by CER, `values` for each document, of 100 characters."""
    rows = [
        {"doc_id": doc, "level": "page", "metric": "cer", "hits": 100.0 * value, "total": 100.0,
         "value": float(value)}
        for doc, value in zip(evaluation.documents["doc_id"], values, strict=True)
    ]  # fmt: skip
    pages = built(scores=rows, system=evaluation.system).scores
    return dataclasses.replace(evaluation, scores=pl.concat([evaluation.scores, pages]))


def pages_alone(system, values):
    docs = [{"doc_id": f"{n:02}"} for n in range(len(values))]
    case = {"task": "text", "outcome": "match", "gold": "x" * 100, "pred": "y", "status": "ok"}
    return with_pages(built([case | doc for doc in docs], documents=docs, system=system), values)


def test_pages_speak_where_no_field_was_scored():
    draw = np.random.default_rng(0)
    bad = draw.uniform(0.4, 0.9, 50)
    first, second = pages_alone("m", bad), pages_alone("n", bad - 0.1)
    (one,) = tell_apart([first, second], pl.DataFrame(schema=MATRIX), **FEW)
    assert one.claim.startswith("n does better than m on 50 whole documents: ")
    assert f"{(bad - 0.1).mean():.3f} against {bad.mean():.3f}" in one.claim
    (same,) = tell_apart([first, pages_alone("n", bad)], pl.DataFrame(schema=MATRIX), **FEW)
    assert same.claim.startswith("m and n have the same ")
    assert not same.holds


def test_fields_and_pages_have_the_p_that_compare_has():
    draw = np.random.default_rng(1)
    values = draw.uniform(0.2, 0.4, 20)
    first = with_pages(from_matrix("m", noise(0, 0.85)), values)
    second = with_pages(from_matrix("n", noise(1, 0.4)), values + draw.normal(0, 0.1, 20))
    fields, pages = told(first, second)
    assert fields.n_tested == pages.n_tested == 1
    assert fields.p_adjusted == fields.p
    rows = analysis.compare([first, second], metric="cer", average="pooled", **FEW).filter(
        level="page"
    )
    assert pages.p_adjusted == rows["p_holm"].item()


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_verdict_rests_on_the_reading_rule_or_on_labels(cause):
    # Of each document two fields are right with n alone, and both are such cases of m.
    rows = [
        (f"{doc:02}", f"/{n}", int(n > 1), {"cause": cause if n < 2 else None})
        for doc in range(20) for n in range(6)
    ]  # fmt: skip
    first = made("m", rows)
    second = made("n", [(doc, path, 1) for doc, path, *_ in rows])
    (one,) = told(first, second)
    assert one.p < 0.01
    assert not one.holds
    assert one.claim.startswith("No difference in fields right was shown")
    sound = first.cases.with_columns(pl.lit("digit").alias("cause"))
    (held,) = told(dataclasses.replace(first, cases=sound), second)
    assert held.holds


def test_a_verdict_that_depends_on_the_reading_rule_says_so():
    good, bad = from_matrix("m", noise(0, 0.85)), from_matrix("n", noise(1, 0.4))
    ground = analysis.common([good, bad]).evaluations
    matrix = analysis.flip_matrices(ground, **FEW).with_columns(rules=pl.lit("depends"))
    (one,) = tell_apart(ground, matrix, **FEW)
    assert not one.holds
    assert one.claim.startswith("No difference in fields right was shown")
    assert "depends on the rule by which words go to fields" in one.claim
