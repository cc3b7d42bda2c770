"""A folder as the README leaves it."""

import pytest

from tests.contract.doors import FIRST, GOLD, SCORE, SECOND, cli, json_lines, long_table

# Plug-in files and scripts, which commands are given.
collect_ignore = ["plugins"]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The truth, the answers of two systems and their evaluations; the current folder."""
    monkeypatch.chdir(tmp_path)
    long_table(GOLD).write_csv("truth.csv")
    for name, answers in (("first", FIRST), ("second", SECOND)):
        cli(*SCORE, json_lines(tmp_path / f"{name}.jsonl", answers), "--out", f"evals/{name}")
    return tmp_path
