"""A run: an agent fills in instances of forms; a crash ends its own episode only."""

import atexit
import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from formlab import browser, files, resources
from formlab.errors import DataMissing, FormlabError, NotAvailable
from formlab.systems import chat
from formlab.systems.runs import Journal
from formlab.workers import LOST, each, threads
from formlab_arena import action_groups, agent_registry, page_reading
from formlab_arena.agent_registry import AGENTS
from formlab_arena.agents import Agent, Halted
from formlab_arena.episode import (
    UNUSABLE,
    Ended,
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
    workers: int | str = 1,
    storage: Path | None = None,
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
    workers
        Episodes at the same time, each with a browser of its own; or the address of a Dask
        scheduler, whose workers, who see `out`, play whole episodes: not for models, whose answers
        and limits are kept on one machine, nor for agents of a notebook.
    storage
        Playwright's file of cookies and local storage to begin with; it is nowhere recorded.
    wait
        Whether to wait for another run into the same folder, instead of refusing.
    tell
        Called with each result as it comes.

    Returns
    -------
    list of dict
        For each episode `doc_id`, `form`, `status` (``submitted``, ``unsent``, ``unfinished``,
        ``crashed``), `right` and `fields` (how many answers of the submission equal the right
        ones), `steps`, `seconds`, `error`, `traceback` of an agent's own exception, `reason`
        (what stopped the agent, such as ``steps`` or ``unusable`` answers, null for all else),
        `account` (what `Account.summary` gives) and `usage`, a model's tokens and costs.

    Raises
    ------
    UnknownName, DataBroken, NotAvailable
        For unknown forms or systems, a folder of other settings, without Chromium, and if a
        model's server refuses every call.
    """
    shaping = agent_registry.shaping_settings(settings)
    if isinstance(workers, str) and settings.system.startswith(chat.PREFIX):
        what = "models fill in forms from one machine, which keeps their answers and limits"
        raise NotAvailable(what, remedy="--workers N")
    if tasks is None:
        tasks = task_set(settings.texts, codes=codes, count=count, seed=settings.seed)
    resources.need("arena")
    browser.find()
    used = {"storage": True} if storage else {}
    with Journal(out / "episodes.jsonl", kind=Ended, wait=wait) as journal:
        # Whoever is refused the journal leaves the settings of the other run as they are.
        check_same_settings(out / "run.json", settings, shaping, tasks=tasks.digest, **used)
        forms = tasks.write_forms(out)
        todo = page_reading.read(tasks, out, settings.system, reading).instances
        # Before any episode, so that one that cannot even begin has right answers to be scored by.
        for instance in todo:
            files.write_json(out / instance.name / "values.json", instance.values)
        with (
            serving(out / "submissions.sqlite", forms) as server,
            agent_registry.making(settings, out) as make,
        ):
            paths = (path and path.resolve() for path in (forms, storage))
            away = partial(_elsewhere, _Place(out.resolve(), settings, *paths), workers)
            results = play_all(
                todo, journal, lambda *task: _guarded(out, settings, server, make, storage, *task),
                blank=blank_result, is_open=lambda _, entry: is_open(entry, settings),
                workers=workers, tell=tell, elsewhere=away if isinstance(workers, str) else None,
            )  # fmt: skip
    _write_values(out, results)
    return results


class Named(Protocol):
    """A task with a name, that of its episode."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Outcome(NamedTuple):
    """The result of an episode; `halted` where the system can answer no more."""

    result: dict[str, Any]
    halted: Halted | None = None


def play_all(
    tasks: Sequence[T], journal: Journal, play: Callable[[T, Callable[[], bool]], Outcome], *,
    blank: Callable[[T], dict[str, Any]], is_open: Callable[[T, dict[str, Any]], bool],
    workers: int | str, tell: Callable[[dict[str, Any]], None],
    elsewhere: Callable[[Sequence[T]], Generator[tuple[T, dict[str, Any]]]] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Play the episodes that the journal has not or that are still open; the result of each task.

    `play` gets a task, and a function that says whether to stop. It runs in threads of its own,
    so that the caller may be inside of an event loop; the journal and `tell` stay in the caller's.
    Once a system has `halted` no episode is begun, and each that is left has `blank`'s result.
    With `elsewhere`, that has the results instead, of tasks that it plays on other machines.
    """
    last = {entry["doc_id"]: entry for entry in journal.entries}
    todo = [task for task in tasks if task.name not in last or is_open(task, last[task.name])]
    halts: list[Halted] = []
    stopped = threading.Event()

    def played(task: T) -> dict[str, Any]:
        if halts:
            return blank(task) | {"error": str(halts[0]), "seconds": 0.0}
        start = time.monotonic()
        result, halted = play(task, stopped.is_set)
        halts.extend([halted] if halted else [])
        return {**result, "seconds": round(time.monotonic() - start, 2)}

    # After an error or Ctrl-C no episode is begun, and those that run end at the next look.
    if elsewhere:
        results = elsewhere(todo)
    else:
        results = threads(played, todo, workers=workers, name="episode", ended=stopped.set)
    with contextlib.closing(results):
        for task, result in results:
            last[task.name] = result
            journal.append(result)
            tell(result)
            if halts and isinstance(halts[0].__cause__, FormlabError):
                raise halts[0].__cause__
    return [last[task.name] for task in tasks]


@dataclass(frozen=True)
class _Place:
    """Where and how a cluster's workers play the episodes of a run; equal to no other run's."""

    out: Path
    settings: RunSettings = field(compare=False)
    forms: Path | None
    storage: Path | None
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


def _elsewhere(
    place: _Place, scheduler: str, todo: Sequence[Instance]
) -> Generator[tuple[Instance, dict[str, Any]]]:
    for instance, result in each(partial(_episode, place), todo, workers=scheduler):
        if result is LOST:
            result = blank_result(instance) | {"error": LOST, "seconds": 0.0}
        yield instance, result


@lru_cache(maxsize=1)
def _settled(place: _Place) -> tuple[Server, Callable[[Instance], Agent]]:
    """A server and agents of this worker process, which end with it."""
    if not (place.out / "run.json").is_file():
        raise DataMissing("no such folder", where=place.out)
    browser.find()
    name = f"submissions-{socket.gethostname()}-{os.getpid()}.sqlite"
    server = Server(place.out / name, place.forms)
    atexit.register(server.stop)
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return server, stack.enter_context(agent_registry.making(place.settings, place.out))


def _episode(place: _Place, instance: Instance) -> dict[str, Any]:
    start, (server, make) = time.monotonic(), _settled(place)
    inputs = (place.out, place.settings, server, make, place.storage)
    result, _ = _guarded(*inputs, instance, lambda: False)
    return result | {"seconds": round(time.monotonic() - start, 2)}


def is_open(entry: dict[str, Any], settings: RunSettings) -> bool:
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
    out: Path, settings: RunSettings, server: Server, make: Callable[[Instance], Agent],
    storage: Path | None, instance: Instance, stopped: Callable[[], bool],
) -> Outcome:  # fmt: skip
    result, halted = blank_result(instance), None
    # A new name each time, so that a run never finds the submission of an episode that crashed.
    token = f"{instance.name}.{time.time_ns()}"
    try:
        folder, store = out / instance.name, SubmissionStore(server.database)
        prepare(folder, instance.text, instance.files)
        if instance.page:
            files.write_json(folder / page_reading.FILE, instance.page.evidence())
        address = f"{server.ensure()}/forms/{instance.code}?episode={token}"
        played = run_episode(
            address, folder, instance.text, settings, make(instance), state=storage,
            ended=lambda: stopped() or store.latest(token) is not None,
        )  # fmt: skip
        result |= episode_result(played, folder)
        halted = played.halted
    # A server that does not start, or a disk that is full, costs this episode and no other.
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    with contextlib.suppress(FormlabError):
        if submission := SubmissionStore(server.database).latest(token):
            result |= sent_result(instance, submission["answers"])
    return Outcome(result, halted)


def episode_result(played: EpisodeResult, folder: Path) -> dict[str, Any]:
    """What the results of all episodes have, whose form it ever was."""
    usage = action_groups.read(folder / "events.jsonl").usage
    return {
        "status": played.status, "steps": played.looks, "reason": played.reason,
        "error": played.why or None, "traceback": played.traceback or None,
        "account": played.account, "usage": usage or None,
    }  # fmt: skip


def _write_values(out: Path, results: list[dict[str, Any]]) -> None:
    rows = [
        {"doc_id": result["doc_id"], "path": f"/{name}", "value": answer_text(value)}
        for result in results
        for name, value in (result["answers"] or {}).items()
        if value is not None
    ]
    files.write_jsonl(out / "values.jsonl", rows)
