import dataclasses
import math

import polars as pl
import pytest

from formlab import analysis, benchmarks, selection, systems, tables
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from tests.analysis.made_pairs import built
from tests.made_slices import of
from tests.systems.scripted_server import serving

from ..made_splits import WHO, evaluations

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


def evaluation(rows, *, system="x"):
    """From (document, kind, outcome, status, cause) of each field."""
    names = ("doc_id", "kind", "outcome", "status", "cause")
    cases = [
        dict(zip(names, row, strict=True)) | {"path": f"/{n}", "task": "text", "gold": "g"}
        for n, row in enumerate(rows)
    ]
    cases = [row | ({"gold": None} if row["outcome"] == "spurious" else {}) for row in cases]
    return built(cases, **KEY | {"system": system})


FIELDS = [
    ("1", "a", "match", "ok", None),
    ("1", "a", "mismatch", "ok", "digit"),
    ("1", "b", "mismatch", "ok", "digit"),
    ("1", "b", "missing", "ok", "missed"),
    ("2", "a", "missing", "refused", "refused"),
    ("2", "b", "spurious", "ok", "spurious"),
]


def test_runs_count_documents_and_values_by_what_became_of_them():
    row = analysis.runs([evaluation(FIELDS)]).row(0, named=True)
    assert [row[name] for name in ("documents", "answered", "values")] == [2, 2, 5]
    assert [row[name] for name in ("right", "wrong", "missing", "spurious")] == [1, 2, 2, 1]


FORM = '{"fields": [{"label": "Name", "value": "Ada"}]}'
STEPS = (FORM, f"Here: {FORM}", "no form", "refused", "truncated", "too_large", FORM, "{}")


def test_answers_are_counted_by_what_became_of_them(tmp_path, monkeypatch):
    """Eight forms: two answers valid, two without a form in them, one of each other status."""
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    corpus = benchmarks.load("formcraft")
    with serving(*STEPS) as server:
        settings = {"base_url": server.url, "tasks": "extraction", "concurrency": 1}
        settings |= {"attempts": 1}
        model = systems.get("chat:m")
        made = systems.run(corpus, model, out=tmp_path, settings=settings, limit=8)
    evaluation = analysis.evaluate(corpus, made)
    counts = analysis.answers([evaluation])
    assert dict(counts.select("status", "answers").rows()) == {
        "ok": 2, "repaired": 1, "bad_json": 2, "refused": 1, "truncated": 1, "api_error": 1,
    }  # fmt: skip
    assert set(counts["task"]) == {"layout"}
    # Shares are of one system and benchmark each.
    other = evaluation.scores.with_columns(benchmark=pl.lit("vrdu"))
    both = [evaluation, dataclasses.replace(evaluation, scores=other)]
    shares = analysis.answers(both).group_by("benchmark").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1, 1])


def test_pages_come_by_word_errors_and_the_parts_sum(evaluate):
    # Form a: "name: ada berg"; two of three words are read, "berg" is lost. Form b: none is read.
    result = evaluate({"doc_id": "a", "text": "Name: Ada"}, {"doc_id": "b", "text": ""})
    pages = analysis.worst_pages(result)
    first, second = pages.to_dicts()
    assert (first["doc_id"], first["wer"], first["omitted"], first["words"]) == ("b", 1, 1, 2)
    assert (second["doc_id"], second["wer"]) == ("a", pytest.approx(1 / 3))
    assert second["omitted"] == pytest.approx(1 / 3)
    assert analysis.worst_pages(result, limit=1)["doc_id"].to_list() == ["b"]


def headlines(*rows):
    """Headlines of a summary, of which each row has a metric, a part, a value and what differs."""
    counts = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0, "settings": {}}
    summary = [
        KEY | counts | of(part) | {"metric": metric, "ci_low": value, "ci_high": value}
        | {"value": value} | (more[0] if more else {})
        for metric, part, value, *more in rows
    ]  # fmt: skip
    return analysis.headlines(tables.table("summary", summary))


def test_scores_that_are_defined_speak_for_their_level():
    heads = headlines(
        ("normalised_accuracy", "fields", 0.5), ("normalised_accuracy", "all", 0.9),
        ("fact_accuracy", "fields", math.nan, {"level": "fact"}),
        ("tree_similarity", "all", 0.7, {"level": "document"}), ("rougeL", "all", 0.1),
    )  # fmt: skip
    assert heads.select("level", "metric", "over", "value").rows() == [
        ("reading", "normalised_accuracy", "fields", 0.5),
        ("structuring", "tree_similarity", "trees", 0.7),
    ]


def test_same_accuracy_of_entities_is_of_locating_and_of_another_panel():
    names = ("funsd", "vrdu", "formcraft", "formfactory")
    rows = [("normalised_accuracy", "fields", 0.5, {"benchmark": name}) for name in names]
    heads = headlines(*rows)
    told = heads.rows_by_key("benchmark", named=True, unique=True)
    assert {name: (row["level"], row["tasks"]) for name, row in told.items()} == {
        "funsd": ("reading", "text"), "vrdu": ("locating", "entity"),
        "formcraft": ("reading", "text, marking, visual, cross"),
    }  # fmt: skip
    assert heads["panel"].n_unique() == 3


def test_panel_is_shared_where_the_rules_are_the_same_and_only_there():
    def said(norm, version, interval, **more):
        rules = {"rules": f"norm={norm}", "formlab": version, "average": "micro"}
        return {"mode": "fixed", "settings": rules | {"interval": interval}} | more

    heads = headlines(
        ("cer", "all", 0.1, said("space", "0.1", "n1")),
        ("cer", "all", 0.2, said("space", "0.2", "n9", benchmark="sroie")),
        ("cer", "all", 0.3, said("none", "0.1", "n1", system="y")),
    )
    panels = dict(heads.select("value", "panel").rows())
    assert panels[0.1] == panels[0.2] != panels[0.3]
    assert heads["mode"].to_list() == ["fixed"] * 3


