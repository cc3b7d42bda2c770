"""One comparison has one difference, one interval and one p, wherever it is quoted."""

import dataclasses
import html
import json
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import formlab
from formlab import analysis, reports
from formlab.cli import main
from formlab.testing import assert_not_worse
from tests.analysis.made_pairs import made

METRIC = "normalised_accuracy"
SCORE = {"metric": METRIC, "average": "pooled"}
DRAWS = {"resamples": 300, "permutations": 999}
FLIPS = ("both_right", "only_a", "only_b", "both_wrong")
OF_TEST = ("difference", "ci_low", "ci_high", "p")


@pytest.fixture(scope="module", params=[0, 1, 2])
def systems(request):
    return pair_of(request.param)


def pair_of(seed):
    """Twenty forms of a date, three numbers and four texts; `fox` reads, `owl` loses dates."""
    generator = np.random.default_rng(seed)
    kinds = ["date", *["number"] * 3, *["text"] * 4]
    found = []
    for name, lost in (("fox", 0.05), ("owl", (0.1, 0.6, 0.9)[seed])):
        rows = [
            (f"{doc:02}", f"/{n}", int(generator.random() > (lost if kind == "date" else 0.1)),
             {"kind": kind, "subtype": f"/{n % 3}"})
            for doc in range(20) for n, kind in enumerate(kinds)
        ]  # fmt: skip
        found.append(made(name, rows))
    return found


def numbers(text):
    """All numbers of a sentence, as text, without their signs."""
    return re.findall(r"\d+\.\d+|\d+", text.replace("95 %", "").replace(",", ""))


def in_points(row):
    return [f"{abs(100 * row[name]):.1f}" for name in ("difference", "ci_low", "ci_high")]


def test_matrix_verdict_finding_history_and_sentence_have_one_number(systems):
    pair = analysis.common(systems).evaluations
    matrix = formlab.compare(pair, metric="outcome", by=["subtype", "kind"], **DRAWS)
    row = matrix.row(0, named=True)
    table = analysis.verdicts(pair, **DRAWS)
    finding, *of_kinds = analysis.tell_apart(pair, table)
    verdict = table.row(0, named=True)
    runs = analysis.history({"before": systems[1], "after": systems[0]}, **DRAWS)
    run = runs.filter(run="after", metric="outcome").row(0, named=True)
    names = dict(zip(OF_TEST[1:3], ("difference_low", "difference_high"), strict=True))
    for name in OF_TEST:
        other = finding.effect if name == "difference" else getattr(finding, name)
        assert row[name] == verdict[name] == run[names.get(name, name)] == other, name
    p = row["p_holm"]
    assert p == verdict["p_holm"] == run["p_adjusted"] == finding.p_adjusted
    assert row["better"] == verdict["better"]
    assert (row["better"] is not None) == finding.holds == (run["verdict"] in ("better", "worse"))
    # Beside other slices and alone kinds have the same p.
    kinds = {of["slice_value"]: of for of in matrix.filter(slice_by="kind").to_dicts()}
    for kind in run["kinds"]:
        assert [kind[n] for n in (*OF_TEST, "p_holm")] == [
            kinds[kind["kind"]][n] for n in (*OF_TEST, "p_holm")
        ]
    assert {kind["kind"] for kind in run["kinds"]} == {n for n in kinds if kinds[n]["better"]}
    assert [each.p_adjusted for each in of_kinds] == [
        of["p_holm"] for of in kinds.values() if of["better"]
    ]
    sentence = analysis.verdict_sentence(table, analysis.ranks(pair, table, resamples=300))
    for of in (row, *(kinds[kind["kind"]] for kind in run["kinds"])):
        assert set(in_points(of)) <= set(numbers(sentence)), (sentence, of)
        assert of["p_holm"] < 0.0001 or f"p = {of['p_holm']:.2g}" in sentence


