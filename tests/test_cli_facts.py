"""The commands about financial facts: `facts check`, `judge` and `filing`."""

import json
import shutil

import pytest

from tests.systems.scripted_server import serving

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
    result = formlab(
        "facts", "check", golden / "judge_raw.json", "--root", golden, "--out", out, "--json"
    )
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
