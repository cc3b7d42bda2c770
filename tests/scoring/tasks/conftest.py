"""Three FORMCRAFT forms with the same gold, and a way to score answers to them."""

import json

import polars as pl
import pytest

from formlab import readers, tables
from formlab.benchmarks import load
from formlab.folders import Predictions
from formlab.scoring.tasks import content
from formlab.scoring.tasks._kit import Scoring
from formlab.scoring.whole import Whole


def predictions(*rows):
    """Rows of records as predictions of the system `m`, usable unless they say otherwise."""
    base = {"role": "prediction", "system": "m", "status": "ok"}
    records = tables.table("records", [base | row for row in rows])
    return Predictions(records, tables.table("responses", []), system="m")


def scored_by(module, corpus, predictions, mode="fixed", **options):
    """The cases and scores that a module of `formlab.scoring.tasks` makes."""
    whole = Whole.of(corpus, predictions)
    return module.score(Scoring(corpus, predictions, mode, 0.8, whole, **options))


def field(label, modality, subtype, value, **more):
    base = {"label": label, "modality": modality, "modality_subtype": subtype, "value": value}
    return base | more


def item(number, scope="Intra-Group", complexity="Simple", **more):
    return {"id": number, "scope": scope, "reference": "Direct Link", "complexity": complexity,
            "modal": "Single-Modality"} | more  # fmt: skip


GOLD = {
    "fields": [field("Name", "Textual", "Handwritten", "Ada Berg", box=[0, 0, 50, 10])],
    "groups": [
        {"label": "Order", "fields": [
            field("Drinks", "Marking", "Checkbox", "Tea; Milk"),
            field("Paid", "Cross", "Textual + Marking", "[x] paid; 9.00"),
            field("Stamp", "Visual", "Printed Paint", "PAID"),
        ]},
    ],
    "vqa": [
        item("q1", question="?", answers=["9.00"], kind="money"),
        item("q2", question="?", answers=["tea; milk"], kind="choice", scope="Inter-Group"),
    ],
    "consistency": [
        item("c1", source="/Order/Drinks", dependent="/Name", expected="Ada Berg"),
        item("c2", source="/Name", dependent="/Order/Stamp", expected="PAID", scope="Inter-Group"),
    ],
}  # fmt: skip
ANSWER = {
    "fields": [field("Full name", "Textual", "Handwritten", "Ada Burg", box=[0, 0, 50, 10])],
    "groups": [
        {"label": "Order", "fields": [
            field("Drinks", "Textual", "Mixed", '["milk", "Rusk", "Jam"]'),
            field("paid", "Cross", "x", "$9.00; ☑ paid"),
            field("Other", "Marking", "Checkbox", "yes"),
        ]},
    ],
    "vqa": {"q1": "$9", "q2": "Milk, Tea", "q9": "?"},
    "consistency": {"c2": "PAID"},
}  # fmt: skip


@pytest.fixture
def score_formcraft(tmp_path):
    def run(answers, *tasks):
        forms, given = tmp_path / "forms", tmp_path / "model"
        for folder in (forms, given):
            folder.mkdir()
        for name in ("a", "b", "c"):
            (forms / f"{name}.json").write_text(json.dumps(GOLD))
        for name, answer in answers.items():
            (given / name).write_text(answer if isinstance(answer, str) else json.dumps(answer))
        corpus = load("formcraft", root=tmp_path, split="test")
        scored = scored_by(content, corpus, readers.read_predictions(given, corpus))
        cases, scores = (of.filter(pl.col("task").is_in(tasks)) for of in scored[:2])
        return scored._replace(cases=cases, scores=scores)

    return run