SHORT = pl.col("gold").str.strip_chars().str.len_chars().is_between(1, 4)


@pytest.fixture(scope="module")
def sample():
    whole = analysis.open_evaluation(benchmark="funsd", system="ocr")
    # Forms of 3, 4, … fields; a share; the last form without either.
    numbers = list(range(3, 3 + whole.documents.height))
    documents = whole.documents.with_columns(
        size=pl.Series([*numbers[:-1], None]),
        share=pl.Series([n / 4 for n in numbers[:-1]] + [None]),
    )
    return dataclasses.replace(whole, documents=documents)


def of_documents(sample, where):
    names = sample.documents.filter(where)["doc_id"]
    return sample.cases.filter(pl.col("doc_id").is_in(names.implode()))


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("", pl.lit(True)),
        ("slice=kind:answer", pl.col("kind") == "answer"),
        ("slice=kind:answer&slice=kind:header", pl.col("kind").is_in(["answer", "header"])),
        ("cause=clipped&slice=kind:answer", pl.concat_str("cause", "kind") == "clippedanswer"),
        ("slice=cause", pl.col("cause").is_null()),
        ("report.html#slice=length:1%E2%80%934&case=0123456789", SHORT),
    ],
)  # fmt: skip
def test_values_are_alternatives_and_columns_must_all_fit(sample, line, where):
    chosen = analysis.select(sample, line)
    assert chosen.equals(sample.cases.filter(where))
    assert chosen.height


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("size:5", pl.col("size") == 5),
        ("size:under 5", pl.col("size") < 5),
        ("size:4–6", pl.col("size").is_between(4, 6)),
        ("size:7 and more", pl.col("size") >= 7),
        ("size", pl.col("size").is_null()),
        # Bands of numbers that are not whole end before the next begins.
        ("share:1–1.5", pl.col("share").is_between(1, 1.25)),
        ("share:1", pl.col("share") == 1),
        ("share:under x", pl.lit(False)),
    ],
)
def test_a_number_is_in_its_bands(sample, name, where):
    chosen = analysis.select(sample, f"slice={name}")
    assert chosen.equals(of_documents(sample, where))


def test_rows_of_a_summary_select_as_many_cases_as_they_count(sample):
    summary = analysis.summarise(sample, by=["kind", "position", "certainty"], average="pooled")
    rows = summary.drop_nulls("slice_by").filter(metric="exact_accuracy")
    counts = [analysis.select(sample, line).height for line in selection.of_rows(rows)]
    assert rows.height > 15
    assert counts == rows["n_cases"].to_list()


def test_findings_are_counted_from_one_as_a_report_counts_them(sample):
    findings = analysis.findings([sample], resamples=50)
    chosen = analysis.select(sample, "finding=2", findings=findings)
    keys = ["doc_id", "task", "path"]
    assert sorted(chosen.select(keys).rows()) == sorted(findings[1].cases.unique().rows())
    other = [dataclasses.replace(findings[1], benchmark="sroie")]
    assert analysis.select(sample, "finding=1", findings=other).height == 0
    with pytest.raises(UnknownName, match="number of a finding '9'"):
        analysis.select(sample, "finding=9", findings=findings[:2])


def test_what_cannot_be_selected_is_said_in_one_error(sample):
    with pytest.raises(UnknownName, match="'knd'"):
        analysis.select(sample, "slice=knd:answer")
    with pytest.raises(DataBroken, match="selects no cases"):
        analysis.select(sample, "kind=answer")


@pytest.fixture
def ones(tmp_path):
    return evaluations(tmp_path, {("mixed", 10, 0): [WHO], ("mixed", 10, 1): [WHO]})


def test_a_folder_for_each_split_gives_all_in_order(ones, tmp_path):
    for one in reversed(ones):
        one.save(tmp_path / "evals" / one.split)
    (tmp_path / "evals" / "notes").mkdir()
    found = analysis.open_evaluations(tmp_path / "evals")
    assert [one.split for one in found] == [one.split for one in ones]
    assert found[0].scores.equals(ones[0].scores)


def test_a_folder_without_any_is_named(tmp_path):
    with pytest.raises(DataMissing, match="no evaluation here"):
        analysis.open_evaluations(tmp_path)


def test_evaluations_that_do_not_belong_together_are_refused(ones, tmp_path):
    ones[0].save(tmp_path / "evals" / "a")
    dataclasses.replace(ones[1], mode="fixed").save(tmp_path / "evals" / "b")
    with pytest.raises(DataBroken, match="differ in their mode: fixed, official"):
        analysis.open_evaluations(tmp_path / "evals")


def test_every_reading_that_comes_with_formlab_is_opened_the_baseline_first():
    opened = analysis.open_compared(benchmark="formcraft", system=())
    assert len(opened) >= 3
    assert analysis.of_system(opened).system == opened[0].system == "rules"
    assert analysis.of_system(opened, opened[2].system).system == opened[2].system
    with pytest.raises(UnknownName, match="unknown system 'nobody'"):
        analysis.of_system(opened, "nobody")


def test_without_a_browser_forms_cannot_be_filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("FORMLAB_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NotAvailable, match="FORMLAB_CHROMIUM names no executable"):
        analysis.open_evaluation(benchmark="formfactory", system="oracle(scale=0.5)")
