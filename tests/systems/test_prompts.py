"""Prompts by name or from a file, and that the one chosen is the one sent."""

import pytest

from formlab.errors import DataBroken, UnknownName
from formlab.systems import prompts
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")


@pytest.mark.parametrize("name", prompts.names())
def test_the_head_of_formlabs_own_prompts_is_not_sent(name):
    prompt = prompts.read(name)
    assert prompt.text.strip()
    assert "<!--" not in prompt.text
    assert prompt.version == f"{name} {prompts.version_of(prompt.text.strip())}"


def test_a_file_is_taken_word_for_word_and_what_is_neither_is_named(tmp_path):
    file = tmp_path / "theirs.txt"
    file.write_text("<!-- theirs -->\n\n  Convert it.\n")
    assert prompts.read(file).text == "<!-- theirs -->\n\n  Convert it.\n"
    assert prompts.read(str(file)).version.startswith("theirs ")
    file.write_text(" \n")
    with pytest.raises(DataBroken, match="an empty prompt"):
        prompts.read(file)
    with pytest.raises(UnknownName, match="formcraft_listing9.*formcraft_listing"):
        prompts.read("formcraft_listing9")


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
