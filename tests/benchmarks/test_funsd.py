import json

import polars as pl

from formlab import benchmarks

from ..conftest import entity


def form_of(root, entities, stem="c"):
    file = root / "testing_data" / "annotations" / f"{stem}.json"
    file.write_text(json.dumps({"form": entities}))
    return file


def test_page_text_joins_the_texts_in_id_order(funsd_root):
    form_of(
        funsd_root,
        [entity(n, text, [0, 0, 1, 1]) for n, text in ((2, "last"), (0, "first"), (1, " "))],
    )
    records = benchmarks.load("funsd", root=funsd_root, split="test").records
    page = records.filter(pl.col("doc_id") == "c", pl.col("path").is_null())
    assert page["value"].to_list() == ["first last"]


def test_link_of_two_ends_is_one_record_and_a_link_to_nothing_stays(funsd_root):
    form_of(funsd_root, [entity(0, "a", [0, 0, 9, 9], links=[(0, 7)])])
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    links = corpus.records.filter(pl.col("kind") == "link").sort("doc_id")
    assert links.select("doc_id", "path").rows() == [("a", "/links/0/1"), ("c", "/links/0/7")]
    # Which neither end but the first one lists.
    assert corpus.flaws["links to nothing"] == corpus.flaws["links named by one end only"] == 1
    # The third form's image was never drawn: the form stays, without one.
    assert corpus.flaws["images missing"] == 1
    assert corpus.documents.sort("doc_id")["image"].is_null().to_list() == [False, False, True]


def test_entity_without_label_text_or_box_stays_and_is_counted(funsd_root):
    form_of(funsd_root, [{"id": 0}])
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    row = corpus.records.filter(pl.col("doc_id") == "c", pl.col("path") == "/entities/0")
    assert row.select("value", "kind", "x0").rows() == [("", None, None)]
    assert corpus.flaws["boxes missing or malformed"] == 1
    assert corpus.flaws["entities with an unknown label"] == 1


def test_odd_texts_boxes_and_links_are_read_and_counted(funsd_root):
    words = [{"text": "7", "box": [0, 0, 1]}, {"text": "\ud800", "box": [0, 0, 0, 5]}, {"box": "x"}]
    odd = {"box": [1, 2, 3, 4], "label": "other", "words": words}
    form_of(funsd_root, [odd, {"id": 1, "text": "b", "linking": [[1], [1, 1]]}])
    corpus = benchmarks.load("funsd", root=funsd_root, split="test")
    rows = corpus.records.filter(pl.col("doc_id") == "c").select("path", "value", "x1")
    assert rows.rows() == [
        (None, "b", None),
        ("/entities/0", "", 3.0),
        ("/entities/0/words/0", "7", None),
        ("/entities/0/words/1", "\\ud800", 0.0),
        ("/entities/0/words/2", "", None),
        ("/entities/1", "b", None),
        ("/links/1", "/entities/1", None),
        ("/links/1/1", "/entities/1 /entities/1", None),
    ]
    names = (
        "boxes missing or malformed", "boxes without area", "words without text",
        "entities without text", "links of not two ends", "links to itself",
    )  # fmt: skip
    # The form `a` has an entity without text too.
    assert [corpus.flaws[name] for name in names] == [3, 1, 1, 2, 1, 1]
