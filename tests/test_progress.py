"""How far a command is: lines in a pipe, at most one in some seconds."""

import pytest

from formlab import progress
from tests.states import until


@pytest.fixture
def clock(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_pipe_gets_a_line_now_and_then_and_one_at_the_end(capsys, clock):
    with progress.progress("pages, {task.fields[failed]} failed") as bars:
        bar = bars.add_task("ocr\x1b[31m", total=40, failed=0)
        for number in range(40):
            clock[0] += 1
            bars.update(bar, advance=1, failed=number // 10)
    lines = capsys.readouterr().err.splitlines()
    # Forty seconds: a line every five of them; the last says what the end would say.
    assert [line.split(", about")[0] for line in lines] == [
        f"ocr\\x1b[31m: {n}/40 pages, {(n - 1) // 10} failed" for n in range(5, 41, 5)
    ]


def test_short_work_is_one_line_and_a_report_gets_none(capsys, monkeypatch):
    with progress.progress("pages") as bars:
        bars.update(bars.add_task("ocr", total=2), advance=2)
    assert capsys.readouterr().err == "ocr: 2/2 pages\n"
    with progress.progress("pages", shown=False) as bars:
        bars.update(bars.add_task("ocr", total=2), advance=2)
    monkeypatch.setenv("FORMLAB_REPORT", "1")
    with progress.progress("pages") as bars, progress.working("scoring"):
        bars.update(bars.add_task("ocr", total=2), advance=2)
    assert capsys.readouterr().err == ""


def test_work_that_cannot_be_counted_says_for_how_long(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.05)
    with progress.working("scoring \x1b[31m"):
        said = []
        until(lambda: said.append(capsys.readouterr().err) or "".join(said).count("\n") > 1)
    lines = "".join(said).splitlines()
    assert lines[0] == "scoring \\x1b[31m: 0 s"
    assert all(line.startswith("scoring ") for line in lines)
    capsys.readouterr()
    with progress.working("nothing"):
        pass
    assert capsys.readouterr().err == ""
