"""What is read of files, what is refused with which words, and what stays of a failed write."""

import json
import os
from pathlib import Path

import fsspec
import msgspec
import numpy as np
import polars as pl
import pytest
from PIL import Image
from yaml import safe_load

from formlab import files, pictures
from formlab.benchmarks import SAMPLES, load
from formlab.errors import DataBroken, DataMissing, NotAvailable
from formlab.scoring.evaluate import evaluate


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


WRONG = safe_load(Path(__file__).with_name("refused.yml").read_text("utf-8"))
BOX, READERS = [1, 2, 3, 4], {"text": files.read_text, "json": files.read_json, "lines": read_all}
REFUSED = [((READERS | {"yaml": yaml})[read], *more) for read, *more in WRONG["files"]]
REFUSED += [(files.read_json, "[" * 200_000, r"nested too deep to be read \(.*a:1\)")]
REFUSED += [(files.read_json, f"[{'1' * 5000}]", "4300 digits.*a:1")]
NO_YAML = ("- " * 5000, f"a: {'9' * 5000}", "[" * 100_000)
REFUSED += [(yaml, text, "not YAML.*a") for text in NO_YAML]
FORMS = [*WRONG["forms"], ({"form": [], "id": 10**4000}, "at `$.id`")]


@pytest.mark.parametrize(("read", "content", "says"), REFUSED)
def test_what_cannot_be_read_is_one_error_with_file_and_line(tmp_path, read, content, says):
    file = tmp_path / "a"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataBroken, match=says):
        read(file)


@pytest.mark.parametrize(("value", "says"), FORMS)
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
    names = ".mine.part", f".x.00000000-{os.getpid()}-00000000.part"
    others = [tmp_path / name for name in names]
    for file in (living, killed, *others):
        file.touch()
    files.sweep(tmp_path.glob(".*.part"))
    assert {*tmp_path.iterdir()} == {living, *others}


def test_nothing_is_written_to_a_name_that_is_not_utf8_or_where_it_cannot_be(tmp_path):
    for write in (files.make_folder, lambda at: files.write_text(at / "a.csv", "")):
        with pytest.raises(NotAvailable, match=r"not UTF-8 \(.*x\\udcff.*another name"):
            write(tmp_path / os.fsdecode(b"x\xff"))
    assert not list(tmp_path.iterdir())
    at, told = tmp_path / "a", r"^cannot write: No space left on device \("
    with pytest.raises(NotAvailable, match=told), files.writing(at), files.atomic(at):
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")


def test_what_is_no_image_or_half_of_one_is_one_error(tmp_path):
    Image.effect_noise((200, 200), 50).save(tmp_path / "whole.png")
    whole = (tmp_path / "whole.png").read_bytes()
    for read in (pictures.read_image, pictures.image_size):
        with pytest.raises(DataMissing, match="no such file"):
            read(tmp_path / "absent.png")
        # The third has a damaged header; the last lacks its end, which its size does not need.
        header = whole[:18] + b"\0\1" + whole[20:]
        broken = [b"not what it should be", b"%PDF-1.7\n1 0 obj <<", header]
        for data in broken + [whole[:2000]] * (read is pictures.read_image):
            (tmp_path / "x.png").write_bytes(data)
            with pytest.raises(DataBroken, match="not a readable"):
                read(tmp_path / "x.png")


@pytest.fixture
def pdf(tmp_path):
    pages = [Image.new("RGB", (200, 100), "white"), Image.new("RGB", (100, 50), "black")]
    pages[0].save(tmp_path / "a.pdf", resolution=72, save_all=True, append_images=pages[1:])
    return tmp_path / "a.pdf"


