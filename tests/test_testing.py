"""`assert_not_worse` as a user's own tests call it."""

import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from formlab.errors import DataBroken, UnknownName
from formlab.metrics import ratio
from formlab.stats.tests import Pair, contributions, loss_p
from formlab.testing import assert_not_worse
from tests.analysis.made_pairs import built, from_matrix, made

METRIC = "normalised_accuracy"
REPOSITORY = Path(__file__).parents[1]


def pair(right, total, more=None):
    sides = (right if more is None else more, right)
    return Pair(*(np.stack([side, total], axis=1).astype(float) for side in sides), ratio)


def forms(generator, count, loss=0.0):
    """Documents of very unequal size, and two systems of which one truly loses `loss`."""
    total = generator.negative_binomial(2, 0.2, count) + 1
    chance = np.clip(0.75 + 0.1 * generator.standard_normal(count), 0.35, 0.95)
    return pair(generator.binomial(total, chance), total, generator.binomial(total, chance - loss))


def test_p_is_the_share_of_flips_that_are_as_good():
    # Ten values each; the second system has 1 more, 1 less and 3 less. Of equal documents each
    # adds its own difference, 0.1 -0.1 -0.3, moved by 0.2: 0.3 0.1 -0.1, in all 0.3. With
    # other signs they make 0.5, 0.3, 0.1 and the negatives of all: three of eight are as large.
    one = pair(np.array([5, 5, 5]), np.full(3, 10), np.array([6, 4, 2]))
    assert contributions(one) == pytest.approx([0.1, -0.1, -0.3])
    assert loss_p(one, 0.2) == pytest.approx(3 / 8)


def test_a_margin_that_is_truly_lost_passes_in_alpha_of_corpora():
    for count, seed in ((8, 1), (30, 2)):
        generator = np.random.default_rng(seed)
        trials = [forms(generator, count, 0.05) for _ in range(300)]
        passed = np.mean([loss_p(one, 0.05, permutations=499) <= 0.05 for one in trials])
        # 0.05 and three standard errors of 300 trials.
        assert passed < 0.088


def test_failure_names_values_interval_and_the_worst_documents():
    old = from_matrix("a", [[1, 1, 1, 1]] * 20)
    new = from_matrix("b", [[0, 0, 0, 1]] + [[1, 0, 1, 1]] * 9 + [[1, 1, 1, 1]] * 10)
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(new, old, METRIC, margin=0.02)
    # 12 of 80 values are lost, one document loses three of four.
    assert "difference -0.15, 90% interval -0.2" in str(failure.value)
    assert "n = 20 documents, 10 worse and 0 better" in str(failure.value)
    assert str(failure.value).splitlines()[3:5] == ["Most lost:", "  000: 1 to 0.25"]


def test_too_few_documents_fail_and_the_message_says_what_they_could_show(tmp_path):
    old, new = from_matrix("a", [[1, 0], [0, 1]] * 4), from_matrix("b", [[0, 0], [1, 1]] * 4)
    # Half of the documents gain half of their values and half lose them.
    assert assert_not_worse(new, old, METRIC, margin=0.51)["difference"] == 0
    saved = [result.save(tmp_path / result.system) for result in (new, old)]
    assert assert_not_worse(saved[0], str(saved[1]), METRIC, margin=0.51)["difference"] == 0
    with pytest.raises(AssertionError, match="its absence is shown"):
        assert_not_worse(new, old, METRIC, margin=0.1)
    with pytest.raises(AssertionError, match="With 1 documents nothing can be shown, 5 are needed"):
        assert_not_worse(from_matrix("b", [[1, 0]]), from_matrix("a", [[1, 1]]), METRIC, margin=0.9)


