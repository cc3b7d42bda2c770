"""What a model is asked about each benchmark and a user's own forms, and its answer's rows."""

import base64
import io
import json

import polars as pl
import pytest
from PIL import Image

from formlab import analysis, benchmarks
from formlab.readers import gold as own
from tests.made_formfactory import make
from tests.systems.chat.made_runs import ran
from tests.systems.scripted_server import serving


def test_questions_and_checks_are_answered_by_their_ids(tmp_path):
    def reply(body):
        (items,) = json.loads(body["messages"][1]["content"][0]["text"]).values()
        answers = [
            {"id": i["id"], "answer": "yes", "confidence": 0.5, "reason": "so"} for i in items
        ]
        return json.dumps({"answers": [*answers, {"id": "made up", "answer": "no"}]})

    asked = benchmarks.load("formcraft").records.filter(
        pl.col("task").is_in(["vqa", "consistency"])
    )
    with serving(then=reply) as server:
        found = ran(server, tmp_path, limit=None, tasks="vqa,consistency").records
    assert sorted(found["path"]) == sorted(asked["path"])
    assert set(found["confidence"]) == {0.5}


def test_gold_answers_are_never_shown_to_the_model(tmp_path):
    with serving(then="{}") as server:
        ran(server, tmp_path, limit=None, tasks="", image_limit=0)
    shown = [call["body"]["messages"][1]["content"] for call in server.calls]
    assert any('"question"' in text for text in shown)
    for word in ("rationale", "derivation", "expected", "value"):
        assert not any(f'"{word}"' in text for text in shown), word


def test_entities_of_vrdu_stand_where_the_gold_has_them(tmp_path):
    def reply(body):
        asked = json.loads(body["messages"][1]["content"][0]["text"])["ENTITIES"]
        value = {"text": "5", "page": 1, "box": [0, 0, 1000, 1000]}
        return json.dumps({
            name: [dict.fromkeys(kind, value)] * 2 if isinstance(kind, dict) else value
            for name, kind in asked.items()
        })  # fmt: skip

    gold = benchmarks.load("vrdu")
    with serving(then=reply) as server:
        records = ran(server, tmp_path, corpus=gold, image_limit=200).records
    entities = records.filter(pl.col("path").is_not_null())
    wanted = {"/advertiser", "/line_item/0/sub_amount", "/line_item/1/sub_amount"}
    assert wanted <= set(entities["path"])
    page, first = gold.documents.row(0, named=True), entities.row(0, named=True)
    assert (first["x1"], first["y1"]) == pytest.approx((page["width"], page["height"]))


def test_pieces_of_a_funsd_form_are_its_text_and_lines_with_boxes(tmp_path, funsd_root):
    piece = {"text": "Name:", "label": "question", "box": [50, 100, 300, 300]}
    reply = json.dumps({"entities": [piece, piece | {"text": "Ada", "box": None}]})
    corpus = benchmarks.load("funsd", root=funsd_root)
    with serving(then=reply) as server:
        found = ran(server, tmp_path, corpus=corpus)
    # A page of 200 × 100: 50 thousandths of 200 are 10, 300 of 100 are 30.
    assert found.records.select("path", "value", "subtype", "x0", "y1").rows() == [
        (None, "Name: Ada", None, None, None),
        ("/chat/entities/0", "Name:", "question", 10.0, 30.0),
        ("/chat/entities/1", "Ada", "question", None, None),
    ]


# Of instance A12-01 on a screenshot of 200 × 100: 200 and 150 thousandths are pixels 40 and 15,
# inside First Name (10,10,100,30); 525 and 150 are 105 and 15, between it and Last Name; 75 and
# 900 are 15 and 90, the button Female.
LINES = """```
[200, 150] Ada
[525, 150] Berg
[75, 900] Female
```"""


def test_lines_are_clicks_in_pixels_of_the_screenshot_and_scored_where_they_land(tmp_path):
    instances = benchmarks.load("formfactory", root=make(tmp_path / "data"))
    with serving(then=LINES) as server:
        found = ran(server, tmp_path / "r", corpus=instances, tasks="", limit=None, concurrency=1)
        system, user = server.calls[0]["body"]["messages"]
    assert found.responses["status"].to_list() == ["repaired"] * 2 + ["missing"]
    assert "thousandths" in system["content"]
    asked = json.loads(user["content"][0]["text"])
    # The gold's fields, options and boxes are not shown.
    assert (set(asked), asked["FORM"]) == ({"FORM", "TEXT"}, "A12")
    assert "Ada Berg, born 1980/02/03" in asked["TEXT"]
    evaluation = analysis.evaluate(instances, found, mode="fixed")
    cases = {row["path"]: row for row in evaluation.cases.filter(doc_id="A12-01").to_dicts()}
    assert (cases["/First Name"]["pred_x0"], cases["/First Name"]["pred_y0"]) == (40, 15)
    # Typed right and clicked beside the field.
    assert cases["/Last Name"]["cause"] == "misclick_near"


