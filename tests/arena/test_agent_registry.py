import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from formlab import registry
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab_arena import agent_registry, instances, spec
from formlab_arena.agents import OneByOne
from formlab_arena.chat_agent import ChatAgent
from formlab_arena.driving import Command
from formlab_arena.episode import RunSettings
from formlab_arena.oracle import Oracle

LOCAL = {"base_url": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        (RunSettings("oracel"), UnknownName, "'oracle' .known: chat:MODEL, oracle, rules"),
        (RunSettings("chat:"), UnknownName, "chat:MODEL"),
        (RunSettings("rules", options={"max_calls": 1}), DataBroken, "leave out max_calls"),
        (RunSettings("chat:m"), NotAvailable, "OPENAI_API_KEY"),
        (RunSettings("chat:m", options=LOCAL | {"max_cost": 1.0}), NotAvailable, "has none"),
    ],
)
def test_unknown_system_and_wrong_settings_are_named(settings, error, says, monkeypatch):
    # Plug-ins of other tests are no agents here.
    monkeypatch.setattr(registry._STATE, "registered", {})
    monkeypatch.setattr(agent_registry.AGENTS, "loaded", {})
    with pytest.raises(error, match=says):
        agent_registry.shaping_settings(settings)


def test_what_shapes_answers_is_said_and_how_they_are_got_is_not():
    shaping = agent_registry.shaping_settings(
        RunSettings("chat:m", options=LOCAL | {"max_calls": 3, "temperature": 0.5})
    )
    assert shaping["temperature"] == 0.5
    assert shaping["address"] == LOCAL["base_url"]
    assert len(shaping["prompt"]) == 8
    assert "max_calls" not in shaping
    assert agent_registry.shaping_settings(RunSettings("oracle")) == {}


def test_each_system_makes_its_agent(tmp_path):
    instance = instances.make(spec.form("A11"), 1)
    for settings, kind in (
        (RunSettings("oracle"), Oracle),
        (RunSettings("oracle", policy="step"), OneByOne),
        (RunSettings("chat:m", policy="step", options=LOCAL), ChatAgent),
    ):
        with agent_registry.making(settings, tmp_path) as make:
            agent = make(instance)
        assert isinstance(agent, kind)
        assert agent.name == settings.system


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


def test_agent_with_the_decorator_keeps_its_name_and_takes_the_instance(tmp_path, fresh):
    file = tmp_path / "decorated.py"
    text = OWN.replace("class Mine:", '@formlab.agent("my agent")\nclass Mine:')
    file.write_text(text.replace('model="small"', "instance").replace("= model", "= instance"))
    assert agent_registry.load(str(file)) == "my agent"
    agent, instance = made(tmp_path, "my agent")
    assert (agent.name, agent.model) == ("my agent", instance)


def test_agent_of_a_module_in_the_folder_of_the_command(tmp_path, monkeypatch, fresh):
    (tmp_path / "own_agents_of_a_test.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    assert agent_registry.load("own_agents_of_a_test:Mine") == "Mine"
    assert isinstance(made(tmp_path, "drive:python a.py")[0], Command)


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


def test_threads_do_not_share_a_reader_of_screenshots(monkeypatch):
    busy, readers = threading.Barrier(2), []

    def reader():
        readers.append(len(readers))
        mine = readers[-1]
        return lambda image: (busy.wait(10) if image else None, mine)

    monkeypatch.setattr(agent_registry.screen, "reader", reader)
    monkeypatch.setattr(agent_registry, "_READERS", [])
    with ThreadPoolExecutor(2) as pool:
        used = {mine for _, mine in pool.map(agent_registry._screen_of, ["a", "b"])}
    assert used == {0, 1}
    # One that is free is used again.
    assert agent_registry._screen_of("")[1] in (0, 1)
    assert readers == [0, 1]
