import json

from formlab import benchmarks
from formlab.benchmarks.formcraft import read_form
from formlab_review import drafts
from formlab_review.drafts import Draft

QUESTION = {
    "id": "d1", "question": "A\u2028<b>\x1b[31m?", "answers": ["5", "five"], "fields": ["/A"],
    "scope": "intra-group", "reference": "direct-link", "complexity": "simple",
    "modal": "single-modality",
}  # fmt: skip
CHECK = {"id": "d1", "source": "/A", "dependent": "/B", "expected": "5", "confidence": 0.5}
DRAFTS = [
    Draft("test", "f", "vqa", None, "repaired", system="chat:m", origin="answers.sqlite#1"),
    Draft("test", "f", "vqa", "/vqa/d1", "repaired", item=QUESTION, system="chat:m"),
    Draft("test", "f", "vqa", "/vqa/d2", "repaired", ("no answer",), {"id": "d2"}, "chat:m"),
    Draft("test", "f", "consistency", "/consistency/d1", item=CHECK, system="chat:m"),
]


def test_drafts_come_back_sorted_a_line_each(tmp_path):
    file = drafts.write(tmp_path, reversed(DRAFTS))
    assert drafts.read(tmp_path) == sorted(DRAFTS, key=lambda draft: draft.key)
    assert drafts.read(file) == drafts.read(tmp_path)
    assert file.read_bytes().count(b"\n") == len(DRAFTS)


def test_accepted_items_stand_in_the_form_under_ids_of_their_own(tmp_path):
    source = benchmarks.SAMPLES / "formcraft" / "test" / "forms" / "lease.json"
    form = json.loads(source.read_text())
    file = tmp_path / "lease.json"
    file.write_text(json.dumps(drafts.added(drafts.added(form, DRAFTS), DRAFTS)))
    made = read_form(file)
    assert [item.id for item in made.vqa][len(form["vqa"]) :] == ["d1", "d1#2"]
    assert [item.id for item in made.consistency][len(form["consistency"]) :] == ["d1", "d1#2"]
    assert len(form["vqa"]) == len(read_form(source).vqa)
