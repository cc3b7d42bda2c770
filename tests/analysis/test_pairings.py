import itertools
import random

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab import evaluate, folders, tables
from formlab.scoring.pairing import match

BASE = {"benchmark": "formcraft", "split": "test"}


def rows(doc, role, fields):
    return [
        BASE | {
            "doc_id": doc, "role": role, "path": path, "value": value, "status": "ok",
            "task": task, "modality": {"text": "textual"}.get(task, task), "kind": "string",
            "system": None if role == "gold" else "m",
        }
        for path, value, task in fields
    ]  # fmt: skip


def evaluated(gold, pred):
    """An evaluation of forms given as {document: [(path, value, task), …]}."""
    documents = tables.table("documents", [BASE | {"doc_id": doc} for doc in gold])
    records = [row for doc, fields in gold.items() for row in rows(doc, "gold", fields)]
    corpus = folders.Corpus(documents, tables.table("records", records), "formcraft", "test")
    said = [row for doc, fields in pred.items() for row in rows(doc, "prediction", fields)]
    said += [BASE | {"doc_id": doc, "role": "prediction", "system": "m", "task": "layout",
                     "status": "ok"} for doc in gold]  # fmt: skip
    given = folders.Predictions(tables.table("records", said), tables.table("responses", []), "m")
    return evaluate(corpus, given)


def pooled(evaluation, metric):
    scores = evaluation.scores.filter(metric=metric)
    return scores["hits"].sum() / scores["total"].sum()


def of(frame, metric, column="value"):
    return dict(frame.filter(metric=metric).select("pairing", column).rows())


GOLD = [("/Patient/Name", "Ada Berg", "text"), ("/DOB", "1980-02-03", "text")]
RENAMED = [("/Patient name", "Ada Berg", "text"), ("/Date of birth", "1980-02-03", "text")]


def test_values_read_perfectly_under_other_names_are_no_worse_than_silence():
    found = evaluated({"a": GOLD}, {"a": RENAMED})
    # Not 2.0, of 18 characters missed and 18 added.
    assert pooled(found, "cer") == 0
    assert pooled(found, "field_f1") == 1
    assert pooled(evaluated({"a": GOLD}, {"a": [("/x", "", "text")]}), "cer") == 1
    assert "match=path,label+box>=0.5,else-equal-value" in found.scores["settings"][0]["rules"]


def test_a_value_that_may_be_equal_by_chance_pairs_nothing():
    for value in ("7", "yes", "☑"):
        found = evaluated({"a": [("/Aaaa", value, "text")]}, {"a": [("/Zzzz", value, "text")]})
        assert pooled(found, "cer") == 1
    # A value that two fields have does not tell which is which.
    two = [("/Zzzz", "12.50", "text"), ("/Yyyy", "12.50", "text")]
    assert pooled(evaluated({"a": [("/Aaaa", "12.50", "text")]}, {"a": two}), "cer") == 1


def test_fields_nobody_asked_for_add_no_error_of_reading_and_lower_their_own_precision():
    extra = [(f"/{n}{n}{n}", "made up " * n, "text") for n in range(1, 9)]
    for given in ([], RENAMED):
        alone = evaluated({"a": GOLD}, {"a": [*given, ("/x", "", "text")]})
        more = evaluated({"a": GOLD}, {"a": given + extra})
        assert pooled(more, "cer") == pooled(alone, "cer")
        assert pooled(more, "wer") == pooled(alone, "wer")
        assert pooled(more, "field_precision") == len(given) / (len(given) + 8)
        assert more.cases.filter(task="text", outcome="spurious").height == 8


WORDS = ("Ada", "Berg", "1980", "Tea", "Milk", "12.50", "Mill Lane", "")


def form(rng, labels):
    tasks = ["text", "text", "visual", "marking", "cross"]
    count = rng.randint(1, 5)
    return [
        (f"/{label}", "; ".join(rng.sample(WORDS, rng.randint(1, 2))), rng.choice(tasks))
        for label in rng.sample(labels, count)
    ]


def test_the_oracle_saves_as_many_edits_as_trying_all_orders():
    rng = random.Random(9)
    for _ in range(30):
        golds, preds = (["".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(4)]
                        for _ in "gp")  # fmt: skip
        gold = pl.DataFrame(rows("1", "gold", [(f"/{n}", v, "text") for n, v in enumerate(golds)]))
        gold = gold.with_columns(subtype=pl.lit(None, pl.String))
        pred = pl.DataFrame(
            rows("1", "prediction", [(f"/{n}", v, "text") for n, v in enumerate(preds)])
        )
        found = dict(match(gold, pred, by="oracle").select("path", "pred_path").rows())
        edits = sum(
            Levenshtein.distance(value, preds[int(found[f"/{n}"][1:])])
            if f"/{n}" in found else len(value)
            for n, value in enumerate(golds)
        )  # fmt: skip
        least = min(
            sum(min(Levenshtein.distance(g, p), len(g)) for g, p in zip(golds, order, strict=True))
            for order in itertools.permutations(preds)
        )
        assert edits == least
