"""What people see: progress in a pipe, and folders in Python and JupyterLab."""

import dataclasses

import polars as pl
import pytest

import formlab
from formlab import show
from formlab.readers import gold as own

HOSTILE = '<script>alert("x")</script>\x1b[31m'
GOLD = [
    {"doc_id": "a", "name": HOSTILE, "total": "9.00"},
    {"doc_id": "b", "name": "Bo", "total": "8"},
]
ANSWERS = [{"doc_id": "a", "name": HOSTILE, "total": "7.00"}]


@pytest.fixture(scope="module")
def folders():
    corpus = own.corpus(GOLD, name="my\nforms")
    predictions = own.read_predictions(ANSWERS, corpus, name=HOSTILE)
    return corpus, predictions, formlab.evaluate(corpus, predictions)


def test_repr_is_one_line_with_what_it_is_and_its_counts(folders):
    corpus, predictions, evaluation = folders
    assert repr(corpus) == "Corpus own:my\\x0aforms: 2 documents, 4 gold values"
    escaped = '<script>alert("x")</script>\\x1b[31m'
    assert repr(predictions).startswith(f"Predictions of {escaped}: 1 document, 2 values")
    assert repr(evaluation).startswith(
        f"Evaluation of {escaped} on own:my\\x0aforms (fixed): 2 documents, 4 fields, "
        "1 match, 1 mismatch, 2 missing"
    )
    flawed = dataclasses.replace(corpus, flaws={"words without text": 3, "types inferred: x": 1})
    assert repr(flawed).endswith("4 gold values, 1 flaw")


def test_html_has_first_rows_notes_and_next_calls_and_no_markup_of_others(folders):
    for folder, call in zip(
        folders, ("evaluate(corpus", "evaluate(corpus", "summarise"), strict=True
    ):
        html = folder._repr_html_()
        assert "<script" not in html
        assert "\x1b" not in html
        assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in html
        assert f"<code>formlab.{call}" in html
    assert "<td>/total</td>" in folders[2]._repr_html_()
    noted = dataclasses.replace(folders[2], notes={HOSTILE: 1_000})._repr_html_()
    assert "<script" not in noted
    assert ": 1,000</li>" in noted


def test_only_the_first_rows_are_shown_and_long_text_is_cut():
    rows = [{"doc_id": f"d{number}", "total": "9" * 500} for number in range(9)]
    html = own.corpus(rows)._repr_html_()
    assert html.count("<tr>") == 6
    assert "5 of 9 rows" in html
    assert "9" * 59 + "…" in html
    assert "9" * 60 not in html


def test_broken_tables_have_a_repr_as_well(folders):
    broken = dataclasses.replace(folders[0], records=pl.DataFrame({"x": [1]}))
    assert repr(broken) == "Corpus with tables of other schemas; check() says which"
    assert "other schemas" in broken._repr_html_()


def test_dir_lists_only_what_is_public_and_all_of_it_is_there():
    assert dir(formlab) == sorted(formlab.__all__)
    assert all(hasattr(formlab, name) for name in dir(formlab))


@pytest.mark.parametrize(
    ("total", "lines"), [(40, range(4, 41, 4)), (2, [1, 2]), (7, range(1, 8)), (None, [])]
)
def test_pipe_gets_a_line_for_each_tenth(capsys, total, lines):
    with show.progress("pages, {task.fields[failed]} failed") as bars:
        bar = bars.add_task("ocr\x1b[31m", total=total, failed=0)
        for number in range(1, (total or 40) + 1):
            bars.update(bar, advance=1, failed=number // 10)
    assert capsys.readouterr().err.splitlines() == [
        f"ocr\\x1b[31m: {n}/{total} pages, {n // 10} failed" for n in lines
    ]


def test_report_gets_no_progress(capsys, monkeypatch):
    for shown, report in ((False, "0"), (True, "1")):
        monkeypatch.setenv("FORMLAB_REPORT", report)
        with show.progress("pages", shown=shown) as bars:
            bars.update(bars.add_task("ocr", total=2), advance=2)
    assert capsys.readouterr().err == ""
