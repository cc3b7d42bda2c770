"""An agent looks at a page and acts on it, until it stops or the form is sent."""

import contextlib
import dataclasses
import re
import sys
import time
import traceback
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from formlab import browser, files, resources
from formlab.errors import DataBroken, NotAvailable
from formlab.systems.runs import Entry
from formlab_arena import driving
from formlab_arena.account import Account
from formlab_arena.actions import Done
from formlab_arena.address_secrets import Secrets
from formlab_arena.agents import Agent, Halted, Unusable
from formlab_arena.driver import Driver, PageLeft, TimeLimit
from formlab_arena.gate import Gate
from formlab_arena.observation import Observe
from formlab_arena.sent_values import carries
from formlab_arena.session import VIEWPORT, Session

Policy = Literal["page", "step"]
Status = Literal["submitted", "unsent", "unfinished", "crashed"]
# An episode ends after so many unusable answers in a row.
PATIENCE = 3
# Why an agent was stopped.
LIMIT, UNUSABLE, LATE = "steps", "unusable", "deadline"
# Where formlab's code ends and an agent's begins.
_CALL = re.compile(r"\bagent\.(?:act|drive)\(")


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """What a run does; all runs in a folder have the same settings.

    `policy`: ``page`` carries out all actions of an answer before the next look, ``step`` the
    first one only. `steps` is the most looks of an episode. `texts` says which texts the system
    gets: ``quoted`` ones, ``prose``, ``released``, or the name of a file of them. `options` are
    settings of the system; ``chat:MODEL`` has those of `formlab.systems.chat`.

    `deadline` is how many seconds the pages of an episode may take; the agent's own time is not
    counted. `viewport` is the window's width and height in CSS pixels, or `device` names one of
    Playwright's devices; `headed` shows the window. `observe` is what an agent is shown, if not
    what it asks for.
    """

    system: str
    seed: int = 0
    policy: Policy = "page"
    scale: float = 1.0
    ruler: bool = False
    steps: int = 200
    texts: str = "quoted"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    deadline: float = 300.0
    viewport: tuple[int, int] = VIEWPORT
    device: str = ""
    headed: bool = False
    observe: Observe | Literal[""] = ""

    def as_json(self) -> dict[str, Any]:
        """The settings for a ``run.json``; what older runs have not is there if it was changed."""
        usual = RunSettings(self.system)
        later = ("observe", "deadline", "viewport", "device")
        unchanged = [name for name in later if getattr(self, name) == getattr(usual, name)]
        values = dataclasses.asdict(self) | {"viewport": "{}x{}".format(*self.viewport)}
        # Whether somebody looks on does not shape a result.
        kept = {k: v for k, v in values.items() if k not in (*unchanged, "headed")}
        return kept | {"window": list(self.viewport)}


class StepsEnd(NamedTuple):
    """Number of observations and why the agent was stopped; empty if it finished.

    `reason` is the word for programs: `LIMIT`, `UNUSABLE`, `LATE`, or None.
    """

    looks: int
    why: str = ""
    reason: str | None = None


