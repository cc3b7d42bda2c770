"""The systems that fill in forms, by name."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from formlab import registry
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.registry import Registry
from formlab.systems import chat
from formlab_arena import chat_agent, screen
from formlab_arena.agents import Agent, OneByOne
from formlab_arena.driving import PREFIX, Command
from formlab_arena.episode import RunSettings
from formlab_arena.instances import Instance
from formlab_arena.oracle import Oracle
from formlab_arena.rules_agent import Rules
from formlab_arena.texts import PAGES

# An agent by name: a class, or a function, of an `Instance` or of nothing.
AGENTS = Registry(
    "agents",
    {
        "oracle": "formlab_arena.agent_registry:oracle",
        "rules": "formlab_arena.agent_registry:rules",
    },
)
# Readers of screenshots that no thread is using: OCR is for one thread at a time.
_READERS: list[Callable[[Path], screen.Screen]] = []


def oracle(instance: Instance) -> Agent:
    """The agent that knows the answers."""
    return Oracle(instance.values)


def rules(instance: Instance) -> Agent:
    """The agent that reads the screen and matches labels with the text, or with a page's values."""
    return Rules(_screen_of, values=instance.page and instance.page.values)


def _screen_of(image: Path) -> screen.Screen:
    read = _READERS.pop() if _READERS else screen.reader()
    try:
        return read(image)
    finally:
        _READERS.append(read)


def load(target: str) -> str:
    """Import somebody's agent; the name under which it is registered from then on.

    Parameters
    ----------
    target
        ``module:Class``, ``file.py:Class``, or ``file.py`` that has one agent. A file is a plug-in
        as any other; an agent without the decorator ``@formlab.agent`` is registered by its
        `name`, else by that of its class.

    Raises
    ------
    DataMissing, NotAvailable
        For a file that is not there, and for code that cannot be imported.
    UnknownName, DataBroken
        If the module has no such class, or not exactly one agent.
    """
    home, _, attribute = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    if not home:
        raise DataBroken("not an agent", where=target, remedy="module:Class, or file.py")
    module = registry.load(home) if home.endswith(".py") else _imported(home)
    names = {
        entry.name: entry.load()
        for entry in registry.entries("agents")
        if entry.source in (str(Path(home).resolve()), home)
    }
    if attribute and not hasattr(module, attribute):
        raise UnknownName.of("agent", attribute, [*vars(module)])
    values = [getattr(module, attribute)] if attribute else [*names.values()] or _classes(module)
    if len(values) != 1:
        several = ", ".join(value.__name__ for value in values) or "no class with act or drive"
        raise DataBroken(f"not one agent: {several}", where=home, remedy=f"{home}:Class")
    (value,) = values
    for name, registered in names.items():
        if registered is value:
            return name
    name = getattr(value, "name", None)
    name = name if isinstance(name, str) else value.__name__
    registry.register("agents", name, value)
    return name


def _imported(name: str) -> Any:
    if str(Path.cwd()) not in sys.path:
        # A command has its own folder there, and not the one that it is called in.
        sys.path.append(str(Path.cwd()))
    try:
        return import_module(name)
    except Exception as error:
        what = f"the agent cannot be imported: {type(error).__name__}: {error}"
        raise NotAvailable(what, where=name) from error


def _classes(module: Any) -> list[type]:
    return [
        value for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
        and not value.__name__.startswith("_")
        and (callable(getattr(value, "act", None)) or callable(getattr(value, "drive", None)))
    ]  # fmt: skip


def shaping_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings of a system that shape its answers, checked.

    `UnknownName`, `DataBroken` or `NotAvailable` if there is no such system, setting or key.
    """
    name = settings.system
    if name.startswith(chat.PREFIX):
        return chat_agent.shaping_settings(
            name, settings.options, policy=settings.policy, ruler=settings.ruler,
            from_pages=settings.texts == PAGES, observe=settings.observe or "pixels",
        )  # fmt: skip
    if not name.startswith(PREFIX):
        AGENTS.find(name, f"{chat.PREFIX}MODEL")
    if settings.options:
        remedy = f"leave out {', '.join(settings.options)}"
        raise DataBroken(f"{name} has no settings", remedy=remedy)
    return {}


@contextmanager
def making(settings: RunSettings, out: Path) -> Iterator[Callable[[Instance], Agent]]:
    """A function that makes the agent of an instance; a model's answers are kept in `out`."""
    name = settings.system
    if name.startswith(chat.PREFIX):
        with chat_agent.asking(
            name, out, settings.options, policy=settings.policy, ruler=settings.ruler,
            from_pages=settings.texts == PAGES, observe=settings.observe or "pixels",
        ) as make:  # fmt: skip
            yield lambda instance: make(instance.name, instance.page.files if instance.page else ())
    elif name.startswith(PREFIX):
        yield lambda _: Command(name.removeprefix(PREFIX))
    else:
        yield lambda instance: _made(name, AGENTS[name], instance, settings)


def _made(name: str, factory: Callable[..., Any], instance: Instance, settings: RunSettings) -> Any:
    """The agent, shown what the settings say; its class may take the instance or nothing."""
    taken = [
        p for p in inspect.signature(factory).parameters.values()
        if p.kind <= p.VAR_POSITIONAL and (p.default is p.empty or p.name in ("instance", "task"))
    ]  # fmt: skip
    agent = factory(instance) if taken else factory()
    if not hasattr(agent, "name"):
        agent.name = name
    if settings.observe or not hasattr(agent, "observes"):
        agent.observes = settings.observe or "pixels"
    if hasattr(agent, "drive") or settings.policy == "page":
        return agent
    return OneByOne(agent)
