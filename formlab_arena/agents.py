"""Who fills in forms: an agent looks at a page and answers with actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from formlab_arena.actions import Action, Click, Press, Scroll, Type
from formlab_arena.session import VIEWPORT, Observation, Target


class Unusable(Exception):
    """An answer that no action could be read from, with its status: it costs a look."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(f"{status}: {why}")
        self.status = status


class Halted(Exception):
    """A system that can answer no more, for a limit of calls or money: the run ends."""


class Agent(Protocol):
    """Anything with a name that turns what it sees into actions.

    `knows_targets` asks for the controls' boxes, which a model is never given. An agent may also
    have a `note`, a dict that is logged after each of its answers.
    """

    name: str
    knows_targets: bool

    def act(self, observation: Observation) -> list[Action]:
        """The next actions, in pixels of the image; none when there is nothing left to do."""


class OneByOne:
    """An agent that plans many actions at a look, asked for one: it gives them one a look.

    Parameters
    ----------
    agent
        The one that plans; it looks again when its plan is carried out.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent, self._left = agent, list[Action]()
        self.name, self.knows_targets = agent.name, agent.knows_targets

    def act(self, observation: Observation) -> list[Action]:
        """The next action of the plan; none when there is nothing left to do."""
        if not self._left:
            self._left = list(self.agent.act(observation))
        return [self._left.pop(0)] if self._left else []


class Oracle:
    """Knows the right answers and where every control is: what a perfect agent reaches.

    It uses the mouse and the keyboard like any other agent, so where it fails, the arena does.
    It answers with the actions of all fields in view, but looks again after a field that may
    show or hide others.

    Parameters
    ----------
    values
        The right answer of each field; null leaves the field alone.
    """

    name = "oracle"
    knows_targets = True

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def act(self, observation: Observation) -> list[Action]:
        """All that is still to do in view; else scroll; else turn the page."""
        # The targets' boxes are of the window; the agent answers in pixels of the image.
        scale = observation.size[0] / VIEWPORT[0]
        view = (VIEWPORT[0], VIEWPORT[1])
        below = above = False
        actions: list[Action] = []
        for target in observation.targets:
            todo = self._todo(target, scale)
            if not todo:
                continue
            if _within(target, view):
                actions += todo
                if target.kind in ("select", "radio", "checkbox"):
                    return actions
            elif not actions:
                below |= target.middle[1] > view[1] / 2
                above |= target.middle[1] <= view[1] / 2
        if actions:
            return actions
        if above or below:
            return [Scroll((0.6 if below else -0.6) * view[1] * scale)]
        return self._turn(observation.targets, view, scale)

    def _todo(self, target: Target, scale: float) -> list[Action]:
        value = self.values.get(target.field)
        click = Click(*(side * scale for side in target.middle))
        if target.kind in ("radio", "checkbox"):
            if value is None:
                return []
            wanted = value if isinstance(value, bool) else _chosen(target.option, value)
            return [click] if wanted != target.checked else []
        text = "" if value is None or isinstance(value, bool) else str(value)
        if target.field.startswith("_") or target.value == text or target.kind == "button":
            return []
        if target.kind == "select":
            at = target.options.index(text) if text in target.options else 0
            if not text:
                return []
            return [click, Press("Home"), *[Press("ArrowDown")] * at, Press("Enter")]
        if target.kind == "file":
            return [click, Type(text)]
        return [click, Press("Control+A"), Type(text)]

    def _turn(
        self, targets: tuple[Target, ...], view: tuple[int, int], scale: float
    ) -> list[Action]:
        for target in targets:
            if target.field in ("_next", "_submit"):
                if _within(target, view):
                    return [Click(*(side * scale for side in target.middle))]
                return [Scroll(0.6 * view[1] * scale)]
        return []


def _within(target: Target, view: tuple[int, int]) -> bool:
    x, y = target.middle
    return 0 <= x < view[0] and target.box[1] >= 0 and target.box[3] < view[1] and y < view[1]


def _chosen(option: str | None, value: Any) -> bool:
    return option in value if isinstance(value, list) else option == value
