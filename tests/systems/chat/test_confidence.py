"""How sure a model is of each value: token probabilities, and samples that agree."""

import json
import math

import polars as pl
import pytest

from formlab.readers import gold as own
from formlab.systems import chat
from formlab.systems.chat.answers import token_spans, with_confidence
from tests.systems.chat.made_runs import ran
from tests.systems.scripted_server import answer, serving

GOLD = [{"doc_id": "a", "total": "9.50", "vendor": "Café", "items": [{"name": "Tea"}]}]
TEXT = '{"total": 9.50, "vendor": "Café", "items": [{"name": "Tea"}]}'
PATHS = ["/total", "/vendor", "/items/0/name"]


def corpus(folder):
    (folder / "a.txt").write_text("the text")
    return own.corpus(GOLD, images=folder)


def tokens(text, size=3, sure=""):
    """A token of each so many bytes; those that touch the text `sure` have a chance of 0.5."""
    data, at = text.encode(), text.encode().find(sure.encode())
    found = []
    for start in range(0, len(data), size):
        touched = at - size < start < at + len(sure.encode()) and bool(sure)
        piece = data[start : start + size]
        row = {"token": piece.decode(errors="replace"), "bytes": list(piece)}
        found.append(row | {"logprob": math.log(0.5) if touched else 0.0})
    return found


def completion(text, pieces):
    """The body of an answer with the log-probabilities of `pieces`."""
    body = answer(text)
    body["choices"][0]["logprobs"] = {"content": pieces}
    return body


def confidences(found):
    rows = found.records.filter(pl.col("path").is_not_null()).select("path", "confidence")
    return dict(rows.iter_rows())


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_a_value_is_as_sure_as_the_product_of_its_tokens(tmp_path, size):
    pieces = tokens(TEXT, size, sure="Café")
    step = completion(TEXT, [*pieces, {"token": "<end>", "logprob": -9.0}])
    with serving(then=step) as server:
        found = ran(server, tmp_path, corpus=corpus(tmp_path), tasks="", logprobs=True)
        assert server.calls[0]["body"]["logprobs"] is True
    # Café is five bytes: 5 tokens of one byte, 3 of two (from an odd or even place), or within one.
    at = TEXT.encode().find("Café".encode())
    others = 1.0 if size < 1000 else 0.5
    sure = [others, pytest.approx(0.5 ** ((at + 4) // size - at // size + 1)), others]
    assert confidences(found) == dict(zip(PATHS, sure, strict=True))
    assert found.settings["logprobs"] is True


@pytest.mark.parametrize(
    "pieces",
    [
        None, "x", [{"token": "other", "logprob": 0}], [{"token": TEXT}],
        [{"token": TEXT, "logprob": "nan"}], [{"token": TEXT, "bytes": [999], "logprob": 0}],
    ],
)  # fmt: skip
def test_without_tokens_of_this_answer_nothing_is_sure_and_the_run_counts_it(tmp_path, pieces):
    with serving(then=completion(TEXT, pieces)) as server:
        found = ran(server, tmp_path, corpus=corpus(tmp_path), tasks="", logprobs=True)
    assert confidences(found) == dict.fromkeys(PATHS)
    assert found.notes["answers without log-probabilities"] == 1


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        # In a fence and in prose, with spaces and escapes; names are no values.
        ('Here:\n```json\n{"b": "b", "a": "b"}\n```', {"b": 1.0, "a": 1.0}),
        ('{"a" : "x\\"y" , "b":[ true,null, "" ]}', {"a": 1.0}),
        # Of a name that is there twice the last value counts.
        ('{"a": "x", "a": "y"}', {"a": 1.0}),
        # What had to be repaired has no probability.
        ('{"a": "x", b: "y"}', None),
    ],
)
def test_leaves_are_looked_for_where_they_stand(text, sure):
    value = chat.answers.content(chat.Answer(text=text), json=True).value
    spans = token_spans({"logprobs": {"content": tokens(text)}}, text)
    marked = with_confidence(value, text, spans)
    assert marked == json.loads(json.dumps(value).replace("true", '"true"'))
    if sure is None:
        assert marked is value
    else:
        assert {name: marked[name].confidence for name in sure} == sure


def test_samples_cost_what_all_of_them_cost_and_those_of_no_use_make_unsure(tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text("model,input,output\nm,1000,1000\n")
    settings = {"tasks": "", "temperature": 0.7, "samples": 4, "prices": str(prices)}
    with serving("no JSON", then=TEXT) as server:
        found = ran(server, tmp_path / "r", corpus=corpus(tmp_path), **settings)
    assert confidences(found) == dict.fromkeys(PATHS, 0.75)
    row = found.responses.row(0, named=True)
    # 100 tokens in and 20 out each, at 1000 for a million.
    assert (row["tokens_in"], row["tokens_out"], row["attempts"]) == (400, 80, 4)
    assert row["cost"] == pytest.approx(0.48)
