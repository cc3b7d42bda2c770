import dataclasses
import json

import polars as pl
import pytest

from formlab import analysis, benchmarks
from formlab.errors import DataMissing
from formlab.folders import Predictions
from formlab_arena import agent_registry, page_reading, page_tasks
from formlab_arena.actions import Click
from formlab_arena.agents import Oracle
from formlab_arena.evaluation import read_run
from formlab_arena.page_reading import PageValues
from formlab_arena.run import RunSettings, fill

READ = benchmarks.SAMPLES / "runs" / "formcraft-test-rules"


def edited(folder, changes):
    """The shipped reading of the sample, with other values at some paths and in some words."""
    reading = Predictions.load(READ)
    own = pl.col("doc_id") == "blood_report"
    for path, value in changes.items():
        here = own & (pl.col("path") == path if path[0] == "/" else pl.col("value") == path)
        hits = reading.records.filter(here).height
        assert hits == 1, (path, hits)
        value = pl.when(here).then(pl.lit(value)).otherwise("value").alias("value")
        reading = dataclasses.replace(reading, records=reading.records.with_columns(value))
    reading.save(folder)
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
    planted = {"Rufus": "Rufos", "/Donor/Name": "Rufos Abara", "/Donor/By": ""}
    tasks = page_reading.read(tasks, tmp_path, "rules", edited(tmp_path / "read", planted))
    fields = tasks.instances[0].page.evidence()["fields"]
    seen = {row["source"]: (row["read"], row["assigned"]) for row in fields.values()}
    assert seen["/Donor/Name"] == ("Rufos Abara", "Rufos Abara")
    assert seen["/Donor/By"] == ("K. Lund", "")
    assert seen["/Donor/Drawn"] == ("2022-11-08", "2022-11-08")
    # A mark is not read as words.
    assert seen["/Decision/Donor may"] == (None, "wait")


def test_of_a_pdf_with_a_text_layer_the_text_under_the_box_is_what_was_read():
    tasks = page_tasks.task_set("vrdu", split="MadeAds-pdfs", limit=3)
    run = benchmarks.SAMPLES / "runs" / "vrdu-MadeAds-pdfs-rules"
    records = Predictions.load(run).records.partition_by("doc_id", as_dict=True)
    for task in tasks.instances:
        form = tasks.forms[task.code]
        page = page_reading._read(task, form, records, own=True)
        for name, row in page.gold.items():
            assert row["value"].replace(" ", "") in page.read[name].replace(" ", ""), row["path"]
        # Another's reading is known by what it wrote down, and it wrote no words.
        assert page_reading._read(task, form, records, own=False).read == {}


def test_gold_without_boxes_is_looked_for_in_the_text_of_the_page():
    (task,) = (tasks := page_tasks.task_set("formcraft", codes=["blood_report"])).instances
    gold = {name: row | {"x0": None} for name, row in task.page.gold.items()}
    task = dataclasses.replace(task, page=dataclasses.replace(task.page, gold=gold))
    text = "Rufus  Abara, drawn 8 November 2022 by K. Lumd; next 5/8/23"
    read = page_reading._by_text(task, tasks.forms[task.code], text)
    found = {gold[name]["path"]: value for name, value in read.items()}
    assert found["/Donor/Name"] == "Rufus Abara"
    assert found["/Donor/Drawn"] == "2022-11-08"
    assert found["/Donor/By"] == ""
    # It can be read as the eighth of May.
    assert found["/Decision/Next visit"] == "2023-05-08"


def test_reading_for_an_agent_that_takes_none_or_of_other_pages_is_refused(tmp_path):
    tasks = page_tasks.task_set("formcraft", limit=1)
    assert page_reading.read(tasks, tmp_path, "oracle") is tasks
    with pytest.raises(DataMissing, match=r"oracle takes no reading.*--system rules"):
        page_reading.read(tasks, tmp_path, "oracle", READ)
    other = benchmarks.SAMPLES / "runs" / "funsd-test-ocr"
    with pytest.raises(DataMissing, match="no prediction is of a page of formcraft:test"):
        page_reading.read(tasks, tmp_path, "rules", other)


class Hands(Oracle):
    """Enters what was read with sure hands, but for one click that goes astray."""

    def act(self, observation):
        boxes = {t.field: t for t in observation.targets if t.field.endswith("reason")}
        spots = [Click(*target.middle) for target in boxes.values()]
        return [
            dataclasses.replace(action, x=1270.0) if action in spots else action
            for action in super().act(observation)
        ]


@pytest.mark.browser
def test_planted_faults_end_in_their_stages_and_the_oracle_has_none(tmp_path, monkeypatch):
    def hands(instance):
        values, gold = instance.page.values, instance.page.gold
        told = {name: values.about(row["label"]) for name, row in gold.items()}
        return Hands({name: mention and mention.value for name, mention in told.items()})

    monkeypatch.setitem(agent_registry.AGENTS.loaded, "hands", hands)
    monkeypatch.setitem(page_reading.READERS, "hands", "rules")
    planted = {"Rufus": "Rufos", "/Donor/Name": "Rufos Abara"}
    planted |= {"/Donor/By": "0 negative", "/Donor/Group": "K. Lund"}
    reading = edited(tmp_path / "read", planted)
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    lost = {}
    for system, given in (("hands", reading), ("oracle", None)):
        settings = RunSettings(system, texts="pages", steps=3)
        fill(tmp_path / system, settings, tasks=tasks, reading=given)
        lost[system] = analysis.loss_stages(analysis.evaluate(*read_run(tmp_path / system)))
    assert lost["oracle"].is_empty()
    assert dict(lost["hands"].select("path", "stage").iter_rows()) == {
        "/Name": "reading", "/Group": "structure", "/By": "structure", "/Reason": "click",
    }  # fmt: skip
    assert set(lost["hands"]["source"]) == {"blood_report"}
    kept = json.loads((tmp_path / "hands" / "P0001-001" / "page.json").read_text())
    assert kept["doc_id"] == "blood_report"
