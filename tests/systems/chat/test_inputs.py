import base64
import io
import json

import polars as pl
import pytest
from PIL import Image

from formlab import benchmarks, readers
from formlab.errors import DataBroken, DataMissing, NotAvailable
from formlab.systems import chat
from formlab.systems.chat import ask
from formlab.systems.chat.client import price_of
from formlab.systems.pages import Page, pages
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_page_is_sent_as_it_is_shown_and_without_a_tag_that_turns_it_again(tmp_path, orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    Image.new("L", (60, 40), 255).save(tmp_path / "a.png", exif=tags)
    [page] = pages([tmp_path / "a.png"], limit=1000)
    size = (40, 60) if orientation == 6 else (60, 40)
    kind, _, data = page.url().partition(";base64,")
    with Image.open(io.BytesIO(base64.b64decode(data))) as sent:
        assert sent.size == page.size == size
        assert sent.getexif().get(0x0112, 1) == 1
    # As it is, byte for byte, where nothing has to be turned.
    assert kind == ("data:image/jpeg" if orientation == 6 else "data:image/png")


NAMED = '{"fields": [{"label": "Name", "value": "Ada"}]}'


class Engine:
    """Reads one line, in the upper left quarter of whatever page."""

    boxes = ([[0, 0], [340, 0], [340, 382.5], [0, 382.5]],)
    txts, scores, word_results = ("Blood donor",), (0.9,), None
    calls = 0

    def __call__(self, image, **_):
        type(self).calls += 1
        assert image.shape == (765, 680, 3)
        return self


@pytest.fixture
def engine(monkeypatch, tmp_path):
    monkeypatch.setenv("FORMLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Engine, "calls", 0)
    monkeypatch.setattr(ask.ocr.Engine, "_started", lambda _: Engine())
    return Engine


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


@pytest.mark.parametrize(
    ("unit", "line"),
    [
        # The page has 680 × 765 pixels.
        ("thousandths", ["Blood donor", 0, 0, 500, 500]),
        ("pixels", ["Blood donor", 0, 0, 340, 382]),
        ("none", "Blood donor"),
    ],
)
def test_lines_come_with_their_sides_in_the_unit_asked_for(engine, corpus, unit, line):
    (page,) = pages([corpus.root / corpus.documents["image"][0]], limit=2048)
    assert json.loads(chat.PageView({"boxes": unit}).lines(page)) == {"PAGE": 1, "LINES": [line]}
    chat.PageView({"boxes": "none"}).lines(page)
    # What was read once is kept.
    assert engine.calls == 1


def test_a_model_without_eyes_gets_text_and_no_image(tmp_path, engine, corpus):
    with serving(then=NAMED) as server:
        for _ in range(2):
            found = ran(server, tmp_path, corpus=corpus, pages="text")
        # The second run asks nothing and reads nothing.
        assert (len(server.calls), engine.calls) == (1, 1)
        system, user = server.calls[0]["body"]["messages"]
    # One text, not a list of parts, which such servers may not take.
    assert json.loads(user["content"])["LINES"] == [["Blood donor", 0, 0, 500, 500]]
    assert "OCR engine" in system["content"]
    assert found.responses["status"].to_list() == ["ok"]
    assert {"pages", "rapidocr"} <= found.settings.keys()
    assert found.system == "chat:m(pages=text,tasks=extraction)"


TABLE = "model,input,output,currency,date\nother,1,1,,\nm,10000,50000,EUR,2026-05-01\n"


def test_the_cost_of_answers_has_its_date_and_currency(tmp_path):
    (tmp_path / "p.csv").write_text(TABLE)
    prices = str(tmp_path / "p.csv")
    with pytest.raises(NotAvailable, match="no price of 'absent'"):
        price_of("absent", prices=prices)
    with serving(then=FORM) as server:
        unknown = ran(server, tmp_path / "run")
        # Prices that come later price the answers that are there.
        found = ran(server, tmp_path / "run", prices=prices)
        assert len(server.calls) == 1
    # 100 tokens in at 10,000 a million are 1, 20 out at 50,000 a million are 1.
    assert (unknown.responses["cost"][0], "price" in unknown.settings) == (None, False)
    assert found.responses["cost"].to_list() == [2.0]
    expected = "10000 in, 50000 out, EUR a million tokens, 2026-05-01"
    assert found.settings["price"] == expected


@pytest.mark.parametrize("sides", ["true,null", "inf,1", "-1,1", ",", "1"])
def test_prices_that_are_none_are_one_error(tmp_path, sides):
    (tmp_path / "p.csv").write_text(f"model,input,output\nm,{sides}\n")
    with pytest.raises(DataBroken, match=r"p\.csv:2"):
        price_of("m", prices=tmp_path / "p.csv")
    with pytest.raises(DataMissing, match="no such file"):
        price_of("m", prices=tmp_path / "absent.csv")


SIX = "MadeAds-mixed_template-train_6-test_8-valid_2-SD_0"


def test_an_example_is_read_back_as_its_gold(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    examples = benchmarks.training(corpus, limit=6)
    (task,) = chat.tasks_of("vrdu")
    shown = ask.example_turns(task, examples, chat.PageView({}))
    assert [turn["role"] for turn in shown] == ["user", "assistant"] * 6
    for document, turn in zip(examples.documents.to_dicts(), shown[1::2], strict=True):
        page = Page(None, 1, (document["width"], document["height"]), (1, 1), "")

        def locate(number, box, page=page):
            return {"page": number} | page.located(box, unit="thousandths")

        read = [row for row in task.make(document, []).read(json.loads(turn["content"]), locate)
                if row["path"]]  # fmt: skip
        gold = examples.records.filter(pl.col("doc_id") == document["doc_id"])
        gold = {row["path"]: row for row in gold.drop_nulls("value").to_dicts()}
        values = {path: row["value"] for path, row in gold.items()}
        assert {row["path"]: row["value"] for row in read} == values
        for row in read:
            # A thousandth of 792 points.
            assert row["y1"] == pytest.approx(gold[row["path"]]["y1"], abs=0.8)


def test_examples_go_before_the_question_as_text_and_the_run_names_them(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    with serving(then=json.dumps({"advertiser": None})) as server:
        for _ in range(2):
            made = ran(server, tmp_path, corpus=corpus, tasks="", image_limit=300, shots=3)
        assert len(server.calls) == 1
        system, *turns, last = server.calls[0]["body"]["messages"]
    assert "examples" in system["content"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 3
    assert '"LINES"' in turns[0]["content"]
    train = benchmarks.training(corpus).records
    names = made.settings["shots documents"]
    advertiser = train.filter(pl.col("doc_id") == names[0], path="/advertiser")["value"].item()
    assert advertiser in turns[0]["content"]
    assert json.loads(turns[1]["content"])["advertiser"]["text"] == advertiser
    assert last["content"][-1]["type"] == "image_url"
    assert (made.settings["shots"], made.settings["shots_seed"], len(names)) == (3, 0, 3)
    assert set(names) <= set(train["doc_id"])
    assert "shots=3" in made.system
    assert made.responses["status"].to_list() == ["ok"]
    assert readers.read_predictions(tmp_path, corpus).settings["shots documents"] == names
