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
from formlab.charts.harmless import clean
from formlab.charts.words import Caption
from formlab.errors import DataMissing, FormlabError
from formlab.gallery.crops import Crops, PageSource
from formlab.gallery.lab import Live

Row = dict[str, Any]
# A screenshot of the arena's window is 1,280 by 800; its small print is still read at 960 by 600.
PIXELS = 960 * 600
STEP_LIMIT, TEXT_LIMIT, VALUE_LIMIT = 600, 1_500, 300
POINTED = ("Click", "DoubleClick", "RightClick")


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
    names: Sequence[str] = (),
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
    names
        Which episodes, in this order; all if empty.
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
    chosen = [name for name in names if name in recorded] if names else _worst_first(recorded)
    if not chosen:
        return note("No episode was recorded: there are no steps to show.")
    shots = _Shots(budget)
    items = []
    for name in chosen[:limit]:
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
    """A screenshot, whether the page still is as it shows it, and what its fields held."""

    image: str | None = None
    why: str | None = "no screenshot was taken"
    size: tuple[float, float] = (1.0, 1.0)
    window: tuple[float, float] = (1.0, 1.0)
    on: object = None
    moved: bool = False


def _episode(name: str, folder: Path, entry: Row, shots: _Shots, cases: pl.DataFrame | None) -> Row:
    steps: list[Row] = []
    looks = left = 0
    full = False
    screen, values = _Screen(), dict[str, str]()
    for event in _lines(folder / "events.jsonl"):
        if "see" in event:
            looks += 1
            key, why = (None, None) if full else shots.add(folder, str(event["see"]))
            full = full or (key is None and why is None)
            sizes = _pair(event.get("size")), _pair(event.get("window"))
            screen = _Screen(key, why, *sizes, event.get("on"))
            step = {"do": "Look", "text": f"look {_short(event.get('step')) or ''}".strip()}
        elif "screen" in event or (not looks and event.keys() & {"left", "request"}):
            # How the page was opened is nothing that an agent did.
            continue
        else:
            step = _action(event, screen, values)
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


def _action(event: Row, screen: _Screen, values: dict[str, str]) -> Row:
    """The step of an action, with its marks as fractions of the screenshot."""
    action = event.get("asked")
    if not isinstance(action, dict):
        rest = {key: value for key, value in event.items() if key != "step"}
        return {"do": "Note", "text": clean(json.dumps(rest, ensure_ascii=False), limit=TEXT_LIMIT)}
    # A field that was shown or a turned page moves what stands below.
    screen.moved |= event.get("on") != screen.on
    step = {
        "do": _short(action.get("do")) or "?",
        "text": _operand(action),
        "done": _operand(event["done"]) if isinstance(event.get("done"), dict) else None,
        "refused": _short(event.get("refused")),
        "mark": _fractions([action.get("x"), action.get("y")], screen.size),
        "moved": screen.moved,
    }
    pointed = action.get("do") in POINTED
    target = event.get("target")
    hit = event["hit"] if pointed and "hit" in event else target
    if isinstance(hit, dict) and hit.get("field") not in ("body", "html"):
        box = hit.get("box")
        step |= {name: _short(hit.get(name)) for name in ("field", "option")}
        step["box"] = _fractions(box, screen.window) if isinstance(box, list) else None
    elif pointed and not step["refused"]:
        # Without a log of hits, an element that left no state has turned the page.
        step |= {"field": None, "gone": "hit" not in event}
    step |= _changes(event, target if isinstance(target, dict) else {}, values)
    if screen.moved:
        # The marks would lie on a picture of another place of the page.
        step |= {"mark": None, "box": None}
    gone = pointed and target is None and not step["refused"] and event.get("hit", 1)
    screen.moved |= action.get("do") == "Scroll" or bool(gone)
    return step


def _changes(event: Row, control: Row, values: dict[str, str]) -> Row:
    """The control's content after the action, and all that the action changed."""
    field, option = control.get("field"), control.get("option")
    content = _content(control.get("checked" if option is not None else "value"))
    key = f"{field}\n{option}"
    before = values.get(key)
    if content is not None:
        values[key] = content
    rows = []
    if isinstance(changed := event.get("changed"), list):
        whole = [row for row in changed if isinstance(row, list) and len(row) == 4][:50]
        rows = [(f, o, _content(b), _content(a)) for f, o, b, a in whole]
    elif content is not None and before is not None and content != before:
        rows = [(field, option, before, content)]
    named = [
        {"field": _short(f), "option": _short(o), "before": b, "after": a} for f, o, b, a in rows
    ]
    return {"content": content, "changes": named}


def _content(value: object) -> str | None:
    if isinstance(value, bool):
        return "ticked" if value else "not ticked"
    return clean(value, limit=VALUE_LIMIT) if isinstance(value, str) else None


def _operand(action: Row) -> str:
    """The point, the distance or the text of an action."""
    if "x" in action and "y" in action:
        x, y = (_number(action[side]) for side in "xy")
        return "(no point)" if x is None or y is None else f"({x:.0f}, {y:.0f})"
    if "dy" in action:
        return f"{_number(action['dy']) or 0:.0f} pixels"
    return clean(action.get("text", action.get("key", "")), limit=VALUE_LIMIT)


def _fractions(values: Sequence[object], size: tuple[float, float]) -> list[float] | None:
    """Pixels x, y (, x1, y1) as fractions of the image's size; None where one is no number."""
    numbers = [n for n in map(_number, values) if n is not None]
    if len(numbers) != len(values) or len(numbers) not in (2, 4):
        return None
    return [round(value / size[k % 2], 5) for k, value in enumerate(numbers)]


def _pair(values: object) -> tuple[float, float]:
    """A width and a height; 1 for what is none, so that nothing divides by zero."""
    numbers = [_number(value) for value in values] if isinstance(values, list) else []
    width, height = (*numbers, None, None)[:2]
    return (width or 1.0, height or 1.0)


def _number(value: object) -> float | None:
    """A number that a page can be drawn with, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN and the infinities are not below it either.
    return value if abs(value) < 1e9 else None


def _short(value: object) -> str | None:
    """Anything as a text of bounded length."""
    return None if value is None else clean(value, limit=VALUE_LIMIT)
