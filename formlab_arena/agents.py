"""Agents: they look at a page and answer with actions."""

from typing import Protocol

from formlab_arena.actions import Action
from formlab_arena.observation import Observation, Observe


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
