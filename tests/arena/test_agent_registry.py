import pytest

from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab_arena import agent_registry, instances, spec
from formlab_arena.agents import OneByOne
from formlab_arena.episode import RunSettings

OWN = """
import formlab


class Mine:
    observes = "boxes"

    def __init__(self, model="small"):
        self.model = model

    def act(self, seen):
        return []


class _Base:
    def act(self, seen):
        return []
"""


def made(tmp_path, name, **settings):
    instance = instances.make(spec.form("A11"), 1)
    with agent_registry.making(RunSettings(name, **settings), tmp_path) as make:
        return make(instance), instance


def test_agent_of_a_file_is_registered_under_its_name(tmp_path, fresh):
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("class _Base", "class Other"))
    with pytest.raises(DataBroken, match="not one agent: Mine, Other"):
        agent_registry.load(str(file))
    assert agent_registry.load(f"{file}:Mine") == "Mine"
    # Its argument has a default: it takes no instance.
    agent, _ = made(tmp_path, "Mine")
    assert (agent.name, agent.model, agent.observes) == ("Mine", "small", "boxes")
    assert made(tmp_path, "Mine", observe="tree")[0].observes == "tree"
    stepwise, _ = made(tmp_path, "Mine", policy="step")
    assert isinstance(stepwise, OneByOne)
    file.write_text(OWN)
    assert agent_registry.load(str(file)) == "Mine"


@pytest.mark.parametrize(
    ("target", "error", "says"),
    [
        ("nowhere.py", DataMissing, "nowhere.py"),
        ("nowhere_at_all:Mine", NotAvailable, "ModuleNotFoundError"),
        ("formlab_arena.agents:Agnet", UnknownName, "'Agent'"),
        ("mine", DataBroken, "module:Class"),
    ],
)
def test_agent_that_is_not_there_is_named(fresh, target, error, says):
    with pytest.raises(error, match=says):
        agent_registry.load(target)