@contextlib.contextmanager
def open_session(
    address: str, folder: Path, text: str, settings: RunSettings, *, allow: Sequence[str] = (),
    state: Path | None = None, cdp: bool = False,
) -> Iterator[Session]:  # fmt: skip
    """A `Session` at an address, from which the browser can reach that server only.

    `allow` are further servers, or addresses below which it may reach all. `state` is a file of
    cookies and local storage, as Playwright writes it; it is not logged. With `cdp` others can
    drive the same browser, at `Session.cdp_address`. At the end the contents of the fields and
    the blocked requests to other servers are logged.
    """
    resources.need("browser")
    parts = urllib.parse.urlsplit(address)
    gate = Gate([f"{parts.scheme}://{parts.netloc}/", *allow])
    driver = Driver()
    session = None
    try:
        unseen = {"--headless"} if settings.headed else set()
        launch = {
            "executable_path": browser.find(), "headless": not settings.headed,
            "args": [flag for flag in browser.FLAGS if flag not in unseen],
            "proxy": {"server": driver.run(gate.start(driver.at_end))},
        }  # fmt: skip
        width, height = settings.viewport
        driver.start(
            launch, device=settings.device, state=state, cdp=cdp,
            viewport={"width": width, "height": height},
        )  # fmt: skip
        account = Account(driver, gate)
        driver.run(account.start())
        session = Session(
            driver, account, folder, text, scale=settings.scale, rulers=settings.ruler
        )
        driver.deadline = time.monotonic() + settings.deadline
        try:
            session.open(address)
        except Exception as error:
            if gate.failure:
                raise NotAvailable(gate.failure) from error
            raise
        yield session
    finally:
        if session:
            session.close()
        driver.close()


def run_steps(
    session: Session,
    agent: Agent,
    settings: RunSettings,
    *,
    ended: Callable[[], bool] = lambda: False,
) -> StepsEnd:
    """Let an agent look and act until it stops, the form is sent, or the steps run out.

    An answer without a usable action costs a look; `PATIENCE` of them in a row end the episode.
    """
    unusable: list[str] = []
    while not ended():
        if session.step >= settings.steps:
            return StepsEnd(session.step, f"not done after {settings.steps} looks", LIMIT)
        observation = session.look(agent.observes)
        start = time.monotonic()
        try:
            actions = agent.act(observation)
            unusable = []
        except Unusable as problem:
            session.note(unusable=problem.status, why=str(problem)[:500])
            unusable.append(str(problem)[:300])
            if len(unusable) == PATIENCE:
                why = f"{PATIENCE} unusable answers in a row: {unusable[-1]}"
                return StepsEnd(session.step, why, UNUSABLE)
            continue
        finally:
            session.extend(time.monotonic() - start)
            if note := getattr(agent, "note", None):
                session.note(answer=note)
        if not actions:
            break
        for action in actions if settings.policy == "page" else actions[:1]:
            if isinstance(action, Done):
                return StepsEnd(session.step)
            session.do(action)
    return StepsEnd(session.step)


@dataclasses.dataclass(frozen=True)
class EpisodeResult:
    """The result of an episode.

    `status` is ``submitted`` if an accepted submission carries what was entered, else ``unsent``
    if the agent was done, ``unfinished`` if a limit stopped it, and ``crashed``. `why` is what
    stopped it, in a line; empty if the agent was done. `reason` is that of `StepsEnd`. `contents`
    are those of the fields when last seen, `left_at` the address of the last page, None if none
    was opened. `account` is that of `Account.summary`, `traceback` that of an agent's fault.
    `halted` is set where the system can answer no more.
    """

    looks: int
    why: str = ""
    reason: str | None = None
    crashed: bool = False
    contents: dict[str, Any] = dataclasses.field(default_factory=dict)
    left_at: str | None = None
    halted: Halted | None = None
    status: Status = "crashed"
    account: dict[str, Any] = dataclasses.field(default_factory=dict)
    traceback: str = ""


