import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.states import until

ROOT = Path(__file__).parents[2]


def test_server_ends_with_a_process_that_is_killed(tmp_path):
    code = "import sys, time; from formlab_arena.process import Server; from pathlib import Path; "
    code += "server = Server(Path(sys.argv[1])); print(server.ensure(), flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(tmp_path / "s.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as starter:
        address = starter.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}/forms/A11") as answer:
            assert answer.status == 200
        starter.kill()

    def silent():
        try:
            urllib.request.urlopen(f"{address}/forms/A11", timeout=1).close()
        except TimeoutError:
            return False
        except OSError:
            return True

    until(silent)
