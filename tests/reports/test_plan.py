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


def test_notebook_runs_for_each_evaluation_that_it_is_made_for(tmp_path, folders):
    path = book(tmp_path / "a.ipynb", tasks=["text"])
    assert planned(Request(path, {}, folders, choosing=True)) == [
        ("a--ocr", {"evaluation": "evals/ocr"}), ("a--rules", {"evaluation": "evals/rules"}),
    ]  # fmt: skip
    assert len(planned(Request(path, {}, folders))) == 3
    path = book(tmp_path / "b.ipynb", without=["funsd"])
    assert [name for name, _ in planned(Request(path, {}, folders, choosing=True))] == ["b--facts"]


def test_notebook_with_a_list_gets_all_evaluations_or_those_of_one_corpus(tmp_path, folders):
    many = "evaluations: list = []"
    path = book(tmp_path / "all.ipynb", parameter=many)
    each = [f"evals/{folder.name}" for folder in folders]
    assert planned(Request(path, {}, folders)) == [("all", {"evaluations": each})]
    both = ("two--funsd-test", {"evaluations": each[:2]})
    path = book(tmp_path / "two.ipynb", parameter=many, together="corpus")
    alone = (f"two--{folders[2].name}", {"evaluations": each[2:]})
    assert planned(Request(path, {}, folders)) == [both, alone]
    # fincriticaled has one evaluation, which there is nothing to compare with.
    path = book(tmp_path / "two.ipynb", parameter=many, together="corpus", least=2)
    assert planned(Request(path, {}, folders)) == [both]


def test_what_links_to_others_comes_last_and_equal_names_are_numbered(tmp_path):
    first = book(tmp_path / "a.ipynb", last=True)
    (tmp_path / "b").mkdir()
    second = book(tmp_path / "b" / "a.ipynb")
    jobs = plan.jobs([Request(first), Request(second)], BuildSettings(tmp_path))
    assert [(job.name, job.last) for job in jobs] == [("a-2", False), ("a", True)]


def test_command_has_no_absolute_path(tmp_path, folders, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request(book(tmp_path / "a.ipynb"), {"evaluation": "x y"}, folders[:1])
    (job,) = plan.jobs([request], BuildSettings(tmp_path / "out"))
    command = "formlab report a.ipynb --eval evals/ocr --out out"
    assert job.command == command
    for value, typed in (
        ("x y", "'evaluation=x y'"),
        (None, "evaluation=null"),
        ("None", "evaluation=None"),
        ("1", """'evaluation='"'"'1'"'"''"""),
        ([1, "a"], "'evaluation=[1, a]'"),
    ):
        request = Request(request.notebook, {"evaluation": value})
        (job,) = plan.jobs([request], BuildSettings(tmp_path))
        assert job.command == f"formlab report a.ipynb -p {typed} --out ."


def write(folder, text):
    file = folder / "reports.yml"
    file.write_text(text)
    return file


def test_manifest_lists_reports_with_patterns_and_settings(tmp_path, folders):
    book(tmp_path / "mine.ipynb", tasks=["fact"])
    file = write(
        tmp_path,
        "out: site\nworkers: 3\nevaluations: [evals/*]\n"
        "reports:\n- notebook: mine.ipynb\n- notebook: mine.ipynb\n  name: both\n"
        "  evaluations: [evals/r*]\n",
    )
    requests, settings = manifest.read(file)
    out = tmp_path / "site"
    assert settings == {"out": out, "workers": 3, "figures": True}
    assert [name for name, _ in planned(*requests)] == ["mine--facts", "both"]
