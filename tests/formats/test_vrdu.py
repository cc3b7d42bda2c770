import json

import pytest

from formlab.benchmarks import vrdu as loader
from formlab.errors import DataBroken, DataMissing
from formlab.formats import vrdu

from ..made_vrdu import BOX, SPLIT, make, one


@pytest.fixture
def corpus(tmp_path):
    return loader.read(SPLIT, make(tmp_path / "data"))


def written(folder, results, split=SPLIT, **more):
    file = folder / f"{split}{vrdu.SUFFIX}"
    file.write_text(json.dumps({"meta": {"model": "m"}, "results": results} | more))
    return file


def test_flat_parts_become_line_items_where_a_name_comes_again(corpus, tmp_path):
    entities = [
        ["what", one("tea")], ["who", one("Ann")], ["sum", one("5")], ["sum", one("6")],
        ["what", one("jam")], ["who", one("Bea")], ["tag", one("x")], ["odd", one("y")],
    ]  # fmt: skip
    found = vrdu.read(written(tmp_path, {"a.pdf": entities}), corpus).check()
    assert found.records.select("path", "value").rows() == [
        ("/line_item/0/what", "tea"), ("/who", "Ann"), ("/line_item/0/sum", "5"),
        ("/line_item/1/sum", "6"), ("/line_item/1/what", "jam"), ("/who/1", "Bea"),
        ("/tag/0", "x"), ("/odd/0", "y"),
    ]  # fmt: skip
    assert found.system == "m"
    assert found.notes == {"entities that meta.json does not know": 1}
    assert found.records["page"].unique().to_list() == [1]


def test_folder_gives_the_file_of_the_split(corpus, tmp_path):
    folder = tmp_path / "predictions"
    folder.mkdir()
    assert not vrdu.is_one(folder)
    written(folder, {"a.pdf": []})
    written(folder, {}, split="other")
    (folder / "notes.json").write_text("{}")
    assert vrdu.is_one(folder)
    assert vrdu.splits(folder) == sorted([SPLIT, "other"])
    # An empty list is an answer: the document was read, nothing was found.
    assert vrdu.read(folder, corpus).records.select("doc_id", "path", "status").rows() == [
        ("a.pdf", None, "ok")
    ]
    with pytest.raises(DataMissing, match="--split with one of: other"):
        vrdu.read(written(tmp_path, {}, split="other"), corpus)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "'results' is a list"),
        (None, "'results' is null or absent"),
        ({"a.pdf": {}}, r"an object, not a list.*#/results/a\.pdf"),
        ({"a.pdf": [["who", "Ann"]]}, r"not a predicted entity.*#/results/a\.pdf/0"),
        ({"a.pdf": [["who", [None, BOX, []]]]}, "not a predicted entity"),
        ({"a.pdf": [[["what", "bogus"], [one("x"), one("y")]]]}, "not a predicted entity"),
        ({"a.pdf": [7]}, "not a predicted entity"),
    ],
)
def test_wrong_type_is_one_clear_error_with_its_place(corpus, tmp_path, results, message):
    with pytest.raises(DataBroken, match=message):
        vrdu.read(written(tmp_path, results), corpus)
    written(tmp_path, {}).write_text("[1]")
    with pytest.raises(DataBroken, match="absent"):
        vrdu.read(tmp_path, corpus)


def test_box_of_four_missing_meta_and_half_characters_are_counted(corpus, tmp_path):
    entities = [
        ["who", one("Ann", [0.1, 0.2, 0.3, 0.4])],
        ["day", ["1/1/20"]],
        ["tag", one("a\ud83d")],
    ]
    file = written(tmp_path, {"a.pdf": entities})
    content = json.loads(file.read_text())
    del content["meta"]
    file.write_text(json.dumps(content))
    found = vrdu.read(file, corpus).check()
    assert found.notes == {
        "boxes missing or malformed": 2,
        "no 'meta': the published evaluator stops at such a file": 1,
        "values with half a character, now U+FFFD": 1,
    }
    assert found.records["value"].to_list() == ["Ann", "1/1/20", "a\ufffd"]
    assert found.system == SPLIT


def test_document_that_is_named_twice_is_an_error(corpus, tmp_path):
    file = written(tmp_path, {"a.pdf": [], "b.pdf": []})
    file.write_text(file.read_text().replace("b.pdf", "a.pdf"))
    with pytest.raises(DataBroken, match=r"the name 'a.pdf' twice .*predictions\.json"):
        vrdu.read(file, corpus)
