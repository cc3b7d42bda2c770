"""Episodes: an agent fills in forms, one after another; what crashes costs its own episode."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from formlab import browser, files
from formlab.errors import FormlabError
from formlab.systems._journal import Journal
from formlab_arena import instances, players, spec
from formlab_arena.agents import Agent, Halted
from formlab_arena.instances import Instance
from formlab_arena.play import Played, Settings, drive, opened, play, prepare, same_settings
from formlab_arena.players import AGENTS
from formlab_arena.process import Server, serving
from formlab_arena.store import Store

__all__ = ["AGENTS", "Server", "Settings", "drive", "fill", "opened", "serving"]


def fill(
    out: Path,
    settings: Settings,
    *,
    codes: Sequence[str] = (),
    count: int = 1,
    wait: bool = False,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Let a system fill in instances of forms, and say what became of each.

    Parameters
    ----------
    out
        The run's folder: ``episodes.jsonl``, ``submissions.sqlite``, a folder for each episode.
        Episodes in it that have ended are not run again, and nothing is asked of a model that it
        has answered already.
    settings
        System, seed, policy and screenshot options.
    codes
        Forms; all if empty.
    count
        Instances of each form, from the first.
    wait
        Whether to wait for another run into the same folder, instead of refusing.
    tell
        Called with each result as it comes.

    Returns
    -------
    list of dict
        For each episode `doc_id`, `form`, `status` (``submitted``, ``unfinished``, ``crashed``),
        `right` and `fields` (how many answers of the submission equal the right ones),
        `steps`, `seconds` and `error`.

    Raises
    ------
    UnknownName, DataBroken, NotAvailable
        For unknown forms or systems, a folder of other settings, without Chromium, and if a
        model's server refuses every call.
    """
    said = players.said(settings)
    chosen = [spec.form(code) for code in codes or spec.forms()]
    todo = [instances.make(f, n, seed=settings.seed) for f in chosen for n in range(1, count + 1)]
    browser.find()
    out.mkdir(parents=True, exist_ok=True)
    same_settings(out / "run.json", settings, said)
    halted: Halted | None = None
    with (
        Journal(out / "episodes.jsonl", wait=wait) as journal,
        serving(out / "submissions.sqlite") as server,
        players.making(settings, out) as make,
    ):
        last = {entry["doc_id"]: entry for entry in journal.entries}
        for one in todo:
            if one.name in last and not _is_open(last[one.name], settings):
                continue
            if halted is None:
                result, halted = _guarded(out, settings, one, server, make)
            else:
                result = _blank(one) | {"error": str(halted), "seconds": 0.0}
            journal.append(result)
            last[one.name] = result
            tell(result)
            if halted and isinstance(halted.__cause__, FormlabError):
                raise halted.__cause__
    _write_values(out, [last[one.name] for one in todo])
    return [last[one.name] for one in todo]


def _is_open(entry: dict[str, Any], settings: Settings) -> bool:
    """Whether an episode is to be run again: it crashed, or useless answers are asked anew."""
    useless = entry["status"] == "unfinished" and "useless" in (entry["error"] or "")
    return entry["status"] == "crashed" or (useless and settings.options.get("retry") == "bad")


def _blank(one: Instance) -> dict[str, Any]:
    result = {"doc_id": one.name, "form": one.code, "status": "crashed", "steps": 0}
    return result | {"right": 0, "fields": len(one.values), "answers": None, "error": None}


def _guarded(
    out: Path,
    settings: Settings,
    one: Instance,
    server: Server,
    make: Callable[[Instance], Agent],
) -> tuple[dict[str, Any], Halted | None]:
    start = time.monotonic()
    result, halted = _blank(one), None
    # A new name each time, so that a run never finds the submission of one that crashed.
    token = f"{one.name}.{time.time_ns()}"
    try:
        played = _play(out / one.name, settings, one, server, token, make(one))
        status = "crashed" if played.crashed else "unfinished"
        result |= {"status": status, "steps": played.looks, "error": played.why or None}
        halted = played.halted
    # A server that does not start, or a disk that is full, costs this episode and no other.
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    with contextlib.suppress(FormlabError):
        if found := Store(out / "submissions.sqlite").latest(token):
            answers = found["answers"]
            right = sum(answers.get(name) == value for name, value in one.values.items())
            result |= {"status": "submitted", "answers": answers, "right": right}
    return {**result, "seconds": round(time.monotonic() - start, 2)}, halted


def _play(
    folder: Path, settings: Settings, one: Instance, server: Server, token: str, agent: Agent
) -> Played:
    prepare(folder, one.text, one.files)
    files.write_json(folder / "values.json", one.values)
    store = Store(server.database)
    address = f"{server.ensure()}/forms/{one.code}?episode={token}"
    return play(
        address, folder, one.text, settings, agent, ended=lambda: store.latest(token) is not None
    )


def _write_values(out: Path, results: list[dict[str, Any]]) -> None:
    rows = [
        {"doc_id": result["doc_id"], "path": f"/{name}", "value": _plain(value)}
        for result in results
        for name, value in (result["answers"] or {}).items()
        if value is not None
    ]
    files.write_jsonl(out / "values.jsonl", rows)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, list) else str(value)