def test_a_kind_that_loses_more_than_the_margin_fails_whatever_the_others_gain():
    def forms(lost, gained):
        """40 forms with a date and nine texts; some dates are lost, some texts gained."""
        rows = []
        for doc, field in itertools.product(range(40), range(10)):
            right = doc >= lost if field == 0 else doc < gained or field < 9
            kind = "date" if field == 0 else "text"
            rows.append((f"{doc:02}", f"/{field}", int(right), {"kind": kind}))
        return rows

    old, new = made("a", forms(0, 20)), made("b", forms(10, 35))
    numbers = assert_not_worse(new, made("a", forms(9, 20)), METRIC, margin=0.02)
    # One date and no text is lost; 15 texts are won.
    assert numbers["difference"] == pytest.approx((15 - 1) / 400)
    with pytest.raises(AssertionError, match="loses on some kinds more than 0.02") as failure:
        assert_not_worse(new, old, METRIC, margin=0.02)
    lines = str(failure.value).splitlines()
    assert "A loss of the margin is excluded overall" in lines[2]
    assert lines[3] == "Shown on kinds:"
    # 10 of 40 dates; two of the 2^10 swaps are as extreme. Of the two kinds texts have the least p.
    assert lines[4].startswith("  date: difference -0.25, 95% interval -0.")
    assert lines[4].endswith(f"p = {2 / 2**10:.3g} after Holm, 40 documents")


def of_errors(system, errors):
    """Pages with so many wrong characters of ten; the same counts for their fields."""
    scores = [
        {"doc_id": f"{n}", "path": path, "level": level, "metric": "cer", "hits": float(wrong),
         "total": 10.0, "value": wrong / 10}
        for n, wrong in enumerate(errors)
        for level, path in (("page", None), ("field", "/0"))
    ]  # fmt: skip
    cases = [{"doc_id": s["doc_id"], "task": "text", "path": s["path"], "level": s["level"],
              "gold": "x", "outcome": "mismatch", "status": "ok"} for s in scores]  # fmt: skip
    return built(cases, scores, system=system, settings={"threshold": 0.8})


def test_what_cannot_be_tested_is_an_error_of_its_own():
    low, high = of_errors("a", [1, 2, 1, 2, 1, 2]), of_errors("b", [3, 4, 3, 5, 3, 4])
    # Of an error rate less is better.
    assert assert_not_worse(low, high, "cer", margin=0.01, level="page")["n_better"] == 6
    with pytest.raises(AssertionError, match="0: 0.1 to 0.3"):
        assert_not_worse(high, low, "cer", margin=0.01, level="page")
    old, new = of_errors("a", [1, 2]), of_errors("b", [1, 2])
    for error, says, result, metric, options in (
        (DataBroken, "Try: level='page'", new, "cer", {}),
        (UnknownName, "'pages'. Try: 'page'", new, "cer", {"level": "pages"}),
        (UnknownName, "'cr'. Try: 'cer", new, "cr", {}),
        (DataBroken, "documents are only in", of_errors("b", [1, 2, 3]), "cer", {}),
        *((ValueError, "margin", new, "cer", {"level": "page"} | wrong)
          for wrong in ({"margin": -1}, {"margin": math.nan}, {"margin": 0, "alpha": 1})),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            assert_not_worse(result, old, metric, **({"margin": 0.01} | options))


def answers(lost):
    """A line for each of 30 forms; `lost` of them have one value of three wrong, another none."""
    for number in range(30):
        read = {"total": f"{number}.50", "date": f"2024-05-{number + 1:02}", "name": "Ada Berg"}
        if number % 5 == 4:
            read["total"] = f"{number}.00"
        if number < lost:
            read["name"] = "?"
        yield json.dumps({"doc_id": f"form-{number:02}"} | read)


@pytest.mark.complete
def test_example_of_the_page_passes_and_fails_as_the_page_says(tmp_path):
    (code,) = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "docs" / "ci.md").read_text(), re.DOTALL
    )
    (tmp_path / "test_extraction.py").write_text(code)
    gold = [f"form-{n:02},{n}.50,2024-05-{n + 1:02},Ada Berg" for n in range(30)]
    (tmp_path / "gold.csv").write_text("\n".join(["doc_id,total,date,name", *gold]))
    (tmp_path / "baseline.jsonl").write_text("\n".join(answers(0)))
    for lost, code, shown in ((0, 0, "2 passed"), (12, 1, "2 failed")):
        (tmp_path / "answers.jsonl").write_text("\n".join(answers(lost)))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTEST_ADDOPTS": ""},
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, shown in done.stdout) == (code, True), done.stdout
    # 6 totals of 90 values are wrong in both, and 12 names in one.
    assert "0.8 against 0.9333 of the baseline: difference -0.1333" in done.stdout
    assert "n = 30 documents, 12 worse and 0 better. The loss is shown" in done.stdout
    assert "form-00: 1 to 0.667" in done.stdout
