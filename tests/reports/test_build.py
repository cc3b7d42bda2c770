import json
import os

import nbformat
import pytest

from formlab import reports
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.reports import build_record


def text(result):
    return result.html.read_text("utf-8")


def write_book(path, parameters, *sources):
    """A notebook of these code cells below its parameters."""
    cells = [nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    cells += map(nbformat.v4.new_code_cell, sources)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_sound_notebook_is_built_with_its_summary_and_how_it_was_made(results):
    result = results["sound"]
    assert result.ok, result.error
    assert result.error is None
    assert result.summary.title == "What is asked?"
    assert result.summary.finding == "Half are right."
    assert result.summary.cards == [{"label": "Exact", "value": "0.500", "note": "n = 3"}]
    assert result.html.stat().st_size > 4_000_000
    page = text(result).split("How this was made")[1].split("<script>")[0]
    assert all(name in page for name in ("title", "polars", "duration", "benchmark", "demo"))


def test_failing_and_killed_notebooks_leave_a_readable_partial_report(results):
    result = results["failing"]
    page = text(result)
    assert not result.ok
    assert result.error == "ZeroDivisionError: division by zero"
    assert page.index("This report is not complete") < page.index('<pre class="fl-stdout">before')
    assert '<pre class="fl-stdout">after' not in page
    assert "\x1b" not in page
    # No library is in a page that needs none.
    assert "Plotly" not in page.split("<script>")[0]
    assert result.html.stat().st_size < 300_000
    assert not results["killed"].ok
    assert results["killed"].error
    assert "alive" in text(results["killed"])


def test_failures_do_not_stop_other_notebooks_and_leave_no_partial_file(out, results):
    assert [name for name, result in results.items() if result.ok] == ["sound"]
    assert all(result.html.is_file() and result.ipynb.is_file() for result in results.values())
    assert not [path for path in out.iterdir() if ".part" in path.name]
    hostile = results["hostile"]
    # It ran to its last cell, and its file name is an inert slug.
    assert hostile.error.startswith("ValueError: </script>")
    assert hostile.html.name == "a-b-img-src-x-onerror-globalThis-pwned-17.html"


def test_policy_admits_only_hashes_and_comes_first(results):
    head = text(results["sound"])[:900]
    places = [head.index(p) for p in ("<meta charset", "Content-Security-Policy", "<title>")]
    assert places == sorted(places)
    policy = head.split('content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'")
    scripts = policy.split("script-src ")[1].split()
    assert len(scripts) == 3
    assert all(source.startswith("'sha256-") for source in scripts)


def test_mistakes_stop_a_build_before_anything_starts(tmp_path):
    book = write_book(tmp_path / "a.ipynb", "title = 1")
    (tmp_path / "broken.ipynb").write_text("{")
    for path, error, match in (
        (book, UnknownName, r"'titel'.*'title'"), (tmp_path / "broken.ipynb", DataBroken, "broken"),
        (tmp_path / "b.ipynb", DataMissing, r"b\.ipynb"),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            reports.build([path], out=tmp_path / "out", parameters={"titel": 2})
    with pytest.raises(DataMissing, match="no notebook to run"):
        reports.build([], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_notebook_without_its_sample_is_skipped_and_nothing_else_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "before")
    source = "from formlab.errors import NotAvailable\nraise NotAvailable('no sea')"
    absent = write_book(tmp_path / "absent.ipynb", "evaluation = ''", source)
    there, out = write_book(tmp_path / "there.ipynb", "evaluation = ''", "1"), tmp_path / "out"
    first, second = reports.build([absent, there], out=out, figures=False)
    assert (first.status, first.ok, first.html) == ("skipped", True, None)
    assert first.notes == ("absent is left out: no sea",)
    assert second.ok
    assert [record.name for record in build_record.every(out)] == ["there"]
    assert not (out / "absent.ipynb").exists()
    assert os.environ["FORMLAB_REPORT"] == "before"

    with pytest.raises(NotAvailable, match="no report was built: absent is left out: no sea"):
        reports.build([absent], out=tmp_path / "none", figures=False)
    assert not (tmp_path / "none" / "index.html").exists()
    # An evaluation that was asked for is no sample: it fails.
    asked = {"evaluation": "x"}
    assert not reports.build([absent], out=out, parameters=asked, figures=False)[0].ok


def test_index_lists_every_report_with_its_state_and_no_broken_record(out, results, tmp_path):
    states = {report.name: report.ok for report in build_record.every(out)}
    assert states == {result.name: result.ok for result in results.values()}
    page = (out / "index.html").read_text()
    assert page.count('class="fl-state failed"') == 3
    assert "ZeroDivisionError" in page
    for name, value in (("a", []), ("b", {"title": "gone"})):
        build_record.file(tmp_path, name).write_text(json.dumps(value))
    (tmp_path / "a.html").write_text("")
    assert list(build_record.every(tmp_path)) == []
