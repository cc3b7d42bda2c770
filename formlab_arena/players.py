"""The systems that fill in forms, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken, UnknownName
from formlab.systems import chat
from formlab_arena import chat_agent
from formlab_arena.agents import Agent, OneByOne, Oracle
from formlab_arena.episode import Settings
from formlab_arena.instances import Instance
from formlab_arena.rules_agent import Rules

AGENTS: dict[str, Callable[[Instance], Agent]] = {
    "oracle": lambda instance: Oracle(instance.values),
    "rules": lambda _: Rules(),
}


def shaping_settings(settings: Settings) -> dict[str, Any]:
    """What of a system's own settings shapes its answers, after a check of its name and them.

    Raises
    ------
    UnknownName, DataBroken, NotAvailable
        If there is no such system, or it has no such settings, or no key.
    """
    name = settings.system
    if name.startswith(chat.PREFIX):
        return chat_agent.shaping_settings(
            name, settings.options, policy=settings.policy, ruler=settings.ruler
        )
    if name not in AGENTS:
        raise UnknownName.of("system", name, (*AGENTS, f"{chat.PREFIX}MODEL"))
    if settings.options:
        raise DataBroken(
            f"{name} has no settings", remedy=f"leave out {', '.join(settings.options)}"
        )
    return {}


@contextmanager
def making(settings: Settings, out: Path) -> Iterator[Callable[[Instance], Agent]]:
    """What makes the agent for an episode; a model's answers are kept in `out`."""
    if settings.system.startswith(chat.PREFIX):
        with chat_agent.asking(
            settings.system, out, settings.options, policy=settings.policy, ruler=settings.ruler
        ) as make:
            yield lambda instance: make(instance.name)
    elif settings.policy == "step":
        yield lambda instance: OneByOne(AGENTS[settings.system](instance))
    else:
        yield AGENTS[settings.system]
