from formlab import evaluate, folders, tables

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
