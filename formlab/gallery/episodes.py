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
from formlab.gallery.inline import Live

Row = dict[str, Any]
# A screenshot of the arena's window is 1,280 by 800; its small print is still read at 960 by 600.
PIXELS = 960 * 600
STEP_LIMIT, CHANGE_LIMIT, ANSWER_LIMIT, TEXT_LIMIT, VALUE_LIMIT = 600, 50, 200, 1_500, 300
VERBS = {"DoubleClick": "double click", "RightClick": "right click"}
POINTED = ("Click", *VERBS)
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
        return vars(self)


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
        At most so many bytes of screenshots, as they stand in the page: of those that follow the
        steps are shown without.

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
    recorded = _recorded(Path(run)) if run is not None else []
    if not recorded:
        return note("No episode was recorded: there are no steps to show.")
    crops = Crops(PIXELS)
    items = [_episode(*one, crops, budget, cases) for one in recorded[:limit]]
    few = f"{len(items)} of {len(recorded)} episodes are shown."
    return Episodes(items, crops.images, few if len(items) < len(recorded) else "")


def _recorded(run: Path) -> list[tuple[Path, Row]]:
    """The folder of each episode and what is known of it, the one with most wrong answers first."""
    if (run / "events.jsonl").is_file():
        return [(run, {})]
    if not run.is_dir():
        raise DataMissing("no folder of a run", where=run, remedy="what arena fill wrote")
    # The last attempt is the one whose folder is left.
    results = {str(row.get("doc_id")): row for row in _lines(run / "episodes.jsonl")}
    folders = (file.parent for file in run.glob("*/events.jsonl"))
    return sorted(
        ((folder, results.get(folder.name, {})) for folder in folders),
        key=lambda one: (_right(one[1]), one[0].name),
    )


def _lines(path: Path) -> Iterator[Row]:
    """The whole lines of a log, if there is one; the last may be torn by a crash."""
    for line in files.read_bytes(path).split(b"\n") if path.is_file() else ():
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _right(entry: Row) -> float:
    fields = _number(entry.get("fields"))
    return (_number(entry.get("right")) or 0.0) / fields if fields else 0.0


def _episode(
    folder: Path, entry: Row, crops: Crops, budget: int, cases: pl.DataFrame | None
) -> Row:
    steps, screen, looks = list[Row](), _Screen(), 0
    events = (event for event in _lines(folder / "events.jsonl") if "screen" not in event)
    for event in events:
        if not looks and event.keys() & {"left", "request"}:
            # How the page was opened is nothing that an agent did.
            continue
        looks += "see" in event
        try:
            if "see" in event:
                picture = _shot(crops, folder, str(event["see"]), budget)
                screen = _Screen(*picture, event["size"], event["window"], event.get("on"))
                step = {"do": "look", "text": _short(event["step"])}
            else:
                step = _action(event, event["asked"], screen)
        except _ODD:
            # A line of another shape is shown as it is.
            rest = {key: value for key, value in event.items() if key != "step"}
            text = json.dumps(rest, ensure_ascii=False)
            step = {"do": "note", "text": clean(text, limit=TEXT_LIMIT)}
        steps.append({"image": screen.image, "why": screen.why} | step)
        if len(steps) == STEP_LIMIT:
            break
    more = f"; {left} more are left out" if (left := sum(1 for _ in events)) else ""
    error = f". {_short(entry['error'])}" if entry.get("error") else ""
    right, fields = (_number(entry.get(name)) for name in ("right", "fields"))
    known = [_short(entry["status"])] if entry.get("status") else []
    known += [f"{right:g} of {fields:g} sent right"] if None not in (right, fields) else []
    task = folder / "task.txt"
    return {
        "name": clean(folder.name, limit=200) + (f" ({', '.join(known)})" if known else ""),
        "facts": f"{looks} looks, {len(steps)} steps{more}{error}",
        "instruction": clean(files.read_text(task), limit=TEXT_LIMIT) if task.is_file() else "",
        "steps": steps,
        "answers": [] if cases is None else _answers(cases.filter(doc_id=folder.name)),
    }


