from formlab import benchmarks, systems


def test_document_that_names_its_entities_goes_to_the_rules_for_entities():
    corpus = benchmarks.load("vrdu")
    read = systems.get("rules").start(systems.get("rules").defaults, 1)
    rows = read(corpus.documents.row(0, named=True), corpus.root)
    assert rows
    assert {row["task"] for row in rows if row["path"]} == {"entity"}


def test_page_of_any_other_form_becomes_fields_and_groups():
    corpus = benchmarks.load("formcraft")
    read = systems.get("rules").start(systems.get("rules").defaults, 1)
    rows = read(corpus.documents.row(0, named=True), corpus.root)
    assert {"group", "word", "page"} <= {row.get("kind") for row in rows}
    assert sum(row["task"] in ("text", "marking", "visual", "cross") for row in rows) > 3
