"""Which pages are kept whole and which are cut: by hand for small budgets."""

import pytest
from PIL import Image

from formlab import gallery, tables
from formlab.gallery import _pictures

ROW = {
    "benchmark": "demo", "split": "test", "system": "a", "task": "value", "outcome": "mismatch",
    "gold": "9.00", "pred": "9.0O",
}  # fmt: skip


def box(x, y, prefix=""):
    corners = {"x0": x, "y0": y, "x1": x + 60.0, "y1": y + 10.0}
    return {f"{prefix}{name}": value for name, value in corners.items()}


@pytest.fixture
def pages(tmp_path):
    """Documents `0` to `3`, a page of 1,000 x 1,200 pixels each, each of another grey."""
    for number in range(4):
        Image.new("L", (1000, 1200), 250 - number).save(tmp_path / f"{number}.png")
    return tmp_path


def made(pages, rows, **options):
    ids = sorted({row["doc_id"] for row in rows})
    key = {"benchmark": "demo", "split": "test"}
    documents = [key | {"doc_id": name, "image": f"{name}.png"} for name in ids]
    cases = tables.table("cases", [ROW | row for row in rows])
    documents = tables.table("documents", documents)
    return gallery.errors(cases, root=pages, documents=documents, **options)


def sizes(shown):
    return sorted((image["width"], image["height"]) for image in shown.images.values())


def test_pages_are_kept_whole_while_they_stay_legible(pages, monkeypatch):
    rows = [{"doc_id": str(i), **box(500.0, 600.0)} for i in range(4)]
    assert sizes(made(pages, rows)) == [(1000, 1200)] * 4
    # 2,400,000 pixels for four pages are 600,000 each: half of 1,000 x 1,200.
    monkeypatch.setattr(_pictures, "PIXELS", 2_400_000)
    assert sizes(made(pages, rows)) == [(707, 848)] * 4
    # 600,000 pixels for up to ten cases; for twenty as many again.
    monkeypatch.setattr(_pictures, "PIXELS", 600_000)
    monkeypatch.setattr(_pictures, "CASES", 10)
    rows = [{"doc_id": "0", "path": f"/{i}"} for i in range(20)]
    assert sizes(made(pages, rows[:10])) == [(707, 848)]
    assert sizes(made(pages, rows)) == [(1000, 1200)]


def test_without_room_a_page_is_cut_unless_its_cuts_take_more(pages, monkeypatch):
    for name in ("PIXELS", "GREY"):
        monkeypatch.setattr(_pictures, name, 1_200_000)
    # A cut has 240 x 84 = 20,160 pixels. 24 of them are 483,840, less than a legible page of
    # 500,000; 25 are 504,000. Document 1 has 24, document 0 has 25, and 300,000 pixels, the share
    # of each of four pages, are not legible.
    places = [box(200.0 + 20 * i, 300.0) for i in range(25)]
    spread = [{"doc_id": name, **box(500.0, 600.0)} for name in ("2", "3")]
    rows = [{"doc_id": "0", **p} for p in places] + [{"doc_id": "1", **p} for p in places[:24]]
    shown = made(pages, rows + spread)
    assert {case["image"] for case in shown.cases[:25]} == {shown.cases[0]["image"]}
    assert shown.images[shown.cases[0]["image"]]["width"] == 645  # 500,000 = 645.5 x 774.6
    assert all(case["view"] == [0, 0, 1, 1] for case in shown.cases[25:])
    assert sizes(shown)[0] == (240, 84)
    # In the cut of document 2 the box stands in the middle: (240 - 60) / 2 = 90 of 240.
    gold = [90 / 240, round(37 / 84, 5), 60 / 240, round(10 / 84, 5)]
    assert shown.cases[-2]["boxes"]["gold"] == gold
