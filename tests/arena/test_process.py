import os
import signal
import urllib.request

import pytest

from formlab.errors import NotAvailable
from formlab_arena.process import serving


def test_server_that_died_is_started_again_and_ends_with_the_block(tmp_path):
    with serving(tmp_path / "s.sqlite") as server:
        first = server.ensure()
        assert server.ensure() == first
        with urllib.request.urlopen(f"{first}/forms/A11") as answer:
            assert answer.status == 200
        killed = server.pid
        os.kill(killed, signal.SIGKILL)
        server._process.wait(10)
        second = server.ensure()
        assert server.pid != killed
        with urllib.request.urlopen(f"{second}/forms/A11") as answer:
            assert answer.status == 200
        last = server._process
    assert last.returncode is not None
    assert server.pid is None


def test_server_that_cannot_start_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        serving(tmp_path / "file" / "s.sqlite") as server,
        pytest.raises(NotAvailable, match="did not start"),
    ):
        server.ensure()
