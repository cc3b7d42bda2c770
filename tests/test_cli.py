"""The command line: what commands print, the table of mistakes, old words, and facts."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from formlab import benchmarks, registry
from formlab.cli import COMMANDS, OLD_COMMANDS, OLD_OPTIONS
from formlab.tables import slice_name
from formlab_arena.run_reader import READER
from tests import made_arena
from tests.analysis.made_pairs import made
from tests.systems.scripted_server import serving

M = [("1", "/a", 1), ("1", "/b", 1), ("2", "/a", 1), ("2", "/b", 0), ("3", "/a", 0)]
N = [("1", "/a", 1), ("1", "/b", 0), ("2", "/a", 1), ("2", "/b", 1), ("3", "/a", 1)]
LISTING = "import sys; from formlab.cli import main\ntry: main({})\n"
LISTING += "finally: print(*sys.modules, file=sys.stderr)"
HEAVY = "altair anywidget cv2 flask IPython lxml matplotlib nbformat numba numpy onnxruntime openai"
HEAVY += " pandas papermill PIL playwright plotly polars pydantic rapidfuzz rapidocr sacrebleu"
HEAVY += " scipy sklearn statsmodels"


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


@pytest.mark.parametrize("words", ["--help", "list benchmarks", "score -h"])
def test_help_lists_every_command_and_lists_import_nothing_heavy(words, monkeypatch):
    monkeypatch.delenv("FORMLAB_PLUGINS", raising=False)
    code = LISTING.format(words.split())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = set(done.stderr.split())
    assert (done.returncode, imported & {*HEAVY.split()}) == (0, set())
    if words == "--help":
        listed = re.findall(r"^  (\w+)  +(\S.*)", done.stdout, re.MULTILINE)
        assert {name for name, line in listed if line} >= {*COMMANDS.builtin, "arena", "stress"}
        assert not imported & {"formlab.cli.options", "formlab_arena", "formlab.folders"}


def test_documents_are_all_those_answered_the_first_or_listed(formlab, work):
    corpora = [benchmarks.load("funsd", split=split) for split in ("train", "test")]
    given = [(corpus.split, corpus.documents["doc_id"][0]) for corpus in corpora]
    lines = [{"doc_id": name, "split": split, "text": "x"} for split, name in given]
    (work / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (work / "list.txt").write_text(given[1][1] + "\n")
    score = ("score", "funsd", "--predictions", "p.jsonl", "--resamples", "0", "--json")
    listed = formlab(*score, "--documents", "list.txt")
    answered = formlab(*score, "--documents", "answered", "--split", "test")
    assert "Scored on 1 of 8 documents (answered)" in answered.stderr
    assert "gold of all 8 documents: entities without text: 3" in answered.stderr
    first = formlab(*score, "--documents", "3", "--split", "test")
    assert "Scored on 3 of 8 documents (all, the first 3)" in first.stderr
    whole = formlab(*score, "--split", "test")
    assert "1 of 8 documents were answered; the rest count as missing" in whole.stderr
    found = [table(done)["cer", "all"]["n_docs"] for done in (listed, answered, first, whole)]
    assert found == [1, 1, 3, 8]


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


MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yml").read_text("utf-8"))
MISTAKES[f"--plugin {'n' * 5000} list benchmarks"] = "cannot be read"


@pytest.mark.parametrize("words", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_said_on_stderr_with_exit_code_2(formlab, work, monkeypatch, words):
    result = formlab(*words.format(samples=benchmarks.SAMPLES).split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert MISTAKES[words] in result.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.stderr)
    # An order is looked through before anything starts.
    assert not {"r", "people"} & {path.name for path in work.iterdir()}


@pytest.mark.parametrize("old", [*OLD_COMMANDS, *OLD_OPTIONS])
def test_old_words_print_the_new_ones_and_exit_with_2(formlab, work, old):
    new = OLD_COMMANDS.get(old) or OLD_OPTIONS[old]
    for words in ([old],) if old in OLD_COMMANDS else ([c, old] for c in ("score", "report")):
        result = formlab(*words)
        assert result.exit_code == 2
        if words[0] == "score" and old in ("--layout", "--timeout", "--figures", "--no-figures"):
            continue
        assert f"{old} is now: {new}" in " ".join(result.stderr.split())


def test_over_time_each_run_stands_beside_the_one_before(formlab, work):
    made("c", [*M, ("4", "/a", 1)]).save(work / "evals" / "other")
    shown = formlab("compare", "evals", "--over-time").stdout
    (line,) = (line for line in shown.splitlines() if " n " in line)
    assert re.search(r"outcome +0\.8000 +0\.2000 .*not shown +2 +1 +system m → n", line)
    assert "normalised_accuracy" not in shown
    rows = json.loads(formlab("compare", "evals", "--over-time", "--json").stdout)
    assert [row["run"] for row in rows if row["metric"] == "outcome"] == ["m", "n", "other"]


def test_what_is_compared_listed_and_run_is_told_in_few_lines(formlab, work):
    shown = formlab("compare", "evals/m", "evals/n", "--metric", "outcome")
    assert re.search(r"m +n +outcome +fields +0\.6000 +0\.8000 .* 1 +2\n", shown.stdout)
    assert "3 documents: nothing can be shown, 6 are needed" in shown.stdout
    score = ("score", "gold.csv", "--predictions", "gold.csv", "--resamples", "0", "--out")
    shown = [formlab(*score, name).stdout for name in ("evals/x", "evals/y")]
    assert "x, own:gold: match_f1 1.0000 [no interval] (2 fields, 2 documents)\n" in shown[0]
    rows = formlab("compare", "evals/x", "evals/y").stdout.splitlines()
    assert (len(rows), rows[2].split()[2]) == (2 + 6, "match_f1")
    listed = json.loads(formlab("list", "benchmarks", "--json").stdout)
    assert all(row["citation"] for row in listed if row["name"] == "funsd")
    done = formlab("run", "gold.csv", "--system", "ocr")
    assert "missing: this document has no image: a, b" in done.stderr
    assert (done.exit_code, done.stderr.count("no image")) == (1, 1)


KEY = "sk-a-secret-of-forty-characters-in-all-0"
GOLD = "<p>Net sales <number>4,310</number></p><p>Costs <number>1,250</number></p>"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pred").mkdir()
    (tmp_path / "gold_0.txt").write_text(GOLD)
    (tmp_path / "pred" / "pred_0.txt").write_text("Net sales 4,310\nCosts 12")
    return tmp_path


def test_check_equals_the_released_code_in_every_answer_and_figure(formlab, shared, tmp_path):
    golden = shared / "golden" / "fincriticaled"
    out = tmp_path / "out"
    words = "facts", "check", golden / "judge_raw.json", "--root", golden, "--out", out, "--json"
    result = formlab(*words)
    assert result.exit_code == 0, result.stderr
    figures = json.loads((golden / "performance.json").read_text())
    assert json.loads(result.stdout) == [figures]
    assert json.loads((out / "performance.json").read_text()) == figures
    checked = json.loads((golden / "judge_checked.json").read_text())
    assert json.loads((out / "judge_checked.json").read_text()) == checked


VERDICT = {"number": 1, "found_in_prediction": True, "correct": True, "matched_text": "x"}
SAID = json.dumps({"entity_diagnostics": [VERDICT]})


@pytest.fixture
def judge(formlab, root, monkeypatch):
    """Runs the judge over two pages; gives its counts and what went to stderr."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shutil.copy(root / "gold_0.txt", root / "gold_1.txt")
    (root / "pred" / "pred_1.txt").write_text("Net sales 4,310\nCosts 13")

    def run(server, *more):
        result = formlab(
            "facts", "judge", "fincriticaled", "--root", root, "--predictions", root / "pred",
            "--model", "m", "--out", root / "raw.json", "--base-url", server.url,
            "--set", "concurrency=1", "--set", "attempts=1", "--json", *more,
        )  # fmt: skip
        assert result.exit_code == 0, result.stderr
        (row,) = json.loads(result.stdout)
        return tuple(row[name] for name in ("judged", "failed", "not_asked")), result.stderr

    return run


