"""Episodes: an agent fills in forms, one after another; what crashes costs its own episode."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from formlab import browser, files
from formlab.arena import instances, spec
from formlab.arena.agents import Agent, Oracle
from formlab.arena.instances import Instance
from formlab.arena.session import VIEWPORT, Session
from formlab.arena.store import Store
from formlab.errors import DataBroken, FormlabError, NotAvailable, UnknownName
from formlab.systems._journal import Journal

Policy = Literal["page", "step"]
AGENTS: dict[str, Callable[[Instance], Agent]] = {"oracle": lambda one: Oracle(one.values)}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a run does; a folder holds runs of one setting only.

    `policy`: ``page`` carries out all actions of an answer before the next look, ``step`` the
    first one only. `steps` is the most looks of an episode.
    """

    system: str
    seed: int = 0
    policy: Policy = "page"
    scale: float = 1.0
    ruler: bool = False
    steps: int = 200


class Server:
    """The arena's server in a process of its own, started again when it has died."""

    def __init__(self, database: Path) -> None:
        self.database, self._process, self.address = database, None, ""

    def ensure(self) -> str:
        """The address of a running server."""
        if self._process is None or self._process.poll() is not None:
            self.stop()
            command = [sys.executable, "-m", "formlab.arena.commands", "serve"]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [*command, "--port", "0", "--database", str(self.database)],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            line = self._process.stdout.readline() if self._process.stdout else ""
            self.address = line.split()[-1] if line.strip() else ""
            if not self.address.startswith("http://"):
                self.stop()
                raise NotAvailable("the arena's server did not start", where=self.database)
        return self.address

    @property
    def pid(self) -> int | None:
        """The number of the server's process."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """End the server."""
        if self._process:
            self._process.terminate()
            self._process.wait(10)
            if self._process.stdout:
                self._process.stdout.close()
            self._process = None


@contextlib.contextmanager
def serving(database: Path) -> Iterator[Server]:
    """A `Server` that ends with the block."""
    server = Server(database)
    try:
        yield server
    finally:
        server.stop()


def fill(
    out: Path,
    settings: Settings,
    *,
    codes: Sequence[str] = (),
    count: int = 1,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Let a system fill in instances of forms, and say what became of each.

    Parameters
    ----------
    out
        The run's folder: ``episodes.jsonl``, ``submissions.sqlite``, a folder for each episode.
        Episodes in it that have ended are not run again.
    settings
        System, seed, policy and screenshot options.
    codes
        Forms; all if empty.
    count
        Instances of each form, from the first.
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
        For unknown forms or systems, a folder of other settings, and without Chromium.
    """
    if settings.system not in AGENTS:
        raise UnknownName.of("system", settings.system, AGENTS)
    chosen = [spec.form(code) for code in codes or spec.forms()]
    todo = [instances.make(f, n, seed=settings.seed) for f in chosen for n in range(1, count + 1)]
    browser.find()
    out.mkdir(parents=True, exist_ok=True)
    _same_settings(out / "run.json", settings)
    with Journal(out / "episodes.jsonl") as journal, serving(out / "submissions.sqlite") as server:
        ended = {entry["doc_id"] for entry in journal.entries if entry["status"] != "crashed"}
        for one in todo:
            if one.name not in ended:
                journal.append(_guarded(out, settings, one, server))
                tell(journal.entries[-1])
        last = {entry["doc_id"]: entry for entry in journal.entries}
    _write_values(out, [last[one.name] for one in todo])
    return [last[one.name] for one in todo]


def _same_settings(path: Path, settings: Settings) -> None:
    wanted = {**dataclasses.asdict(settings), "window": list(VIEWPORT)}
    if path.exists() and (found := files.read_json(path)) != wanted:
        changed = [key for key in wanted if found.get(key) != wanted[key]]
        raise DataBroken(
            f"the folder holds a run with another {', '.join(changed)}",
            where=path,
            remedy="another --out",
        )
    files.write_json(path, wanted)


def _guarded(out: Path, settings: Settings, one: Instance, server: Server) -> dict[str, Any]:
    start = time.monotonic()
    result = {"doc_id": one.name, "form": one.code, "status": "crashed", "steps": 0}
    result |= {"right": 0, "fields": len(one.values), "answers": None, "error": None}
    # A new name each time, so that a run never finds the submission of one that crashed.
    token = f"{one.name}.{time.time_ns()}"
    try:
        address = f"{server.ensure()}/forms/{one.code}?episode={token}"
        result["steps"] = _play(out / one.name, settings, one, address, server, token)
        result["status"] = "unfinished"
    # Whatever a browser, a server or an agent does wrong costs this episode and no other.
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"
    with contextlib.suppress(FormlabError):
        if found := Store(out / "submissions.sqlite").latest(token):
            answers = found["answers"]
            right = sum(answers.get(name) == value for name, value in one.values.items())
            result |= {"status": "submitted", "answers": answers, "right": right}
    return {**result, "seconds": round(time.monotonic() - start, 2)}


def _play(
    folder: Path, settings: Settings, one: Instance, address: str, server: Server, token: str
) -> int:
    _prepare(folder, one)
    store = Store(server.database)
    agent = AGENTS[settings.system](one)
    with opened(address, folder, one.text, settings) as session:
        return drive(session, agent, settings, ended=lambda: store.latest(token) is not None)


def _prepare(folder: Path, one: Instance) -> None:
    (folder / "files").mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.png"), folder / "events.jsonl"]:
        old.unlink(missing_ok=True)
    files.write_text(folder / "task.txt", one.text)
    for name, content in one.files.items():
        (folder / "files" / name).write_bytes(content)


@contextlib.contextmanager
def opened(address: str, folder: Path, text: str, settings: Settings) -> Iterator[Session]:
    """A `Session` at an address, from which the page can reach its own server only."""
    parts = urllib.parse.urlsplit(address)
    allow = (f"{parts.scheme}://{parts.netloc}/", "data:", "blob:", "about:")
    with browser.page(size=VIEWPORT, allow=allow) as visit:
        session = Session(visit.page, folder, text, scale=settings.scale, rulers=settings.ruler)
        visit.page.goto(address, wait_until="load")
        yield session


def drive(
    session: Session, agent: Agent, settings: Settings, *, ended: Callable[[], bool] = lambda: False
) -> int:
    """Let an agent look and act until it stops, the form is sent, or the steps run out.

    Returns the number of looks.
    """
    while session.step < settings.steps and not ended():
        actions = agent.act(session.look(targets=agent.knows_targets))
        if not actions:
            break
        for action in actions if settings.policy == "page" else actions[:1]:
            session.do(action)
    return session.step


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
