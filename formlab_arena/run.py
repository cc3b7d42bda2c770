"""A run: an agent fills in instances of forms; a crash ends its own episode only."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from formlab import browser, files, resources
from formlab.errors import FormlabError
from formlab.systems._journal import Journal
from formlab_arena import agent_registry, page_reading
from formlab_arena.agent_registry import AGENTS
from formlab_arena.agents import Agent, Halted
from formlab_arena.episode import (
    UNUSABLE,
    EpisodeResult,
    RunSettings,
    check_same_settings,
    open_session,
    prepare,
    run_episode,
    run_steps,
)
from formlab_arena.instances import Instance
from formlab_arena.process import Server, serving
from formlab_arena.spec import answer_text
from formlab_arena.store import SubmissionStore
from formlab_arena.texts import TaskSet, task_set

__all__ = ["AGENTS", "RunSettings", "Server", "fill", "open_session", "run_steps", "serving"]


def fill(
    out: Path,
    settings: RunSettings,
    *,
    codes: Sequence[str] = (),
    count: int = 1,
    tasks: TaskSet | None = None,
    reading: Path | None = None,
    wait: bool = False,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Let a system fill in instances of forms; returns the result of each.

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
    tasks
        What to fill in, in place of `codes` and `count`; else the instances that formlab makes,
        with the texts that the settings name.
    reading
        Predictions of a system for the pages of `tasks`, in place of what the agent's own reads.
    wait
        Whether to wait for another run into the same folder, instead of refusing.
    tell
        Called with each result as it comes.

    Returns
    -------
    list of dict
        For each episode `doc_id`, `form`, `status` (``submitted``, ``unfinished``, ``crashed``),
        `right` and `fields` (how many answers of the submission equal the right ones),
        `steps`, `seconds`, `error`, and `reason`: what stopped the agent, ``steps`` or
        ``unusable`` answers, null for all else.

    Raises
    ------
    UnknownName, DataBroken, NotAvailable
        For unknown forms or systems, a folder of other settings, without Chromium, and if a
        model's server refuses every call.
    """
    shaping = agent_registry.shaping_settings(settings)
    if tasks is None:
        tasks = task_set(settings.texts, codes=codes, count=count, seed=settings.seed)
    resources.need("arena")
    browser.find()
    out.mkdir(parents=True, exist_ok=True)
    check_same_settings(out / "run.json", settings, shaping, tasks=tasks.digest)
    forms = tasks.write_forms(out)
    todo = page_reading.read(tasks, out, settings.system, reading).instances
    halted: Halted | None = None
    with (
        Journal(out / "episodes.jsonl", wait=wait) as journal,
        serving(out / "submissions.sqlite", forms) as server,
        agent_registry.making(settings, out) as make,
    ):
        last = {entry["doc_id"]: entry for entry in journal.entries}
        for instance in todo:
            if instance.name in last and not _is_open(last[instance.name], settings):
                continue
            if halted is None:
                result, halted = _guarded(out, settings, instance, server, make)
            else:
                result = blank_result(instance) | {"error": str(halted), "seconds": 0.0}
            journal.append(result)
            last[instance.name] = result
            tell(result)
            if halted and isinstance(halted.__cause__, FormlabError):
                raise halted.__cause__
    _write_values(out, [last[instance.name] for instance in todo])
    return [last[instance.name] for instance in todo]


def _is_open(entry: dict[str, Any], settings: RunSettings) -> bool:
    """Whether an episode is run again: it crashed, or unusable answers are to be asked for anew."""
    again = entry.get("reason") == UNUSABLE and settings.options.get("retry") == "bad"
    return entry["status"] == "crashed" or again


def blank_result(instance: Instance) -> dict[str, Any]:
    """The result of an episode of which nothing is known yet."""
    return {
        "doc_id": instance.name, "form": instance.code, "text_kind": instance.kind,
        "status": "crashed", "steps": 0, "right": 0, "fields": len(instance.values),
        "answers": None, "reason": None, "error": None,
    }  # fmt: skip


def sent_result(instance: Instance, answers: dict[str, Any]) -> dict[str, Any]:
    """What a submission adds to the result of its episode."""
    right = sum(answers.get(name) == value for name, value in instance.values.items())
    return {"status": "submitted", "answers": answers, "right": right}


def _guarded(
    out: Path, settings: RunSettings, instance: Instance, server: Server,
    make: Callable[[Instance], Agent],
) -> tuple[dict[str, Any], Halted | None]:  # fmt: skip
    start = time.monotonic()
    result, halted = blank_result(instance), None
    # A new name each time, so that a run never finds the submission of an episode that crashed.
    token = f"{instance.name}.{time.time_ns()}"
    try:
        played = _play(out / instance.name, settings, instance, server, token, make(instance))
        status = "crashed" if played.crashed else "unfinished"
        result |= {"status": status, "steps": played.looks}
        result |= {"reason": played.reason, "error": played.why or None}
        halted = played.halted
    # A server that does not start, or a disk that is full, costs this episode and no other.
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    with contextlib.suppress(FormlabError):
        if submission := SubmissionStore(out / "submissions.sqlite").latest(token):
            result |= sent_result(instance, submission["answers"])
    return {**result, "seconds": round(time.monotonic() - start, 2)}, halted


def _play(
    folder: Path, settings: RunSettings, instance: Instance, server: Server, token: str,
    agent: Agent,
) -> EpisodeResult:  # fmt: skip
    prepare(folder, instance.text, instance.files)
    files.write_json(folder / "values.json", instance.values)
    if instance.page:
        files.write_json(folder / page_reading.FILE, instance.page.evidence())
    store = SubmissionStore(server.database)
    address = f"{server.ensure()}/forms/{instance.code}?episode={token}"
    return run_episode(
        address, folder, instance.text, settings, agent,
        ended=lambda: store.latest(token) is not None,
    )  # fmt: skip


def _write_values(out: Path, results: list[dict[str, Any]]) -> None:
    rows = [
        {"doc_id": result["doc_id"], "path": f"/{name}", "value": answer_text(value)}
        for result in results
        for name, value in (result["answers"] or {}).items()
        if value is not None
    ]
    files.write_jsonl(out / "values.jsonl", rows)
