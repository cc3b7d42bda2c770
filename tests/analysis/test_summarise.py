import numpy as np
import polars as pl
import pytest

from formlab import analysis, metrics
from formlab.errors import UnknownName
from formlab.tables import only, readable
from tests.analysis.made_pairs import built


def evaluation(rows, templates=None):
    """Field scores from rows of doc_id, path, kind, edits, length."""
    docs = list(dict.fromkeys(row[0] for row in rows))
    documents = [{"doc_id": doc, "template": (templates or {}).get(doc)} for doc in docs]
    cases = [
        {"doc_id": d, "path": p, "kind": k, "task": "text", "outcome": "mismatch", "gold": "x" * n}
        for d, p, k, _, n in rows
    ]
    scores = [
        {
            "doc_id": d, "path": p, "level": "field", "metric": "cer", "hits": float(e),
            "total": float(n), "value": e / n if n else float("nan"),
        }
        for d, p, _, e, n in rows
    ]  # fmt: skip
    return built(cases, scores, documents)


ROWS = [
    ("1", "/a", "name", 1, 10), ("1", "/b", "total", 0, 4),
    ("2", "/a", "name", 6, 10), ("2", "/b", "total", 2, 2),
    ("3", "/a", "name", 0, 0),
]  # fmt: skip


def get(summary, metric, part, column="value", average="pooled"):
    return only(readable(summary), metric=metric, average=average, slice=part)[column].item()


def test_pooled_value_sums_tallies_and_macro_takes_the_mean_of_documents():
    summary = analysis.summarise(evaluation(ROWS))
    # (1 + 0 + 6 + 2 + 0) / (10 + 4 + 10 + 2 + 0)
    assert get(summary, "cer", "fields") == pytest.approx(9 / 26)
    # Documents 1 and 2 have 1/14 and 8/12; the third is undefined.
    assert get(summary, "cer", "fields", average="macro") == pytest.approx((1 / 14 + 8 / 12) / 2)
    assert get(summary, "cer", "kind=total") == pytest.approx(2 / 6)
    assert get(summary, "cer", "kind=name", "n_undefined") == 1
    assert get(summary, "cer", "kind=name", "n_docs") == 3
    assert get(summary, "cer", "kind=total", "n_docs") == 2


def test_slices_go_by_case_by_document_and_by_band_in_order():
    data = evaluation(ROWS, templates={"1": "A", "2": "B"})
    slices = readable(analysis.summarise(data, by=["template", "length"]))["slice"].unique(
        maintain_order=True
    )
    assert slices.to_list() == [
        "fields", "template=A", "template=B", "template=none",
        "length=empty", "length=1–4", "length=10–19",
    ]  # fmt: skip


def test_unknown_slice_column_says_what_is_known():
    with pytest.raises(UnknownName, match="'kind'"):
        analysis.summarise(evaluation(ROWS), by=["kinds"])


def test_interval_is_that_of_a_plain_bootstrap():
    generator = np.random.default_rng(1)
    rows = [
        (str(d), f"/{f}", "x", int(generator.integers(0, 9)), 10)
        for d in range(30)
        for f in range(4)
    ]
    summary = analysis.summarise(evaluation(rows), resamples=4000, seed=3)
    edits = np.array([row[3] for row in rows]).reshape(30, 4).sum(axis=1)
    # The same by another road: draw documents, add up, divide, with another generator.
    means = [edits[generator.integers(0, 30, 30)].sum() / 1200 for _ in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert get(summary, "cer", "fields", "ci_low") == pytest.approx(low, abs=0.006)
    assert get(summary, "cer", "fields", "ci_high") == pytest.approx(high, abs=0.006)


def test_interval_holds_the_value_and_the_seed_decides_it():
    data = evaluation([(str(d), "/a", "x", d % 7, 5 + d) for d in range(20)])
    first = analysis.summarise(data, seed=0)
    assert first.equals(analysis.summarise(data, seed=0))
    columns = ["value", "ci_low", "ci_high"]
    other = analysis.summarise(data, seed=1).select(columns)
    assert not first.select(columns).equals(other)
    assert first.select(pl.col("value").is_between("ci_low", "ci_high").all()).item()


def test_one_document_has_no_interval_and_none_has_no_rows():
    alone = analysis.summarise(evaluation(ROWS[:2]))
    assert alone["ci_low"].is_nan().all()
    assert analysis.summarise(evaluation([])).height == 0


def test_bleu_of_a_corpus_comes_from_summed_statistics():
    pairs = [("the cat sat on the mat", "the cat sat on a mat"), ("a b c d e f", "a b c d e f")]
    tallies = metrics.get("bleu").tallies(*map(list, zip(*pairs, strict=True)))
    rows = [
        {"doc_id": str(n), "level": "page", "metric": "bleu", "stats": t.tolist(),
         "value": float(metrics.get("bleu").values(t[None])[0])}
        for n, t in enumerate(tallies)
    ]  # fmt: skip
    data = built(scores=rows)
    import sacrebleu

    expected = sacrebleu.corpus_bleu([p for _, p in pairs], [[g for g, _ in pairs]]).score / 100
    assert get(analysis.summarise(data), "bleu", "all") == pytest.approx(expected, abs=1e-12)


def test_every_metric_has_a_mean_over_documents_beside_what_is_a_mean_itself():
    # Per document 2/4 and 1/1, pooled 3/5; of VRDU's macro F1, a mean over entities, there is none.
    rows = [
        {"doc_id": doc, "path": "/a", "level": "field", "metric": name, "hits": hits,
         "total": total, "value": hits / total}
        for name in ("click_accuracy", "fact_accuracy", "mark_f1", "vqa_accuracy")
        for doc, hits, total in (("1", 2.0, 4.0), ("2", 1.0, 1.0))
    ]  # fmt: skip
    rows += [
        {"doc_id": doc, "level": "document", "metric": name, "stats": stats, "value": f1}
        for name in ("f1", "macro_f1")
        for doc, stats, f1 in (("1", [1.0, 2, 2], 0.5), ("2", [1.0, 1, 1], 1.0))
    ]
    cases = [{"doc_id": doc, "path": "/a", "kind": "x", "task": "text"} for doc in "12"]
    made = built(cases, rows)
    summary = analysis.summarise(made)
    for name in ("click_accuracy", "fact_accuracy", "mark_f1", "vqa_accuracy"):
        assert get(summary, name, "fields") == pytest.approx(3 / 5)
        mean = get(summary, name, "fields", average="macro")
        assert mean == pytest.approx((2 / 4 + 1) / 2)
    assert get(summary, "f1", "all") == pytest.approx(4 / 6)
    assert get(summary, "f1", "all", average="macro") == pytest.approx((0.5 + 1) / 2)
    assert get(summary, "macro_f1", "all") == pytest.approx(4 / 6)
    assert only(summary, metric="macro_f1", average="macro").height == 0


def test_a_mean_counts_the_documents_that_it_leaves_out():
    summary = analysis.summarise(evaluation(ROWS))
    # The third document has nothing but a field of no length; it has one field, as fields go.
    assert get(summary, "cer", "fields", "n_undefined", "macro") == 1
    assert get(summary, "cer", "kind=total", "n_undefined", "macro") == 0
