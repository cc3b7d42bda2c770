"""What people see: folders in Python and JupyterLab, rows, progress."""

import dataclasses

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
    predictions = formlab.read_predictions(ANSWERS, corpus, name=HOSTILE)
    return corpus, predictions, formlab.evaluate(corpus, predictions)


def test_repr_is_one_line_with_what_it_is_and_its_counts(folders):
    corpus, predictions, evaluation = folders
    assert repr(corpus) == "Corpus of own, my\\x0aforms: 2 documents, 6 records"
    escaped = '<script>alert("x")</script>\\x1b[31m'
    assert repr(predictions).startswith(f"Predictions of {escaped}: 2 records")
    named = f"Evaluation of {escaped}, own, my\\x0aforms, fixed: 2 documents, "
    assert repr(evaluation).startswith(named)


@pytest.mark.parametrize("number", range(3))
def test_html_has_first_rows_and_notes_and_no_markup_of_others(folders, number):
    noted = {"flaws" if number == 0 else "notes": {HOSTILE: 1_000}}
    html = dataclasses.replace(folders[number], **noted)._repr_html_()
    assert "<script" not in html
    assert html.replace("\n", "").isprintable()
    assert "&lt;script&gt;alert(&quot;x" in html
    assert ": 1,000</p>" in html
    assert "/name</td>" in html.replace("&quot;", "")


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
