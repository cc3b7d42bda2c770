import hashlib
import json

import nbformat
import polars as pl
import pytest

from formlab.reports import manifest, plan
from formlab.reports.plan import BuildSettings, Request


def evaluation(folder, *, task="text", **more):
    """The manifest of an evaluation and the tasks of its cases."""
    cases = folder / "cases" / "00000.parquet"
    cases.parent.mkdir(parents=True)
    pl.DataFrame({"task": [task]}).write_parquet(cases)
    content = {"kind": "Evaluation", "format": 3, "benchmark": "funsd", "split": "test"}
    part = ["00000.parquet", 1, hashlib.sha256(cases.read_bytes()).hexdigest()]
    saved = {"documents": [["00000.parquet", 1, ""]], "cases": [part], "scores": [part]}
    content |= {"system": "ocr", "tables": saved}
    (folder / "manifest.json").write_text(json.dumps(content | {"mode": "fixed"} | more))
    return folder


def book(path, *, parameter="evaluation: str = ''", **purpose):
    cell = nbformat.v4.new_code_cell(parameter, metadata={"tags": ["parameters"]})
    made = nbformat.v4.new_notebook(cells=[cell], metadata={"formlab": purpose})
    nbformat.write(made, path)
    return path


@pytest.fixture
def folders(tmp_path):
    return (
        evaluation(tmp_path / "evals" / "ocr"),
        evaluation(tmp_path / "evals" / "rules"),
        evaluation(tmp_path / "evals" / "facts", task="fact", benchmark="fincriticaled"),
    )


def planned(*requests, out="out"):
    return [(job.name, job.parameters) for job in plan.jobs(requests, BuildSettings(out))]


MANY = "evaluations: list = []"
OCR, RULES, FACTS = "evals/ocr", "evals/rules", "evals/facts"
EACH = [(f"a--{folder[6:]}", {"evaluation": folder}) for folder in (OCR, RULES, FACTS)]
BOTH = ("a--funsd-test", {"evaluations": [OCR, RULES]})


@pytest.mark.parametrize(
    ("purpose", "choosing", "reports"),
    [
        ({"tasks": ["text"]}, True, EACH[:2]),
        ({"tasks": ["text"]}, False, EACH),
        ({"without": ["funsd"]}, True, EACH[2:]),
        ({"parameter": MANY}, False, [("a", {"evaluations": [OCR, RULES, FACTS]})]),
        (
            {"parameter": MANY, "together": "corpus"},
            False,
            [BOTH, ("a--facts", {"evaluations": [FACTS]})],
        ),
        # fincriticaled has one evaluation, which there is nothing to compare with.
        ({"parameter": MANY, "together": "corpus", "least": 2}, False, [BOTH]),
    ],
)
def test_notebook_runs_over_the_evaluations_that_it_is_made_for(
    tmp_path, folders, purpose, choosing, reports
):
    path = book(tmp_path / "a.ipynb", **purpose)
    assert planned(Request(path, {}, folders, choosing=choosing)) == reports


def test_what_links_to_others_comes_last_and_equal_names_are_numbered(tmp_path):
    first = book(tmp_path / "a.ipynb", last=True)
    (tmp_path / "b").mkdir()
    second = book(tmp_path / "b" / "a.ipynb")
    jobs = plan.jobs([Request(first), Request(second)], BuildSettings(tmp_path))
    assert [(job.name, job.last) for job in jobs] == [("a-2", False), ("a", True)]


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("x y", "'evaluation=x y'"),
        (None, "evaluation=null"),
        ("None", "evaluation=None"),
        ("1", """'evaluation='"'"'1'"'"''"""),
        ([1, "a"], "'evaluation=[1, a]'"),
    ],
)
def test_command_has_no_absolute_path_and_values_as_yaml(
    tmp_path, folders, monkeypatch, value, typed
):
    monkeypatch.chdir(tmp_path)
    path = book(tmp_path / "a.ipynb")
    requests = (
        Request(path, {"evaluation": value}, folders[:1]),
        Request(path, {"evaluation": value}),
    )
    commands = [job.command for job in plan.jobs(requests, BuildSettings(tmp_path / "out"))]
    assert commands[0] == "formlab report a.ipynb --eval evals/ocr --out out"
    assert commands[1] == f"formlab report a.ipynb -p {typed} --out out"


def test_manifest_lists_reports_with_patterns_and_settings(tmp_path, folders):
    book(tmp_path / "mine.ipynb", tasks=["fact"])
    file = tmp_path / "reports.yml"
    file.write_text(
        "out: site\nworkers: 3\nevaluations: [evals/*]\n"
        "reports:\n- notebook: mine.ipynb\n- notebook: mine.ipynb\n  name: both\n"
        "  evaluations: [evals/r*]\n",
    )
    requests, settings = manifest.read(file)
    out = tmp_path / "site"
    assert settings == {"out": out, "workers": 3, "figures": True}
    assert [name for name, _ in planned(*requests)] == ["mine--facts", "both"]
