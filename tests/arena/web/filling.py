"""Episodes on the web pages of the tests, each page at a server of its own."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from formlab_arena.episode import RunSettings
from formlab_arena.form_url import fill_tasks
from formlab_arena.web_tasks import WebTask
from tests.arena.web.hosting import Host, Page, hosting


@dataclasses.dataclass(frozen=True)
class Played:
    """A page, the result of its episode, and its server with what it was sent."""

    page: Page
    result: dict[str, Any]
    host: Host

    @property
    def told(self) -> list[dict[str, list[str]]]:
        """The values of each submission, as the account of the episode gives them."""
        return [sent["values"] for sent in (self.result["account"] or {}).get("submissions", [])]

    @property
    def got(self) -> list[dict[str, list[str]]]:
        """The values of each submission, as the server got them."""
        return [sent["values"] for sent in self.host.sent]

    @property
    def wrong(self) -> dict[str, tuple[list[str], list[str]]]:
        """What should have been sent, and what was, of the fields where these differ.

        Empty is as good as absent.
        """
        values = {name: [v for v in got if v] for name, got in self.host.values.items()}
        pairs = {name: (sent, values.get(name, [])) for name, sent in self.page.sent.items()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def play(pages: list[Page], out: Path, system: str, *, workers: int = 4, deadline: float = 60):
    """Let a system fill in pages, several at a time; a `Played` for each."""
    played = []
    settings = RunSettings(system, deadline=deadline)
    with contextlib.ExitStack() as stack:
        hosts = {page.name: stack.enter_context(hosting(page)) for page in pages}
        for other in (False, True):
            chosen = [page for page in pages if page.other == other]
            folder = out / ("allowed" if other else "own")
            tasks = [_task(page, hosts[page.name], folder) for page in chosen]
            allow = [f"{hosts[page.name].other.root}/" for page in chosen] if other else []
            if tasks:
                results = fill_tasks(folder, settings, tasks, workers=workers, allow=allow)
                done = zip(chosen, results, strict=True)
                played += [Played(page, result, hosts[page.name]) for page, result in done]
    return played


def _task(page: Page, host: Host, folder: Path) -> WebTask:
    uploads = []
    for name, content in page.files.items():
        uploads.append(folder / "uploads" / page.name / name)
        uploads[-1].parent.mkdir(parents=True, exist_ok=True)
        uploads[-1].write_text(content)
    gold = dict(page.gold)
    return WebTask(page.name, host.url, page.text, tuple(uploads), gold)
