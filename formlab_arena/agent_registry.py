"""The systems that fill in forms, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.registry import Registry
from formlab.systems import chat
from formlab_arena import chat_agent
from formlab_arena.agents import Agent, OneByOne, Oracle
from formlab_arena.episode import Settings
from formlab_arena.instances import Instance
from formlab_arena.rules_agent import Rules

# An agent by name: a function of an `Instance` that gives an `Agent`.
AGENTS = Registry(
    "agents",
    {
        "oracle": "formlab_arena.agent_registry:oracle",
        "rules": "formlab_arena.agent_registry:rules",
    },
)


def oracle(instance: Instance) -> Agent:
    """The agent that knows the answers."""
    return Oracle(instance.values)


def rules(_: Instance) -> Agent:
    """The agent that reads the screen and matches labels with the text."""
    return Rules()


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
    AGENTS.find(name, f"{chat.PREFIX}MODEL")
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
            yield lambda one: make(one.name)
    elif settings.policy == "step":
        yield lambda one: OneByOne(AGENTS[settings.system](one))
    else:
        yield AGENTS[settings.system]
