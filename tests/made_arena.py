"""Runs of the arena written by hand: one bank account form each, on a page 400 by 600."""

import json
import sqlite3

from PIL import Image

VALUES = {
    "holder": "Ada Berg", "born": "1970-02-03", "account": "Savings", "proof": "Passport",
    "number": "K1234567",
}  # fmt: skip
KINDS = {"holder": "text", "born": "text", "account": "select", "proof": "select", "number": "text"}
# Boxes 200 wide and 30 high, 100 below one another; labels stand 20 above them.
BOXES = {name: [100, 100 * n, 300, 100 * n + 30] for n, name in enumerate(KINDS, start=1)}


def control(name, value=""):
    x0, y0, x1, _ = BOXES[name]
    return {
        "field": name, "option": None, "kind": KINDS[name], "value": value, "checked": None,
        "options": None, "box": BOXES[name], "labels": [[x0, y0 - 20, x1, y0 - 2]],
    }  # fmt: skip


def screen(names=tuple(KINDS), number=1):
    return {
        "step": 1, "screen": number, "image": f"screen-{number}.png", "size": [400, 600],
        "controls": [control(name) for name in names],
    }  # fmt: skip


def click(x, y, hit=None, changed=(), on=1):
    under = hit and {"field": hit, "option": None, "kind": KINDS.get(hit, "button"), "value": ""}
    asked = {"do": "Click", "x": x, "y": y}
    return {
        "step": 1, "asked": asked, "on": on, "at": [x, y], "hit": under, "target": under,
        "changed": list(changed),
    }  # fmt: skip


def keys(asked, focus=None, changed=(), on=1):
    """A `Type` (any text) or a `Press` (a key in angle brackets)."""
    kind = KINDS.get(focus, "body")
    target = {"field": focus or "body", "option": None, "kind": kind, "value": None}
    action = (
        {"do": "Press", "key": asked[1:-1]} if asked[:1] == "<" else {"do": "Type", "text": asked}
    )
    return {"step": 1, "asked": action, "on": on, "target": target, "changed": list(changed)}


def fill(name, value, before="", into=None, at=None, hit=True):
    """A click and a text: into the field itself, or what was hit instead (None for nothing)."""
    into = name if into is None and hit else into
    x0, y0, *_ = BOXES[into or name]
    change = [[into, None, before, value]] if into else []
    return [click(*(at or (x0 + 50, y0 + 10)), into), keys(value, into, change)]


# What the hand-written episode is about: see tests/arena/test_clicks.py.
CLUMSY = [
    screen(),
    *fill("holder", "Ada Berg"),
    *fill("born", "1970-02-03", before="Ada Berg", into="holder"),
    click(150, 310, "account"),
    keys("<Home>", "account"),
    keys("<ArrowDown>", "account", [["account", None, "", "Current"]]),
    keys("<ArrowDown>", "account", [["account", None, "Current", "Savings"]]),
    click(150, 390, "proof"),
    keys("<I>", "proof", [["proof", None, "", "Identity card"]]),
    *fill("number", "K1234567", at=(150, 540), hit=False),
]


def run(folder, *episodes, system="tests", **settings):
    """A run's folder; an episode is its events, and its status, answers and error as a result."""
    folder.mkdir(parents=True, exist_ok=True)
    usual = {"system": system, "seed": 0, "policy": "page", "scale": 1.0, "ruler": False}
    (folder / "run.json").write_text(json.dumps(usual | {"steps": 200} | settings))
    lines = []
    for number, (events, result) in enumerate(episodes, start=1):
        name = f"E12-{number:03d}"
        (folder / name).mkdir()
        (folder / name / "values.json").write_text(json.dumps(VALUES))
        (folder / name / "task.txt").write_text("Ada Berg wants an account.")
        log = "".join(json.dumps(event) + "\n" for event in events)
        (folder / name / "events.jsonl").write_text(log)
        for event in events:
            if event.get("image"):
                Image.new("RGB", (400, 600), "white").save(folder / name / event["image"])
        row = {"doc_id": name, "form": "E12", "status": "unfinished", "steps": 1, "right": 0}
        row |= {"fields": 5, "answers": None, "error": None, "seconds": 1.0}
        lines.append(json.dumps(row | result) + "\n")
    (folder / "episodes.jsonl").write_text("".join(lines))
    sqlite3.connect(folder / "submissions.sqlite").close()
    return folder
