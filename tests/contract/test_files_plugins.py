"""Evaluations on disk, and plug-ins of users."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import polars as pl
import pytest

import formlab
from formlab import analysis
from tests.contract.doors import GOLD, SCORE, WORDS, cli, json_folder, long_table, rows, value

ROOT = Path(__file__).parents[2]
METRIC, *OTHERS = (f"{ROOT}/docs/plugins/toy_{n}.py" for n in ("metric", "system", "benchmark"))


def in_turn(*commands):
    """What commands print in a process of its own, since a plug-in stays where it was loaded."""
    code = "import json; from tests.contract.doors import cli\n"
    code += f"print(json.dumps([cli(*words)[0] for words in {commands}]))"
    here = Path.cwd()
    paths = {"PYTHONPATH": f"{here}{os.pathsep}{ROOT}", "FORMLAB_CACHE": f"{here}/cache"}
    return json.loads(subprocess.check_output([sys.executable, "-c", code], env=os.environ | paths))


def test_f01_an_evaluation_on_disk_gives_the_numbers_of_the_command(work):
    table = formlab.summarise(formlab.open_evaluation("evals/first")).to_dicts()
    command = rows(*SCORE, "first.jsonl")
    for score in (["cer"], ["match_f1"], ["wer", "macro"]):
        assert value(table, *score) == pytest.approx(value(command, *score), abs=1e-9)
    os.truncate(file := Path("evals/first/scores/00000.parquet"), file.stat().st_size - 9)
    cli("compare", "evals/first", "evals/second", code=2)


def test_f03_the_plug_ins_of_the_docs_are_run_and_scored_and_found_again(work, monkeypatch):
    # The system reads the 3 of the total as an 8: one of four digits.
    json_folder(work / "forms", {"a": {"total": "31.90"}})
    (work / "forms/a.txt").write_text("A shop\nTotal: 81.90\n")
    receipts = ["receipts", "--root", "forms", "--out"]
    monkeypatch.setenv("FORMLAB_PLUGINS", os.pathsep.join([METRIC, *OTHERS]))
    score = ["score", *receipts, "scored", "--predictions", "run"]
    in_turn(["run", *receipts, "run", "--system", "lines"], score)
    monkeypatch.delenv("FORMLAB_PLUGINS")
    (compared,) = in_turn(["compare", "scored", "scored", "--metric", "digit_accuracy", "--json"])
    assert json.loads(compared)[0]["value_a"] == pytest.approx(3 / 4, abs=1e-9)


def test_f02_f04_one_file_is_a_metric_and_a_strangers_is_not_run_and_is_named(work, monkeypatch):
    (work / "theirs.py").write_text(Path(METRIC).read_text() + "\nopen('ran', 'a').write('x')\n")
    score = [*SCORE, "first.jsonl", "--out", "evals/theirs", "--json"]
    (out,) = in_turn(["--plugin", "theirs.py", *score])
    # Totals 4 of 4 and 5 of 5; 42011 beside 20110304: 1 of 5; 302009 beside 20090630: 2 of 6.
    assert value(json.loads(out), "digit_accuracy") == pytest.approx(12 / 20, abs=1e-9)
    monkeypatch.setenv("FORMLAB_CACHE", "cache of another user")
    assert "theirs.py" in cli("compare", "evals/theirs", "evals/theirs", code=2)[1]
    assert (work / "ran").read_text() == "x"


def test_f05_killed_while_it_is_saved_over_another_it_is_the_old_or_the_new(work, monkeypatch):
    first, second = (formlab.open_evaluation(f"evals/{name}") for name in ("first", "second"))
    states, found = [first.cases["pred"].to_list(), second.cases["pred"].to_list()], []
    for number in range(0, 60, 3):
        out = shutil.copytree("evals/first", f"evals/{number}")
        steps = iter([DEFAULT] * number + [KeyboardInterrupt] * 999)  # Then nothing is saved.
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            for name in ("rename", "replace", "unlink", "rmdir"):
                patch.setattr(os, name, Mock(wraps=getattr(os, name), side_effect=steps))
            second.save(out)
        found.append(states.index(formlab.open_evaluation(out).cases["pred"].to_list()))
    assert (found, found[0], found[-1]) == (sorted(found), 0, 1)


def test_f06_own_columns_of_the_gold_are_kept_and_slice(work):
    long_table(GOLD).with_columns(scanner=pl.col("doc_id").str.tail(1)).write_csv("truth.csv")
    for name in ("first", "second"):
        cli(*SCORE, f"{name}.jsonl", "--by", "scanner", "--out", f"evals/{name}")
    # Edits of 25 and of 29 characters: 11 and 12 of the first, 2 and 10 of the second.
    asked = "compare evals/first evals/second --by scanner --metric cer --average pooled"
    table = rows(*asked.split())
    found = {r["slice_value"]: (r["value_a"], r["value_b"]) for r in table if r["slice_by"]}
    assert found == {"1": (11 / 25, 2 / 25), "2": (12 / 29, 10 / 29)}


def test_f07_functions_return_pandas_where_the_user_chose_it(work, monkeypatch):
    pair = [formlab.open_evaluation(f"evals/{name}") for name in ("first", "second")]
    calls = dict.fromkeys((formlab.summarise, analysis.what_if), pair[0])
    calls |= dict.fromkeys((formlab.compare, analysis.shared_failures), pair)
    tables = [function(argument) for function, argument in calls.items()]
    monkeypatch.setattr(formlab.options, "frames", "pandas")
    for (function, argument), table in zip(calls.items(), tables, strict=True):
        frame = function(argument)
        assert type(frame).__module__.startswith("pandas")
        assert str(frame["ci_low"].tolist()) == str(table["ci_low"].to_list())


def test_f09_a_report_is_of_the_notebook_that_the_user_changed(work):
    cli("init", "mine")
    file = next(work.glob("mine/**/65_own_forms.ipynb"))
    book = json.loads(file.read_text("utf-8"))
    own = book["cells"][1] | {"id": "own", "metadata": {}, "source": "print(6 * 7 * 10**6)"}
    file.write_text(json.dumps(book | {"cells": [*book["cells"][:2], own]}), "utf-8")
    cli("report", file, "--eval=evals/first", *WORDS["no figures"], "--workers=1", "--out=r")
    assert "42000000" in next(work.glob("r/65_own_forms*.html")).read_text("utf-8")
