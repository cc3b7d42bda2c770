"""A metric that was made outside of formlab is scored on every task it declares."""

import itertools

import numpy as np
import polars as pl
import pytest

import formlab
from formlab import benchmarks, readers
from formlab.errors import DataBroken, UnknownName

pytestmark = pytest.mark.usefixtures("fresh")


def scored(benchmark, system="rules"):
    """The evaluation of what a baseline reads on the sample."""
    corpus = benchmarks.load(benchmark)
    folder = benchmarks.SAMPLES / "runs" / f"{benchmark}-{corpus.split}-{system}"
    return formlab.evaluate(corpus, readers.read_predictions(folder, corpus))


def lengths(golds, preds):
    return np.array([[len(pred), len(gold)] for gold, pred in zip(golds, preds, strict=True)])


@pytest.mark.parametrize(
    ("benchmark", "system", "task", "level"),
    [
        ("funsd", "ocr", "text", "field"), ("formcraft", "rules", "visual", "field"),
        ("formcraft", "rules", "marking", "field"), ("formcraft", "rules", "layout", "node"),
        ("vrdu", "rules", "entity", "field"), ("fincriticaled", "ocr", "fact", "fact"),
        ("fincriticaled", "ocr", "fact", "page"),
    ],
)  # fmt: skip
def test_metric_of_texts_has_a_score_for_each_case_of_its_task(benchmark, system, task, level):
    formlab.metric("lengths", tasks=(task,), units=(level,))(lengths)
    evaluation = scored(benchmark, system)
    rows = evaluation.scores.filter(pl.col("metric") == "lengths")
    cases = evaluation.cases.filter(
        pl.col("task") == task, pl.col("level") == level, pl.col("outcome") != "unscored"
    )
    assert 0 < rows.height <= cases.height
    assert set(rows.select("task", "level").rows()) == {(task, level)}
    summary = formlab.summarise(evaluation, average="pooled", resamples=0).filter(
        pl.col("metric") == "lengths", pl.col("slice_by").is_null()
    )
    assert summary["value"].to_list() == [rows["hits"].sum() / rows["total"].sum()]


def test_metric_of_boxes_gets_the_boxes_of_both_sides():
    seen = []

    @formlab.metric("inside", tasks=("visual",), units=("field",), view="boxes")
    def inside(golds, preds):
        seen.extend([golds, preds])
        return np.ones((len(golds), 2))

    evaluation = scored("formcraft")
    part = evaluation.cases.filter(pl.col("task") == "visual", pl.col("outcome") != "unscored")
    # Part by part, if there are several.
    golds, preds = np.concatenate(seen[::2]), np.concatenate(seen[1::2])
    assert [golds.shape, preds.shape] == [(part.height, 4)] * 2
    np.testing.assert_array_equal(golds[:, 0], part["x0"].to_numpy())
    np.testing.assert_array_equal(preds[:, 3], part["pred_y1"].to_numpy())


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


def test_tallies_of_a_wrong_shape_are_an_error_that_names_the_metric(funsd_root, tmp_path):
    formlab.metric("flat")(lambda golds, preds: np.ones(len(golds)))
    (tmp_path / "p.jsonl").write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    corpus = benchmarks.load("funsd", root=funsd_root)
    answers = readers.read_predictions(tmp_path / "p.jsonl", corpus)
    with pytest.raises(DataBroken, match=r"tallies of flat have shape \(2,\) for 2 cases"):
        formlab.evaluate(corpus, answers)


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


@pytest.mark.parametrize("fields", [{"tasks": "texts"}, {"view": "words"}, {"units": "fields"}])
def test_metric_of_an_unknown_task_view_or_level_is_refused(fields):
    with pytest.raises(UnknownName, match="of metric own"):
        formlab.metric("own", **fields)(lengths)