def test_scores_of_a_comparison_are_those_of_summary_command_line_and_assertion(systems, tmp_path):
    (row,) = formlab.compare(systems, **SCORE, level=0.9, **DRAWS).to_dicts()
    numbers = assert_not_worse(*systems, METRIC, 0.99, **DRAWS)
    assert [numbers[n] for n in OF_TEST[:3]] == [row[n] for n in OF_TEST[:3]]
    for name, system in zip(("value_a", "value_b"), systems, strict=True):
        summary = formlab.summarise(system, resamples=0).filter(**SCORE, level="field")
        assert summary["value"][0] == pytest.approx(row[name], abs=1e-12)
    folders = [str(s.save(tmp_path / s.system)) for s in systems]
    words = ["compare", *folders, "--metric", METRIC, "--average", "pooled"]
    shown = CliRunner().invoke(main, [*words, "--json"])
    (printed,) = json.loads(shown.stdout)
    (again,) = formlab.compare(systems, **SCORE).to_dicts()
    for name in ("value_a", "value_b", *OF_TEST, "p_holm", "better"):
        assert printed[name] == pytest.approx(again[name], abs=1e-9), name


def test_a_positive_difference_means_that_the_first_is_better_whatever_the_metric(systems):
    table = formlab.compare(systems, by=["kind"], **DRAWS)
    for row in table.drop_nulls("better").to_dicts():
        assert (row["difference"] > 0) == (row["better"] == row["system_a"])
    # The same numbers as an error rate: what was a lead is a lag.
    errors = [
        dataclasses.replace(each, scores=each.scores.with_columns(metric=pl.lit("cer")))
        for each in systems
    ]
    turned = formlab.compare(errors, by=["kind"], **DRAWS)
    assert turned["difference"].to_list() == [-value for value in table["difference"]]


def printed(number):
    """A number as tables of reports write it."""
    return f"{number:.3f}".replace("-", "−")


def test_report_header_tables_index_and_command_line_have_one_number(tmp_path):
    folders = [str(system.save(tmp_path / system.system)) for system in pair_of(1)]
    words = ["compare", *folders, "--metric", "outcome", "--by", "kind", "--resamples", "300"]
    rows = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert len(rows) == 4
    draws = {"resamples": 300, "permutations": 300, "evaluations": folders}
    (report,) = reports.build(["80_compare_systems"], out=tmp_path, parameters=draws, figures=False)
    pages = (report.html, tmp_path / "index.html")
    page, index = (html.unescape(file.read_text()) for file in pages)
    # What the notebook shows as text.
    cells = json.loads(report.ipynb.read_text())["cells"]
    texts = [o["data"]["text/plain"] for c in cells for o in c.get("outputs", ()) if "data" in o]
    plain = "\n".join("".join(text) for text in texts)
    for row in rows:
        kind = row["slice_value"]
        # What the header, the gallery's claims and the index say of those that are shown.
        first = f"{row['better']} gets more {f'{kind} values' if kind else 'fields'} right than"
        p = "p < 0.0001" if row["p_holm"] < 0.0001 else f"p = {row['p_holm']:.2g}"
        difference, low, high = in_points(row)
        sentence = f" (difference {difference} points, 95 % interval {low} to {high}; {p}"
        for text, least in ((plain, 2), (page, 3), (index, 1)):
            ends = re.findall(re.escape(first) + r"[^(]*( \([^)]*?)(?:, adjusted|\))", text)
            assert set(ends) == ({sentence} if row["better"] else set())
            assert len(ends) >= least * bool(row["better"])
        # The row of the table of flips, and that of all comparisons.
        of = [row[name] for name in ("value_a", "value_b", "difference", "ci_low", "ci_high")]
        lead, p = [printed(number) for number in of], f"{row['p_holm']:.4f}"
        for name, cells in (
            (kind or "all fields", [*map(str, map(row.get, FLIPS)), *lead[2:], p]),
            (f"fields right, kind {kind}" if kind else "fields right  ", [*lead, p]),
        ):
            lines = [row.split() for row in re.findall(f"^{name} .*$", plain, re.MULTILINE)]
            # Kinds have a row of how hard they are, too.
            (line,) = (row for row in lines if len(row) >= len(cells))
            positions = [line.index(cell) for cell in cells]
            assert positions == sorted(positions), (line, cells)
