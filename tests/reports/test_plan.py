import hashlib
import json

import nbformat
import polars as pl
import pytest

from formlab.errors import DataBroken, DataMissing, UnknownName
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


def test_split_folders_are_one_evaluation(tmp_path):
    for split in ("train", "test"):
        evaluation(tmp_path / "evals" / "rules" / split, split=split)
    path = book(tmp_path / "a.ipynb", benchmarks=["funsd"])
    request = Request(path, {}, (tmp_path / "evals" / "rules",), choosing=True)
    assert [name for name, _ in planned(request)] == ["a--rules"]


def test_what_links_to_others_comes_last_and_equal_names_are_numbered(tmp_path):
    first = book(tmp_path / "a.ipynb", last=True)
    (tmp_path / "b").mkdir()
    second = book(tmp_path / "b" / "a.ipynb")
    jobs = plan.jobs([Request(first), Request(second)], BuildSettings(tmp_path))
    assert [(job.name, job.last) for job in jobs] == [("a-2", False), ("a", True)]


def test_mistakes_are_named_before_anything_runs(tmp_path, folders):
    path = book(tmp_path / "a.ipynb", tasks=["layout"])
    request = Request(path, {}, folders, choosing=True)
    with pytest.raises(UnknownName, match="no notebook is made for this evaluation"):
        plan.check_used([request], plan.jobs([request], BuildSettings(tmp_path)))
    with pytest.raises(DataMissing, match="no evaluation here"):
        planned(Request(path, {}, (tmp_path,)))
    with pytest.raises(UnknownName, match=r"'wrost'.*a\.ipynb"):
        planned(Request(path, {"wrost": 1}))
    with pytest.raises(DataBroken, match="metadata 'formlab'"):
        planned(Request(book(tmp_path / "b.ipynb", task="layout")))


def test_command_has_no_absolute_path(tmp_path, folders, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request(book(tmp_path / "a.ipynb"), {"evaluation": "x y"}, folders[:1])
    (job,) = plan.jobs([request], BuildSettings(tmp_path / "out", layout="site"))
    command = "formlab report a.ipynb --eval evals/ocr --set layout=site --out out"
    assert job.command == command
    (job,) = plan.jobs([Request(request.notebook, {"evaluation": "x y"})], BuildSettings(tmp_path))
    assert job.command == "formlab report a.ipynb -p 'evaluation=x y' --out ."


def write(folder, text):
    file = folder / "reports.yml"
    file.write_text(text)
    return file


def test_manifest_lists_reports_with_patterns_and_settings(tmp_path, folders):
    book(tmp_path / "mine.ipynb", tasks=["fact"])
    file = write(
        tmp_path,
        "out: site\nlayout: site\nworkers: 3\nevaluations: [evals/*]\n"
        "reports:\n- notebook: mine.ipynb\n- notebook: mine.ipynb\n  name: both\n"
        "  evaluations: [evals/r*]\n",
    )
    requests, settings = manifest.read(file)
    out = tmp_path / "site"
    assert settings == {"out": out, "layout": "site", "workers": 3, "figures": True}
    assert [name for name, _ in planned(*requests)] == ["mine--facts", "both"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("out: x\nlayout: sight\n", 2, "layout: Input should be 'single' or 'site'"),
        ("out: x\nworkers: 0\n", 2, "workers"),
        ("out: x\n\nevals: []\n", 3, "keys of a manifest"),
        ("reports:\n- notebook: a\n- name: b\n", 3, "reports, 2, notebook: Field required"),
        ("reports:\n- notebook: nowhere.ipynb\n", 2, "no such file"),
        ("evaluations:\n- evals/*\n", 2, "no evaluation 'evals/*'"),
        ("reports:\n- notebook: mine.ipynb\n  parameters: {worts: 3}\n", 2, "'worts'"),
        ("reports: [\n", 2, "not YAML"),
        ("- a\n", 1, "keys of a manifest"),
        ("!!python/object/apply:os.system [echo]\n", 1, "not YAML"),
    ],
)
def test_mistakes_in_a_manifest_name_file_and_line(tmp_path, text, line, message):
    book(tmp_path / "mine.ipynb")
    with pytest.raises((DataBroken, DataMissing, UnknownName)) as caught:
        manifest.read(write(tmp_path, text))
    assert message in str(caught.value)
    assert f"reports.yml:{line})" in str(caught.value)
