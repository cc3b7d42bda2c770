"""Episodes of form filling to look at, step by step: screenshot, action, target, content."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from formlab import files
from formlab.charts import note
from formlab.charts.escaping import clean
from formlab.charts.words import Caption
from formlab.errors import DataMissing, FormlabError
from formlab.gallery.crops import Crops, PageSource
from formlab.gallery.inline import Live

Row = dict[str, Any]
# A screenshot of the arena's window is 1,280 by 800; its small print is still read at 960 by 600.
PIXELS = 960 * 600
STEP_LIMIT, TEXT_LIMIT, VALUE_LIMIT = 600, 1_500, 300
POINTED = ("Click", "DoubleClick", "RightClick")
# What a line of another shape raises.
_ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


@dataclasses.dataclass(frozen=True, eq=False)
class Episodes(Live):
    """Episodes with their screenshots; shows itself in JupyterLab and in reports.

    `items` are plain mappings: what is known of an episode, its `steps` and its `answers`.
    `images` maps keys to ``{src, width, height}``; `src` is a data URI. `note` says what was
    left out.
    """

    kind: ClassVar[str] = "episodes"
    items: list[Row]
    images: dict[str, Row]
    note: str

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        steps = sum(len(item["steps"]) for item in self.items)
        return f"{len(self.items)} episodes, {steps:,} steps. {self.note}".strip()

    @property
    def payload(self) -> Row:
        """What ``episodes.js`` draws."""
        return {"items": self.items, "images": self.images, "note": self.note}


def episodes(
    run: str | Path | None,
    *,
    cases: pl.DataFrame | None = None,
    limit: int = 6,
    budget: int = 4_000_000,
) -> Episodes | Caption:
    """Episodes of a run, those with the most wrong answers first.

    Parameters
    ----------
    run
        The folder that ``formlab arena fill`` wrote; or that of one episode.
    cases
        A table of the schema ``cases``: the right answer of each field and the one entered.
    limit
        At most so many episodes.
    budget
        At most so many bytes of screenshots, as they stand in the page. The steps of an episode
        beyond it are left out, and the note says how many.

    Returns
    -------
    Episodes
        Or a note, where the folder holds no recorded episode.

    Raises
    ------
    DataMissing
        If there is no folder of a run.

    Examples
    --------
    >>> str(episodes(None))
    'Note. No episode was recorded: there are no steps to show.'
    """
    recorded = _recorded(Path(run)) if run is not None else {}
    if not recorded:
        return note("No episode was recorded: there are no steps to show.")
    shots = _Shots(budget)
    items = []
    for name in _worst_first(recorded)[:limit]:
        if shots.spent >= budget:
            break
        items.append(_episode(name, *recorded[name], shots, cases))
    notes = []
    if len(items) < len(recorded):
        notes.append(f"{len(items)} of {len(recorded)} episodes are shown.")
    if left := sum(item["left"] for item in items):
        notes.append(f"{left:,} step{'s are' if left > 1 else ' is'} left out.")
    if notes and shots.spent >= budget:
        notes.append(f"A page has at most {budget / 1e6:g} MB of screenshots.")
    return Episodes(items, shots.crops.images, " ".join(notes))


def _recorded(run: Path) -> dict[str, tuple[Path, Row]]:
    """Each episode's folder and what is known of it, by its name."""
    if (run / "events.jsonl").is_file():
        return {run.name: (run, {})}
    if not run.is_dir():
        raise DataMissing("no folder of a run", where=run, remedy="what arena fill wrote")
    log = run / "episodes.jsonl"
    # The last attempt is the one whose folder is left.
    results = {str(row.get("doc_id")): row for row in (_lines(log) if log.is_file() else ())}
    folders = sorted(file.parent for file in run.glob("*/events.jsonl"))
    return {folder.name: (folder, results.get(folder.name, {})) for folder in folders}


def _lines(path: Path) -> Iterator[Row]:
    """The whole lines of a log; the last one may be torn by a crash."""
    for line in files.read_bytes(path).split(b"\n"):
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _worst_first(recorded: dict[str, tuple[Path, Row]]) -> list[str]:
    def share(name: str) -> float:
        entry = recorded[name][1]
        fields = _number(entry.get("fields"))
        return (_number(entry.get("right")) or 0) / fields if fields else 0.0

    return sorted(recorded, key=lambda name: (share(name), name))


class _Shots:
    """Screenshots as WebP, each distinct one once, as long as the budget lasts."""

    def __init__(self, budget: int) -> None:
        self.budget, self.spent = budget, 0
        self.crops = Crops(PIXELS)

    def add(self, folder: Path, name: str) -> tuple[str | None, str | None]:
        """The key of an image, or why there is none; both None where the budget is spent."""
        # A log may name anything; a screenshot lies beside it.
        if Path(name).name != name:
            return None, "the screenshot is not in the episode's folder"
        known = set(self.crops.images)
        try:
            key = self.crops.crop(PageSource(folder, name)).key
        except FormlabError as error:
            return None, clean(error.what, limit=200)
        size = 0 if key in known else len(self.crops.images[key]["src"])
        if known and self.spent + size > self.budget:
            self.spent = self.budget
            del self.crops.images[key]
            return None, None
        self.spent += size
        return key, None


