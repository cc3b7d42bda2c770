"""Prompts by name or from a file, and that the one chosen is the one sent."""

import json

import pytest

from formlab import benchmarks
from formlab.errors import DataBroken, UnknownName
from formlab.systems import prompts
from formlab_review import drafting
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving

PAPERS = [name for name in prompts.names() if name.startswith(("draft_", "formcraft_list"))]


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


@pytest.mark.parametrize("name", PAPERS)
def test_prompts_after_the_papers_say_what_they_change(name):
    head = (prompts.FOLDER / f"{name}.md").read_text().partition("-->")[0]
    assert "listing" in head
    assert "Changed" in head or "Beyond that listing" in head


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


@pytest.mark.parametrize(
    ("chosen", "begins"),
    [("formcraft_listing3", "You are given a taxonomy"), ("file", "Find pairs.")],
)
def test_drafts_are_asked_for_by_the_chosen_prompt(tmp_path, chosen, begins):
    if chosen == "file":
        (tmp_path / "own.md").write_text("Find pairs.")
        chosen = str(tmp_path / "own.md")
    with serving(then=json.dumps({"items": []})) as server:
        (draft,) = drafting.items(
            "consistency", benchmarks.load("formcraft"), model="m", out=tmp_path, limit=1,
            settings={"base_url": server.url, "attempts": 1, "prompt": chosen},
        )  # fmt: skip
        assert server.calls[0]["body"]["messages"][0]["content"].startswith(begins)
    assert draft.origin.endswith(f"; prompt {prompts.read(chosen).version}")
