"""Episodes of form filling to look at, step by step: screenshot, action, target, content."""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.charts import note
from formlab.charts.escaping import clean
from formlab.charts.words import Caption
from formlab.errors import DataMissing, FormlabError
from formlab.gallery.crops import Crops, PageSource, finite, fractions
from formlab.gallery.inline import Live

Row = dict[str, Any]
# A screenshot of the arena's window is 1,280 by 800; its small print is still read at 960 by 600.
SCREEN = (960, 600)
STEP_LIMIT, CHANGE_LIMIT, TEXT_LIMIT = 600, 50, 1_500
VERBS = {"DoubleClick": "double click", "RightClick": "right click"}
POINTED = ("Click", *VERBS)
_short = functools.partial(clean, limit=300)
# What a line of another shape raises.
_ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


@dataclasses.dataclass(frozen=True, eq=False)
class Episodes(Live):
    """Episodes with their screenshots; shows itself in JupyterLab and in reports.

    `items` are plain mappings: what is known of an episode, and its `steps`. `images` are those of
    `Crops`; `note` says what was left out.
    """

    items: list[Row]
    images: dict[str, Row]
    note: str
    kind = "episodes"

    def __str__(self) -> str:
        steps = sum(len(item["steps"]) for item in self.items)
        return f"{len(self.items)} episodes, {steps:,} steps. {self.note}".strip()


def episodes(
    run: str | Path | None, *, limit: int = 6, budget: int = 4_000_000
) -> Episodes | Caption:
    """Episodes of a run, those with the most wrong answers first; a note where none was recorded.

    `run` is the folder that ``formlab arena fill`` wrote. There are at most `limit` episodes, and
    at most `budget` bytes of screenshots, as they stand in the page: steps that follow are shown
    without. `DataMissing` if there is no folder of a run.

    >>> str(episodes(None))
    'Note. No episode was recorded: there are no steps to show.'
    """
    folder = Path(run or ".")
    if not folder.is_dir():
        raise DataMissing("no folder of a run", where=folder, remedy="what arena fill wrote")
    found = sorted(file.parent for file in folder.glob("*/events.jsonl")) if run else []
    if not found:
        return note("No episode was recorded: there are no steps to show.")
    # The last attempt is the one whose folder is left.
    known = {str(entry.get("doc_id")): entry for entry in _lines(folder / "episodes.jsonl")}
    entries = [(one, known.get(one.name, {})) for one in found]
    entries.sort(key=lambda one: (one[1].get("right") or 0) / (one[1].get("fields") or 1))
    crops = Crops(SCREEN)
    items = [_episode(*one, crops, budget) for one in entries[:limit]]
    few = f"{len(items)} of {len(found)} episodes are shown."
    return Episodes(items, crops.images, few if len(items) < len(found) else "")


def _lines(path: Path) -> list[Row]:
    """The whole lines of a log, if there is one; the last may be torn by a crash."""
    rows = []
    for line in files.read_bytes(path).split(b"\n") if path.is_file() else ():
        with contextlib.suppress(ValueError, RecursionError):
            rows.append(json.loads(line.decode("utf-8", "replace")))
    return [row for row in rows if isinstance(row, dict)]


def _episode(folder: Path, entry: Row, crops: Crops, budget: int) -> Row:
    events = [event for event in _lines(folder / "events.jsonl") if "screen" not in event]
    # How the page was opened is nothing that an agent did.
    events = [*itertools.dropwhile(lambda event: event.keys() & {"left", "request"}, events)]
    looks, steps = sum("see" in event for event in events), list[Row]()
    # The last look, and whether the page has moved since.
    screen: Row = {"image": None, "why": "no screenshot was taken", "moved": False}
    screen |= {"size": (1.0, 1.0), "window": (1.0, 1.0)}
    for event in events[:STEP_LIMIT]:
        try:
            if "see" in event:
                look = {"size": event["size"], "window": event["window"], "on": event.get("on")}
                screen = _shot(crops, folder, str(event["see"]), budget) | {"moved": False} | look
                step = {"do": "look", "text": _short(event["step"])}
            else:
                step = _action(event, event["asked"], screen)
        except _ODD:
            # A line of another shape is shown as it is.
            rest = {key: value for key, value in event.items() if key != "step"}
            text = json.dumps(rest, ensure_ascii=False)
            step = {"do": "note", "text": clean(text, limit=TEXT_LIMIT)}
        steps.append({"image": screen["image"], "why": screen["why"]} | step)
    left, task = len(events) - len(steps), folder / "task.txt"
    facts = f"{looks} looks, {len(steps)} steps" + f"; {left} more are left out" * (left > 0)
    known = [_short(entry["status"])] if entry.get("status") else []
    if {"right", "fields"} <= entry.keys():
        known.append(f"{_short(entry['right'])} of {_short(entry['fields'])} sent right")
    return {
        "name": clean(folder.name, limit=200) + f" ({', '.join(known)})" * bool(known),
        "facts": facts + (f". {_short(entry['error'])}" if entry.get("error") else ""),
        "instruction": clean(files.read_text(task), limit=TEXT_LIMIT) if task.is_file() else "",
        "steps": steps,
    }


