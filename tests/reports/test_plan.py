import hashlib
import json

import nbformat
import polars as pl
import pytest

from formlab import reports
from formlab.errors import FormlabError, UnknownName
from formlab.reports import plan
from formlab.reports.plan import Request


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


def planned(*requests, at_hand=()):
    return [(report.name, report.parameters) for report in plan.reports(requests, at_hand)]


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
    every, other = list(map(str, folders)), str(book(tmp_path / "other.ipynb"))
    requests = Request(str(path), None if choosing else every), Request(other, every)
    found = planned(*requests, at_hand=every)
    assert [report for report in found if not report[0].startswith("other")] == reports
    if choosing:
        with pytest.raises(UnknownName, match="no notebook is made for this evaluation"):
            planned(requests[0], at_hand=every)


def test_what_links_to_others_comes_last_and_equal_names_are_numbered(tmp_path):
    first = book(tmp_path / "a.ipynb", last=True)
    (tmp_path / "b").mkdir()
    second = book(tmp_path / "b" / "a.ipynb")
    assert [name for name, _ in planned(Request(str(first)), Request(str(second)))] == ["a-2", "a"]


def test_kernel_sees_paths_from_the_folder_of_its_notebook(tmp_path, folders, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "books").mkdir()
    cell = "evaluation: str = ''; judge = ''; title = ''"
    path = book(tmp_path / "books" / "a.ipynb", parameter=cell)
    given = {"judge": "evals/rules", "title": "evals/rules"}
    assert planned(Request(str(path), ["evals/o*"], given)) == [
        (
            "a--ocr",
            {"evaluation": "../evals/ocr", "judge": "../evals/rules", "title": "evals/rules"},
        )
    ]


def test_manifest_lists_reports_with_patterns_and_settings(tmp_path, folders, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "mine.ipynb", tasks=["fact"])
    file = tmp_path / "reports.yml"
    file.write_text(
        "out: site\ntimeout: 3\nevaluations: [evals/f*]\n"
        "reports:\n- notebook: mine.ipynb\n- notebook: mine.ipynb\n  name: both\n"
        "  evaluations: [evals/r*]\n",
    )
    content = plan.Manifest.read(file)
    assert (content.out, content.timeout, content.figures) == ("site", 3, True)
    reports = plan.reports(content.reports, content.evaluations)
    assert [report.name for report in reports] == ["mine--facts", "both"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reports: []\nworkers: 3", "unknown field `workers`"),
        ("reports:\n- notebook: 1", r"got `int` - at `\$.reports\[0\].notebook`"),
    ],
)
def test_mistake_in_a_manifest_is_said_with_its_place(tmp_path, text, said):
    (tmp_path / "reports.yml").write_text(text)
    with pytest.raises(FormlabError, match=f"{said}.*reports.yml"):
        reports.build_manifest(tmp_path / "reports.yml")
