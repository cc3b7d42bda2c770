"""Agents: they look at a page and answer with actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from formlab_arena.actions import Action, Click, Press, Scroll, Type
from formlab_arena.observation import Element, Observation, Observe
from formlab_arena.session import VIEWPORT


class Unusable(Exception):
    """An answer that no action could be read from, with its status: it costs a look."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(f"{status}: {why}")
        self.status = status


class Halted(Exception):
    """A system that can answer no more, for a limit of calls or money: the run ends."""


class Agent(Protocol):
    """Anything with a name that turns observations into actions.

    `observes` says what it is shown besides the screenshot. An agent may also have a `note`, a dict
    that is logged after each of its answers.
    """

    name: str
    observes: Observe

    def act(self, observation: Observation) -> list[Action]:
        """The next actions, in pixels of the image; none when there is nothing left to do."""


class OneByOne:
    """Gives the actions that an agent plans one a look; the agent plans anew when none is left."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self._plan = agent, list[Action]()
        self.name, self.observes = agent.name, agent.observes

    def act(self, observation: Observation) -> list[Action]:
        """The next action of the plan; none when there is nothing left to do."""
        if not self._plan:
            self._plan = list(self.agent.act(observation))
        return [self._plan.pop(0)] if self._plan else []


class Oracle:
    """Knows every control and the right answers (`values`, null for a field to leave alone).

    It uses the mouse and the keyboard like any other agent, so where it fails, the arena does.
    It answers with the actions of all fields in view, but looks again after a field that may
    show or hide others.
    """

    name = "oracle"
    observes: Observe = "tree"

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def act(self, observation: Observation) -> list[Action]:
        """All that is still to do in view; else scroll; else turn the page."""
        # The targets' boxes are of the window; the agent answers in pixels of the image.
        scale = observation.size[0] / VIEWPORT[0]
        below = above = False
        actions: list[Action] = []
        for target in observation.elements:
            todo = self._todo(target, scale)
            if not todo:
                continue
            if _is_in_view(target):
                actions += todo
                if target.kind in ("select", "radio", "checkbox"):
                    return actions
            elif not actions:
                below |= target.middle[1] > VIEWPORT[1] / 2
                above |= target.middle[1] <= VIEWPORT[1] / 2
        if actions:
            return actions
        if above or below:
            return [Scroll((0.6 if below else -0.6) * VIEWPORT[1] * scale)]
        return _turn(observation.elements, scale)

    def _todo(self, target: Element, scale: float) -> list[Action]:
        value = self.values.get(target.field)
        click = Click(*(side * scale for side in target.middle))
        if target.kind in ("radio", "checkbox"):
            if value is None:
                return []
            if not isinstance(value, bool):
                value = target.option in (value if isinstance(value, list) else [value])
            return [click] if value != target.checked else []
        text = "" if value is None or isinstance(value, bool) else str(value)
        if target.field.startswith("_") or target.value == text or target.kind == "button":
            return []
        if target.kind == "select":
            if not text:
                return []
            at = target.options.index(text) if text in target.options else 0
            return [click, Press("Home"), *[Press("ArrowDown")] * at, Press("Enter")]
        if target.kind == "file":
            return [click, Type(text)]
        return [click, Press("Control+A"), Type(text)]


def _turn(targets: tuple[Element, ...], scale: float) -> list[Action]:
    for target in targets:
        if target.field in ("_next", "_submit"):
            if _is_in_view(target):
                return [Click(*(side * scale for side in target.middle))]
            return [Scroll(0.6 * VIEWPORT[1] * scale)]
    return []


def _is_in_view(target: Element) -> bool:
    inside = 0 <= target.middle[0] < VIEWPORT[0]
    return inside and target.box[1] >= 0 and target.box[3] < VIEWPORT[1]
