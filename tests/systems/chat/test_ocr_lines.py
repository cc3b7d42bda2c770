import json

import pytest

from formlab import benchmarks
from formlab.systems import chat
from formlab.systems.chat import ocr_lines
from formlab.systems.chat.images import pages
from tests.systems.scripted_server import serving

FORM = '{"fields": [{"label": "Name", "value": "Ada"}]}'


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
    monkeypatch.setattr(ocr_lines.ocr.Engine, "_started", lambda _: Engine())
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
    lines = ocr_lines.OcrLines(unit=unit)
    assert json.loads(lines.text(page)) == {"PAGE": 1, "LINES": [line]}
    ocr_lines.OcrLines(unit="none").text(page)
    # What was read once is kept.
    assert engine.calls == 1


def test_a_model_without_eyes_gets_text_and_no_image(tmp_path, engine, corpus):
    settings = {"pages": "text", "tasks": "extraction"}
    with serving(then=FORM) as server:
        settings["base_url"] = server.url
        for _ in range(2):
            found = chat.system("chat:m").run(corpus, out=tmp_path, limit=1, settings=settings)
        # The second run asks nothing and reads nothing.
        assert (len(server.calls), engine.calls) == (1, 1)
        system, user = server.calls[0]["body"]["messages"]
    # One text, not a list of parts, which such servers may not take.
    assert json.loads(user["content"])["LINES"] == [["Blood donor", 0, 0, 500, 500]]
    assert "OCR engine" in system["content"]
    assert found.responses["status"].to_list() == ["ok"]
    assert found.settings["pages"] == "text"
    assert "rapidocr" in found.settings
    assert found.system == "chat:m(pages=text,tasks=extraction)"