TYPES = {
    "total": {"type": "money", "question": "What is due?", "label": "Total"},
    "vendor": {"label": "Seller"},
    "paid": "boolean",
    "currency": {"type": "choice", "choices": ["EUR", "USD"]},
}
GOLD = [
    {
        "doc_id": "a", "total": "9.50", "vendor": "Ada", "paid": "true", "currency": "EUR",
        "a/b": {"~": "odd"}, "party": ["Ada", "Bo"], "note": None,
        "items": [{"name": "Tea", "price": "4.00"}, {"name": "Milk", "price": "5.50"}],
    },
    {"doc_id": "b", "total": "7.00", "vendor": "", "party": ["Cy"], "items": []},
]  # fmt: skip


def made(out):
    """The corpus, whose documents are files of text."""
    out.mkdir()
    for name in "ab":
        (out / f"{name}.txt").write_text(f"the text of {name}")
    return own.corpus(GOLD, images=out, types=TYPES)


def sent_to(server, call=0):
    """The schema and what the user's message shows: texts, and images as they are decoded."""
    body = server.calls[call]["body"]
    content = body["messages"][1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [part["text"] for part in parts if part["type"] == "text"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    data = (base64.b64decode(url.partition("base64,")[2]) for url in urls)
    shown = [Image.open(io.BytesIO(image)) for image in data]
    return body["response_format"]["json_schema"]["schema"], texts, shown


def test_the_schema_of_an_answer_is_that_of_the_types(tmp_path):
    corpus = made(tmp_path / "scans")
    with serving(then="{}") as server:
        ran(server, tmp_path / "run", corpus=corpus, tasks="")
        schema, texts, shown = sent_to(server)
        prompt = server.calls[0]["body"]["messages"][0]["content"]
    document = corpus.documents.row(0, named=True)
    assert schema == own.schema_of(document)
    # Every field of any document, whether this one has it or not.
    assert set(schema["properties"]) == {*GOLD[0]} - {"doc_id"}
    assert (texts, shown) == (["the text of a"], [])
    # Servers that ignore a schema find it in the instructions as well; no answer stands there.
    assert json.dumps(schema) in prompt
    assert not any(word in prompt for word in ("9.50", "Ada", "Milk", "odd"))


def test_leaves_of_the_answer_stand_where_the_gold_has_them(tmp_path):
    corpus = made(tmp_path / "scans")

    def reply(body):
        gold = GOLD["text of b" in str(body)]
        return json.dumps({name: value for name, value in gold.items() if name != "doc_id"})

    with serving(then=reply) as server:
        found = ran(server, tmp_path / "run", corpus=corpus, tasks="", limit=None)
    wanted = corpus.records.filter(pl.col("path").is_not_null(), pl.col("value") != "")
    answered = found.records.filter(pl.col("path").is_not_null(), pl.col("value") != "")
    key = ["doc_id", "path", "value", "task"]
    assert sorted(answered.select(key).rows()) == sorted(wanted.select(key).rows())
    assert found.notes["documents sent as text"] == 2


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        # Numbers as they are written; one value where a list is expected is its first item.
        ('{"total": 9.50, "party": "Ada"}', {"/total": "9.50", "/party/0": "Ada"}),
        ('{"items": {"name": "Tea"}}', {"/items/0/name": "Tea"}),
        ('{"party": [], "items": null, "total": null}', {}),
        ('{"a/b": {"~": "x"}, "made up/1": 1}', {"/a~1b/~0": "x", "/made up~11": "1"}),
        ('{"party": ["<script>", {"x": ["\\u0000"]}]}', {"/party/0": "<script>",
                                                         "/party/1/x/0": "\x00"}),
    ],
)  # fmt: skip
def test_answers_of_any_shape_become_rows(tmp_path, answer, rows):
    with serving(then=answer) as server:
        found = ran(server, tmp_path / "run", corpus=made(tmp_path / "scans"), tasks="").records
    assert dict(found.filter(pl.col("path").is_not_null())["path", "value"].rows()) == rows


def scans(folder):
    """Two pages as files for `a`, a TIFF of three pages for `b`, each with its shade of grey."""
    folder.mkdir()
    pages = [Image.new("RGB", (600 + 100 * n, 400), (40 * n,) * 3) for n in range(5)]
    for number in (0, 1):
        pages[number].save(folder / f"a-{number}.png")
    pages[2].save(folder / "b.tiff", save_all=True, append_images=pages[3:])
    return own.corpus(GOLD, images=folder, types=TYPES)


def test_all_pages_of_a_document_are_in_one_question_up_to_a_stated_number(tmp_path):
    corpus = scans(tmp_path / "scans")
    with serving(then="{}") as server:
        found = ran(server, tmp_path / "run", corpus=corpus, tasks="", limit=None, max_pages=2,
                    concurrency=1)  # fmt: skip
        first, second = (sent_to(server, call) for call in range(2))
    assert first[1] == second[1] == ["Page 1:", "Page 2:"]
    assert [image.size for image in first[2]] == [(600, 400), (700, 400)]
    # Each page of a TIFF in its own size, and with its own picture.
    assert [image.size for image in second[2]] == [(800, 400), (900, 400)]
    greys = [image.convert("L").getpixel((9, 9)) for image in first[2] + second[2]]
    assert greys == pytest.approx([0, 40, 80, 120], abs=3)
    assert found.notes["pages not sent: beyond max_pages"] == 1
    assert found.notes["pages sent"] == 4
    assert found.settings["max_pages"] == 2
