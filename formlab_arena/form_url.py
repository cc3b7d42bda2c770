"""Fill in forms at any address, also those that are not ours, from texts."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import browser, files, resources
from formlab.errors import DataBroken, NotAvailable
from formlab.systems.runs import Journal
from formlab_arena import action_groups, agent_registry, page_fields, web_episodes, web_tasks
from formlab_arena.address_secrets import Secrets
from formlab_arena.agents import Agent
from formlab_arena.driver import DialogOpen, PageLeft
from formlab_arena.episode import Ended, RunSettings, check_same_settings, prepare, run_episode
from formlab_arena.instances import Instance
from formlab_arena.run import Outcome, episode_result, is_open, play_all
from formlab_arena.session import Session
from formlab_arena.spec import answer_text
from formlab_arena.web_tasks import WebTask

# The name of the only task of a run at one address.
PAGE = "page"
# What to try where a page could not be opened, by a word of the reason.
_REMEDIES = {
    "refused": "start the server, or another port",
    "not known": "check the name of the host",
    "CERT_": "a server with a valid certificate",
    "TimeLimit": "a longer --deadline",
}


def fill_url(
    address: str,
    out: Path,
    settings: RunSettings,
    *,
    text: str = "",
    values: Mapping[str, Any] | None = None,
    uploads: Sequence[Path] = (),
    **options: Any,
) -> dict[str, Any]:
    """Let a system fill in the form at an address; the result of the episode.

    It is `fill_tasks` with one task, whose name and folder are ``page``.

    Parameters
    ----------
    address
        An http or https address.
    out, settings
        As for `fill_tasks`.
    text
        The instructions for the agent.
    values
        The right answers by the names or labels of the page's fields; the oracle needs them.
    uploads
        Files that can be uploaded.
    options
        `allow`, `storage` and `tell` of `fill_tasks`.

    Raises
    ------
    NotAvailable
        If no page could be opened; and all that `fill_tasks` raises.
    """
    web_tasks.check_address(address, where="address")
    task = WebTask(PAGE, address, text, tuple(uploads), values)
    (result,) = fill_tasks(out, settings, [task], **options)
    if result["left_at"] is None:
        remedies = (remedy for word, remedy in _REMEDIES.items() if word in result["error"])
        what = f"no page could be opened: {result['error']}"
        raise NotAvailable(what, where=Secrets(address)(address), remedy=next(remedies, None))
    return result


def fill_tasks(
    out: Path,
    settings: RunSettings,
    tasks: Sequence[WebTask],
    *,
    workers: int = 1,
    allow: Sequence[str] = (),
    storage: Path | None = None,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Let a system fill in forms of any pages; the result of each.

    Only files of the task can be uploaded, and a page reaches its own server only.

    Parameters
    ----------
    out
        The run's folder: ``episodes.jsonl``, and a folder for each task with log, screenshots and
        its gold (``values.json``). An episode that has ended is not run again unless its task has
        changed.
    settings
        System, policy, window and limits. The system `rules` sees the tree of elements here,
        unless `observe` says otherwise.
    tasks
        As `web_tasks.read` gives them.
    workers
        Episodes that run at the same time, each with a browser of its own.
    allow
        Other servers that the pages may reach, such as ``https://cdn.example.com/``.
    storage
        Playwright's file of cookies and local storage to begin with; it is nowhere recorded.
    tell
        Called with each result as it comes.

    Returns
    -------
    list of dict
        For each task `doc_id` (its name), `address`, `status` (``submitted``, ``unsent``,
        ``unfinished``, ``crashed``), `reason`, `steps`, `seconds`, `error`, `traceback`, `filled`
        (what each field held when last seen; a group has the list of its chosen options),
        `left_at` (the address of the last page, None if none was opened), `account`, `usage`,
        `right` and `fields` (how many answers of the gold the server got, as `arena score` reads
        them by type; None without gold), and `reward`, that of a page which judges itself.

    Raises
    ------
    DataBroken, UnknownName, NotAvailable
        For the oracle without right answers, unknown systems, a run of other settings in `out`,
        and if a model's server refuses every call.
    """
    if settings.system == "oracle" and (lacking := [t.name for t in tasks if t.gold is None]):
        raise DataBroken("the oracle needs the right answers", where=lacking[0], remedy="--values")
    if settings.system == "rules" and not settings.observe:
        settings = dataclasses.replace(settings, observe="tree")
    shaping = agent_registry.shaping_settings(settings)
    resources.need("arena")
    browser.find()
    out.mkdir(parents=True, exist_ok=True)
    used = {"allow": [Secrets(server)(server) for server in allow]} if allow else {}
    used |= {"storage": True} if storage else {}
    with (
        Journal(out / "episodes.jsonl", kind=Ended) as journal,
        agent_registry.making(settings, out) as make,
    ):
        check_same_settings(out / "run.json", settings, shaping, web=True, **used)
        return play_all(
            tasks, journal, lambda *task: _played(out, settings, make, allow, storage, *task),
            blank=_blank, workers=workers, tell=tell,
            is_open=lambda task, e: is_open(e, settings) or e.get("task") != _digest(task),
        )  # fmt: skip