def _shot(crops: Crops, folder: Path, name: str, budget: int) -> Row:
    """The key of a screenshot, or why there is none."""
    if sum(len(shot["src"]) for shot in crops.images.values()) >= budget:
        why = f"left out: the page has its {budget / 1e6:g} MB of screenshots"
    # A log may name anything; a screenshot lies beside it.
    elif Path(name).name != name:
        why = "the screenshot is not in the episode's folder"
    else:
        try:
            return {"image": crops.crop(PageSource(folder, (name,)), 1, {})[0], "why": None}
        except FormlabError as error:
            why = clean(error.what, limit=200)
    return {"image": None, "why": why}


def _action(event: Row, action: Row, screen: Row) -> Row:
    """What was done and became of it; its marks as fractions of the screenshot."""
    do, hit, target = action["do"], event.get("hit"), event.get("target")
    refused, pointed = event.get("refused"), do in POINTED
    control, place, box = hit if pointed else target, "", None
    facts = [("refused", _short(refused))] if refused else []
    if control and control["field"] not in ("body", "html"):
        place = _place(control["field"], control["option"])
        box = _placed(control["box"], screen["window"])
        facts.append(("hit" if pointed else "in", place))
    elif pointed and not refused:
        facts.append(("hit", "nothing that can be filled in or pressed"))
    changes = (event.get("changed") or [])[:CHANGE_LIMIT]
    for field, option, before, after in changes:
        other = f"{_place(field, option)}: ".removeprefix(f"{place}: ")
        facts.append(("changed", f"{other}{_content(before)} → {_content(after)}"))
    if target and not changes:
        held = target["checked" if target["option"] is not None else "value"]
        facts.append(("holds", _content(held)))
    mark = _placed([action.get("x"), action.get("y")] * 2, screen["size"])
    # A field that was shown or a turned page moves what stands below.
    if moved := screen["moved"] or event.get("on") != screen.get("on"):
        # The marks would lie on a picture of another place of the page.
        mark = box = None
        facts.append(("picture", "taken before the page moved: no marks are drawn"))
    # What was hit and left no state has turned the page.
    turned = pointed and bool(hit) and target is None and not refused
    screen["moved"] = moved or turned or do == "Scroll"
    step = {"do": VERBS.get(do, _short(do).lower()), "text": _operand(action), "place": place}
    return step | {"refused": bool(refused), "mark": mark, "box": box, "facts": facts}


def _place(field: object, option: object) -> str:
    return _short(field) if option is None else f"{_short(field)} · {_short(option)}"


def _content(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "not known", True: "ticked", False: "not ticked"}[value]
    return _short(value) or "empty"


def _operand(action: Row) -> str:
    """The point, the distance or the text of an action."""
    if action.get("x") is not None:
        return "({x:.0f}, {y:.0f})".format_map(action)
    if "dy" in action:
        return f"{action['dy']:.0f} pixels"
    return _short(action.get("text", action.get("key", "")))


def _placed(values: Sequence[Any] | None, size: Sequence[float]) -> list[float] | None:
    """A box as fractions of an image of this size; None if it has none there."""
    box = finite(values or [None])
    return box and fractions(box, (0, 0, *size))
