import json
import os

import numpy as np
import polars as pl
import pytest
from PIL import Image

from formlab import files, pictures
from formlab.errors import DataBroken, DataMissing, NotAvailable


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"doc_id": "1"}\n' * 6 + '{"doc_id": \n', r"p\.jsonl:7"),
        ('{"a": 1}\n[1]\n', r"list .*p\.jsonl:2"),
        ("", "empty"),
        ("\n \n", "empty"),
    ],
)
def test_broken_lines_and_empty_files_are_named(tmp_path, content, message):
    file = tmp_path / "p.jsonl"
    file.write_text(content)
    with pytest.raises(DataBroken, match=message):
        list(files.each_jsonl(file))


def test_line_separators_inside_a_value_do_not_cut_the_line(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"text": "a\u2028b\x0cc"}, ensure_ascii=False) + "\n", "utf-8")
    assert [row["text"] for _, row in files.each_jsonl(file)] == ["a\u2028b\x0cc"]


def test_text_that_is_not_utf8_names_its_line(tmp_path):
    file = tmp_path / "t.json"
    file.write_bytes(b'{"a":\n"caf\xe9"}')
    with pytest.raises(DataBroken, match=r"0xe9 \(.*t\.json:2\)"):
        files.read_json(file)
    assert files.read_text(file, encodings=("utf-8", "latin-1")) == '{"a":\n"café"}'


def test_json_nested_too_deeply_is_an_error_and_no_crash(tmp_path):
    file = tmp_path / "deep.json"
    file.write_text("[" * 200_000)
    with pytest.raises(DataBroken):
        files.read_json(file)


def test_missing_file_is_one_clear_error(tmp_path):
    for read in (files.read_json, files.read_parquet, pictures.read_image, pictures.image_size):
        with pytest.raises(DataMissing, match="absent"):
            read(tmp_path / "absent")


@pytest.mark.parametrize("data", [b"not what it should be", b"%PDF-1.7\n1 0 obj <<"])
@pytest.mark.parametrize("read", [files.read_parquet, pictures.read_image, pictures.image_size])
def test_file_of_another_kind_or_cut_off_is_one_clear_error(tmp_path, read, data):
    file = tmp_path / "x"
    file.write_bytes(data)
    with pytest.raises(DataBroken, match="not a readable"):
        read(file)


def test_truncated_image_is_broken_and_not_half_read(tmp_path):
    file = tmp_path / "x.png"
    Image.effect_noise((200, 200), 50).save(file)
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(DataBroken, match="not a readable image"):
        pictures.read_image(file)


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "x.txt"
    files.write_text(file, "old")
    with pytest.raises(RuntimeError), files.atomic(file) as part:
        part.write_text("half")
        raise RuntimeError
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_only_what_no_living_process_writes_is_swept_away(tmp_path):
    left = tmp_path / ".x.txt.abc.part"
    left.touch()
    with files.temporary(tmp_path, prefix=".y.") as part:
        files.sweep(tmp_path.glob(".*.part"))
        assert list(tmp_path.iterdir()) == [part]
    assert not list(tmp_path.iterdir())


def test_written_tables_come_back(tmp_path):
    frame = pl.DataFrame({"a": ["\x00<b>", None]})
    files.write_parquet(tmp_path / "a.parquet", frame)
    assert files.read_parquet(tmp_path / "a.parquet").equals(frame)


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


@pytest.mark.parametrize("page", [0, 3])
def test_page_that_a_pdf_does_not_have_is_named(pdf, page):
    with pytest.raises(DataBroken, match=f"no page {page}, the PDF has 2"):
        pictures.read_image(pdf, page=page)


def test_pdf_drawn_too_large_is_an_error_and_eats_no_memory(pdf):
    with pytest.raises(DataBroken, match="pixels"):
        pictures.read_image(pdf, width=10**6)


def test_sizes_of_pages_come_with_their_resolution_where_it_is_stated(tmp_path):
    pages = [Image.new("L", (20 + n, 10)) for n in range(3)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:], dpi=(200, 200))
    pages[0].save(tmp_path / "b.png")
    assert pictures.image_sizes(tmp_path / "a.tiff") == [(20 + n, 10, 200.0) for n in range(3)]
    assert pictures.image_sizes(tmp_path / "b.png") == [(20, 10, 0.0)]


