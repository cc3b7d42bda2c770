"""Agents that drive the browser themselves, over the Chrome DevTools Protocol; formlab watches."""

from __future__ import annotations

import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab_arena.observation import Observe

if TYPE_CHECKING:
    from formlab_arena.episode import RunSettings
    from formlab_arena.session import Session

# The systems `drive:COMMAND`.
PREFIX = "drive:"
LOG = "drive.log"
# Runs a command in a process of its own, whose stdin ends with formlab, however that ends: then it
# ends its group, which is the command and all that it has started.
_GUARD = """import os, signal, subprocess, sys, threading
def watch():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
os._exit(code if code >= 0 else 128 - code)"""
# Seconds between two looks at the page, and those that an agent has after the form was sent.
_EVERY, _GRACE = 0.3, 5.0


@dataclasses.dataclass(frozen=True)
class DriveTask:
    """The task of an agent that drives: the form's address, the instructions, and where they are.

    `files` is the folder of what can be uploaded, `text_file` the file of the instructions.
    """

    address: str
    text: str
    text_file: Path
    files: Path


class Command:
    """An agent that is a command, started for each episode; what it prints is kept beside the log.

    Its environment has FORMLAB_CDP (where to connect to the browser), FORMLAB_ADDRESS (the page
    that is open), FORMLAB_TEXT (the file of the instructions) and FORMLAB_FILES (a folder).
    """

    observes: Observe = "pixels"

    def __init__(self, command: str) -> None:
        self.name, self._command = f"{PREFIX}{command}", shlex.split(command)
        self._process: subprocess.Popen[bytes] | None = None

    def drive(self, cdp_address: str, task: DriveTask) -> None:
        """Run the command until it ends; `RuntimeError` if it ends with another code than 0.

        It ends with this process, also after ``kill -9``.
        """
        more = {
            "FORMLAB_CDP": cdp_address, "FORMLAB_ADDRESS": task.address,
            "FORMLAB_TEXT": str(task.text_file.resolve()),
            "FORMLAB_FILES": str(task.files.resolve()),
        }  # fmt: skip
        log = task.text_file.with_name(LOG)
        with (
            log.open("wb") as stream,
            subprocess.Popen(  # noqa: S603 - the user's own command, no shell
                [sys.executable, "-I", "-S", "-c", _GUARD, *self._command],
                env=os.environ | more, stdin=subprocess.PIPE, stdout=stream,
                stderr=subprocess.STDOUT, start_new_session=True,
            ) as self._process,
        ):  # fmt: skip
            code = self._process.wait()
        if code:
            last = log.read_text("utf-8", "replace").strip().rpartition("\n")[2][:300]
            raise RuntimeError(f"the command ended with code {code}: {last}")

    def stop(self) -> None:
        """End the command and all that it has started."""
        if self._process:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return


def run(
    session: Session, agent: Any, settings: RunSettings, *, ended: Callable[[], bool]
) -> tuple[int, str, str | None]:
    """Let an agent drive a session's browser; number of looks, why it was stopped, and the word.

    formlab takes a picture of the page before and after.
    """
    session.look()
    folder = session.folder
    task = DriveTask(session.page.url, session.text, folder / "task.txt", session.uploads)
    late = watch(
        agent, session.cdp_address, task, look=session.watch, ended=ended,
        deadline=settings.deadline,
    )  # fmt: skip
    session.look()
    return session.step, late or "", "deadline" if late else None


def watch(
    agent: Any, cdp_address: str, task: DriveTask, *,
    look: Callable[[], None], ended: Callable[[], bool], deadline: float,
) -> str | None:  # fmt: skip
    """Let an agent drive until it is done; why it was stopped, None if it was not.

    `look` is called every now and then, to log what has changed. An agent that goes on after the
    form was sent (`ended`) is stopped a little later. What the agent raises is raised.
    """
    failures: list[BaseException] = []

    def drive() -> None:
        try:
            agent.drive(cdp_address, task)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=drive, name="driving agent", daemon=True)
    thread.start()
    end, was_sent = time.monotonic() + deadline, False
    try:
        while thread.is_alive() and time.monotonic() < end:
            thread.join(_EVERY)
            look()
            if not was_sent and ended():
                was_sent, end = True, min(end, time.monotonic() + _GRACE)
        late = None if was_sent or not thread.is_alive() else f"not done after {deadline:g} s"
    finally:
        # A method that does not return loses its browser, and ends with that.
        if stop := getattr(agent, "stop", None):
            stop()
    thread.join(_EVERY)
    if failures and not late and not was_sent:
        raise failures[0]
    return late