def _blank(task: WebTask) -> dict[str, Any]:
    return {
        "doc_id": task.name, "address": Secrets(task.key)(task.key), "task": _digest(task),
        "status": "crashed", "steps": 0, "reason": None, "error": None, "filled": {},
        "left_at": None, "account": None, "reward": None, "right": None, "fields": None,
    }  # fmt: skip


def _digest(task: WebTask) -> str:
    """Of all that an agent may know of a task."""
    known = [task.key, task.text, [(file.name, files.sha256(file)) for file in task.files]]
    return hashlib.sha256(json.dumps([*known, task.gold]).encode()).hexdigest()[:16]


def _played(
    out: Path, settings: RunSettings, make: Callable[[Instance], Agent], allow: Sequence[str],
    storage: Path | None, task: WebTask, stopped: Callable[[], bool],
) -> Outcome:  # fmt: skip
    result, opened = _blank(task), list[Session]()
    try:
        folder = out / task.name
        prepare(folder, task.text, {file.name: file.read_bytes() for file in task.files})
        if task.gold is not None:
            files.write_json(folder / "values.json", dict(task.gold))

        def begin(session: Session) -> None:
            opened.append(session)
            if task.judge:
                task.judge.begin(session)

        def ended() -> bool:
            # Its browser is closed once it has a summary.
            if task.judge and result["reward"] is None and not opened[0].summary:
                with contextlib.suppress(DialogOpen, PageLeft):
                    result["reward"] = task.judge.reward(opened[0])
            return stopped() or result["reward"] is not None

        agent = make(Instance(task.name, 0, dict(task.gold or {}), task.text))
        played = run_episode(
            task.address, folder, task.text, settings, agent, allow=allow, state=storage,
            begin=begin, ended=ended,
        )  # fmt: skip
        result |= episode_result(played, folder)
        result |= {"filled": played.contents, "left_at": played.left_at}
        if result["reward"] is not None and not played.crashed:
            # A page that judges what was done need not send it.
            result["status"] = "submitted"
        result["right"], result["fields"] = right_answers(folder, played.account, task)
        return Outcome(result, played.halted)
    # A disk that is full, or an agent that cannot be made, costs this episode and no other.
    except Exception as error:
        why = Secrets(task.address)(str(error))[:300]
        return Outcome(result | {"error": f"{type(error).__name__}: {why}"})


def right_answers(
    folder: Path, account: Mapping[str, Any], task: WebTask
) -> tuple[int | None, int | None]:
    """How many answers of a task's gold the server got, and how many it has; None without gold."""
    if task.gold is None:
        return None, None
    log = action_groups.read(folder / "events.jsonl")
    read = web_episodes.read({"address": task.key, "account": account}, task.gold, log)
    right = [
        page_fields.same(read.answers.get(name, ""), answer_text("" if value is None else value))
        for name, value in read.values.items()
    ]
    return sum(right), len(right)