@dataclasses.dataclass
class _Screen:
    """A screenshot, its size and the window's, and whether the page still is as it shows."""

    image: str | None = None
    why: str | None = "no screenshot was taken"
    size: Sequence[float] = (1.0, 1.0)
    window: Sequence[float] = (1.0, 1.0)
    on: object = None
    moved: bool = False


def _episode(name: str, folder: Path, entry: Row, shots: _Shots, cases: pl.DataFrame | None) -> Row:
    steps: list[Row] = []
    looks = left = 0
    full, screen = False, _Screen()
    for event in _lines(folder / "events.jsonl"):
        if "screen" in event or (not looks and event.keys() & {"left", "request"}):
            # How the page was opened is nothing that an agent did.
            continue
        try:
            if "see" in event:
                looks += 1
                key, why = (None, None) if full else shots.add(folder, str(event["see"]))
                full = full or (key is None and why is None)
                screen = _Screen(key, why, event["size"], event["window"], event.get("on"))
                step = {"do": "Look", "text": f"look {_short(event['step'])}"}
            else:
                step = _action(event, event["asked"], screen)
        except _ODD:
            # A line of another shape is shown as it is.
            rest = {key: value for key, value in event.items() if key != "step"}
            text = json.dumps(rest, ensure_ascii=False)
            step = {"do": "Note", "text": clean(text, limit=TEXT_LIMIT)}
        if full or len(steps) >= STEP_LIMIT:
            left += 1
        else:
            picture = {"image": screen.image, "why": screen.why}
            steps.append(picture | {"moved": screen.moved} | step)
    task = folder / "task.txt"
    columns = ("path", "kind", "gold", "pred", "outcome", "cause")
    rows: list[Row] = []
    if cases is not None:
        own = cases.filter(pl.col("doc_id") == name, pl.col("path").is_not_null())
        rows = own.select(columns).head(200).to_dicts()
    return {
        "name": clean(name, limit=200),
        **{key: _short(entry.get(key)) for key in ("form", "status", "error")},
        **{key: _number(entry.get(key)) for key in ("right", "fields")},
        "instruction": clean(files.read_text(task), limit=TEXT_LIMIT) if task.is_file() else None,
        "steps": steps,
        "looks": looks,
        "left": left,
        "answers": [{column: _short(row[column]) for column in columns} for row in rows],
    }


def _action(event: Row, action: Row, screen: _Screen) -> Row:
    """The step of an action, with its marks as fractions of the screenshot."""
    # A field that was shown or a turned page moves what stands below.
    moved = screen.moved or event.get("on") != screen.on
    pointed, refused = action["do"] in POINTED, event.get("refused")
    hit, target = event.get("hit"), event.get("target")
    control = hit if pointed else target
    done = event.get("done")
    step = {
        "do": _short(action["do"]),
        "text": _operand(action),
        "done": _operand(done) if done else None,
        "refused": _short(refused),
        "mark": _fractions([action.get("x"), action.get("y")], screen.size),
    }
    if control and control["field"] not in ("body", "html"):
        step |= {name: _short(control[name]) for name in ("field", "option")}
        step["box"] = _fractions(control["box"], screen.window)
    elif pointed and not refused:
        step["field"] = None
    if target:
        held = target["checked" if target["option"] is not None else "value"]
        step["content"] = _content(held)
    step["changes"] = [
        {"field": _short(f), "option": _short(o), "before": _content(b), "after": _content(a)}
        for f, o, b, a in (event.get("changed") or [])[:50]
    ]
    if moved:
        # The marks would lie on a picture of another place of the page.
        step |= {"mark": None, "box": None}
    # What was hit and left no state has turned the page.
    turned = pointed and bool(hit) and target is None and not refused
    screen.moved = moved or turned or action["do"] == "Scroll"
    return step | {"moved": moved}


def _content(value: object) -> str | None:
    if isinstance(value, bool):
        return "ticked" if value else "not ticked"
    return _short(value)


def _operand(action: Row) -> str:
    """The point, the distance or the text of an action."""
    if action.get("x") is not None:
        return f"({action['x']:.0f}, {action['y']:.0f})"
    if "dy" in action:
        return f"{action['dy']:.0f} pixels"
    return clean(action.get("text", action.get("key", "")), limit=VALUE_LIMIT)


def _fractions(values: Sequence[Any] | None, size: Sequence[float]) -> list[float] | None:
    """Pixels x, y (, x1, y1) as fractions of the image's size; None without a place."""
    if not values or None in values:
        return None
    shares = [round(value / size[k % 2], 5) for k, value in enumerate(values)]
    if len(shares) not in (2, 4) or not all(abs(share) < 1e6 for share in shares):
        raise ValueError("no place")
    return shares


def _number(value: object) -> float | None:
    """A number that a page can be drawn with, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN and the infinities are not below it either.
    return value if is_number and abs(value) < 1e9 else None


def _short(value: object) -> str | None:
    """Anything as a text of bounded length."""
    return None if value is None else clean(value, limit=VALUE_LIMIT)
