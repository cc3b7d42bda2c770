"""The tables of the four papers: a number stands beside a published one only if it measures it."""

import json
import math
import re
import unicodedata
from collections import Counter
from functools import cache
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest
import yaml

import formlab
from formlab import analysis, charts
from tests.contract.doors import cli, row, value
from tests.freeze import ROOT, kept


def grams(text):
    """N-grams of order 1 to 4, counted, of words as mteval-v13a splits them."""
    text = re.sub(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 ", text)
    text = re.sub(r"([^0-9])([\.,])", r"\1 \2 ", text)
    text = re.sub(r"([\.,])([^0-9])", r" \1 \2", text)
    words = re.sub(r"([0-9])(-)", r"\1 \2 ", text).split()
    return [Counter(zip(*(words[k:] for k in range(n)), strict=False)) for n in (1, 2, 3, 4)]


def bleu(pairs):
    """BLEU-4 of pairs of gold and text together, not smoothed: 0 without a 4-gram in common."""
    sides = [(grams(gold), grams(text)) for gold, text in pairs]
    right = [sum((g[n] & t[n]).total() for g, t in sides) for n in range(4)]
    made = [sum(t[n].total() for _, t in sides) for n in range(4)]
    if not all(right):
        return 0.0
    gold_words = sum(g[0].total() for g, _ in sides)
    mean = sum(math.log(a / b) for a, b in zip(right, made, strict=True)) / 4
    return math.exp(mean + min(0.0, 1 - gold_words / made[0]))


def corners(row):
    return f"[{(row['x0'] + row['x1']) / 2:.0f},{(row['y0'] + row['y1']) / 2:.0f}]"


def shortened(text, share):
    """The first words of a text, filled up to its number of words."""
    words = text.split()
    filling = ["so", "it", "goes", "on", "and", "on", "here", "again"]
    kept = words[: round(share * len(words))]
    return " ".join(kept + [filling[n % 8] for n in range(len(words) - len(kept))])


def test_w1_description_bleu_is_of_the_text_wherever_it_was_clicked(shared, tmp_path):
    corpus = formlab.load("formfactory", root=shared / "data" / "formfactory")
    names = [f"D11-{number:02}" for number in range(1, 11)]
    pairs = []
    for number, name in enumerate(names):
        rows = corpus.records.filter(doc_id=name, kind="description").to_dicts()
        texts = [shortened(row["value"], 0.6) for row in rows]
        # By form: in the right place, on a corner, where the next description belongs.
        places = [rows, [{"x0": 3, "x1": 3, "y0": 3, "y1": 3}] * 3, rows[1:] + rows[:1]][number % 3]
        lines = (f"{corners(at)} {text}\n" for at, text in zip(places, texts, strict=True))
        (tmp_path / f"{name}.txt").write_text("".join(lines), "utf-8")
        pairs += [(row["value"], text) for row, text in zip(rows, texts, strict=True)]
    predictions = formlab.read_predictions(tmp_path, corpus)
    scored = formlab.evaluate(corpus, predictions, mode="official", documents="answered")
    table = formlab.summarise(scored, by=[], resamples=0).to_dicts()
    assert len(pairs) == 30
    assert value(table, "description_bleu") == pytest.approx(bleu(pairs), abs=1e-9)
    assert bleu(pairs) == pytest.approx(0.5332888, abs=1e-7)


@cache
def opened(benchmark, system):
    """An evaluation of the sample, and its summary as rows."""
    scored = kept(benchmark, system) or analysis.open_evaluation(benchmark=benchmark, system=system)
    return scored, formlab.summarise(scored, by=["subtype", "modality"], resamples=0).to_dicts()


def test_w2_a_perfect_reader_is_right_in_every_check_and_finds_no_contradiction(tmp_path):
    corpus = formlab.load("formcraft")
    for answered in (False, True):
        for file in (ROOT / "data/sample/formcraft/test/forms").glob("*.json"):
            form = json.loads(file.read_text("utf-8"))
            checks = {check["id"]: check["expected"] for check in form.pop("consistency")}
            form |= {"vqa": [], "consistency": checks if answered else []}
            (tmp_path / file.name).write_text(json.dumps(form), "utf-8")
        scored = formlab.evaluate(corpus, formlab.read_predictions(tmp_path, corpus))
        table = formlab.summarise(scored, by=[], resamples=0).to_dicts()
        # Of 47 checks 25 expect another value than the page has: no reading is right there.
        found = row(table, "consistency_accuracy")
        assert (found["value"], found["n_cases"]) == (1, 22)
        assert ("contradictions_found" in [entry["metric"] for entry in table]) == answered
    found = row(table, "contradictions_found")
    assert (found["value"], found["n_cases"]) == (1, 25)
    # Of the sample's baseline, counted by hand: 11 relations and 15 dependent fields.
    scored, rules = opened("formcraft", "rules")
    assert analysis.runs(scored).select("right", "values").row(0) == (220 + 2 + 11, 268 + 48 + 22)
    assert value(rules, "consistency_accuracy") == pytest.approx(11 / 22)
    assert value(rules, "consistency_dependent_accuracy") == pytest.approx(15 / 22)


def test_w3_bleu_of_fields_is_a_mean_over_fields_in_which_short_ones_count_0():
    scored, table = opened("formcraft", "rules")
    means = {}
    for part in ("machine-printed", "handwritten", "visual"):
        chosen = (pl.col("subtype") == part) | (pl.col("modality") == part)
        sides = scored.cases.filter(chosen, pl.col("gold") != "").select("gold", "pred")
        pairs = [
            [" ".join(unicodedata.normalize("NFC", text or "").split()).lower() for text in pair]
            for pair in sides.iter_rows()
        ]
        means[part] = sum(bleu([pair]) for pair in pairs) / len(pairs)
        found = row(table, "bleu_of_fields", slice_value=part)
        assert found["value"] == pytest.approx(means[part], abs=1e-9)
        assert found["n_cases"] - found["n_undefined"] == len(pairs)
    assert list(means.values()) == pytest.approx([0.143, 0.099, 0.232], abs=5e-4)


def test_w4_facts_beside_table_4_are_numbers_and_dates_alone():
    for system, right in {"ocr": 201, "ocr_html": 200, "ocr(scale=0.3)": 195}.items():
        scored, table = opened("fincriticaled", system)
        facts = scored.cases.filter(pl.col("kind").is_in(["number", "temporal"]), level="fact")
        assert (facts.filter(outcome="match").height, facts.height) == (right, 203)
        assert value(table, "number_date_accuracy") == pytest.approx(right / 203, abs=1e-9)
        assert row(table, "fact_accuracy")["n_cases"] == 263


def paper_cells(metric, table, part=None, average="pooled"):
    """The cells of the sample's baseline beside a published column, by one metric of one part."""
    own = pl.DataFrame(opened("formcraft", "rules")[1], infer_schema_length=None)
    own = own.filter(pl.col("slice_value").eq_missing(pl.lit(part)), metric=metric, average=average)
    own = own.with_columns(mark=pl.lit(None))
    printed = charts.published(table.split(":")[0]).filter(metric=table.split(":")[1])
    printed = printed.filter(subtype=part) if part else printed
    frames = [frame.with_columns(column=pl.lit("it")) for frame in (own, printed)]
    return charts.paper_table(*frames, {"it": "score"}, column="column").frame["it"].to_list()


def test_p2_marks_stand_beside_published_ones_as_means_over_forms():
    scored, _ = opened("formcraft", "rules")
    boxes = scored.cases.filter(subtype="checkbox").select("doc_id", "path")
    marks = scored.scores.filter(metric="mark_f1").join(boxes, on=["doc_id", "path"])
    forms = marks.group_by("doc_id").agg(pl.col("hits", "total").sum()).filter(pl.col("total") > 0)
    mean = (forms["hits"] / forms["total"]).mean()
    assert mean == pytest.approx(0.8452381, abs=1e-7)
    cells = paper_cells("mark_f1", "formcraft_table2:mark_f1", "checkbox", "macro")
    assert cells[0].startswith(f"{mean:.3f} (n = {forms.height})")
    assert cells[-2:] == ["mark_f1", "mean over documents"]


def test_p3_a_paper_table_prints_metric_average_and_n_and_refuses_another_definition():
    names = ["formfactory_table2", "vrdu_table3", *(f"formcraft_table{n}" for n in (1, 2, 3, 4))]
    assert not charts.published(*names)["average"].null_count()
    cells = paper_cells("bleu_of_fields", "formcraft_table1:bleu", "handwritten")
    # Of 124 handwritten fields 7 are empty.
    assert cells[0].startswith("0.099 (n = 117)")
    assert cells[-2:] == ["bleu_of_fields", "mean over fields"]
    for other in (
        ("bleu", "formcraft_table1:bleu", "handwritten"),
        ("mark_f1", "formcraft_table2:mark_f1", "checkbox"),
        ("consistency_dependent_accuracy", "formcraft_table4:consistency_accuracy"),
    ):
        with pytest.raises(Exception, match="measured here"):
            paper_cells(*other)
    # The paper does not say how it averages CER: either is shown.
    assert paper_cells("cer", "formcraft_table1:cer", "handwritten", "macro")[-2] == "cer"


def test_p4_every_untouchable_item_stands_where_the_table_says():
    missing = []
    for entry in yaml.safe_load((Path(__file__).parent / "papers.yml").read_text("utf-8")):
        if "name" in entry:
            found = attrgetter(entry["name"])(formlab).__name__
        elif "command" in entry:
            found = cli(*entry["command"])[0]
        elif "report" in entry:
            notebook = json.loads((ROOT / f"notebooks/{entry['report']}.ipynb").read_text("utf-8"))
            found = str([cell["source"][:1] for cell in notebook["cells"]])
        else:
            found = opened(*entry["scores"])[0].scores["metric"].unique().to_list()
        missing += [(entry["item"], word) for word in entry.get("shows", ()) if word not in found]
    assert not missing
