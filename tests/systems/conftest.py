import pytest


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """No key and no address but the ones that a test gives."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("FORMLAB_REPORT", "1")
