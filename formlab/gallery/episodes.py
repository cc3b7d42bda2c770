"""Episodes of form filling to look at, step by step: screenshot, action, target, content."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from formlab import files
from formlab.charts import note
from formlab.charts._output import clean
from formlab.charts.show import Caption
from formlab.errors import DataMissing, FormlabError
from formlab.gallery import inline
from formlab.gallery._crops import Crops, PageSource
from formlab.gallery._steps import TEXT_LIMIT, Row, Screenshot, number, pair, short

# A screenshot of the arena's window is 1,280 by 800; its small print is still read at 960 by 600.
PIXELS = 960 * 600
STEP_LIMIT = 600


@dataclasses.dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes with their screenshots; shows itself in JupyterLab and in reports.

    `items` are plain mappings: what is known of an episode, its `steps` and its `answers`.
    `images` maps keys to ``{src, width, height}``; `src` is a data URI. `note` says what was
    left out.
    """

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

    def _repr_mimebundle_(self, **_: object) -> Row:
        return inline.bundle("episodes", self.payload, str(self))


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
    return Episodes(items, shots.images, " ".join(notes))


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
        fields = number(entry.get("fields"))
        return (number(entry.get("right")) or 0) / fields if fields else 0.0

    return sorted(recorded, key=lambda name: (share(name), name))


class _Shots:
    """Screenshots as WebP, each distinct one once, as long as the budget lasts."""

    def __init__(self, budget: int) -> None:
        self.budget, self.spent = budget, 0
        self.images: dict[str, Row] = {}
        self._crops: dict[Path, Crops] = {}

    def add(self, folder: Path, name: str) -> tuple[str | None, str | None]:
        """The key of an image, or why there is none; both None where the budget is spent."""
        crops = self._crops.setdefault(folder, Crops(folder, pixels=PIXELS))
        # A log may name anything; a screenshot lies beside it.
        if Path(name).name != name:
            return None, "the screenshot is not in the episode's folder"
        try:
            key = crops.crop(PageSource(name), [], whole=True).key
        except FormlabError as error:
            return None, clean(error.what, limit=200)
        image = crops.images[key]
        if key not in self.images:
            size = len(str(image["src"]))
            if self.spent + size > self.budget and self.images:
                self.spent = self.budget
                return None, None
            self.images[key] = image
            self.spent += size
        return key, None


def _episode(name: str, folder: Path, entry: Row, shots: _Shots, cases: pl.DataFrame | None) -> Row:
    steps: list[Row] = []
    looks = left = 0
    whole = True
    shot = Screenshot(None, "no screenshot was taken", (1, 1), (1, 1), None)
    values: dict[str, str] = {}
    for event in _lines(folder / "events.jsonl"):
        if "see" in event:
            looks += 1
            key, why = shots.add(folder, str(event["see"])) if whole else (None, None)
            whole = whole and not (key is None and why is None)
            size, window = pair(event.get("size")), pair(event.get("window"))
            shot = Screenshot(key, why, size, window, event.get("on"))
            step = shot.step(event.get("step"))
        elif "screen" in event or (not looks and event.keys() & {"left", "request"}):
            # How the page was opened is nothing that an agent did.
            continue
        else:
            step = shot.action(event, values)
        if whole and len(steps) < STEP_LIMIT:
            steps.append(step)
        else:
            left += 1
    task = folder / "task.txt"
    columns = ("path", "kind", "gold", "pred", "outcome", "cause")
    answers: list[Row] = []
    if cases is not None:
        rows = cases.filter(pl.col("doc_id") == name, pl.col("path").is_not_null())
        answers = rows.select(columns).head(200).to_dicts()
    return {
        "name": clean(name, limit=200),
        **{key: short(entry.get(key)) for key in ("form", "status", "error")},
        **{key: number(entry.get(key)) for key in ("right", "fields")},
        "instruction": clean(files.read_text(task), limit=TEXT_LIMIT) if task.is_file() else None,
        "steps": steps, "looks": looks, "left": left,
        "answers": [{column: short(row[column]) for column in columns} for row in answers],
    }  # fmt: skip
