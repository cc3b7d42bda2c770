"""A folder as the README leaves it."""

import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from tests.contract.doors import FIRST, GOLD, SCORE, SECOND, cli, json_lines, long_table

# Plug-in files and scripts, which commands are given.
collect_ignore = ["plugins"]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The truth, the answers of two systems and their evaluations, made once."""
    folder = tmp_path_factory.mktemp("made")
    with chdir(folder):
        long_table(GOLD).write_csv("truth.csv")
        for name, answers in (("first", FIRST), ("second", SECOND)):
            cli(*SCORE, json_lines(Path(f"{name}.jsonl"), answers), "--out", f"evals/{name}")
    return folder


@pytest.fixture
def work(made, tmp_path, monkeypatch):
    """A copy of what was made; the current folder."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path, dirs_exist_ok=True))
    return tmp_path
