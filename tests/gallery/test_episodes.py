import json
import random

import pytest
from PIL import Image
from playwright.sync_api import expect

from formlab import browser, gallery
from tests.reports.conftest import report_page

EVIL = (
    "</script><script>globalThis.pwned=1</script><img src=x onerror=globalThis.pwned=2>\x00\u202e"
)


def look(step, image, **more):
    return {"step": step, "see": image, "size": [400, 300], "window": [800, 600]} | more


def act(do, **more):
    return {"step": 1, "asked": {"do": do} | more.pop("asked", {})} | more


def control(field, value, box=(80, 60, 240, 120), **more):
    return {"field": field, "option": None, "value": value, "box": list(box)} | more


CLICK = {"x": 100, "y": 50}
# The screenshot is half as large as the window: clicks are in its pixels, boxes in the window's.
EVENTS = [
    look(1, "001.png"),
    act("Click", asked=CLICK, hit=control("name", ""), target=control("name", ""), changed=[]),
    act(
        "Type", asked={"text": "Ada"}, target=control("name", "Ada"),
        changed=[["name", None, "", "Ada"], ["tick", "yes", False, True]],
    ),
    act("Click", asked={"x": 900, "y": 5}, refused="the point is outside the window"),
    act("Click", asked={"x": 390, "y": 290}, hit=None, target=None, changed=[]),
    act("Scroll", asked={"dy": 480}, target=None),
    act("Click", asked=CLICK, hit=control("late", ""), target=control("late", "")),
    {"step": 1, "answer": "I am done"},
    {"step": 1, "screen": 2, "image": "screen-2.png"},
    look(2, "002.png"),
]  # fmt: skip


def record(root, name, events, *, seed=0, torn=False):
    folder = root / name
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    for number in (1, 2):
        image = Image.new("RGB", (400, 300), "white")
        for _ in range(40):
            corner = rng.randrange(380), rng.randrange(280)
            image.paste(rng.randrange(1 << 24), (*corner, corner[0] + 20, corner[1] + 20))
        image.save(folder / f"{number:03d}.png")
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (folder / "events.jsonl").write_text(lines + ('{"step": 3, "as' if torn else ""))
    (folder / "task.txt").write_text("I am Ada. " + EVIL)
    return folder


@pytest.fixture
def run(tmp_path):
    record(tmp_path, "A11-001", EVENTS, torn=True)
    record(tmp_path, "B12-001", EVENTS[:1], seed=1)
    entries = [
        {"doc_id": "A11-001", "form": "A11", "status": "crashed", "right": 0, "fields": 4},
        {"doc_id": "A11-001", "form": "A11", "status": "submitted", "right": 3, "fields": 4},
        {"doc_id": "B12-001", "form": "B12", "status": "unfinished", "right": 1, "fields": 4},
    ]
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    return tmp_path


def test_every_event_is_a_step_with_its_place_its_target_and_what_changed(run):
    shown = gallery.episodes(run).items
    # The worst first, of the last attempt of each.
    names = ["B12-001 (unfinished, 1 of 4 sent right)", "A11-001 (submitted, 3 of 4 sent right)"]
    assert [item["name"] for item in shown] == names
    look, click, typed, refused, empty, scroll, late, note, again = shown[1]["steps"]
    # Of ten events the screen is none; the torn line is dropped.
    assert [s["do"] for s in (look, scroll, note, again)] == ["look", "scroll", "note", "look"]
    # Clicks and boxes are fractions of the screenshot.
    assert click["mark"][:2] == [round(100 / 400, 5), round(50 / 300, 5)]
    assert click["box"] == [80 / 800, 60 / 600, 160 / 800, 60 / 600]
    assert (click["text"], click["place"]) == ("(100, 50)", "name")
    changes = [("changed", "empty → Ada"), ("changed", "tick · yes: not ticked → ticked")]
    moved = ("picture", "taken before the page moved: no marks are drawn")
    assert [step["facts"] for step in (click, typed, refused, empty, late)] == [
        [("hit", "name"), ("holds", "empty")],
        [("in", "name"), *changes],
        [("refused", "the point is outside the window")],
        [("hit", "nothing that can be filled in or pressed")],
        # Nothing is marked on a picture of another place.
        [("hit", "late"), ("holds", "empty"), moved],
    ]
    assert (late["mark"], late["box"]) == (None, None)
    few = gallery.episodes(run, limit=1, budget=0)
    assert str(few) == "1 episodes, 1 steps. 1 of 2 episodes are shown."
    assert few.items[0]["steps"][0]["why"].startswith("left out: the page has its 0 MB")


