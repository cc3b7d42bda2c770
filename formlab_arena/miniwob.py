"""MiniWoB++: its form tasks, served from the installed package, judged by themselves."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab import files
from formlab.errors import NotAvailable, UnknownName
from formlab_arena.web_tasks import WebTask

if TYPE_CHECKING:
    from formlab_arena.session import Session

PREFIX = "miniwob:"
# Its tasks that are about forms: fields, lists, ticks, dates, buttons and dialogs.
NAMES = (
    "book-flight", "book-flight-nodelay", "buy-ticket", "choose-date", "choose-date-easy",
    "choose-date-medium", "choose-date-nodelay", "choose-list", "click-button",
    "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-soft", "click-checkboxes-transfer", "click-dialog", "click-dialog-2",
    "click-option", "click-scroll-list", "copy-paste", "copy-paste-2", "enter-date",
    "enter-password", "enter-text", "enter-text-2", "enter-text-dynamic", "enter-time",
    "focus-text", "focus-text-2", "form-sequence", "form-sequence-2", "form-sequence-3",
    "generate-number", "login-user", "login-user-popup", "multi-layouts", "multi-orderings",
    "number-checkboxes", "order-food", "search-engine", "sign-agreement", "use-autocomplete",
    "use-autocomplete-nodelay", "use-slider", "use-slider-2", "use-spinner",
)  # fmt: skip
# A task ends by itself after ten seconds, in which a person can act and no model does; the counter
# of these seconds, which would make every screenshot another one, is hidden.
_START = """async seed => {
  const until = async met => {
    while (!met()) await new Promise(done => setTimeout(done, 50));
  };
  await until(() => document.getElementById("sync-task-cover"));
  Math.seedrandom(seed);
  core.EPISODE_MAX_TIME = 24 * 3600 * 1000;
  document.getElementById("sync-task-cover").click();
  core.hideDisplay();
  await until(() => WOB_TASK_READY);
  return core.getUtterance();
}"""
_REWARD = "() => WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : null"


def tasks(names: Sequence[str] = (), *, instances: int = 1, seed: int = 0) -> tuple[WebTask, ...]:
    """Tasks of MiniWoB++ for `fill_tasks`, `instances` of each name; all form tasks if none.

    Instance n of a task is the one that the page makes from ``seed + n - 1``: the same
    everywhere.

    Raises
    ------
    NotAvailable
        Without the package ``miniwob`` (the extra of that name).
    UnknownName
        For a task that it has not.

    Examples
    --------
    >>> [task.name for task in tasks(["enter-text"], instances=2, seed=5)]
    ['enter-text-005', 'enter-text-006']
    """
    made = [task(name, seed + n) for name in names or NAMES for n in range(instances)]
    return tuple(made)


def task(name: str, seed: int) -> WebTask:
    """One task, as its page makes it from a seed."""
    known = sorted(page.stem for page in (_folder() / "miniwob").glob("*.html"))
    if name not in known:
        raise UnknownName.of("task of MiniWoB++", name, known)
    address = f"{_address()}/miniwob/{name}.html"
    return WebTask(f"{name}-{seed:03d}", address, judge=_Judge(f"{PREFIX}{name}:{seed}", seed))


@dataclasses.dataclass(frozen=True)
class _Judge:
    """Starts an episode of the page, and reads its reward."""

    key: str
    seed: int

    def begin(self, session: Session) -> None:
        session.text = session.page.evaluate(_START, str(self.seed))[:2_000]
        files.write_text(session.folder / "task.txt", session.text)

    def reward(self, session: Session) -> float | None:
        reward = session.page.evaluate(_REWARD)
        return None if reward is None else max(-1.0, min(1.0, float(reward)))


@functools.cache
def _folder() -> Path:
    # The package itself is not imported: it would bring another driver of browsers.
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise NotAvailable("MiniWoB++ is not installed", remedy="pip install 'formlab[miniwob]'")
    return Path(spec.submodule_search_locations[0]) / "html"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing is printed for a request."""


@functools.cache
def _address() -> str:
    """The address of the package's pages, on a server that lives as long as the process."""
    handler = functools.partial(_Quiet, directory=str(_folder()))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="miniwob", daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
