"""Experiments find what was planted, at its size, and nothing else; people's marks become gold."""

import math
import shutil
from pathlib import Path

import pytest

import formlab
import formlab_review
from tests.contract.doors import cli, json_folder, rows, value

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
MARKS = SAMPLE / "fincriticaled" / "annotations" / "label_studio.json"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def planted(*arguments):
    plugin = Path(__file__).with_name("plugins") / "planted.py"
    return rows("--plugin", plugin, *arguments, "--system", "planted", "--out", "out")


def test_x01_what_blur_takes_is_lost_and_gold_boxes_follow_the_page():
    vary = ("--vary", "blur=1:3:2", "--vary", "scale=0.5", "--resamples", 20)
    table = planted("stress", "funsd", "--pages", 2, *vary)
    shares = {(r["degradation"], r["step"]): r["share"] for r in table if "step" in r}
    # 1 of 143 fields is empty, and right where nothing is read.
    steps = dict.fromkeys([("blur", 0), ("blur", 1), ("scale", 0), ("scale", 1)], 1)
    assert shares == steps | {("blur", 2): pytest.approx(1 / 143)}
    half = {r["degradation"]: r["amount"] for r in table if "reached" in r}
    # From 1 to 3 pixels the share falls by 142/143; half of that is lost at
    assert half == {"blur": pytest.approx(1 + 2 * (1 / 2) / (142 / 143)), "scale": None}


def test_x02_of_two_factors_only_the_planted_one_has_an_effect():
    table = planted("design", "--factors", "print=6,12", "kinds=1,2", "fields=4")
    effects = {r["term"]: r["difference"] for r in table if r["difference"] is not None}
    assert [effects[term] for term in ("print", "kinds")] == pytest.approx([1, 0], abs=1e-9)


def test_x03_a_reader_follows_the_ink_and_who_computes_the_evidence():
    # 12.50 for parts and 18.00 for work make 30.50.
    templates = Path(__file__).with_name("data") / "templates"
    changes = ("--change", "contradicted", "--change", "consistent")
    table = planted("counterfactual", templates, *changes)
    found = {(r["asked"], r["change"], r["follows"]) for r in table if r.get("share") == 1}
    # Asked for the field it says what stands there; asked for the check, what the sources imply.
    follows = [("field", "contradicted", "ink"), ("check", "contradicted", "evidence")]
    assert found == {*follows, ("field", "consistent", "both"), ("check", "consistent", "both")}


def test_x04_a_setting_costs_what_it_loses_and_pages_are_the_units():
    for page in range(6):
        boxes = [[10, 20 * n, 90, 20 * n + 15] for n in range(4)]
        words = [{"text": f"{page}word{n}", "box": box, "id": n} for n, box in enumerate(boxes)]
        form = [word | {"label": "answer", "linking": [], "words": [word]} for word in words]
        json_folder(Path("testing_data/annotations"), {str(page): {"form": form}})
    off, on = planted("sweep", "funsd", "--root", ".", "--split", "test", "--set", "weak=off,on")
    # Pages lose 0, 1, 2, 0, 1 and 2 of 4 words; of the last four the setting takes one more.
    assert (off["share"], on["lost"]) == (pytest.approx(1 - 6 / 24), 4)
    # The paired t interval of six pages: the mean is 1/6, Student's t 2.5706.
    reach = 2.5706 * math.sqrt((4 / 16 - 6 / 36) / 5 / 6)
    found = [on[name] for name in ("difference", "ci_low", "ci_high")]
    assert found == pytest.approx([-1 / 6, -1 / 6 - reach, -1 / 6 + reach], abs=1e-4)


def baseline(name, *settings):
    cli("run", "vrdu", "--system", name, "--out", f"{name}{len(settings)}", *settings)
    table = rows("score", "vrdu", "--predictions", f"{name}{len(settings)}", *settings[:2])
    return value(table, "micro_precision"), value(table, "micro_recall")


