"""A metric that was made outside of formlab is scored on every task it declares."""

import itertools

import numpy as np
import polars as pl
import pytest

import formlab
from formlab import benchmarks, readers
from formlab.errors import DataBroken

pytestmark = pytest.mark.usefixtures("fresh")


def scored(benchmark, system="rules"):
    """The evaluation of what a baseline reads on the sample."""
    corpus = benchmarks.load(benchmark)
    folder = benchmarks.SAMPLES / "runs" / f"{benchmark}-{corpus.split}-{system}"
    return formlab.evaluate(corpus, readers.read_predictions(folder, corpus))


def lengths(golds, preds):
    return np.array([[len(pred), len(gold)] for gold, pred in zip(golds, preds, strict=True)])


@pytest.mark.parametrize("level", ["fact", "page"])
def test_metric_of_texts_has_a_score_for_each_case_of_its_task(level):
    formlab.metric("lengths", tasks=("fact",), units=(level,))(lengths)
    evaluation = scored("fincriticaled", "ocr")
    rows = evaluation.scores.filter(metric="lengths")
    of_level = evaluation.cases.filter(pl.col("outcome") != "unscored", task="fact", level=level)
    assert 0 < rows.height <= of_level.height
    assert set(rows.select("task", "level").rows()) == {("fact", level)}
    summary = formlab.summarise(evaluation, average="pooled", resamples=0)
    (value,) = summary.filter(pl.col("slice_by").is_null(), metric="lengths")["value"]
    assert value == rows["hits"].sum() / rows["total"].sum()


@pytest.mark.parametrize("view", ["trees", "records"])
def test_metric_of_documents_gets_what_both_sides_say_of_them(view):
    def sizes(golds, preds):
        def count(side):
            if view == "records":
                return len(side)
            return 1 + sum(count(child) for child in side.children) if side else 0

        pairs = zip(golds, preds, strict=True)
        return np.array([[count(pred), count(gold)] for gold, pred in pairs])

    formlab.metric("sizes", tasks=("layout",), view=view, high=None)(sizes)
    evaluation = scored("formcraft")
    rows = evaluation.scores.filter(pl.col("metric") == "sizes")
    assert set(rows.select("task", "level").rows()) == {("layout", "document")}
    assert (rows["total"] > 0).all()


def failing(golds, preds):
    raise ValueError("no such word")


@pytest.mark.parametrize(
    ("tallies", "message"),
    [
        (failing, "metric 'own' failed: ValueError: no such word"),
        (lambda golds, preds: [["a", "b"] for _ in golds], "metric 'own' failed: ValueError"),
        (lambda golds, preds: [[np.inf, 1] for _ in golds], "tallies of own are infinite"),
    ],
)
def test_metric_that_fails_is_an_error_that_names_it(tallies, message):
    formlab.metric("own", tasks="fact", units="fact")(tallies)
    with pytest.raises(DataBroken, match=message):
        scored("fincriticaled", "ocr")


def test_tally_that_is_nan_is_undefined_and_in_no_sum():
    numbers = itertools.count()

    @formlab.metric("own", tasks="fact", units="fact")
    def own(golds, preds):
        odd = [next(numbers) % 2 for _ in golds]
        return np.array([[1.0, 2.0] if is_odd else [np.nan, 1.0] for is_odd in odd])

    summary = formlab.summarise(scored("fincriticaled", "ocr"), average="pooled", resamples=0)
    row = summary.filter(pl.col("metric") == "own", pl.col("slice_by").is_null()).row(0, named=True)
    # 263 facts, of which those with an even number are undefined: 132.
    assert (row["value"], row["n_undefined"]) == (0.5, 132)
