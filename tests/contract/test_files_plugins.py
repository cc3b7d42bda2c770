"""Evaluations on disk, plug-ins of users, and the core without what is not installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import formlab
from formlab import analysis
from tests.contract.doors import GOLD, SCORE, cli, json_folder, long_table, rows, value

ROOT = Path(__file__).parents[2]
TOYS = {name: ROOT / f"docs/plugins/toy_{name}.py" for name in ("benchmark", "metric", "system")}
IN_TURN = """import json, sys; from tests.contract.doors import cli
print(json.dumps([cli(*words)[0] for words in json.loads(sys.argv[1])]))"""
# Python runs this at its start: no add-on is there, and nothing that only extras install.
ABSENT = """from importlib import machinery, metadata
ABSENT = "formlab_ openai filelock playwright flask gymnasium cv2 rapidocr onnx sklearn dask fsspec"
there = lambda name: not name.startswith(tuple(ABSENT.split()))
find, select = machinery.PathFinder.find_spec, metadata.EntryPoints.select
machinery.PathFinder.find_spec = lambda name, *more: find(name, *more) if there(name) else None
metadata.EntryPoints.select = lambda self, **chosen: metadata.EntryPoints(
    point for point in select(self, **chosen) if there(point.value))"""


def in_turn(*commands, plugins=()):
    """What commands print in a process of its own, since a plug-in stays where it was loaded."""
    texts = json.dumps([list(map(str, words)) for words in commands])
    paths = os.pathsep.join(map(str, (Path.cwd(), ROOT, os.environ.get("PYTHONPATH", ""))))
    named = {"FORMLAB_PLUGINS": os.pathsep.join(map(str, plugins)), "FORMLAB_CACHE": "cache"}
    command, environment = [sys.executable, "-c", IN_TURN, texts], {"PYTHONPATH": paths} | named
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_f01_an_evaluation_on_disk_gives_the_numbers_of_the_command(work):
    table = formlab.summarise(formlab.open_evaluation("evals/first")).to_dicts()
    said = rows(*SCORE, "first.jsonl")
    for name in ("cer", "match_f1", "macro_wer"):
        assert value(table, name) == pytest.approx(value(said, name), abs=1e-9)
    damaged = work / "evals/first/scores.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    cli("compare", "evals/first", "evals/second", code=2)


def test_f02_one_file_is_a_metric(work):
    (out,) = in_turn(["--plugin", TOYS["metric"], *SCORE, "first.jsonl", "--json"])
    # Totals 4 of 4 and 5 of 5; 42011 beside 20110304: 1 of 5; 302009 beside 20090630: 2 of 6.
    assert value(json.loads(out), "digit_accuracy") == pytest.approx(12 / 20, abs=1e-9)


def test_f03_the_plug_ins_of_the_docs_are_run_and_scored_and_found_again(work):
    # The system reads the 3 of the last total as an 8: one of eleven digits.
    totals = {"a": "10.05", "b": "7.25", "c": "31.90"}
    json_folder(work / "forms", {name: {"total": total} for name, total in totals.items()})
    for name, total in totals.items():
        (work / f"forms/{name}.txt").write_text(f"A shop\nTotal: {total.replace('3', '8')}\n")
    run = ["run", "receipts", "--root", "forms", "--system", "lines", "--out", "run"]
    score = ["score", "receipts", "--root", "forms", "--predictions", "run", "--out", "e"]
    in_turn(run, score, plugins=TOYS.values())
    (compared,) = in_turn(["compare", "e", "e", "--metric", "digit_accuracy", "--json"])
    assert json.loads(compared)[0]["value_a"] == pytest.approx(10 / 11, abs=1e-9)


def test_f04_a_strangers_plug_in_is_not_run_and_is_named(work, monkeypatch):
    (work / "theirs.py").write_text(TOYS["metric"].read_text() + "\nopen('ran', 'w').close()\n")
    in_turn(["--plugin", "theirs.py", *SCORE, "first.jsonl", "--out", "evals/theirs"])
    (work / "ran").unlink()
    monkeypatch.setenv("FORMLAB_CACHE", "cache of another user")
    _, err = cli("compare", "evals/theirs", "evals/theirs", code=2)
    assert re.search("digit_accuracy.*theirs.py", err)
    assert not (work / "ran").exists()


def test_f05_killed_while_it_is_saved_over_another_it_is_the_old_or_the_new(work, monkeypatch):
    def step(does, left, *arguments, **options):
        if not left:  # From here on nothing reaches the disk.
            raise KeyboardInterrupt
        return left.pop() and does(*arguments, **options)

    first, second = (formlab.open_evaluation(f"evals/{name}") for name in ("first", "second"))
    states, found = [first.cases["pred"].to_list(), second.cases["pred"].to_list()], []
    for number in range(0, 60, 3):
        out, left = shutil.copytree("evals/first", f"evals/{number}"), [True] * number
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            for name in ("rename", "replace", "unlink", "rmdir"):
                patch.setattr(os, name, partial(step, getattr(os, name), left))
            second.save(out)
        found.append(states.index(formlab.open_evaluation(out).cases["pred"].to_list()))
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, 1)


def test_f06_own_columns_of_the_gold_are_kept_and_slice(work):
    long_table(GOLD).with_columns(scanner=pl.col("doc_id").str.tail(1)).write_csv("truth.csv")
    for name in ("first", "second"):
        table = rows(*SCORE, f"{name}.jsonl", "--by", "scanner", "--out", f"evals/{name}")
    # Edits of 25 and of 29 characters: 11 and 12 of the first, 2 and 10 of the second.
    assert value(table, "cer", slice_value="1") == pytest.approx(2 / 25, abs=1e-9)
    table = rows("compare", "evals/first", "evals/second", "--by", "scanner", "--metric", "cer")
    found = {r["slice_value"]: (r["value_a"], r["value_b"]) for r in table if r["slice_by"]}
    assert found == {"1": (11 / 25, 2 / 25), "2": (12 / 29, 10 / 29)}


def test_f07_functions_return_pandas_where_the_user_chose_it(work, monkeypatch):
    pair = [formlab.open_evaluation(f"evals/{name}") for name in ("first", "second")]
    calls = {"value": (formlab.summarise, pair[0]), "p": (formlab.compare, pair)}
    calls |= {"gain": (analysis.what_if, pair[0]), "flip": (analysis.flips, *pair)}
    calls |= {"share": (analysis.shared_failures, pair)}
    for column, (function, *arguments) in calls.items():
        table = function(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(formlab.options, "frames", "pandas")
            frame = function(*arguments)
        assert type(frame).__module__.startswith("pandas")
        assert str(frame[column].tolist()) == str(table[column].to_list())


def test_f08_the_core_works_without_add_ons_and_extras(work):
    (work / "sitecustomize.py").write_text(ABSENT)
    compare = ["compare", "evals/first", "evals/second", "--json"]
    report = ["report", "65_own_forms", "--eval", "evals/first", "--no-figures", "--out", "r"]
    scores, compared, _, helped = in_turn(
        [*SCORE, "first.jsonl", "--json"], compare, report, ["--help"]
    )
    assert value(json.loads(scores), "cer") == pytest.approx(23 / 54, abs=1e-9)
    assert {r["n_docs"] for r in json.loads(compared)} == {2}
    assert "Noor Hadad" in next(work.glob("r/65_own_forms*.html")).read_text("utf-8")
    assert ("compare" in helped, "arena" in helped) == (True, False)


def test_f09_a_report_is_of_the_users_changed_notebook_with_a_chart_of_the_user(work):
    cli("init", "mine")
    file, page = next(work.glob("mine/**/65_own_forms.ipynb")), ROOT / "docs/plugins/README.md"
    (work / "mine.py").write_text(re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1])
    book = json.loads(file.read_text("utf-8"))
    (first,) = (c for c in book["cells"] if "parameters" in c["metadata"].get("tags", ()))
    source = "import formlab\ntable = formlab.summarise(formlab.open_evaluation(evaluation))\n"
    source += "formlab.charts.mean_bars(table, 'metric', 'value')"
    book["cells"] = [first, first | {"id": "mine", "metadata": {}, "source": source}]
    file.write_text(json.dumps(book), "utf-8")
    report = ["report", file, "--eval", "evals/first", "--no-figures", "--out", "r"]
    count, _ = in_turn(["--plugin", "mine.py", "count", "evals/first"], report)
    # Six fields, and for each of two forms a case of its page.
    assert count == "8\n"
    page = next(work.glob("r/65_own_forms*.html")).read_text("utf-8")
    assert re.search(r"aggregate\W+mean", page)
