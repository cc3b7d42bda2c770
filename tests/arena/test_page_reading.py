import dataclasses
import json

import polars as pl
import pytest

import formlab_arena
from formlab import analysis, benchmarks, registry, tables
from formlab.folders import Predictions
from formlab_arena import page_reading, page_tasks
from formlab_arena.actions import Click
from formlab_arena.evaluation import read_run
from formlab_arena.oracle import Oracle
from formlab_arena.page_reading import PageValues
from formlab_arena.run import RunSettings, fill


def reading_of(folder, values=(), words=()):
    """A reading of a page without a fault, but for these values of paths and words under boxes."""
    records = benchmarks.load("formcraft").records.filter(doc_id="blood_report")
    rows = []
    for row in records.filter(pl.col("task").is_in(page_reading.WRITTEN)).to_dicts():
        path, own = row["path"], row | {"role": "prediction", "system": "made"}
        seen = {"task": "layout", "kind": "line", "path": f"/ocr{path}"}
        rows.append(own | {"value": dict(values).get(path, row["value"])})
        rows.append(own | seen | {"value": dict(words).get(path, row["value"])})
    answered = [{key: rows[0][key] for key in ("benchmark", "split", "doc_id", "system", "task")}]
    responses = tables.table("responses", [row | {"status": "ok"} for row in answered])
    Predictions(tables.table("records", rows), responses, "made").save(folder)
    return folder


def test_label_on_the_form_gets_the_value_of_the_label_most_like_it():
    rows = [("/Donor/Name", "Ada"), ("/Nurse/Name", "Ida"), ("/line_item/1/sub_amount", "$3"),
            ("/Smoker", "no"), ("/Weight", "")]  # fmt: skip
    values = PageValues([{"path": path, "value": value} for path, value in rows])
    assert values.about("Nurse: Name").value == "Ida"
    # The screen is read by OCR as well.
    assert values.about("Line ltem 2: Sub amount").value == "$3"
    assert values.about("Line item 1: Sub amount").value == "$3"
    assert values.about("Smoker").denies
    assert values.about("Weight") is None
    assert values.about("Colour") is None


def test_evidence_is_what_was_read_under_the_box_and_assigned_to_the_label(tmp_path):
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    misread = {"/Donor/Name": "Rufos Abara"}
    reading = reading_of(tmp_path / "read", misread | {"/Donor/By": ""}, misread)
    tasks = page_reading.read(tasks, tmp_path, "rules", reading)
    fields = tasks.instances[0].page.evidence()["fields"]
    seen = {row["source"]: (row["read"], row["assigned"]) for row in fields.values()}
    assert seen["/Donor/Name"] == ("Rufos Abara", "Rufos Abara")
    assert seen["/Donor/By"] == ("K. Lund", "")
    assert seen["/Donor/Drawn"] == ("2022-11-08", "2022-11-08")
    # A mark is not read as words.
    assert seen["/Decision/Donor may"] == (None, "wait")


class Hands(Oracle):
    """Enters what was read with sure hands, but for one click that goes astray."""

    def act(self, observation):
        boxes = {t.field: t for t in observation.elements if t.field.endswith("reason")}
        spots = [Click(*target.middle) for target in boxes.values()]
        return [
            dataclasses.replace(action, x=1270.0) if action in spots else action
            for action in super().act(observation)
        ]


@pytest.mark.browser
def test_planted_faults_end_in_their_stages(tmp_path, monkeypatch, fresh):
    def hands(instance):
        values, gold = instance.page.values, instance.page.gold
        told = {name: values.about(row["label"]) for name, row in gold.items()}
        return Hands({name: mention and mention.value for name, mention in told.items()})

    registry.register("agents", "hands", hands)
    monkeypatch.setitem(page_reading.READERS, "hands", "rules")
    misread = {"/Donor/Name": "Rufos Abara"}
    swapped = {"/Donor/By": "0 negative", "/Donor/Group": "K. Lund"}
    reading = reading_of(tmp_path / "read", misread | swapped, misread)
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    settings = RunSettings("hands", texts="pages", steps=3)
    fill(tmp_path / "run", settings, tasks=tasks, reading=reading)
    lost = formlab_arena.loss_stages(analysis.evaluate(*read_run(tmp_path / "run")))
    assert dict(lost.select("path", "stage").iter_rows()) == {
        "/Name": "reading", "/Group": "structure", "/By": "structure", "/Reason": "click",
    }  # fmt: skip
    assert set(lost["source"]) == {"blood_report"}
    kept = json.loads((tmp_path / "run" / "P0001-001" / "page.json").read_text())
    assert kept["doc_id"] == "blood_report"
