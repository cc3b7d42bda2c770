import pytest

from formlab import browser
from formlab.errors import NotAvailable
from formlab_arena import server
from formlab_arena.store import SubmissionStore


@pytest.fixture
def chromium():
    pytest.importorskip("playwright")
    try:
        return browser.find()
    except NotAvailable as error:
        pytest.skip(str(error))


@pytest.fixture
def store(tmp_path):
    return SubmissionStore(tmp_path / "submissions.sqlite")


@pytest.fixture
def client(store):
    return server.create(store).test_client()