def test_x05_rules_score_as_counted():
    # They give no line item, which 16 of the 37 values are.
    assert baseline("rules") == (1, 21 / 37)
    filings = "MadeFilings-lv2-mixed_template-train_3-test_7-valid_2-SD_0"
    assert baseline("rules", "--split", filings) == (1, 1)


def test_x06_the_trained_reader_draws_its_examples_by_seed():
    assert baseline("trained") == (1, 1)
    split = ("--split", "MadeAds-mixed_template-train_6-test_8-valid_2-SD_0")
    one = (*split, "--set", "examples=1")
    assert baseline("trained", *one) != baseline("trained", *one, "--set", "seed=1")


def test_v02_two_reviewers_of_forms_and_a_change_taken_back():
    values = {"Name": "Ada", "Town": "Oslo", "Fax": "O"}
    form = {"fields": [{"label": k, "value": v} for k, v in values.items()], "groups": []}
    json_folder(Path("root/forms"), {"a": form, "b": form})
    corpus = formlab.load("formcraft", root="root")
    for name in ("ben", "ada"):
        desk = formlab_review.FormReview(corpus, "edits", name)
        desk.make("a", desk.form("a").edit("/Fax", {"value": "O."}))
        desk.undo("a") if name == "ada" else None
        for doc_id in "ab":
            desk.make(doc_id, desk.form(doc_id).verify())
    edits = ("--edits", "edits", "--root", "root")
    table = rows("formcraft", "agreement", "ada", "ben", *edits)
    (found,) = (r for r in table if (r["of"], r["attribute"]) == ("field", "value"))
    # 5 of 6 values alike; by chance (2 x 2 + 2 x 2 + 2 x 1) / 36.
    assert (found["n_same"], found["n_items"]) == (5, 6)
    assert found["kappa"] == pytest.approx((5 / 6 - 10 / 36) / (1 - 10 / 36))
    (queued,) = rows("formcraft", "queue", "ada", "ben", *edits)
    assert [queued[k] for k in ("path", "ada", "ben")] == ["/Fax", "O", "O."]
    (made,) = rows("formcraft", "gold", "ada", *edits, "--out", "gold")
    assert (made["accepted"], made["edited"]) == (2, 0)


def test_v03_agreement_of_three_annotators_equals_the_hand_count():
    marks = "doc_id,item,a,b,c\np,1,N,N,N\np,2,N,N,D\np,3,D,D,D\np,4,D,N,D\n"
    Path("ratings.csv").write_text(marks)
    table = rows("annotate", "agreement", "ratings.csv")
    found = {r["raters"]: r["kappa"] for r in table if r["label"] == "all"}
    # Pairs: 3/4 alike, by chance 1/2; b and c 2/4 and 6/16. All (Fleiss): 2/3 alike, by chance 1/2.
    hand = {"a × b": 1 / 2, "a × c": 1 / 2, "b × c": 1 / 5, "a × b × c": 1 / 3}
    assert found == pytest.approx(hand)


def test_v04_v05_an_export_is_counted_queued_and_becomes_gold_that_scores_one():
    lead, pages = (MARKS, "--lead", 4), SAMPLE / "fincriticaled"
    (found, *_) = rows("annotate", "agreement", *lead)
    # 41 N, 13 D and 5 without a mark; 43, 13 and 3: of 59 places 50 are alike.
    chance = (41 * 43 + 13 * 13 + 5 * 3) / 59**2
    assert found["kappa"] == pytest.approx((50 / 59 - chance) / (1 - chance))
    assert [row["doc_id"] for row in rows("annotate", "queue", *lead)] == list("3355777")
    (made,) = rows("annotate", "gold", *lead, "--root", pages, "--out", "gold")
    assert [made[name] for name in ("facts", "all_agree", "decided")] == [54, 49, 5]
    Path("answers").mkdir()
    for page in Path("gold").glob("gold_*.txt"):
        shutil.copy(page, Path("answers", page.name.replace("gold", "pred")))
    table = rows("score", "fincriticaled", "--root", "gold", "--predictions", "answers")
    assert value(table, "fact_accuracy") == 1
