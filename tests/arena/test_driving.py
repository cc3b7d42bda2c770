import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from formlab_arena.driving import LOG, Command, DriveTask, watch
from tests.states import ended, until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def task(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "task.txt").write_text("Ada Berg")
    return DriveTask("http://127.0.0.1:1/", "Ada Berg", tmp_path / "task.txt", tmp_path / "files")


def driven(agent, task, *, ended=lambda: False, deadline=20.0, look=lambda: None):
    return watch(agent, "http://127.0.0.1:2", task, look=look, ended=ended, deadline=deadline)


def command(code):
    return Command(f'{sys.executable} -c "{code}"')


@pytest.mark.skipif(os.name != "posix", reason="ends groups of processes")
def test_the_deadline_ends_a_command_and_all_that_it_started(task):
    child = "import time; time.sleep(900)"
    code = f"import subprocess as s, sys; p = s.Popen([sys.executable, '-c', '{child}']); "
    code += "print(p.pid, flush=True); p.wait()"
    assert driven(command(code), task, deadline=3.0) == "not done after 3 s"
    number = int(task.text_file.with_name(LOG).read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        child = psutil.Process(number)
        until(lambda: ended([child]))


@pytest.mark.skipif(os.name != "posix", reason="ends groups of processes")
def test_a_command_ends_with_a_run_that_is_killed_and_so_does_what_it_started(task):
    agent = task.text_file.with_name("agent.py")
    agent.write_text("import subprocess\nsubprocess.run(['sleep', '900'])\n")
    run = "import sys; from pathlib import Path; from formlab_arena.driving import *; "
    run += "text = Path(sys.argv[1]); task = DriveTask('', '', text, text.parent); "
    run += f"Command(f'{sys.executable} {{text.parent}}/agent.py').drive('', task)"
    starter = subprocess.Popen([sys.executable, "-c", run, task.text_file], cwd=ROOT)
    children = psutil.Process(starter.pid).children
    until(lambda: any("sleep" in p.cmdline() for p in children(recursive=True)))
    processes = children(recursive=True)
    starter.kill()
    starter.wait()
    until(lambda: ended(processes))
