import pytest

from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab_arena import agent_registry, instances, spec
from formlab_arena.agents import OneByOne
from formlab_arena.chat_agent import ChatAgent
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
def test_unknown_system_and_wrong_settings_are_named(settings, error, says):
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
