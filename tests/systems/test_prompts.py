"""Prompts by name or from a file, and that the one chosen is the one sent."""

import pytest

from formlab.errors import DataBroken
from formlab.systems import prompts
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")


def test_a_run_sends_the_chosen_prompt_and_remembers_its_name_and_hash(tmp_path):
    file = tmp_path / "theirs.md"
    file.write_text("Read it as they do.")
    with serving(then=FORM) as server:
        made = ran(server, tmp_path / "a", tasks="extraction", prompt=str(file))
        sent = server.calls[0]["body"]["messages"][0]["content"]
        with pytest.raises(DataBroken, match="one prompt for several tasks"):
            ran(server, tmp_path / "b", tasks="", prompt="formcraft_listing1")
    assert sent.startswith("Read it as they do.")
    assert made.settings["prompt"] == f"theirs {prompts.version_of('Read it as they do.')}"
