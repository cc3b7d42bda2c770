import json

import polars as pl
import pytest
from click.testing import CliRunner

from formlab import analysis, reports
from formlab.cli import main
from tests.analysis.made_pairs import made

M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 1)]


@pytest.fixture
def folders(tmp_path):
    return [str(made(name, rows).save(tmp_path / name)) for name, rows in (("m", M), ("n", N))]


def run(*arguments):
    return CliRunner().invoke(main, ["compare", *arguments])


def test_json_holds_the_difference_of_every_metric(folders):
    rows = json.loads(run(*folders, "--json").stdout)
    assert [row["metric"] for row in rows] == ["normalised_accuracy", "macro_normalised_accuracy"]
    assert (rows[0]["value_a"], rows[0]["value_b"]) == (0.6, 0.8)
    # Of three documents no test can say which is better: p is 1.
    assert (rows[0]["system_a"], rows[0]["better"], rows[0]["p_holm"]) == ("m", None, 1)
    assert "not shown" in run(*folders).stdout


def test_table_has_values_difference_and_interval_and_all_prints_the_rest(folders):
    main, everything = run(*folders), run(*folders, "--all")
    assert "0.6000 → 0.8000  +0.2000 [" in main.stdout
    # The mean over documents is left out until it is asked for.
    assert "macro_" not in main.stdout
    assert "1 of 2 rows, 5 columns; --all prints all rows" in main.stderr
    assert "macro_normalised_accuracy" in everything.stdout
    assert "least_difference" in everything.stdout.splitlines()[0]
    assert "macro_" in run(*folders, "--metric", "macro_normalised_accuracy").stdout
    without = run(*folders, "--resamples", "0").stdout
    assert "+0.2000  " in without
    assert "nan" not in without


def test_better_is_named_where_the_test_supports_it(tmp_path):
    pair = [
        made(name, [(str(doc), "/a", right) for doc in range(9)]).save(tmp_path / name)
        for name, right in (("m", 0), ("n", 1))
    ]
    rows = json.loads(run(*map(str, pair), "--json").stdout)
    # Two of the 2 ** 9 swaps are as extreme as all nine right against none.
    assert [(row["better"], row["p"]) for row in rows] == [("n", 2 / 512)] * 2
    assert "not shown" not in run(*map(str, pair)).stdout


def test_table_names_both_systems_and_flips_are_counted(folders):
    shown = run(*folders, "--metric", "normalised_accuracy", "--by", "path")
    assert shown.exit_code == 0
    assert "path=/a" in shown.stdout
    title, header, *_ = shown.stdout.splitlines()
    assert title == "m (a) → n (b), 3 documents: nothing can be shown, 6 are needed"
    assert header.split() == ["metric", "slice", "values", "difference", "better"]
    flips = run(*folders, "--flips").stdout.splitlines()
    assert flips[1].split() == ["slice", "only_a", "only_b", "difference", "p_holm"]
    rows = json.loads(run(*folders, "--flips", "--json").stdout)
    counts = [rows[0][n] for n in ("both_right", "only_a", "only_b", "both_wrong")]
    assert counts == [2, 1, 2, 0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "cer"], "unknown metric scored for all systems 'cer'"),
        (["--by", "cause"], "unknown column of the gold to compare by 'cause'"),
        (["--reference", "x"], "unknown system to compare with 'x'"),
        (["--flips", "--metric", "cer"], "--flips counts fields that are right"),
    ],
)
def test_mistakes_are_named_and_exit_with_two(folders, arguments, said):
    result = run(*folders, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_one_folder_or_a_missing_one_is_a_mistake(folders, tmp_path):
    assert run(folders[0]).exit_code == 2
    result = run(folders[0], str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "manifest.json" in result.stderr


def test_what_depends_on_the_reading_rule_is_said_in_one_line(monkeypatch, folders):
    # Fields named by the system itself have no reading rule.
    assert run(*folders, "--all").stderr == ""
    names = "(centre, overlap, cut)"
    for rules, said in (
        (["same", "same"], f"every verdict on fields is the same under all of them {names}"),
        (["same", "depends"], "1 of 2 verdicts on fields depend on how fields are read"),
    ):
        real = analysis.compare

        def compare(*some, real=real, rules=rules, **options):
            return real(*some, **options).with_columns(rules=pl.Series(rules))

        with monkeypatch.context() as patch:
            patch.setattr(analysis, "compare", compare)
            shown = run(*folders, "--all")
        (line,) = shown.stderr.splitlines()
        assert line.startswith("reading rules: ")
        assert said in line
        assert "rules" in shown.stdout.splitlines()[0].split()


def test_history_shows_what_changed_from_run_to_run(folders, tmp_path):
    made("c", [*M, ("4", "/a", 1)]).save(tmp_path / "other")
    shown = CliRunner().invoke(main, ["history", str(tmp_path)])
    lines = shown.stdout.splitlines()
    assert [line for line in lines if "documents" in line] == [
        "b:s: 2 runs of 3 documents", "b:s, 4 documents: 1 run of 4 documents",
    ]  # fmt: skip
    (line,) = (line for line in lines if line.startswith("n "))
    assert "fields right  0.8000 [" in line
    assert "+0.2000 [" in line
    assert "not shown  2 / 1           system m → n" in line
    assert "normalised_accuracy" not in shown.stdout
    rows = json.loads(CliRunner().invoke(main, ["history", str(tmp_path), "--json"]).stdout)
    assert [row["run"] for row in rows if row["metric"] == "outcome"] == ["m", "n", "other"]
    wide = ["history", str(tmp_path), "--all", "--metric", "macro_normalised_accuracy"]
    assert "macro_normalised_accuracy (field)" in CliRunner().invoke(main, wide).stdout


def test_a_folder_without_evaluations_has_no_history(tmp_path):
    result = CliRunner().invoke(main, ["history", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no evaluation here or in its folders (")
    assert "Try: " in result.stderr


def test_history_builds_a_report_for_each_corpus(folders, tmp_path, monkeypatch):
    asked = []

    def build(notebooks, **options):
        asked.append((notebooks, options["name"], options["parameters"]["corpus"]))
        ok = len(asked) < 2
        return [reports.ReportResult(
            name=options["name"], notebook=tmp_path, status="built" if ok else "failed"
        )]  # fmt: skip

    monkeypatch.setattr(reports, "build", build)
    arguments = ["history", str(tmp_path), "--out", str(tmp_path / "r")]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert asked == [(["81_history"], "81_history", "b:s")]
    made("c", [*M, ("4", "/a", 1)]).save(tmp_path / "other")
    result = CliRunner().invoke(main, arguments)
    assert [name for _, name, _ in asked[1:]] == ["81_history--b:s"]
    assert "81_history--b:s: failed" in result.stderr
    assert result.exit_code == 1
