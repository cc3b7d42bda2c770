"""Causes that follow from other documents: their answers, and constant offsets."""

import datetime

import polars as pl
import pytest

import formlab
from formlab import benchmarks
from formlab.scoring.across import offset_text


def forms(count=12):
    days = [datetime.date(2016, 1, 3) + datetime.timedelta(17 * n) for n in range(count)]
    return {
        f"f{n:02}": {
            "code": f"{'QRSTUVWXYZAB'[n % 12]}{10007 * (n + 3)}", "due": days[n].isoformat(),
            "net": f"{(n + 1) * 137}.50", "ok": ["yes", "no"][n % 2],
        }
        for n in range(count)
    }  # fmt: skip


def causes(gold, answers, **more):
    fields = formlab.evaluate(gold, answers, **more).fields
    return {
        (doc, path[1:]): cause
        for doc, path, cause in fields.select("doc_id", "path", "cause").drop_nulls().iter_rows()
    }


def test_all_that_a_document_has_from_one_other_is_that_documents():
    gold = forms()
    found = causes(gold, gold | {"f04": gold["f05"]})
    assert found == {("f04", name): "other_document" for name in ("code", "due", "net", "ok")}


def test_one_answer_alone_is_another_documents_if_it_is_rare_and_unlike_its_gold():
    gold, answers = forms(), forms()
    answers["f02"]["code"] = gold["f07"]["code"]
    # Alike, but no misreading: more than two characters are others.
    gold["f04"]["code"], gold["f06"]["code"] = "NDA-2012-5322", "NDA-2018-6642"
    answers["f04"]["code"] = answers["f06"]["code"] = "NDA-2018-6642"
    answers["f03"]["ok"] = "yes"
    found = causes(gold, answers)
    assert found["f02", "code"] == found["f04", "code"] == "other_document"
    # A tick has no other answer.
    assert found["f03", "ok"] != "other_document"


@pytest.mark.parametrize(("days", "said"), [(-1, "1 day early"), (2, "2 days late")])
def test_dates_that_are_off_by_one_amount_have_a_cause_of_their_own(days, said):
    gold, answers = forms(), forms()
    for n in range(6):
        due = datetime.date.fromisoformat(gold[f"f{n:02}"]["due"]) + datetime.timedelta(days)
        answers[f"f{n:02}"]["due"] = due.isoformat()
    answers["f11"]["due"] = "2031-07-09"
    scored = formlab.evaluate(gold, answers).fields
    off = scored.filter(cause="offset")
    assert (off.height, off["doc_id"].n_unique()) == (6, 6)
    assert offset_text(off) == f"the date is {said}"
    # Four are no constant.
    few = {n: answers[n] if n < "f04" else gold[n] for n in gold}
    assert "offset" not in causes(gold, few).values()


def test_numbers_too_and_batches_on_disk_have_the_same_causes(tmp_path, monkeypatch):
    gold = forms()
    answers = {n: form | {"net": f"{float(form['net']) + 1:.2f}"} for n, form in gold.items()}
    answers["f04"] = gold["f05"]
    whole = formlab.evaluate(gold, answers).fields.select("doc_id", "path", "cause")
    assert whole.filter(cause="offset").height == 11
    assert whole.filter(cause="other_document").height == 4
    monkeypatch.setattr(benchmarks, "BATCH", 15)
    split = formlab.evaluate(gold, answers, out=tmp_path / "evaluation")
    assert len(list((tmp_path / "evaluation" / "cases").iterdir())) > 2
    key = ["doc_id", "path"]
    assert split.fields.select(whole.columns).sort(key).equals(whole.sort(key))
    assert isinstance(split.cases, pl.DataFrame)
