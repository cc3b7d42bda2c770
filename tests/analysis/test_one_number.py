"""One comparison has one difference, one interval and one p, wherever it is quoted."""

import html
import json
import re

import numpy as np
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


def in_points(row):
    return [f"{abs(100 * row[name]):.1f}" for name in ("difference", "ci_low", "ci_high")]


def test_kinds_have_one_number_in_matrix_findings_history_and_sentence():
    pair = analysis.common(pair_of(2)).evaluations
    matrix = formlab.compare(pair, metric="outcome", by=["subtype", "kind"], **DRAWS)
    # Beside other slices and alone kinds have the same p.
    kinds = {row["slice_value"]: row for row in matrix.filter(slice_by="kind").to_dicts()}
    table = analysis.verdicts(pair, **DRAWS)
    _, *of_kinds = analysis.tell_apart(pair, table)
    runs = analysis.history({"before": pair[1], "after": pair[0]}, **DRAWS)
    (told,) = runs.filter(run="after", metric="outcome")["kinds"].to_list()
    shown = [name for name, row in kinds.items() if row["better"]]
    assert shown == [kind["kind"] for kind in told] == ["date"]
    assert [kinds["date"]["p_holm"]] == [each.p_adjusted for each in of_kinds]
    for name in ("difference", "ci_low", "ci_high", "p", "p_holm"):
        assert told[0][name] == kinds["date"][name], name
    sentence = analysis.verdict_sentence(table, analysis.ranks(pair, table, resamples=300))
    assert all(number in sentence for number in in_points(kinds["date"]))
    shares = [f"{100 * kinds['date'][name]:.1f} %" for name in ("value_a", "value_b")]
    assert " against ".join(shares) in sentence


def test_scores_of_a_comparison_are_those_of_summary_command_line_and_assertion(tmp_path):
    systems = pair_of(0)
    (row,) = formlab.compare(systems, **SCORE, level=0.9, **DRAWS).to_dicts()
    numbers = assert_not_worse(*systems, METRIC, 0.99, **DRAWS)
    for name in ("difference", "ci_low", "ci_high"):
        assert numbers[name] == row[name]
    for name, system in zip(("value_a", "value_b"), systems, strict=True):
        summary = formlab.summarise(system, resamples=0).filter(**SCORE, level="field")
        assert summary["value"][0] == pytest.approx(row[name], abs=1e-12)
    folders = [str(s.save(tmp_path / s.system)) for s in systems]
    words = ["compare", *folders, "--metric", METRIC, "--average", "pooled", "--json"]
    (shown,) = json.loads(CliRunner().invoke(main, words).stdout)
    (again,) = formlab.compare(systems, **SCORE).to_dicts()
    for name in ("value_a", "value_b", "difference", "ci_low", "ci_high", "p", "p_holm", "better"):
        assert shown[name] == pytest.approx(again[name], abs=1e-9), name


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
    assert page.count("with and without those whose label or reading is in doubt") >= 3
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
            lines = re.findall(f"^(?:fox → owl +)?{name} .*$", plain, re.MULTILINE)
            # Kinds have a row of how hard they are, too.
            (line,) = (row for row in map(str.split, lines) if len(row) >= len(cells))
            positions = [line.index(cell) for cell in cells]
            assert positions == sorted(positions), (line, cells)