def run_episode(
    address: str, folder: Path, text: str, settings: RunSettings, agent: Agent, *,
    allow: Sequence[str] = (), state: Path | None = None,
    begin: Callable[[Session], None] = lambda _: None, ended: Callable[[], bool] = lambda: False,
) -> EpisodeResult:  # fmt: skip
    """Run one episode; faults of the browser, the server or the agent are returned, not raised.

    `begin` is called once the page is open, before the agent's first look.
    """
    drives = hasattr(agent, "drive")
    run = driving.run if drives else run_steps
    session, left_at, halted, fault, crashed = None, None, None, "", True
    why, reason, hide = "", None, Secrets(address)
    try:
        opened = open_session(address, folder, text, settings, allow=allow, state=state, cdp=drives)
        with opened as session:
            left_at = address
            begin(session)
            _, why, reason = run(session, agent, settings, ended=ended)
            crashed = False
            if not ended():
                session.finish()
            left_at = session.page.url
    except Halted as stop:
        why, halted = str(stop), stop
    except TimeLimit as limit:
        why, crashed = _line(limit, hide), left_at is None
        if not crashed:
            why, reason = f"not done after {settings.deadline:g} seconds", LATE
    except PageLeft as error:
        # A page may close its tab when it was sent; else the browser has died.
        crashed = session is None or not session.was_alive
        why = _line(error, hide) if crashed else "the page closed its tab"
    except Exception as error:
        why, fault = _line(error, hide), _fault_of_agent(error)
        if fault:
            why = f"{why} ({_last_line(error)})"
    contents, account = (session.contents, session.summary) if session else ({}, {})
    # What drives the browser itself may have entered and sent it between two looks.
    sent = any(
        item["outcome"] == "accepted" and (drives or carries(item["values"], contents))
        for item in account.get("submissions", ())
    )
    status: Status = "crashed" if crashed else "unfinished" if why else "unsent"
    if not crashed and sent:
        status = "submitted"
    return EpisodeResult(
        session.step if session else 0, why, reason, crashed, contents, hide(left_at), halted,
        status, account, hide(fault)[-4000:],
    )  # fmt: skip


def _line(error: Exception, hide: Secrets) -> str:
    lines = hide(str(error)).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def _agent_frames(error: Exception) -> list[traceback.FrameSummary]:
    """Where a fault of an agent passed through it; nothing for the faults of others."""
    frames = traceback.extract_tb(error.__traceback__)
    asked = [number for number, frame in enumerate(frames) if _CALL.search(frame.line or "")]
    return frames[asked[0] + 1 :] if asked else []


def _fault_of_agent(error: Exception) -> str:
    shown = traceback.format_exception(error)
    return "".join(shown) if _agent_frames(error) else ""


def _last_line(error: Exception) -> str:
    """File and line of the agent's code, which may have called a library."""
    libraries = (sys.prefix, sys.base_prefix, "<frozen")
    frames = _agent_frames(error)
    own = [frame for frame in frames if not frame.filename.startswith(libraries)] or frames
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}"


class _Settings(msgspec.Struct):
    """What is looked at in the settings of an earlier run."""

    options: dict[str, Any] = {}


class Ended(Entry):
    """What is looked at in an entry of the journal of episodes."""

    status: Status
    error: str | None


def check_same_settings(
    path: Path, settings: RunSettings, shaping: Mapping[str, Any] | None = None, **more: Any
) -> None:
    """Write a run's settings to `path`, its ``run.json``; `DataBroken` if it has others already.

    `shaping` are the system's own settings that shape its answers, in place of its `options`.
    """
    current = settings.as_json() | more
    current["options"] = dict(shaping or {})
    earlier = None
    if path.exists():
        remedy = "delete this file and give the settings of before: what was played stays"
        earlier = files.read_json(path)
        files.convert(earlier, _Settings, where=path, remedy=remedy)
    if earlier not in (None, current):
        before, now = (content | content.get("options", {}) for content in (earlier, current))
        changed = [
            key for key in {**before, **now} if key != "options" and before.get(key) != now.get(key)
        ]
        what = f"the folder holds a run with another {', '.join(changed)}"
        raise DataBroken(what, where=path, remedy="another --out")
    files.write_json(path, current)


def prepare(folder: Path, text: str, uploads: Mapping[str, bytes]) -> None:
    """A folder for an episode: the text, the files that may be uploaded, and no earlier log."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.png"), folder / "events.jsonl"]:
        old.unlink(missing_ok=True)
    files.write_text(folder / "task.txt", text)
    for name, content in uploads.items():
        (folder / "files" / name).write_bytes(content)
