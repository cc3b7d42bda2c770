import nbformat
import pytest

from formlab.charts import Caption, note
from formlab.reports.export import Failure, export

EVIL = "<img src=x onerror=alert(1)>"


def code(*shown, tags=(), source="x"):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
    cell.outputs = [
        nbformat.v4.new_output("display_data", data=each._repr_mimebundle_()) for each in shown
    ]
    return cell


def page(tmp_path, *cells, **options):
    made = [nbformat.v4.new_markdown_cell(c) if isinstance(c, str) else c for c in cells]
    export(nbformat.v4.new_notebook(cells=made), out=tmp_path / "a.html", name="a", **options)
    return (tmp_path / "a.html").read_text().split("</header>")[1]


@pytest.fixture(autouse=True)
def in_report(monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "1")


def test_a_section_of_notes_alone_is_one_line_at_the_end_and_not_in_the_contents(tmp_path):
    shown = page(
        tmp_path,
        "# T", "## Full", code(Caption("Here it is.")),
        f"## Notes {EVIL}", code(note("No page was scored."), note(EVIL), source="kept = 1"),
        "And this, which nobody needs.", code(note("No page was scored.")),
        "## Bare", code(), "## Prose", "Read this.", "## Last", code(Caption("And this.")),
    )  # fmt: skip
    contents, _, text = shown.partition("</nav>")
    assert [part in contents for part in ("Full", "Prose", "Last", "Notes", "Bare")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    body, _, nothing = text.partition('<section class="fl-nothing"')
    assert "nobody needs" not in text
    assert "<b>Notes &lt;img src=x onerror=alert(1)&gt;</b> No page was scored. &lt;img" in nothing
    assert "<b>Bare</b> Nothing to show." in nothing
    assert "No page was scored" not in body
    assert EVIL not in shown
    # The code of a section that is not shown stands in the code view.
    assert "kept" in body


def test_what_a_failed_notebook_did_not_reach_is_kept(tmp_path):
    cells = ["# T", "## A", code(note("None.")), "## B", code()]
    shown = page(tmp_path, *cells, failure=Failure("it was killed"))
    assert "fl-nothing" not in shown
    assert shown.count("<h2 id=") == 2