@pytest.mark.parametrize(
    "event",
    [
        look(1, "../../secret.png"), look(1, "gone.png"), look(1, "a\x00b"), look(1, None),
        look(1, "001.png", size=["a", None], window=0), look(1, "001.png", size=[0, -1]),
        act("Click", asked={"x": float("nan"), "y": 1e300}), act("Click", asked={"x": "1"}),
        act(["Click"], target="name", changed=[1, [2]]), act("Type", asked={"text": EVIL * 10_000}),
        act("Type", target=control(EVIL, "\ud800", box=[1]), changed={"a": 1}),
        {"asked": 7}, {"see": {"a": 1}}, {}, [1], "text",
    ],
)  # fmt: skip
def test_any_log_gives_steps_of_json_that_stay_small(tmp_path, event):
    record(tmp_path, "evil", [look(1, "001.png"), event, act("Press", asked={"key": "Enter"})])
    made = gallery.episodes(tmp_path)
    text = json.dumps(made.payload["items"], allow_nan=False)
    assert len(text.encode()) < 20_000
    assert made.items[0]["steps"][-1]["do"] == "press"


@pytest.mark.browser
def test_viewer_steps_by_button_key_slider_and_list_and_stays_inert(tmp_path, monkeypatch):
    monkeypatch.delenv("FORMLAB_REPORT", raising=False)
    evil = control(EVIL, EVIL)
    events = [
        look(1, "001.png"),
        act("Click", asked=CLICK, hit=evil, target=evil, changed=[[EVIL, EVIL, EVIL, EVIL]]),
        act(EVIL, asked={"text": EVIL}, refused=EVIL), {"answer": EVIL}, look(2, "002.png"),
    ]  # fmt: skip
    record(tmp_path, "evil", events)
    entry = {"doc_id": "evil", "form": EVIL, "status": EVIL, "error": EVIL}
    (tmp_path / "episodes.jsonl").write_text(json.dumps(entry) + "\n")
    made = gallery.episodes(tmp_path)
    (tmp_path / "report.html").write_text(report_page("episodes", made.payload, str(made)))
    (tmp_path / "lab.html").write_text(made._repr_mimebundle_()["text/html"])
    with browser.page(tmp_path / "report.html", size=(390, 800), scheme="dark") as visit:
        page = visit.page
        viewer, count = page.locator(".fl-episodes"), page.locator(".fl-ep-count")
        back, forward = (viewer.get_by_label(f"{way} step") for way in ("previous", "next"))
        expect(count).to_have_text("1 of 5")
        expect(back).to_be_disabled()
        forward.click()
        expect(viewer.locator(".fl-ep-point, .fl-ep-box")).to_have_count(2)
        # What was hit and changed stands there as text, marks of order and all.
        expect(viewer.locator(".fl-ep-details")).to_contain_text("onerror=globalThis.pwned=2>")
        forward.press("ArrowRight")
        expect(viewer.locator(".fl-ep-details .fl-ep-refused")).to_have_count(1)
        viewer.locator(".fl-ep-list").press("ArrowLeft")
        expect(count).to_have_text("2 of 5")
        viewer.locator("input[type=range]").press("End")
        expect(forward).to_be_disabled()
        viewer.locator(".fl-ep-step").nth(3).click()
        expect(viewer.locator("[aria-current=step]")).to_have_attribute("data-at", "3")
        viewer.get_by_role("button", name="play the steps").click()
        expect(count).to_have_text("5 of 5")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("typeof pwned") == "undefined"
        assert viewer.locator("script, img:not([src^='data:'])").count() == 0
        page.goto((tmp_path / "lab.html").as_uri())
        frame = page.frame_locator("iframe")
        frame.get_by_label("next step").click()
        expect(frame.locator(".fl-ep-count")).to_have_text("2 of 5")
        assert visit.trouble == []
