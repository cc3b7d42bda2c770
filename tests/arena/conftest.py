import contextlib
import json

import pytest
from playwright.async_api import Error

from formlab_arena import server
from formlab_arena.run import RunSettings, open_session, serving
from formlab_arena.store import SubmissionStore
from tests.plugins.conftest import fresh
from tests.states import until

__all__ = ["fresh"]
# Right answers to the form E12.
GOOD = {
    "holder": "Ada Berg", "born": "1970-01-31", "account": "Joint", "proof": "Passport",
    "number": "A1234567",
}  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return SubmissionStore(tmp_path / "submissions.sqlite")


@pytest.fixture
def client(store):
    return server.create(store).test_client()


def events(folder):
    """The log of an episode."""
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().split("\n") if line]


@pytest.fixture(scope="session")
def arena(tmp_path_factory):
    """The address of a server with the forms of the arena, for tests that only look at them."""
    with serving(tmp_path_factory.mktemp("arena") / "s.sqlite") as running:
        yield running.ensure()


@contextlib.contextmanager
def opened(address, code, folder):
    """A session with a form of the server `arena`, logged in `folder`."""
    settings = RunSettings("tests")
    with open_session(f"{address}/forms/{code}", folder, "text", settings) as session:
        yield session


def go(page, url):
    """Open an address; a page that is still on its way, as the answer to a form, may end that."""

    def opened():
        try:
            page.goto(url)
        except Error as error:
            if "interrupted by another navigation" not in str(error):
                raise
            return False
        return True

    until(opened)
