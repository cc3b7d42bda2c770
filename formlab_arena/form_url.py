"""Fill in one form at any address, also one that is not ours, from its text."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import browser, files, resources
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab_arena import agent_registry
from formlab_arena.episode import RunSettings, check_same_settings, prepare, run_episode
from formlab_arena.instances import Instance


def fill_url(
    address: str,
    out: Path,
    settings: RunSettings,
    *,
    text: str,
    values: Mapping[str, Any] | None = None,
    allow: Sequence[str] = (),
) -> dict[str, Any]:
    """Let a system fill in the form at an address; returns the final contents of its fields.

    Files can be uploaded from ``out/files`` only, and the page reaches its own server only.

    Parameters
    ----------
    address
        An http or https address.
    out
        The run's folder: log, screenshots, ``result.json``, a model's answers.
    settings
        System, policy and screenshot options.
    text
        The instructions for the agent.
    values
        The right answers by the names of the page's fields, for the oracle only.
    allow
        Other servers that the page may reach, such as ``https://cdn.example.com/``.

    Returns
    -------
    dict
        `address`, `status` (``ended`` if the agent was done, ``unfinished``, ``crashed``),
        `steps`, `error`, `filled` (what each field held when last seen; a group has the list of
        its chosen options) and `left_at`, the address of the last page.

    Raises
    ------
    DataBroken, UnknownName, NotAvailable
        If the address is none or cannot be reached, for unknown systems, if `out` holds another
        run, and if a model's server refuses every call.
    """
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise DataBroken("not an http address", where=address, remedy="http://127.0.0.1:8000/form")
    if (settings.system == "oracle") != (values is not None):
        raise DataBroken(
            "the oracle, and no other system, needs the right answers",
            remedy="--values FILE with --system oracle",
        )
    shaping = agent_registry.shaping_settings(settings)
    resources.need("arena")
    browser.find()
    out.mkdir(parents=True, exist_ok=True)
    check_same_settings(out / "run.json", settings, shaping, address=address)
    prepare(out, text, {})
    task = Instance("", 0, dict(values or {}), text)
    with agent_registry.making(settings, out) as make:
        episode = run_episode(address, out, text, settings, make(task), allow=allow)
    if episode.halted and isinstance(episode.halted.__cause__, FormlabError):
        raise episode.halted.__cause__
    if episode.left_at is None:
        raise NotAvailable(
            f"no page could be opened: {episode.why}", where=address,
            remedy="the address, and whether its server runs",
        )  # fmt: skip
    status = "crashed" if episode.crashed else "unfinished" if episode.why else "ended"
    result = {"address": address, "status": status, "steps": episode.looks}
    result |= {"error": episode.why or None, "filled": episode.contents, "left_at": episode.left_at}
    files.write_json(out / "result.json", result)
    return result
