"""The command line: what commands print, the table of mistakes, and what old words say."""

import json
import re
import subprocess
import sys

import polars as pl
import pytest

from formlab import analysis, benchmarks, registry, reports
from formlab.cli import COMMANDS
from formlab.tables import slice_name
from formlab_arena.run_reader import READER
from tests import made_arena
from tests.analysis.made_pairs import made

M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 1)]
LISTING = "import sys; from formlab.cli import main\ntry: main(['--help'])\n"
LISTING += "finally: print(*sys.modules, file=sys.stderr)"


@pytest.fixture
def work(tmp_path, funsd_root, monkeypatch):
    """A folder with two forms of FUNSD, answers to one, own gold, a log and two evaluations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.jsonl").write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    (tmp_path / "gold.csv").write_text("doc_id,total\na,9\nb,5\n")
    (tmp_path / "log.csv").write_text("id,target,output,score\na,May,may,0\nb,June,June,1\n")
    for name, rows in (("m", M), ("n", N)):
        made(name, rows).save(tmp_path / "evals" / name)
    return tmp_path


def table(result):
    """The pooled scores that a command printed with --json, by metric and slice."""
    assert result.exit_code == 0, result.stderr
    rows = [row for row in json.loads(result.stdout) if row["average"] == "pooled"]
    return {(row["metric"], slice_name(row)): row for row in rows}


def test_help_lists_every_command_and_imports_none(monkeypatch):
    monkeypatch.delenv("FORMLAB_PLUGINS", raising=False)
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True)
    listed = re.findall(r"^  (\w+)  +(\S.*)", done.stdout, re.MULTILINE)
    assert {name for name, line in listed if line} >= {*COMMANDS.builtin, "arena", "stress"}
    imported = {name for name in done.stderr.split() if name.startswith("formlab")}
    assert not imported & {"formlab.cli.options", "formlab_arena", "formlab.folders"}


def test_score_prints_one_number_five_scores_and_how_to_see_all(formlab, work, funsd_root):
    asked = ("score", "funsd", "--root", funsd_root, "--predictions", "pages.jsonl")
    main, everything = formlab(*asked), formlab(*asked, "--all")
    first, header, *rows = main.stdout.splitlines()
    # One page right, the other missing: 10 edits over 14 + 10 characters.
    assert first.startswith(f"pages, funsd:test: cer {10 / 24:.4f} [")
    assert first.endswith("(2 pages, 2 documents)")
    assert header.split()[:4] == ["task", "level", "metric", "value"]
    assert [row.split()[2] for row in rows[:2]] == ["wer", "normalised_accuracy"]
    assert len(rows) == 5
    whole = [line for line in everything.stdout.splitlines()[1:] if "=" not in line.split()[0]]
    assert f"6 of {len(whole)} scores; --all prints all and slices" in main.stderr
    sliced = formlab(*asked, "--by", "kind").stdout
    assert len(re.findall("^kind=.*normalised_accuracy", sliced, re.MULTILINE)) == 3


def test_json_has_every_score_with_null_for_undefined(formlab, work, funsd_root):
    pages = '{"doc_id": "a", "path": "/entities/2", "value": ""}\n{"doc_id": "a", "text": "x"}\n'
    (work / "p.jsonl").write_text(pages + '{"doc_id": "stranger", "text": "x"}\n')
    (funsd_root / "testing_data" / "annotations" / "b.json").write_text('{"form": []}')
    score = ("score", "funsd", "--root", funsd_root, "--predictions", "p.jsonl", "--json")
    result = formlab(*score, "--out", "e")
    rows = table(result)
    assert rows["cer", "kind=answer"]["n_undefined"] == 1
    assert rows["bleu", "all"]["n_undefined"] == 1
    assert "note: predicted documents that are not in the corpus: 1" in result.stderr
    assert (work / "e" / "manifest.json").is_file()


def test_documents_are_all_those_answered_the_first_or_listed(formlab, work):
    corpora = [benchmarks.load("funsd", split=split) for split in ("train", "test")]
    names = [corpus.documents["doc_id"].to_list() for corpus in corpora]
    given = [(corpus.split, name[0]) for corpus, name in zip(corpora, names, strict=True)]
    lines = [{"doc_id": name, "split": split, "text": "x"} for split, name in given]
    (work / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (work / "list.txt").write_text(given[1][1] + "\n")
    score = ("score", "funsd", "--predictions", "p.jsonl", "--resamples", "0", "--json")
    listed = formlab(*score, "--documents", "list.txt")
    answered = formlab(*score, "--documents", "answered", "--split", "test")
    assert "Scored on 1 of 8 documents (answered)" in answered.stderr
    first = formlab(*score, "--documents", "3", "--split", "test")
    assert "Scored on 3 of 8 documents (all, the first 3)" in first.stderr
    whole = formlab(*score, "--split", "test")
    assert "1 of 8 documents were answered; the rest count as missing" in whole.stderr
    found = [table(done)["cer", "all"]["n_docs"] for done in (listed, answered, first, whole)]
    assert found == [1, 1, 3, 8]


def test_a_run_is_of_the_documents_chosen(formlab, work, funsd_root):
    (work / "list.txt").write_text("b\n")
    run = ("run", "funsd", "--root", funsd_root, "--split", "test", "--system", "ocr", "--json")
    for chosen in ("1", "list.txt"):
        result = formlab(*run, "--documents", chosen, "--out", f"runs/{chosen}")
        assert json.loads(result.stdout)[0]["documents"] == 1, result.stderr
    assert formlab(*run, "--documents", "answered").exit_code == 2


def test_a_log_is_scored_by_its_own_gold_with_its_figures_beside(formlab, work):
    result = formlab("score", "log.csv", "--out", "e", "--name", "mine")
    first, header, *_ = result.stdout.splitlines()
    assert first == "mine, own:log, log.csv: normalised_accuracy of fields 1.0000 (2 samples)"
    assert header.split() == ["by", "measure", "over", "value", "n"]
    assert "1 cases that the log and formlab count differently" in result.stdout
    assert "normalisation: case" not in result.stdout
    assert "normalisation: case" in formlab("score", "log.csv", "--all").stdout
    assert (work / "e" / "manifest.json").is_file()


def test_a_run_of_the_arena_is_scored_like_a_log(formlab, work):
    registry.register("readers", "made_arena_run", READER)
    folder = made_arena.run(work / "run", (made_arena.CLUMSY, {}), (made_arena.CLUMSY, {}))
    asked = (folder, "--json", "--by", "kind")
    rows = table(formlab("score", *asked, "--out", "e"))
    # Of two lists chosen from, one is right; of three texts, one went where it belongs.
    assert rows["value_placed_accuracy", "kind=dropdown"]["value"] == 1 / 2
    assert rows == table(formlab("arena", "score", *asked))
    part = formlab("score", folder, "--json", "--documents", "1")
    assert "Scored on 1 of 2 documents (all, the first 1)" in part.stderr
    other = formlab("arena", "score", work)
    assert (other.exit_code, "no run of the arena" in other.stderr) == (2, True)


def test_large_own_data_have_the_output_of_small_ones(formlab, work, monkeypatch):
    rows = [f"d{n},{n}.00,Ada {n}" for n in range(12)]
    answers = [row.replace("0,Ada", "1,Eda") for row in rows[:-1]]
    for name, lines in (("gold", rows), ("answers", answers)):
        (work / f"{name}.csv").write_text("\n".join(["doc_id,total,name", *lines]) + "\n")
    asked = ("score", "gold.csv", "--predictions", "answers.csv", "--resamples", 20, "--json")
    whole = formlab(*asked)
    monkeypatch.setattr("formlab.benchmarks.BATCH", 9)
    assert formlab(*asked, "--out", "out/answers").stdout == whole.stdout


def test_compare_prints_five_columns_and_all_the_rest(formlab, work):
    both = ("compare", "evals/m", "evals/n")
    main, everything = formlab(*both), formlab(*both, "--all")
    title, header, *_ = main.stdout.splitlines()
    assert title == "m against n, 3 documents: nothing can be shown, 6 are needed"
    assert header.split() == ["metric", "slice", "values", "difference", "better"]
    assert "0.6000 against 0.8000  -0.2000 [" in main.stdout
    # The mean over documents is left out until it is asked for.
    assert "macro" not in main.stdout
    assert "1 of 2 rows, 5 columns; --all prints all rows" in main.stderr
    assert {"least_difference", "rules"} < set(everything.stdout.splitlines()[0].split())
    means = json.loads(formlab(*both, "--average", "macro", "--json").stdout)
    assert {(row["metric"], row["average"]) for row in means} == {("normalised_accuracy", "macro")}
    refused = formlab(*both, "--metric", "macro_normalised_accuracy")
    assert "normalised_accuracy with --average macro" in refused.stderr
    rows = json.loads(formlab(*both, "--json").stdout)
    assert (rows[0]["value_a"], rows[0]["value_b"]) == (0.6, 0.8)
    # Of three documents no test can say which is better: p is 1.
    assert (rows[0]["better"], rows[0]["p_holm"]) == (None, 1)
    assert "nan" not in formlab(*both, "--resamples", "0").stdout
    flips = json.loads(formlab(*both, "--metric", "outcome", "--json").stdout)
    assert [flips[0][n] for n in ("both_right", "only_a", "only_b", "both_wrong")] == [2, 1, 2, 0]


def test_what_depends_on_the_reading_rule_is_said_in_one_line(formlab, work, monkeypatch):
    both, real = ("compare", "evals/m", "evals/n", "--all"), analysis.compare
    assert formlab(*both).stderr == ""
    for rules, said in ((["same", "same"], "0 of 2"), (["same", "depends"], "1 of 2")):
        changed = real([analysis.open_evaluation(f"evals/{n}") for n in "mn"], resamples=0)
        changed = changed.with_columns(rules=pl.Series(rules))
        monkeypatch.setattr(analysis, "compare", lambda *_, t=changed, **__: t)
        (line,) = formlab(*both).stderr.splitlines()
        assert line.startswith("reading rules: ")
        assert said in line


def test_over_time_each_run_stands_beside_the_one_before(formlab, work):
    made("c", [*M, ("4", "/a", 1)]).save(work / "evals" / "other")
    shown = formlab("compare", "evals", "--over-time")
    titles = [line for line in shown.stdout.splitlines() if "documents" in line]
    assert titles == ["b:s: 2 runs of 3 documents", "b:s, 4 documents: 1 run of 4 documents"]
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("n "))
    assert "fields right  0.8000 [" in line
    assert "not shown  2 / 1           system m → n" in line
    assert "normalised_accuracy" not in shown.stdout
    rows = json.loads(formlab("compare", "evals", "--over-time", "--json").stdout)
    assert [row["run"] for row in rows if row["metric"] == "outcome"] == ["m", "n", "other"]


def test_report_passes_settings_on_and_exits_with_1_where_one_failed(formlab, work, monkeypatch):
    asked = {}

    def build(notebooks, **options):
        asked.update(options)
        return [reports.ReportResult(name="x", notebook=work, status="failed", error="no luck")]

    monkeypatch.setattr(reports, "build", build)
    settings = ("--set", "figures=off", "--set", "timeout=9", "-p", "n=[1]", "-p", "name=x-y")
    result = formlab("report", "x.ipynb", *settings, "--workers", "2", "--json")
    assert (result.exit_code, json.loads(result.stdout)[0]["error"]) == (1, "no luck")
    assert (asked["figures"], asked["timeout"], asked["workers"]) == (False, 9, 2)
    assert asked["parameters"] == {"n": [1], "name": "x-y"}


@pytest.mark.parametrize("kind", ["benchmarks", "systems", "metrics", "plugins", "cache"])
def test_what_is_known_is_listed(formlab, kind):
    rows = json.loads(formlab("list", kind, "--json").stdout)
    names = {"benchmarks": "funsd", "systems": "ocr", "metrics": "cer", "plugins": "arena"}
    assert names.get(kind, "runs") in {row["name"] for row in rows}
    assert formlab("list", kind).exit_code == 0


SCORE = "score funsd --root funsd --predictions"
MISTAKES = {
    "score funsd": "--predictions",
    f"{SCORE} none.jsonl": "no such file or folder",
    f"{SCORE} pages.jsonl --reader nearest": "unknown reading rule 'nearest'",
    f"{SCORE} pages.jsonl --documents none.txt": "no such list of documents",
    f"{SCORE} pages.jsonl --documents 0": "0 documents",
    f"{SCORE} pages.jsonl --workers two": "neither a number from 1 up nor a Dask scheduler",
    "score gold.csv pages.jsonl --predictions pages.jsonl": "one GOLD",
    "run funsd --system ocr --set scale": "is not NAME=VALUE",
    "run funsd --system ocr --documents 1 --out gold.csv": "gold.csv",
    "compare evals/m": "two",
    "compare evals/m none": "/none). Try: formlab run, or formlab score GOLD",
    "compare gold.csv evals/m": "this is a file, no Evaluation",
    "compare evals evals/m": "this folder holds no Evaluation",
    "compare evals/m evals/n --metric cer": "unknown metric scored for all systems 'cer'",
    "compare evals/m evals/n --by cause": "unknown column of the gold to compare by 'cause'",
    "compare evals/m evals/n --reference x": "unknown system to compare with 'x'",
    "compare evals/m evals/n --flips": "No such option",
    "compare evals/m evals/n --metric outcome --average macro": "no mean over documents",
    "compare evals/m evals/n --over-time": "the folder around them",
    "compare . --over-time --metric": "--metric",
    "report 65_own_form": "unknown report '65_own_form'. Try: '65_own_forms'",
    "report none/65_own_form.ipynb": "no such file",
    "report 10_content_modality -p worts=3": "'worst'",
    "report a.ipynb --manifest reports.yml": "NOTEBOOKS beside --manifest",
    "report --manifest nowhere.yml": "no such file",
    "report --eval nowhere": "no evaluation here",
    "report 10_content_modality --set layout=sight": "'sight'",
    "report 10_content_modality --set figures=some": "on or off",
    "init gold.csv/work": "gold.csv",
    "list metrics --clear": "formlab list cache",
    f"--plugin {'n' * 5000} list benchmarks": "no such file",
}


@pytest.mark.parametrize("words", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_said_on_stderr_with_exit_code_2(formlab, work, words):
    result = formlab(*words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert MISTAKES[words] in result.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.stderr)