@pytest.mark.filterwarnings("ignore:Corrupt EXIF", "ignore:Truncated File")
def test_broken_tiff_is_an_error_or_has_fewer_pages(tmp_path):
    pages = [Image.new("L", (20, 10)) for _ in range(3)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:], dpi=(200, 200))
    whole, broken = (tmp_path / "a.tiff").read_bytes(), 0
    for end in range(0, len(whole), 40):
        (tmp_path / "b.tiff").write_bytes(whole[:end])
        try:
            assert 1 <= len(pictures.image_sizes(tmp_path / "b.tiff")) <= 3
        except DataBroken:
            broken += 1
    assert broken


def test_size_of_a_png_is_read_from_its_header_unless_that_is_damaged(tmp_path, monkeypatch):
    Image.new("L", (20, 10)).save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    (tmp_path / "b.png").write_bytes(data[:18] + b"\0\1" + data[20:])
    with pytest.raises(DataBroken, match="not a readable image"):
        pictures.image_size(tmp_path / "b.png")
    monkeypatch.setattr(Image, "open", None)
    assert pictures.image_size(tmp_path / "a.png") == (20, 10)


def test_a_table_in_pieces_is_the_same_file_as_in_one(tmp_path):
    whole = pl.DataFrame({"n": range(150_000)})
    pieces = pl.concat([whole[:1000], whole[1000:]], rechunk=False)
    for name, frame in {"whole": whole, "pieces": pieces}.items():
        files.write_parquet(tmp_path / name, frame)
    assert pieces.n_chunks() == 2
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()


def test_rows_of_a_parquet_file_are_chosen_as_it_is_read(tmp_path):
    pl.DataFrame({"doc_id": ["a", "b", "a"], "n": [1, 2, 3]}).write_parquet(tmp_path / "t.parquet")
    rows = files.read_parquet(tmp_path / "t.parquet", pl.col("doc_id") == "a")
    assert rows["n"].to_list() == [1, 3]


def test_only_regular_files_are_read_and_nothing_waits(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path, why in (
        (tmp_path / "pipe", "not a regular file"), ("/dev/zero", "not a regular file"),
        (tmp_path, "a folder"), (tmp_path / "circle", "Too many levels"),
        ("x" * 5000, "name too long"), ("a\0b", "null"), ("\ud800", "surrogates"),
    ):  # fmt: skip
        with pytest.raises(DataMissing, match=why) as caught:
            files.read_bytes(path)
        assert len(str(caught.value)) < 700
        assert not files.is_file(path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[\n" + "1" * 5000 + "]", "more than 4300 digits (x:2)"),
        ('{"a":' * 201 + "1" + "}" * 201, "nested more than 200 deep"),
        ('["\\"", ' + "[" * 200 + "]" * 200 + "]", "nested more than 200 deep"),
    ],
)
def test_json_beyond_its_limits_is_one_error(text, what):
    with pytest.raises(DataBroken) as caught:
        files.parse_json(text, where="x")
    assert what in str(caught.value)


def test_brackets_in_texts_are_no_depth():
    text = json.dumps(["[" * 500, '"{\\', {"a": "[" * 500}])
    assert files.parse_json(text, where="x") == json.loads(text)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp", "a.tif"])
def test_a_page_and_its_size_are_turned_as_its_exif_data_say(tmp_path, name, orientation):
    file, tags = tmp_path / name, Image.Exif()
    tags[0x0112] = orientation
    Image.new("RGB", (60, 40)).save(file, exif=tags)
    # From the fifth way on the sides change places.
    size = (40, 60) if orientation > 4 else (60, 40)
    assert pictures.read_image(file).size == pictures.image_size(file) == size
    assert pictures.image_sizes(file)[0][:2] == size


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


def test_name_that_an_object_has_twice_is_an_error_only_where_it_is_asked_for(tmp_path):
    file = tmp_path / "p.json"
    file.write_text('{"d": {"a": 1, "b": 2,\n "a": 3}}')
    assert files.read_json(file) == {"d": {"a": 3, "b": 2}}
    with pytest.raises(DataBroken, match=r"an object has the name 'a' twice \(.*p\.json\)"):
        files.read_json(file, once=True)


def test_nothing_is_written_to_a_name_that_is_not_utf8(tmp_path):
    place = tmp_path / os.fsdecode(b"x\xff")
    for write in (files.make_folder, lambda at: files.write_text(at / "a.csv", "")):
        with pytest.raises(NotAvailable, match=r"not UTF-8 \(.*x\\xff.*another name"):
            write(place)
    assert not list(tmp_path.iterdir())
