import json

import pytest

from formlab import benchmarks
from formlab_review import drafting as drafts
from formlab_review import drafts as file
from tests.systems.scripted_server import serving

RELATION = {
    "scope": "inter-group", "reference": "constraint", "complexity": "compound",
    "modal": "single-modality", "rationale": "It follows.",
}  # fmt: skip
QUESTION = RELATION | {
    "question": "Was it signed?", "options": ["yes", "no"], "answers": ["yes"],
    "derivation": None, "kind": "choice",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")


@pytest.fixture(scope="module")
def corpus():
    return benchmarks.load("formcraft")


@pytest.fixture
def items(tmp_path, corpus):
    """Draft items for the first form, or the first `limit` ones."""

    def drafted(server, task="vqa", *, limit=1):
        settings = {"base_url": server.url, "attempts": 1, "concurrency": 1}
        return drafts.items(task, corpus, model="m", out=tmp_path, settings=settings, limit=limit)

    return drafted


def asked_of(body):
    content = body["messages"][1]["content"]
    return json.loads(content if isinstance(content, str) else content[0]["text"])


def two_questions(body):
    """One sound question about the first two fields, one of a field that is not there."""
    paths = [row["path"] for row in asked_of(body)["FIELDS"][:2]]
    # Spelled otherwise, and meaning the same.
    good = QUESTION | {"fields": [paths[0].upper(), paths[1]]}
    return json.dumps({"items": [good, good | {"question": "Why?", "fields": ["/Nowhere"]}]})


def test_questions_are_drafted_once_for_each_form_and_checked_against_it(tmp_path, corpus, items):
    with serving(then=two_questions) as server:
        for _ in range(2):
            made = items(server, limit=3)
        assert len(server.calls) == 3
    assert drafts.counts(made) == {"forms": 3, "items": 6, "rejected": 3, "failed": 0}
    assert sorted(made, key=lambda draft: draft.key) == file.read(tmp_path)
    good, bad = [draft for draft in made if draft.path][:2]
    assert (good.path, good.item["id"], good.rejected) == ("/vqa/d1", "d1", ())
    assert set(good.item["fields"]) <= set(corpus.records["path"])
    assert bad.rejected == ("no field at /Nowhere",)
    assert good.origin.startswith("answers.sqlite#")


def test_pairs_that_are_constraints_or_contradict_the_annotation_are_rejected(corpus, items):
    own = corpus.records.filter(doc_id=corpus.documents["doc_id"][0], task="consistency")
    gold = own.row(0, named=True)
    pair = {name: json.loads(gold["meta"])[name] for name in ("source", "dependent")}
    good = RELATION | pair | {"expected": gold["value"], "determined": True, "confidence": 0.8}
    pairs = [good, good, good | {"determined": False, "source": "/Stamp"},
            good | {"expected": "something else", "source": "/Physician"}]  # fmt: skip
    with serving(then=json.dumps({"items": pairs})) as server:
        made = items(server, "consistency")
    first, *others = [draft for draft in made if draft.path]
    reasons = [first.rejected, *(draft.rejected for draft in others)]
    assert reasons[:2] == [(), ("the same as an earlier item",)]
    assert "a mere constraint" in reasons[2][0]
    assert "the annotation of" in reasons[3][0]
    # Confidence and reason come along.
    assert (first.item["confidence"], first.item["rationale"]) == (0.8, "It follows.")
