import math

import formlab
from formlab import analysis, tables
from formlab.analysis.overview import MEASURES, rules
from formlab.metrics import METRICS
from tests.made_slices import of

KEY = {"benchmark": "funsd", "split": "test", "system": "x"}


def row(metric, part, value, **more):
    counts = {"n_docs": 2, "n_cases": 4, "n_missing": 0, "n_undefined": 0, "settings": {}}
    bounds = {"ci_low": value, "ci_high": value}
    return KEY | counts | bounds | of(part) | {"metric": metric, "value": value} | more


def levels(*rows):
    heads = analysis.headlines(tables.table("summary", list(rows)))
    return heads.select("level", "metric", "over", "value").rows()


def test_every_measure_is_a_registered_metric():
    assert {measure.metric for measure in MEASURES} <= set(METRICS)


def test_scores_that_are_defined_speak_for_their_level():
    assert levels(
        row("normalised_accuracy", "fields", 0.5), row("normalised_accuracy", "all", 0.9),
        row("fact_accuracy", "fields", math.nan, level="fact"),
        row("tree_similarity", "all", 0.7, level="document"),
        row("rougeL", "all", 0.1),
    ) == [
        ("reading", "normalised_accuracy", "fields", 0.5),
        ("structuring", "tree_similarity", "trees", 0.7),
    ]  # fmt: skip


def test_right_values_speak_first_for_ones_own_forms():
    rows = [{"doc_id": name, "total": "9.00", "note": "Ada"} for name in "ab"]
    answers = [row | {"total": "9", "note": "Eda"} for row in rows]
    weighted = {"total": {"type": "number", "weight": 3}}
    for types, more in ((None, []), (weighted, [("match_weighted", 0.75)])):
        summary = analysis.summarise(formlab.evaluate(rows, answers, types=types), resamples=0)
        heads = analysis.headlines(summary).select("metric", "value").rows()
        assert heads == [("match_f1", 0.5), *more, ("normalised_accuracy", 0.0)]


def test_page_text_alone_speaks_for_reading():
    assert levels(row("cer", "all", 0.1), row("wer", "all", 0.2), row("cer", "fields", 0.3)) == [
        ("reading", "cer", "characters of whole pages", 0.1),
        ("reading", "wer", "words of whole pages", 0.2),
    ]


def test_same_accuracy_of_entities_is_of_locating_and_of_another_panel():
    both = analysis.headlines(
        tables.table("summary", [
            row("normalised_accuracy", "fields", 0.5),
            row("normalised_accuracy", "fields", 0.6, benchmark="vrdu"),
            row("normalised_accuracy", "fields", 0.7, benchmark="formcraft"),
            row("normalised_accuracy", "fields", 0.8, benchmark="formfactory"),
        ])
    )  # fmt: skip
    found = {row["benchmark"]: (row["level"], row["tasks"]) for row in both.to_dicts()}
    assert found == {
        "funsd": ("reading", "text"), "vrdu": ("locating", "entity"),
        "formcraft": ("reading", "text, marking, visual, cross"),
    }  # fmt: skip
    assert both["panel"].n_unique() == 3


def test_panel_is_shared_where_the_rules_are_the_same_and_only_there():
    def said(norm, version, interval):
        return {"mode": "fixed", "settings": {
            "rules": f"norm={norm}", "formlab": version, "average": "micro", "interval": interval,
        }}  # fmt: skip

    heads = analysis.headlines(
        tables.table("summary", [
            row("cer", "all", 0.1, **said("space", "0.1", "n1")),
            row("cer", "all", 0.2, benchmark="sroie", **said("space", "0.2", "n9")),
            row("cer", "all", 0.3, system="y", **said("none", "0.1", "n1")),
        ])
    )  # fmt: skip
    panels = dict(heads.select("value", "panel").rows())
    assert panels[0.1] == panels[0.2] != panels[0.3]
    assert heads["mode"].to_list() == ["fixed"] * 3
    part = {"formlab": "1", "documents": "answered: 8 of 50, sha256 0a"}
    one = {"benchmark": "b", "metric": "cer", "level": "page", "mode": "fixed", "settings": part}
    assert rules(one) == "cer|level=page|mode=fixed"
    normalised = part | {"rules": "norm=lower"}
    assert rules(one | {"settings": normalised}) == "cer|level=page|mode=fixed|norm=lower"


def test_rungs_are_those_of_all_fields():
    summary = tables.table("summary", [
        row("exact_accuracy", "fields", 0.5), row("exact_accuracy", "kind=a", 0.1),
        row("fuzzy_accuracy", "fields", 0.8), row("cer", "fields", 0.1),
    ])  # fmt: skip
    found = analysis.rungs(summary).select("rung", "tasks", "value").rows()
    assert found == [("exact", "text", 0.5), ("fuzzy", "text", 0.8)]
