"""A page with four fields, a question and a check, and a review of them."""

from pathlib import Path

import pytest
import yaml
from PIL import Image, ImageDraw

import formlab_review as review
from formlab import tables
from formlab.folders import Corpus

FORMS = yaml.safe_load(Path(__file__).with_name("forms.yml").read_text("utf-8"))
KEY = {"benchmark": "demo", "split": "test", "doc_id": "form"}
EVIL = "</script><img src=x onerror=globalThis.pwned=1>\x1b[31m\u202e\x00"
QUESTION = '{"question": "Who pays?", "fields": ["/Name"], "rationale": "It says so."}'
CHECK = '{"source": "/Name", "dependent": "/Total", "rationale": "Same line."}'


def field(name, value, box, **more):
    places = dict(zip(tables.BOX, map(float, box), strict=True))
    return {"task": "text", "path": f"/{name}", "kind": "string", "value": value} | places | more


@pytest.fixture
def corpus(tmp_path):
    page = Image.new("L", (400, 200), 255)
    draw = ImageDraw.Draw(page)
    rows = [
        field("Name", "Ada Berg", (20, 20, 180, 45), modality="textual", subtype="handwritten"),
        field("Total", "9.00", (20, 60, 120, 85), kind="money"),
        field("Evil", EVIL, (20, 100, 120, 125)),
        field("Blank", "", (200, 100, 300, 125)),
        {"task": "vqa", "path": "/vqa/1", "value": "Ada", "accepted": ["Ada Berg"],
         "meta": QUESTION},
        {"task": "consistency", "path": "/consistency/1", "value": "9", "meta": CHECK,
         "confidence": 0.5},
        {"task": "layout", "path": "/Group", "kind": "group", "value": "Group"},
        {"task": "text", "path": None, "value": "the whole page"},
    ]  # fmt: skip
    for row in rows[:3]:
        draw.text((row["x0"], row["y0"]), row["value"][:12], fill=0, font_size=18)
    page.save(tmp_path / "form.png")
    common = KEY | {"role": "gold", "status": "ok", "page": 1}
    document = KEY | {"image": "form.png", "width": 400, "height": 200}
    return Corpus(
        documents=tables.table("documents", [document]),
        records=tables.table("records", [common | row for row in rows]),
        benchmark="demo", split="test", root=tmp_path,
    )  # fmt: skip


@pytest.fixture
def desk(corpus, tmp_path):
    def opened(reviewer="ada", **options):
        items = review.of_corpus(corpus)
        pages = review.Pages(corpus.documents, corpus.root)
        return review.Review(items, tmp_path / "reviews", reviewer, pages, **options)

    return opened
