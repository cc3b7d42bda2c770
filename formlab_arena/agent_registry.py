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
from formlab_arena.agents import Agent, OneByOne
from formlab_arena.episode import RunSettings
from formlab_arena.instances import Instance
from formlab_arena.oracle import Oracle
from formlab_arena.rules_agent import Rules
from formlab_arena.texts import PAGES

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


def rules(instance: Instance) -> Agent:
    """The agent that reads the screen and matches labels with the text, or with a page's values."""
    return Rules(values=instance.page and instance.page.values)


def shaping_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings of a system that shape its answers, checked.

    `UnknownName`, `DataBroken` or `NotAvailable` if there is no such system, setting or key.
    """
    name = settings.system
    if name.startswith(chat.PREFIX):
        return chat_agent.shaping_settings(
            name, settings.options, policy=settings.policy, ruler=settings.ruler,
            from_pages=settings.texts == PAGES,
        )  # fmt: skip
    AGENTS.find(name, f"{chat.PREFIX}MODEL")
    if settings.options:
        remedy = f"leave out {', '.join(settings.options)}"
        raise DataBroken(f"{name} has no settings", remedy=remedy)
    return {}


@contextmanager
def making(settings: RunSettings, out: Path) -> Iterator[Callable[[Instance], Agent]]:
    """A function that makes the agent of an instance; a model's answers are kept in `out`."""
    if settings.system.startswith(chat.PREFIX):
        with chat_agent.asking(
            settings.system, out, settings.options, policy=settings.policy, ruler=settings.ruler,
            from_pages=settings.texts == PAGES,
        ) as make:  # fmt: skip
            yield lambda instance: make(instance.name, instance.page.files if instance.page else ())
    elif settings.policy == "step":
        yield lambda instance: OneByOne(AGENTS[settings.system](instance))
    else:
        yield AGENTS[settings.system]
