"""A model is asked about a benchmark that was made outside of formlab."""

import json

import pytest
from PIL import Image

from formlab import analysis, benchmarks, registry
from formlab.systems import chat
from tests.systems.scripted_server import serving

from .conftest import TOYS

pytestmark = pytest.mark.usefixtures("fresh")


@pytest.fixture
def forms(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "a.json").write_text('{"total": "9.00", "date": "1 May"}')
    Image.new("L", (40, 40), 255).save(tmp_path / "forms" / "a.png")
    return tmp_path / "forms"


def asked(corpus, out, answer):
    with serving(then=json.dumps(answer)) as server:
        settings = {"base_url": server.url, "attempts": 1}
        predictions = chat.system("chat:m").run(corpus, out=out, settings=settings)
        return predictions, server.calls


def test_fields_of_the_gold_are_asked_for_and_scored(forms, tmp_path):
    registry.load(TOYS / "toy_benchmark.py")
    corpus = benchmarks.load("receipts", root=forms)
    predictions, calls = asked(corpus, tmp_path / "r", {"total": "9.00", "date": None})
    body = json.dumps(calls)
    assert "under the name that the field has in the list" in body
    assert "9.00" not in body
    cases = analysis.evaluate(corpus, predictions).cases.sort("path")
    assert cases.select("path", "pred", "exact").rows() == [
        ("/date", None, False),
        ("/total", "9.00", True),
    ]
