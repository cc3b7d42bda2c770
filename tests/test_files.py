"""What is read of files, what is refused with which words, and what stays of a failed write."""

import json
import os

import msgspec
import numpy as np
import polars as pl
import pytest
from PIL import Image

from formlab import files, pictures
from formlab.errors import DataBroken, DataMissing, NotAvailable


class Word(msgspec.Struct):
    box: tuple[float, float, float, float]
    text: str = ""


class Form(msgspec.Struct):
    form: list[Word]
    id: files.Whole | None = None
    scores: dict[str, list[files.Whole]] = {}


def read_all(path):
    return [row for _, row in files.each_jsonl(path)]


def yaml(path):
    return files.read_yaml(path, remedy="a: 1")


BOX = [1, 2, 3, 4]
# How a file is read, what is in it, and what is said of it.
REFUSED = [
    (files.read_text, b'{"a":\n"caf\xe9"}', r"not utf-8-sig text: byte 0xe9 \(.*a:2\)"),
    (files.read_json, '{"a": 1,\n "b": }', r"broken JSON, Expecting value at column 7 \(.*a:2\)"),
    (files.read_json, "[" * 200_000, r"nested too deep to be read \(.*a:1\)"),
    (files.read_json, "[" + "1" * 5000 + "]", r"4300 digits.*a:1"),
    (read_all, '{"doc_id": "1"}\n' * 6 + '{"doc_id": \n', r"broken JSON.*a:7"),
    (read_all, '{"a": 1}\n[1]\n', r"Expected `object`, got `array` \(.*a:2\)"),
    (read_all, "\n \n", "the file is empty"),
    (yaml, "a: [", r"not YAML: .*a:1"),
    (yaml, "a: &shared {b: 1}\nc: *shared\nd:\n - {e: 1,\n    e: 2}\n", r"'e' twice .*a:5"),
    (yaml, "a: !!python/object:os.system x", "could not determine a constructor"),
    *[(yaml, text, r"not YAML.*a") for text in (
        "a: !!bool maybe", "a: !!timestamp x", "a: 2024-13-45", "- " * 5000,
        "a: " + "9" * 5000, "? {a: 1}\n: b",
    )],
    (yaml, "[" * 100_000, "not YAML"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "content", "says"), REFUSED)
def test_what_cannot_be_read_is_one_error_with_file_and_line(tmp_path, read, content, says):
    file = tmp_path / "a"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataBroken, match=says):
        read(file)


STRUCTURES = [
    ([], "Expected `object`, got `array`"),
    ({}, "missing required field `form`"),
    ({"form": [{"box": BOX}, {"box": None}]}, "got `null` - at `$.form[1].box`"),
    ({"form": [{"box": [1, 2, 3]}]}, "length 4, got 3 - at `$.form[0].box`"),
    ({"form": [{"box": BOX, "text": 9}]}, "Expected `str`, got `int` - at `$.form[0].text`"),
    ({"form": [], "id": True}, "got `bool` - at `$.id`"),
    ({"form": [], "id": 10**4000}, "at `$.id`"),
    ({"form": [], "scores": {"a": [], "b": [1, {}]}}, "got `object` - at `$.scores[...][1]`"),
]


@pytest.mark.parametrize(("value", "says"), STRUCTURES)
def test_another_structure_is_an_error_with_its_path(tmp_path, value, says):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(value))
    with pytest.raises(DataBroken) as caught:
        files.read_json(file, Form)
    assert says in str(caught.value)
    assert str(file) in str(caught.value)


def test_what_is_read_is_as_it_was_written(tmp_path):
    file = tmp_path / "a"
    # Line separators and half characters in a value, brackets in texts, a byte order mark.
    rows = [{"text": "a\u2028b\x0cc", "n": 9.5}, {"text": "\ud800"}, {"text": "[" * 500 + '"{\\'}]
    lines = [json.dumps(row, ensure_ascii=n == 1) for n, row in enumerate(rows)]
    file.write_text("\n\n".join(lines), "utf-8-sig")
    assert read_all(file) == rows
    file.write_text('{"n": 9.50}')
    assert files.read_json(file, as_written=True) == {"n": "9.50"}
    file.write_text(json.dumps({"form": [{"box": BOX, "text": "\ud800"}], "id": 1, "more": 2}))
    assert files.read_json(file, Form) == Form([Word((1, 2, 3, 4), "\ud800")], 1)
    file.write_bytes(b"caf\xe9")
    assert files.read_text(file, encodings=("utf-8", "latin-1")) == "café"
    file.write_text("a: &itself [*itself, {b: 1}]\nc: {b: 1}\nd: &d {e: 1}\nf: {<<: *d, e: 2}\n")
    assert (yaml(file)["c"], yaml(file)["f"]) == ({"b": 1}, {"e": 2})


