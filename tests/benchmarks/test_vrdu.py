import json
from collections import Counter

import pytest

from formlab import benchmarks
from formlab.benchmarks import vrdu
from formlab.errors import DataBroken, DataMissing, UnknownName

from ..made_vrdu import SPLIT, make, one, put


@pytest.fixture
def root(tmp_path):
    return make(tmp_path)


def test_split_name_tells_task_template_size_and_seed(root):
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    assert corpus.documents["doc_id"].to_list() == ["a.pdf", "b.pdf"]
    assert corpus.documents.select("template", "domain").unique().rows() == [("Short-Form", "Made")]
    meta = json.loads(corpus.documents["meta"][0])
    assert (meta["task"], meta["train_size"], meta["seed"]) == ("unseen", 10, 4)
    assert vrdu.decode("my split") == {}


@pytest.mark.parametrize(
    ("name", "task", "template"),
    [
        ("FARA-lv1-single_Amendment", "single", "Amendment"),
        ("FARA-lv2-mixed_template", "mixed", None),
        ("FARA-lv3-unk_Dissemination_Report", "unseen", "Dissemination_Report"),
        ("DeepForm-kno_template", "single", None),
        ("DeepForm-mixed_template", "mixed", None),
        ("DeepForm-unk_template", "unseen", None),
    ],
)
def test_task_and_template_of_published_names(name, task, template):
    split = vrdu.decode(f"{name}-train_10-test_300-valid_100-SD_0")
    assert (split["task"], split["template"]) == (task, template)


def test_name_out_of_the_folder_is_not_followed(root):
    (root / "secret.pdf").write_bytes(b"%PDF-")
    put(root, [], filename=(name := "../../secret.pdf"))
    (root / "few_shot-splits" / f"{SPLIT}.json").write_text(json.dumps({"test": [name]}))
    assert benchmarks.load("vrdu", split=SPLIT, root=root).documents["image"].to_list() == [None]


def test_labels_are_the_gold_where_there_is_no_data_set(root):
    (root / "main" / "dataset.jsonl").unlink()
    with pytest.raises(DataMissing, match="deepform-2020-labels"):
        benchmarks.load("vrdu", split=SPLIT, root=root)
    labels = root / "deepform-2020-labels.csv"
    labels.write_text('file_id,who,sum\na,"Lee, Ann",$5\nb,,\n')
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root).check()
    assert corpus.records.select("doc_id", "path", "value", "status").rows() == [
        ("a.pdf", "/who", "Lee, Ann", "ok"), ("a.pdf", "/sum", "$5", "ok"),
        ("b.pdf", "/who", None, "unscored"), ("b.pdf", "/sum", None, "unscored"),
    ]  # fmt: skip
    assert corpus.flaws["labels left blank"] == 2
    schema = vrdu.Schema.of(corpus)
    assert schema.entities == ["who", "sum"]
    assert schema.unlabelled == ("day", "tag", "what")
    for text, message in (
        ("file_id,who\na\n", r"csv:2"),
        ("id,who\n", "csv:1"),
        ("file_id,who\na,x\na,y\n", "twice"),
    ):
        labels.write_text(text)
        with pytest.raises(DataBroken, match=message):
            benchmarks.load("vrdu", split=SPLIT, root=root)


def test_train_and_valid_documents_are_parts_of_a_split(root):
    corpus = benchmarks.load("vrdu", root=root, split=f"{SPLIT}-train")
    assert (corpus.split, corpus.documents["doc_id"].to_list()) == (f"{SPLIT}-train", ["c.pdf"])
    assert json.loads(corpus.documents["meta"][0])["part"] == "train"
    valid = benchmarks.load("vrdu", root=root, split=f"{SPLIT}-valid")
    assert valid.documents.height == 0
    with pytest.raises(UnknownName, match="train"):
        benchmarks.load("vrdu", root=root, split=f"{SPLIT}-tests")
    (root / "main" / "pdfs" / "c.pdf").write_bytes(b"%PDF-")
    with pytest.raises(DataMissing, match="Made-pdfs has no train documents"):
        benchmarks.load("vrdu", root=root, split="Made-pdfs-train")


def test_supplied_ocr_is_read_word_by_word_and_what_is_odd_is_counted(root):
    tokens = [
        {"text": "Ann", "bbox": [0.1, 0.2, 0.3, 0.4]},
        # A word without a text of its own stands in the document's.
        {"segments": [[4, 7]], "bbox": [0.5, 0.5, 0.75, 1]},
        {"segments": [[9, 2], "x"], "bbox": [0, 0, 1, 1]}, {"text": "no box"}, "no word",
    ]  # fmt: skip
    ocr = {"text": "Ann Lee", "pages": [{"width": 1000, "height": 2000, "tokens": tokens}]}
    rows = []
    for packed in (False, True):
        put(root, [], packed=packed, ocr=ocr)
        corpus, flaws = benchmarks.load("vrdu", split=SPLIT, root=root), Counter()
        # In another order than that of the file.
        last, first = (
            vrdu.words(corpus.documents.row(place, named=True), root, flaws) for place in (1, 0)
        )
        assert last == []
        assert flaws == {"words of the OCR without a text or a box": 3}
        rows.append([(row["value"], row["page"], row["x0"], row["y1"]) for row in first])
        (root / "main" / "dataset.jsonl").unlink(missing_ok=True)
    assert rows == [[("Ann", 1, 100, 800), ("Lee", 1, 500, 2000)]] * 2
    assert {row["task"] for row in first} == {"layout"}
    (root / "main" / "dataset.jsonl.gz").unlink()
    with pytest.raises(DataBroken, match="load the corpus anew"):
        vrdu.words(corpus.documents.row(0, named=True), root)


def test_document_in_train_and_test_is_left_out_of_training_and_counted(root):
    split = {"train": ["c.pdf", "a.pdf"], "valid": [], "test": ["b.pdf", "a.pdf"]}
    (root / "few_shot-splits" / f"{SPLIT}.json").write_text(json.dumps(split))
    learnt = benchmarks.training(benchmarks.load("vrdu", root=root, split=SPLIT))
    assert learnt.documents["doc_id"].to_list() == ["c.pdf"]
    assert learnt.flaws[benchmarks.LEAKED] == 1


def test_draws_of_training_documents_are_nested_and_repeatable():
    split = "MadeAds-unk_template-train_6-test_6-valid_2-SD_0"
    corpus = benchmarks.load("vrdu", split=split)
    draws = [
        set(benchmarks.training(corpus, limit=limit, seed=seed).documents["doc_id"])
        for seed, limit in ((1, 2), (1, 4), (1, 4), (2, 4))
    ]
    assert draws[0] < draws[1] == draws[2] != draws[3]
    # Benchmarks with a split to train on give that, others nothing.
    assert benchmarks.training(benchmarks.load("funsd"), limit=2).split == "train"
    with pytest.raises(DataMissing, match="no documents to learn from"):
        benchmarks.training(benchmarks.load("formcraft"))


def test_documents_without_gold_and_those_given_twice_are_counted(root):
    file = put(root, [["who", [one("Ann")]]])
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[0].replace("Ann", "Bea"), lines[2]]))
    corpus = benchmarks.load("vrdu", split=SPLIT, root=root)
    assert corpus.records["value"].to_list() == ["Bea"]
    assert corpus.flaws["documents given twice, the last one counts"] == 1
    assert corpus.flaws["documents of the split that have no gold"] == 1
