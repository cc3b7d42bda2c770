"""The arena's server in a process of its own."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from formlab.errors import NotAvailable


class Server:
    """The arena's server in a process of its own, started again when it has died.

    It ends with the process that started it, also after ``kill -9``. Threads may share it.
    """

    def __init__(self, database: Path, forms: Path | None = None) -> None:
        self.database, self._process, self.address = database, None, ""
        self._lock = threading.Lock()
        self._options = ["--no-play", "--until-eof"]
        self._options += ["--forms", str(forms)] if forms else []

    def ensure(self) -> str:
        """The address of a running server."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.stop()
                command = [sys.executable, "-m", "formlab_arena.commands", "serve"]
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [*command, "--port", "0", "--database", str(self.database), *self._options],
                    # Its stdin ends with this process, however that ends.
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    text=True,
                )  # fmt: skip
                line = self._process.stdout.readline() if self._process.stdout else ""
                self.address = line.split()[-1] if line.strip() else ""
                if not self.address.startswith("http://"):
                    self.stop()
                    raise NotAvailable("the arena's server did not start", where=self.database)
        return self.address

    @property
    def pid(self) -> int | None:
        """The id of the server's process."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """End the server."""
        if self._process:
            self._process.terminate()
            self._process.wait(10)
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe:
                    pipe.close()
            self._process = None


@contextlib.contextmanager
def serving(database: Path, forms: Path | None = None) -> Iterator[Server]:
    """A `Server` that ends with the block, over the forms of a folder; ours if left out."""
    server = Server(database, forms)
    try:
        yield server
    finally:
        server.stop()
