"""What each loader does with files that are not what they should be: a table of broken inputs."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from formlab import benchmarks
from formlab.benchmarks import ixbrl
from formlab.errors import DataBroken, FormlabError, GoldInDoubt

from ..conftest import entity
from ..made_formfactory import make as formfactory
from ..made_vrdu import BOX, SPLIT
from ..made_vrdu import make as vrdu
from ..made_vrdu import put as annotate

PAGE = "<p>Cash and other means at hand <number>5</number></p>"
ITEM = {"trueJsonOutput": {"a": 1}, "trueMarkdownOutput": "1", "imageUrl": "x/form.png"}
ENTRY = {"image_path": "a.png", "dataset_name": "D", "type": "VQA en", "id": 1, "answers": ["9"]}
FORM = {"fields": [{"label": "Name", "value": "Ada"}]}
LINES = "1,1,50,1,50,9,1,9,BERG\n1,20,50,20,50,29,1,29,TOTAL 9.00\n"


def put(root, name, content):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def page(root, name):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (20, 20)).save(root / name)


def funsd(root):
    for stem in "ab":
        form = {"form": [entity(0, "Name:", [1, 1, 9, 9], "question")]}
        put(root, f"testing_data/annotations/{stem}.json", form)
        page(root, f"testing_data/images/{stem}.png")


def sroie(root):
    for stem in "ab":
        put(root, f"key/{stem}.json", {"company": "BERG", "total": "9.00"})
        put(root, f"box/{stem}.csv", LINES)


def omniai(root):
    for stem in "ab":
        put(root, f"{stem}.json", ITEM)


def formcraft(root):
    for stem in "ab":
        put(root, f"forms/{stem}.json", FORM)


def fincriticaled(root):
    for number in (1, 2):
        put(root, f"gold_{number}.txt", PAGE)
        page(root, f"images/{number}.png")


def load(name, root, **how):
    return benchmarks.load(name, root=root, **how)


# A file for each document, or for all instances of a form.
FILES = {
    "funsd": (funsd, "testing_data/annotations/b.json"),
    "sroie": (sroie, "key/b.json"),
    "omniai": (omniai, "b.json"),
    "formcraft": (formcraft, "forms/b.json"),
    "formcraft of funsd": (funsd, "testing_data/annotations/b.json"),
    "formcraft of sroie": (sroie, "key/b.json"),
    "formfactory": (formfactory, "data1/grant_applications.json"),
}
BROKEN = {
    "cut off": b'{"a": ', "empty": b"", "latin-1": b'{"a": "\xe9"}', "binary": b"\0\xff\0",
    "objects": b'{"a": ' * 5000, "lists": b"[" * 300_000,
    "digits": b'{"a": [' + b"9" * 5000 + b"]}", "number": b"7", "text": b'"x"',
    "null": b"null", "other": b'{"form": 1, "a": {"b": [null]}}',
}  # fmt: skip
NO_FILES = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "circle": lambda file: file.symlink_to(file),
    "dangling": lambda file: file.symlink_to("nowhere"),
    "device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("broken", [*BROKEN, *NO_FILES])
@pytest.mark.parametrize("source", FILES)
def test_what_cannot_be_read_leaves_its_documents_out_with_the_reason(tmp_path, source, broken):
    make, name = FILES[source]
    make(root := tmp_path / "root")
    benchmark = source.partition(" ")[0]
    whole = load(benchmark, root)
    (root / name).unlink()
    NO_FILES[broken](root / name) if broken in NO_FILES else put(root, name, BROKEN[broken])
    corpus = load(benchmark, root)
    assert whole.documents.height > corpus.documents.height > 0
    assert corpus.records.equals(
        whole.records.join(corpus.documents, on="doc_id", how="semi", maintain_order="left")
    )
    [(left_out, reason)] = corpus.unreadable.items()
    assert left_out == name
    assert Path(name).name in reason
    assert str(tmp_path) not in reason
    assert [n for what, n in corpus.flaws.items() if "unreadable" in what] == [1]
    with pytest.raises(DataBroken, match=Path(name).name):
        load(benchmark, root, strict=True)


# All documents stand in one file, or need it.
FOR_ALL = {
    "omniai": ("x.jsonl", ITEM),
    "ocrbench_v2": ("OCRBench_v2.json", [ENTRY]),
    "vrdu": ("main/dataset.jsonl", None),
    "vrdu's schema": ("main/meta.json", None),
    "vrdu's split": (f"few_shot-splits/{SPLIT}.json", None),
}


@pytest.mark.parametrize("broken", [*BROKEN, "folder", "pipe"])
@pytest.mark.parametrize("source", FOR_ALL)
def test_what_all_documents_need_is_one_error_that_names_the_file(tmp_path, source, broken):
    name, content = FOR_ALL[source]
    benchmark = source.partition("'")[0]
    root = tmp_path / "root"
    put(root, name, content) if content else vrdu(root)
    load(benchmark, root)
    (root / name).unlink()
    NO_FILES[broken](root / name) if broken in NO_FILES else put(root, name, BROKEN[broken])
    with pytest.raises(FormlabError) as caught:
        load(benchmark, root)
    # A data set that is no file is not there.
    assert Path(name).name.partition(".")[0] in f"{caught.value}".replace("main/", "dataset ")


STRUCTURES = [
    (funsd, "funsd", "testing_data/annotations/b.json", {"form": [{"box": 1}, {"words": "ab"}]},
     "got `str` - at `$.form[1].words`"),
    (funsd, "funsd", "testing_data/annotations/b.json", {"form": [{"id": 2**70}]},
     "at `$.form[0].id`"),
    (funsd, "funsd", "testing_data/annotations/b.json", {"form": [{"label": ["answer"]}]},
     "got `array` - at `$.form[0].label`"),
    (funsd, "funsd", "testing_data/annotations/b.json", {"form": [{"linking": [[0, {}]]}]},
     "at `$.form[0].linking[0][1]`"),
    (sroie, "sroie", "key/b.json", {"total": ["9.00"]},
     "Expected `str | null`, got `array` (key/b.json#total)"),
    (omniai, "omniai", "b.json", ITEM | {"imageUrl": 5},
     "Expected `str | null`, got `int` - at `$.imageUrl`"),
    (formcraft, "formcraft", "forms/b.json", {"fields": [], "vqa": [{"id": 1}]},
     "vqa/0/question"),
    (fincriticaled, "fincriticaled", "meta_2.json", {"document_type": []},
     "got `array` - at `$.document_type`"),
    (fincriticaled, "fincriticaled", "images/2.json", {}, "Expected `array`, got `object`"),
    (formfactory, "formfactory", "data1/grant_applications.json", [{"a": 1}, 2],
     "Expected `object`, got `int` - at `$[1]`"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "file", "value", "says"), STRUCTURES)
def test_another_structure_is_named_by_its_path(tmp_path, make, name, file, value, says):
    make(tmp_path)
    put(tmp_path, file, value)
    [reason] = load(name, tmp_path).unreadable.values()
    assert says in reason
    assert file in reason


def test_none_that_can_be_read_is_an_error_with_the_first_reason(tmp_path):
    funsd(tmp_path)
    for stem in "ab":
        put(tmp_path, f"testing_data/annotations/{stem}.json", "{")
    with pytest.raises(DataBroken, match=r"no document can be read, the first of 2: .*a\.json:1"):
        load("funsd", tmp_path)


DOUBTS = [
    (funsd, "funsd", "testing_data/annotations/b.json",
     {"form": [entity(1, "a", BOX[1:]), entity(1, "b", BOX[1:])]}, "entity ids given twice: 1"),
    (funsd, "funsd", "testing_data/annotations/b.json",
     {"form": [entity(1, "a", BOX[1:], links=[(1, 2), (1, "2")])]}, "two links at one path"),
    (sroie, "sroie", "key/b.json", {"lines/0": "9.00"}, "two values of b at one path: /lines/0"),
    (omniai, "omniai", "b.json", ITEM | {"trueJsonOutput": {"": 1}}, "two values of b at one path"),
    (formcraft, "formcraft", "forms/b.json",
     FORM | {"vqa": [{"id": 1, "question": "?", "answers": "a"}] * 2}, "/vqa/1"),
    (fincriticaled, "fincriticaled", "gold_02.txt", PAGE, "page 2: gold_02.txt and gold_2.txt"),
    (fincriticaled, "fincriticaled", "gold_2.html", PAGE, "page 2: gold_2.html and gold_2.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "file", "value", "says"), DOUBTS)
def test_gold_that_contradicts_itself_is_an_error(tmp_path, make, name, file, value, says):
    make(tmp_path)
    put(tmp_path, file, value)
    with pytest.raises(GoldInDoubt, match=says):
        load(name, tmp_path)


@pytest.mark.parametrize("broken", [*NO_FILES, "no permission"])
def test_a_page_that_is_no_file_is_counted_and_its_document_stays(tmp_path, monkeypatch, broken):
    funsd(tmp_path)
    image = tmp_path / "testing_data/images/b.png"
    if broken in NO_FILES:
        image.unlink()
        NO_FILES[broken](image)
    else:
        # Root may read everything: the system's answer to others is put in its place.
        plain = os.open

        def refused(path, *options, **more):
            if str(path) == str(image):
                raise PermissionError(13, "Permission denied", str(path))
            return plain(path, *options, **more)

        monkeypatch.setattr(os, "open", refused)
    corpus = load("funsd", tmp_path)
    assert corpus.documents["doc_id"].to_list() == ["a", "b"]
    assert corpus.flaws["images missing" if broken in NO_FILES else "images unreadable"] == 1


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "https://[::1/x", "\ud800", "/", "../b"])
def test_names_that_no_file_can_have_are_pages_that_are_missing(tmp_path, name):
    put(tmp_path / "omniai", "b.json", ITEM | {"imageUrl": f"{name}.png"})
    assert load("omniai", tmp_path / "omniai").flaws["images not in the folder"] == 1
    put(tmp_path / "formcraft", "forms/b.json", FORM | {"pages": [name]})
    assert load("formcraft", tmp_path / "formcraft").flaws["images missing"] == 1
    put(tmp_path / "ocrbench", "OCRBench_v2.json", [ENTRY | {"image_path": f"a/{name}.png"}])
    assert load("ocrbench_v2", tmp_path / "ocrbench").flaws["images missing"] == 1
    annotate(vrdu(tmp_path / "vrdu"), [], file_path=name)
    # The PDFs of both documents of the split.
    assert load("vrdu", tmp_path / "vrdu").flaws["PDFs missing"] == 2


def test_a_list_of_forms_has_no_say_over_other_folders_and_lists_each_once(tmp_path):
    formcraft(tmp_path)
    put(tmp_path, "splits/test.txt", "b\nb\n")
    assert load("formcraft", tmp_path).documents["doc_id"].to_list() == ["b"]
    put(tmp_path, "splits/test.txt", "a\n../forms/b\n")
    with pytest.raises(DataBroken, match=r"'\.\./forms/b' is no name of a form .*test\.txt:2"):
        load("formcraft", tmp_path)


def test_half_characters_stay_as_their_escapes_in_lists_too(tmp_path):
    put(tmp_path, "OCRBench_v2.json", [ENTRY | {"answers": ["9", "\ud800"]}])
    corpus = load("ocrbench_v2", tmp_path)
    assert corpus.records["accepted"].to_list() == [["\\ud800"]]


def test_images_of_one_name_and_several_endings_are_several_documents(tmp_path):
    names = ("x/a.png", "x/a.jpg", "x//a.jpg", "y/a.png")
    put(tmp_path, "OCRBench_v2.json", [ENTRY | {"image_path": name} for name in names])
    documents = load("ocrbench_v2", tmp_path).documents["doc_id"].to_list()
    assert documents == ["x__a.png", "x__a.jpg", "y__a"]


@pytest.mark.parametrize("number", [10**30, 10**400, 1e308, float("inf"), float("nan"), "1", True])
def test_boxes_of_impossible_numbers_are_counted(tmp_path, number):
    word = {"text": "a", "box": [number, 0, 1, 1]}
    funsd(tmp_path)
    put(tmp_path, "testing_data/annotations/b.json", {"form": [word]})
    corpus = load("funsd", tmp_path)
    assert not corpus.unreadable
    assert corpus.flaws["boxes missing or malformed" if number != 1e308 and number != 10**30
                        else "boxes without area"] == 1  # fmt: skip
    annotated = [["who", [["Ann", [number, 0.1, 0.2, 0.3, 0.4]]]]]
    annotate(vrdu(tmp_path / "vrdu"), annotated)
    assert load("vrdu", tmp_path / "vrdu").flaws["boxes missing or malformed"] == 1


def test_pages_of_impossible_size_have_no_size(tmp_path):
    pages = [{"width": 10**400, "height": 9}, {"width": float("inf"), "height": 9}]
    annotate(vrdu(tmp_path), [], ocr={"pages": pages})
    assert load("vrdu", tmp_path).documents["width"].null_count() == 1


def test_pdfs_without_gold_are_counted(tmp_path):
    vrdu(tmp_path)
    for name in ("a", "z"):
        put(tmp_path, f"main/pdfs/{name}.pdf", "%PDF-")
    corpus = load("vrdu", tmp_path, split="Made-pdfs")
    assert corpus.documents["doc_id"].to_list() == ["a.pdf"]
    assert corpus.flaws["PDFs without gold, left out"] == 1


def test_a_key_that_is_null_is_absent_and_a_number_stays_as_written(tmp_path):
    sroie(tmp_path)
    put(tmp_path, "key/b.json", '{"company": null, "total": 9.00}')
    corpus = load("sroie", tmp_path)
    rows = corpus.records.filter(doc_id="b").select("path", "value", "status").rows()
    assert ("/company", None, "unscored") in rows
    assert ("/total", "9.00", "ok") in rows


@pytest.mark.parametrize("cell", ["x\ry", '"x', "x,y"])
def test_a_table_that_is_no_csv_is_one_error_with_its_line(tmp_path, cell):
    formfactory(tmp_path)
    put(tmp_path, "fields.csv", f"code,label,kind,elements\nA11,Name,string,{cell}\n")
    with pytest.raises(DataBroken, match=r"fields\.csv:[23]"):
        load("formfactory", tmp_path)


def test_links_deeper_than_any_form_are_a_reason(tmp_path):
    funsd(tmp_path)
    chain = [entity(n, "a", [0, 0, 9, 9], "header", [(n - 1, n)] if n else []) for n in range(1500)]
    put(tmp_path, "testing_data/annotations/b.json", {"form": chain})
    [reason] = load("formcraft", tmp_path, split="test").unreadable.values()
    assert "nested too deeply" in reason


def test_fact_tags_that_are_never_closed_are_a_reason_at_once(tmp_path):
    fincriticaled(tmp_path)
    put(tmp_path, "gold_2.txt", "<p>Revenue <number>$ 1,234,567.89 % (x) " * 4000)
    [reason] = load("fincriticaled", tmp_path).unreadable.values()
    assert "fact tags in fact tags" in reason
    put(tmp_path, "gold_2.txt", "<number>" * 20_000 + "5")
    assert load("fincriticaled", tmp_path).records.filter(doc_id="2").height == 20_001


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0", b"<a:b:c>", b"<?x?>", b"\xff\xfe<", b"<ix:nonFraction>5</ix:nonFraction>"],
)
def test_a_filing_that_is_none_is_one_error(tmp_path, data):
    put(tmp_path, "x.xml", data)
    with pytest.raises(DataBroken, match=r"x\.xml"):
        ixbrl.gold_pages(tmp_path / "x.xml")


def test_a_filing_with_damaged_tags_is_read_as_far_as_it_can_be(tmp_path):
    head = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">'
    )
    body = "<body><?x?><a:b:c>y<ix:nonFraction scale='999990'>5</ix:nonFraction></a:b:c></body>"
    put(tmp_path, "x.htm", f"{head}{body}</html>")
    pages, [[fact]], _ = ixbrl.gold_pages(tmp_path / "x.htm")
    assert "<number>5</number>" in pages[0]
    # Ten to the 999,990 would be a megabyte of noughts.
    assert fact["value"] is None