def test_run_asks_page_by_page_goes_on_and_reports_failures(formlab, root, judge):
    prompt = root / "prompt.md"
    prompt.write_text("Judge kindly.")
    with serving("hostile_error", then=SAID) as server:
        counts, said = judge(server, "--prompt", prompt)
        assert (counts, len(server.calls)) == ((1, 1, 0), 2)
        assert "\x1b" not in said
        # Only the page that failed is asked again.
        counts, said = judge(server, "--prompt", prompt)
        assert (counts, len(server.calls)) == ((2, 0, 0), 3)
        prompts = [call["body"]["messages"][0]["content"] for call in server.calls]
    assert prompts == ["Judge kindly."] * 3
    assert set(json.loads((root / "raw.json").read_text())) == {"0", "1"}
    assert formlab("facts", "check", root / "raw.json", "--root", root).exit_code == 0


def test_a_file_for_the_answers_that_is_their_store_is_refused(formlab, root):
    for more in (["--out", root / "j.sqlite"],
                 ["--out", root / "j.json", "--set", f"store={root / 'j.json'}"]):  # fmt: skip
        with serving(then="{}") as server:
            result = formlab(
                "facts", "judge", "fincriticaled", "--model", "m", "--root", root,
                "--predictions", root / "pred", "--base-url", server.url, *more,
            )  # fmt: skip
            assert not server.calls
        assert result.exit_code == 2
        assert "is the store of answers" in result.stderr
        assert not (root / "j.sqlite").exists()
        assert not (root / "j.json").exists()