def test_page_of_a_pdf_is_drawn_at_the_scale_of_its_first_and_each_has_its_size(pdf, tmp_path):
    # The first page is 200 points wide, the second 100.
    assert pictures.page_sizes(pdf) == [(200, 100), (100, 50)]
    assert pictures.read_image(pdf).size == (200, 100)
    assert pictures.read_image(pdf, width=400).size == (400, 200)
    second = pictures.read_image(pdf, page=2, width=400, zoom=2)
    assert (second.size, second.mode) == ((400, 200), "RGB")
    assert max(second.getpixel((200, 100))) < 10
    for wrong, says in (
        *(({"page": page}, f"no page {page}, the PDF has 2") for page in (0, 3)),
        ({"width": 10**6}, "pixels"),
    ):
        with pytest.raises(DataBroken, match=says):
            pictures.read_image(pdf, **wrong)
    pages = [Image.new("L", (20 + n, 10)) for n in range(3)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    assert pictures.page_sizes(tmp_path / "a.tiff") == [(20 + n, 10) for n in range(3)]


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
    file, tags, page = tmp_path / name, Image.Exif(), Image.new("RGB", (60, 40), "white")
    page.paste("black", (0, 0, 30, 20))
    # To the corner above left, row and column of the page, by each way that a camera was held.
    corners = [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0), (0, 1), (1, 1), (1, 0)]
    for orientation, corner in enumerate(corners, start=1):
        tags[0x0112] = orientation
        page.save(file, exif=tags)
        # From the fifth way on the sides change places.
        size = (40, 60) if orientation > 4 else (60, 40)
        shown = pictures.read_image(file)
        assert shown.size == pictures.image_size(file) == pictures.page_sizes(file)[0] == size
        dark = np.argwhere(np.asarray(shown.convert("L")) < 99).mean(axis=0) * 2
        assert tuple(dark > np.array(size[::-1]) / 2) == corner, orientation
    # Damaged data do not cost the page.
    file = tmp_path / "damaged.png"
    page.save(file, exif=b"Exif\0\0MM\0*\0\0\xff\xff")
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


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))


def test_paths_stay_and_addresses_are_fetched_until_they_change(tmp_path):
    assert files.local(tmp_path / "a.csv") == tmp_path / "a.csv"
    assert files.local(f"file://{tmp_path}/a.csv") == tmp_path / "a.csv"
    memory = fsspec.filesystem("memory")
    memory.pipe("/forms/gold.csv", b"one")
    first = files.local("memory://forms/gold.csv")
    assert (first.name, first.read_bytes()) == ("gold.csv", b"one")
    written = first.stat().st_mtime_ns
    assert files.local("memory:/forms/gold.csv") == first
    assert first.stat().st_mtime_ns == written
    memory.pipe("/forms/gold.csv", b"other")
    assert files.local("memory://forms/gold.csv").read_bytes() == b"other"


def test_what_cannot_be_fetched_is_one_error(monkeypatch):
    with pytest.raises(DataMissing, match=r"cannot be fetched.*memory://no/such.csv"):
        files.local("memory://no/such.csv")
    with pytest.raises(DataMissing, match=r"cannot be fetched: ValueError.*whale"):
        files.local("whale://a/b.csv")

    def absent(url):
        raise ImportError("install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", absent)
    with pytest.raises(DataMissing, match="cannot be fetched: ImportError: install s3fs"):
        files.local("s3://bucket/b.csv")


def test_gold_and_answers_may_be_addresses(formlab):
    memory = fsspec.filesystem("memory")
    memory.pipe("/own/gold.csv", b"doc_id,name,total\na,Ada,9.00\nb,Bo,7.50\n")
    memory.pipe("/own/answers.csv", b"doc_id,name,total\na,Ada,9.00\nb,Bob,7.50\n")
    result = formlab(
        "score", "memory://own/gold.csv", "--predictions", "memory://own/answers.csv",
        "--resamples", "0", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    rows = {r["metric"]: r for r in json.loads(result.stdout) if r["slice_by"] is None}
    assert (rows["exact_accuracy"]["value"], rows["exact_accuracy"]["n_cases"]) == (0.75, 4)


def test_a_folder_is_fetched_whole():
    memory = fsspec.filesystem("memory")
    for name in ("a.json", "deep/b.json"):
        memory.pipe(f"/run/{name}", name.encode())
    folder = files.local("memory://run/")
    found = {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*") if f.is_file()}
    assert found == {"a.json": "a.json", "deep/b.json": "deep/b.json"}


def test_evaluations_may_be_addresses_and_so_may_the_official_files(formlab, tmp_path):
    memory = fsspec.filesystem("memory")
    for name, total in (("a", "9"), ("b", "8")):
        evaluate({"a": {"total": "9"}}, {"a": {"total": total}}).save(tmp_path / name)
        memory.put(str(tmp_path / name), f"/evals/{name}", recursive=True)
    named = ["memory://evals/a", "memory://evals/b"]
    result = formlab("compare", *named, "--resamples", "0", "--json")
    rows = {row["metric"]: row["difference"] for row in json.loads(result.stdout)}
    assert rows["exact_accuracy"] == 1
    memory.put(str(SAMPLES / "funsd"), "/funsd", recursive=True)
    assert load("funsd", root="memory://funsd").documents.height == 8
