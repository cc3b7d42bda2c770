"""Fields that a model names: how they are paired, and what that does to scores."""

import itertools
import random

import polars as pl
import pytest

from formlab import evaluate, folders, tables
from formlab.scoring.align import match

SCHEMA = {"doc_id": pl.String, "path": pl.String, "value": pl.String, "page": pl.Int64}
SCHEMA |= dict.fromkeys(("x0", "y0", "x1", "y1"), pl.Float64)


def fields(*rows, doc="1"):
    full = [
        {"doc_id": doc, "path": path, "page": page}
        | dict(zip(("x0", "y0", "x1", "y1"), box or (None,) * 4, strict=True))
        for path, page, box in rows
    ]
    return pl.DataFrame(full, schema=SCHEMA)


def named(*paths, doc="1"):
    return fields(*((path, 1, None) for path in paths), doc=doc)


def pairs(gold, pred, **options):
    return match(gold, pred, **options).select("path", "pred_path").rows()


def boxed(*rows):
    return fields(*((path, page, (0, top, 10, top + 10)) for path, page, top in rows))


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        (named("/Owner/Name", "/Name"), named("/name", "/owner/ NAME"),
         [("/Owner/Name", "/owner/ NAME", 1), ("/Name", "/name", 1)]),
        # Labels "name" and "names": distance 1 of 5, 0.8; groups alike: 0.75 * 0.8 + 0.25 * 1.
        (named("/A/Name"), named("/A/Names"), [("/A/Name", "/A/Names", 0.85)]),
        (named("/Name"), named("/Telephone"), []),
        # Boxes tell fields of like labels apart; with the box it is (0.85 + 1) / 2.
        (boxed(("/First/Name", 1, 0), ("/Second/Name", 1, 50)),
         boxed(("/Person B/Name", 1, 0), ("/Person A/Name", 1, 50)),
         [("/First/Name", "/Person B/Name", None), ("/Second/Name", "/Person A/Name", None)]),
        (boxed(("/Name", 1, 0)), boxed(("/Names", 1, 0)), [("/Name", "/Names", 0.925)]),
        # A box on another page does not overlap: (0.85 + 0) / 2.
        (boxed(("/Name", 1, 0)), boxed(("/Names", 2, 0)), []),
    ],
)  # fmt: skip
def test_pairs_and_similarities_by_hand(gold, pred, expected):
    found = match(gold, pred).select("path", "pred_path", "match").rows()
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    for (*_, alike), (*_, by_hand) in zip(found, expected, strict=True):
        assert by_hand is None or alike == pytest.approx(by_hand, abs=1e-12)


def test_pairs_never_leave_their_document_or_use_a_field_twice():
    gold = pl.concat([named("/Name", "/Names"), named("/Town", doc="2")])
    pred = pl.concat([named("/Town"), named("/Nam", doc="2"), named("/Towns", doc="2")])
    found = match(gold, pred)
    assert found.rows() == [("2", "/Town", "/Towns", found["match"][0])]


def test_the_sum_of_similarities_is_the_greatest_there_is():
    rng = random.Random(5)
    for _ in range(10):
        labels = ["".join(rng.choices("abc", k=4)) for _ in range(8)]
        gold, pred = (
            named(*(f"/{x}" for x in set(labels[:4]))),
            named(*(f"/{x}x" for x in set(labels[4:]))),
        )
        found = match(gold, pred, least=0.0)
        alike = {
            (one, other): match(named(one), named(other), least=0.0)["match"][0]
            for one, other in itertools.product(gold["path"], pred["path"])
        }
        few, many = sorted((gold["path"].to_list(), pred["path"].to_list()), key=len)
        best = max(
            sum(alike.get((a, b)) or alike[(b, a)] for a, b in zip(few, order, strict=True))
            for order in itertools.permutations(many, len(few))
        )
        assert abs(found["match"].sum() - best) < 1e-9


def test_very_many_predicted_fields_are_bounded():
    gold = named(*(f"/Group/Field {n}" for n in range(200)))
    pred = named(*(f"/Junk/{n}" for n in range(30_000)), "/Group/Field 7")
    assert ("/Group/Field 7", "/Group/Field 7") in pairs(gold, pred)


def valued(*rows):
    values = pl.Series("value", [value for _, value in rows])
    return named(*(path for path, _ in rows)).with_columns(values)


def test_values_under_each_others_names_are_not_made_right_by_pairing_them_by_value():
    gold = valued(("/Patient/Name", "Ada Lovelace"), ("/Patient/DOB", "10.12.1815"))
    # None of the names is like enough to be paired; words of them tell which field they mean.
    pred = valued(("/Patient name", "10.12.1815"), ("/Birth date, DOB", "Ada Lovelace"))
    assert pairs(gold, pred) == []
    right = valued(("/Patient name", "Ada Lovelace"), ("/Birth date, DOB", "10.12.1815"))
    assert [pred for _, pred in pairs(gold, right)] == right["path"].to_list()
    # A name that shares no word with any field says nothing against its value.
    other = valued(("/Who", "Ada Lovelace"), ("/Born", "10.12.1815"))
    assert [pred for _, pred in pairs(gold, other)] == other["path"].to_list()


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