def test_name_that_an_object_has_twice_is_an_error_only_where_it_is_asked_for(tmp_path):
    file = tmp_path / "p.json"
    file.write_text('{"d": {"a": 1, "b": 2,\n "a": 3}}')
    assert files.read_json(file) == {"d": {"a": 3, "b": 2}}
    with pytest.raises(DataBroken, match=r"an object has the name 'a' twice \(.*p\.json\)"):
        files.read_json(file, once=True)


def test_only_regular_files_are_read_and_nothing_waits(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path, why in (
        (tmp_path / "absent", "no such file"), (tmp_path / "pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"), (tmp_path, "not a regular file"),
        (tmp_path / "circle", "Too many levels"), ("x" * 5000, "name too long"),
        ("a\0b", "null"), ("\ud800", "surrogates"),
    ):  # fmt: skip
        for read in (files.read_bytes, files.sha256):
            with pytest.raises(DataMissing, match=why) as caught:
                read(path)
            assert len(str(caught.value)) < 700
        assert not files.is_file(path)
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", files.LARGEST + 1)
    with pytest.raises(DataBroken, match="at most 2147483648 are read at once"):
        files.read_text(tmp_path / "large")


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "x.txt"
    files.write_text(file, "old")
    with pytest.raises(RuntimeError), files.atomic(file) as part:
        part.write_text("half")
        raise RuntimeError
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_only_what_a_killed_process_left_is_swept_away(tmp_path):
    living = tmp_path / files.part_name("x.txt")
    killed = tmp_path / living.name.replace(f"-{os.getpid()}-", "-999999999-")
    others = [
        tmp_path / name for name in (".mine.part", f".x.00000000-{os.getpid()}-00000000.part")
    ]
    for file in (living, killed, *others):
        file.touch()
    files.sweep(tmp_path.glob(".*.part"))
    assert {*tmp_path.iterdir()} == {living, *others}


def test_nothing_is_written_to_a_name_that_is_not_utf8_or_where_it_cannot_be(tmp_path):
    place = tmp_path / os.fsdecode(b"x\xff")
    for write in (files.make_folder, lambda at: files.write_text(at / "a.csv", "")):
        with pytest.raises(NotAvailable, match=r"not UTF-8 \(.*x\\udcff.*another name"):
            write(place)
    assert not list(tmp_path.iterdir())
    with (
        pytest.raises(NotAvailable, match="cannot write: .*No space left"),
        files.atomic(tmp_path / "a"),
    ):
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")


def test_what_is_no_image_or_half_of_one_is_one_error(tmp_path):
    Image.effect_noise((200, 200), 50).save(tmp_path / "whole.png")
    whole = (tmp_path / "whole.png").read_bytes()
    for read in (pictures.read_image, pictures.image_size):
        with pytest.raises(DataMissing, match="no such file"):
            read(tmp_path / "absent.png")
        # The third has a damaged header; the last lacks its end, which its size does not need.
        broken = [
            b"not what it should be",
            b"%PDF-1.7\n1 0 obj <<",
            whole[:18] + b"\0\1" + whole[20:],
        ]
        for data in broken + [whole[:2000]] * (read is pictures.read_image):
            (tmp_path / "x.png").write_bytes(data)
            with pytest.raises(DataBroken, match="not a readable"):
                read(tmp_path / "x.png")


@pytest.fixture
def pdf(tmp_path):
    pages = [Image.new("RGB", (200, 100), "white"), Image.new("RGB", (100, 50), "black")]
    pages[0].save(tmp_path / "a.pdf", resolution=72, save_all=True, append_images=pages[1:])
    return tmp_path / "a.pdf"


def test_page_of_a_pdf_is_drawn_at_the_scale_of_its_first(pdf):
    # The first page is 200 points wide, the second 100.
    assert pictures.read_image(pdf).size == (200, 100)
    assert pictures.read_image(pdf, width=400).size == (400, 200)
    second = pictures.read_image(pdf, page=2, width=400, zoom=2)
    assert second.size == (400, 200)
    assert second.mode == "RGB"
    assert max(second.getpixel((200, 100))) < 10


def test_page_that_a_pdf_does_not_have_or_that_would_eat_all_memory_is_an_error(pdf):
    for page in (0, 3):
        with pytest.raises(DataBroken, match=f"no page {page}, the PDF has 2"):
            pictures.read_image(pdf, page=page)
    with pytest.raises(DataBroken, match="pixels"):
        pictures.read_image(pdf, width=10**6)


def test_each_page_of_a_file_has_its_size(tmp_path, pdf):
    pages = [Image.new("L", (20 + n, 10)) for n in range(3)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    pages[0].save(tmp_path / "b.png")
    assert pictures.page_sizes(tmp_path / "a.tiff") == [(20 + n, 10) for n in range(3)]
    assert pictures.page_sizes(tmp_path / "b.png") == [(20, 10)]
    assert pictures.page_sizes(pdf) == [(200, 100), (100, 50)]


@pytest.mark.filterwarnings("ignore:Corrupt EXIF", "ignore:Truncated File")
def test_broken_tiff_is_an_error_or_has_fewer_pages(tmp_path):
    pages = [Image.new("L", (20, 10)) for _ in range(3)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:], dpi=(200, 200))
    whole, broken = (tmp_path / "a.tiff").read_bytes(), 0
    for end in range(0, len(whole), 40):
        (tmp_path / "b.tiff").write_bytes(whole[:end])
        try:
            assert 1 <= len(pictures.page_sizes(tmp_path / "b.tiff")) <= 3
        except DataBroken:
            broken += 1
    assert broken


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp", "a.tif"])
def test_a_page_and_its_size_are_turned_as_its_exif_data_say(tmp_path, name):
    file, tags = tmp_path / name, Image.Exif()
    for orientation in range(1, 9):
        tags[0x0112] = orientation
        Image.new("RGB", (60, 40)).save(file, exif=tags)
        # From the fifth way on the sides change places.
        size = (40, 60) if orientation > 4 else (60, 40)
        assert pictures.read_image(file).size == pictures.image_size(file) == size
        assert pictures.page_sizes(file)[0] == size


def test_the_corner_of_a_turned_page_comes_to_lie_where_it_is_shown(tmp_path):
    file, tags, page = tmp_path / "a.png", Image.Exif(), Image.new("L", (60, 40), 255)
    tags[0x0112] = 6  # To be turned right by a quarter: above left comes to lie above right.
    page.putpixel((0, 0), 0)
    page.save(file, exif=tags)
    shown = np.asarray(pictures.read_image(file).convert("L"))
    assert np.argwhere(shown == 0).tolist() == [[0, 39]]


def test_damaged_exif_data_do_not_cost_the_page(tmp_path):
    file = tmp_path / "a.png"
    Image.new("L", (60, 40)).save(file, exif=b"Exif\0\0MM\0*\0\0\xff\xff")
    assert pictures.read_image(file).size == pictures.image_size(file) == (60, 40)


@pytest.mark.parametrize(
    ("values", "name", "greys"),
    [
        (np.array([[0, 32768, 65535]], np.uint16), "a.png", [0, 128, 255]),
        (np.array([[0, 65535, 300]], np.int32), "a.tif", [0, 255, 1]),
        (np.array([[0, 128, 255]], np.float32), "a.tif", [0, 128, 255]),
        (np.array([[-100, 0, 131070]], np.int32), "a.tif", [0, 0, 255]),
    ],
)
def test_greys_of_more_than_8_bits_are_not_cut_off(tmp_path, values, name, greys):
    Image.fromarray(values).save(tmp_path / name)
    assert np.asarray(pictures.read_image(tmp_path / name))[0, :, 0].tolist() == greys
