import dataclasses
import json

import polars as pl
import pytest

from formlab import benchmarks, readers, tables
from formlab.scoring.tasks import actions
from formlab.tables import only

from ...made_formfactory import make
from .conftest import predictions, scored_by

GOOD = """[15,20] Ada
[150,20] Berg
[50,50] ada@example.org
[15,90] Female
[150,50] 1980/02/03
"""


@pytest.fixture
def corpus(tmp_path):
    return benchmarks.load("formfactory", split="all", root=make(tmp_path / "formfactory"))


@pytest.fixture
def scored(corpus, tmp_path):
    def score(**texts):
        folder = tmp_path / "model"
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name.replace('_', '-')}.txt").write_text(text, encoding="utf-8")
        found = readers.read_predictions(folder, corpus).check()
        result = scored_by(actions, corpus, found)
        tables.check("cases", result.cases)
        tables.check("scores", result.scores)
        return result

    return score


def total(scored, metric, doc_id=None):
    rows = only(scored.scores, metric=metric)
    rows = rows if doc_id is None else only(rows, doc_id=doc_id)
    return rows.select(pl.col("hits", "total").sum()).row(0)


def case(scored, path, doc_id="A12-01"):
    return only(scored.cases, doc_id=doc_id, path=path).row(0, named=True)


def test_form_filled_in_as_the_gold_has_it_is_complete(scored):
    done = scored(A12_01=GOOD)
    assert set(only(done.cases, doc_id="A12-01")["outcome"]) == {"match"}
    assert total(done, "form_completed", "A12-01") == (1, 1)
    assert total(done, "click_accuracy", "A12-01") == (5, 5)
    assert total(done, "value_placed_accuracy", "A12-01") == (6, 6)
    assert total(done, "action_match_rate", "A12-01") == (20, 20)


def test_right_value_beside_its_box_and_in_another_box_have_their_causes(scored):
    # Berg is 10 below its box; the address is typed into First Name's box.
    text = "[15,20] Ada\n[150,35] Berg\n[15,21] ada@example.org\n"
    done = scored(A12_01=text)
    near, other = case(done, "/Last Name"), case(done, "/Email")
    assert (near["outcome"], near["cause"]) == ("mismatch", "misclick_near")
    assert (other["outcome"], other["cause"]) == ("mismatch", "misclick_other_field")
    assert (near["pred_x0"], near["pred_y0"], near["x0"]) == (150, 35, 110)
    # 5 below y = 30, and 19 above y = 40.
    assert total(done, "click_distance", "A12-01") == (5 + 19, 2)
    assert total(done, "value_found_accuracy", "A12-01")[0] == 4
    assert total(done, "value_placed_accuracy", "A12-01")[0] == 2


def test_modes_differ_in_how_a_value_may_be_written(corpus, tmp_path):
    (tmp_path / "A12-01.txt").write_text("[150,50] 3 February 1980\n")
    found = readers.read_predictions(tmp_path / "A12-01.txt", corpus)
    fixed, official = (scored_by(actions, corpus, found, mode) for mode in ("fixed", "official"))
    assert case(fixed, "/Date of Birth")["outcome"] == "match"
    assert case(fixed, "/Date of Birth")["cause"] == "date_format"
    assert case(official, "/Date of Birth")["outcome"] != "match"


def test_submission_is_judged_by_what_was_sent(corpus):
    base = {"benchmark": "formfactory", "split": "all", "task": "value", "doc_id": "A12-01"}
    sent = {
        "/first_name": "Ada", "/lastName": "Berg", "/email": "wrong", "/Gender": "Female",
        "/dateOfBirth": "1980-02-03", "/extra": "x",
    }  # fmt: skip
    rows = [base | {"path": path, "value": value} for path, value in sent.items()]
    found = predictions(*rows)
    done = scored_by(actions, corpus, found)
    # All but the address; the newsletter's empty box is not sent.
    assert total(done, "value_submitted_accuracy", "A12-01") == (5, 6)
    assert done.notes == {"submitted values of no field": 1}
    assert not only(done.scores, metric="click_accuracy").height
    assert case(done, "/Email")["outcome"] == "mismatch"
    assert case(done, "/First Name")["outcome"] == "match"


def test_released_gold_is_complete_against_itself_and_a_shift_misses_as_counted(shared):
    whole = benchmarks.load("formfactory", split="all", root=shared / "data" / "formfactory")
    chosen = pl.col("doc_id").str.contains(r"^(A13|C13)-0")
    corpus = dataclasses.replace(
        whole, documents=whole.documents.filter(chosen), records=whole.records.filter(chosen)
    )
    for shift in (0, 60):
        done = scored_by(actions, corpus, clicked(corpus, shift=shift), "official")
        values, hits = 0, 0
        for row in corpus.records.iter_rows(named=True):
            items = json.loads(row["meta"])["items"]
            values += bool(items)
            # A point is right that lies within any of the places, by plain comparison.
            hits += bool(items) and all(
                any(
                    x0 <= middle(item, 1) <= x1 and y0 <= middle(item, 2) + shift <= y1
                    for _, x0, y0, x1, y1 in item["targets"]
                )
                for item in items
            )
        assert total(done, "click_accuracy")[1] == values
        assert total(done, "click_accuracy")[0] == hits
        if not shift:
            assert total(done, "form_completed") == (18, 18)
            assert (
                total(done, "value_placed_accuracy")[0] == total(done, "value_placed_accuracy")[1]
            )


def middle(item, edge):
    return (item["targets"][0][edge] + item["targets"][0][edge + 2]) / 2


def clicked(corpus, *, shift):
    """What a system gives that types every value `shift` pixels below the middle of its box."""
    rows = []
    for row in corpus.records.iter_rows(named=True):
        for item in json.loads(row["meta"])["items"]:
            x, y = middle(item, 1), middle(item, 2) + shift
            rows.append({key: row[key] for key in ("benchmark", "split", "doc_id")} | {
                "task": "click", "path": f"/lines/{len(rows)}", "value": item["value"],
                "x0": x, "x1": x, "y0": y, "y1": y,
            })  # fmt: skip
    return predictions(*rows)