@dataclasses.dataclass
class _Screen:
    """A screenshot, its size and the window's, and whether the page still is as it shows."""

    image: str | None = None
    why: str | None = "no screenshot was taken"
    size: Sequence[float] = (1.0, 1.0)
    window: Sequence[float] = (1.0, 1.0)
    on: object = None
    moved: bool = False


def _shot(crops: Crops, folder: Path, name: str, budget: int) -> tuple[str | None, str | None]:
    """The key of a screenshot, or why there is none."""
    if sum(len(image["src"]) for image in crops.images.values()) >= budget:
        return None, f"left out: the page has its {budget / 1e6:g} MB of screenshots"
    # A log may name anything; a screenshot lies beside it.
    if Path(name).name != name:
        return None, "the screenshot is not in the episode's folder"
    try:
        return crops.crop(PageSource(folder, name))[0], None
    except FormlabError as error:
        return None, clean(error.what, limit=200)


def _action(event: Row, action: Row, screen: _Screen) -> Row:
    """What was done and became of it; its marks as fractions of the screenshot."""
    do, hit, target = action["do"], event.get("hit"), event.get("target")
    refused, pointed = event.get("refused"), do in POINTED
    # A field that was shown or a turned page moves what stands below.
    moved = screen.moved or event.get("on") != screen.on
    control, place, box = hit if pointed else target, "", None
    facts = [("refused", _short(refused))] if refused else []
    if done := event.get("done"):
        facts.append(("in the window", _operand(done)))
    if control and control["field"] not in ("body", "html"):
        place = _place(control["field"], control["option"])
        box = _fractions(control["box"], screen.window)
        facts.append(("hit" if pointed else "in", place))
    elif pointed and not refused:
        facts.append(("hit", "nothing that can be filled in or pressed"))
    changes = (event.get("changed") or [])[:CHANGE_LIMIT]
    for field, option, before, after in changes:
        changed = _place(field, option)
        other = "" if changed == place else f"{changed}: "
        facts.append(("changed", f"{other}{_content(before)} → {_content(after)}"))
    if target and not changes:
        held = target["checked" if target["option"] is not None else "value"]
        facts.append(("holds", _content(held)))
    mark = _fractions([action.get("x"), action.get("y")], screen.size)
    if moved:
        # The marks would lie on a picture of another place of the page.
        mark = box = None
        facts.append(("picture", "taken before the page moved: no marks are drawn"))
    # What was hit and left no state has turned the page.
    turned = pointed and bool(hit) and target is None and not refused
    screen.moved = moved or turned or do == "Scroll"
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
        return f"({action['x']:.0f}, {action['y']:.0f})"
    if "dy" in action:
        return f"{action['dy']:.0f} pixels"
    return _short(action.get("text", action.get("key", "")))


def _fractions(values: Sequence[Any] | None, size: Sequence[float]) -> list[float] | None:
    """Pixels x, y (, x1, y1) as fractions of the image's size; None without a place."""
    if not values or None in values:
        return None
    shares = [round(value / size[k % 2], 5) for k, value in enumerate(values)]
    if len(shares) not in (2, 4) or not all(abs(share) < 1e6 for share in shares):
        raise ValueError("no place")
    return shares


def _answers(cases: pl.DataFrame) -> list[list[str]]:
    """Field, type, the wanted and the given value, and what became of it."""
    verdict = pl.format("× {}", pl.coalesce("cause", "outcome").str.replace_all("_", " "))
    right = pl.when(outcome="match").then(pl.lit("✓ right")).otherwise(verdict)
    rows = cases.drop_nulls("path").select("path", "kind", "gold", "pred", right).head(ANSWER_LIMIT)
    return [["–" if cell is None else _short(cell) for cell in row] for row in rows.iter_rows()]


def _number(value: object) -> float | None:
    """A number that a page can be drawn with, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN and the infinities are not below it either.
    return value if is_number and abs(value) < 1e9 else None


def _short(value: object) -> str:
    """Anything as a text of bounded length."""
    return clean(value, limit=VALUE_LIMIT)
