import pytest

from formlab import browser
from formlab.errors import NotAvailable
from tests.states import until_seen


def test_named_chromium_comes_first(monkeypatch, tmp_path):
    named = tmp_path / "chromium"
    named.write_text("#!/bin/sh\n")
    named.chmod(0o755)
    monkeypatch.setenv("FORMLAB_CHROMIUM", str(named))
    assert browser.find() == named


def test_chromium_on_the_path_is_found(monkeypatch, tmp_path):
    (tmp_path / "google-chrome").write_text("#!/bin/sh\n")
    (tmp_path / "google-chrome").chmod(0o755)
    monkeypatch.delenv("FORMLAB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser.find() == tmp_path / "google-chrome"


def test_no_chromium_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.delenv("FORMLAB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="python -m formlab.browser"):
        browser.find()


def test_ensure_does_not_install_over_a_wrong_name(monkeypatch):
    monkeypatch.setenv("FORMLAB_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NotAvailable, match="/nowhere/chromium"):
        browser.ensure()


@pytest.mark.browser
def test_page_records_and_aborts_what_leaves_it(tmp_path):
    (tmp_path / "a.html").write_text(
        "<img src='https://beacon.invalid/x.png'>"
        "<script>alert('hello'); console.error('odd'); throw new Error('broken')</script>"
    )
    with browser.page(tmp_path / "a.html") as visit:
        until_seen(visit.page, lambda: visit.requests and visit.dialogs and visit.errors)
        assert visit.requests == ["https://beacon.invalid/x.png"]
        assert visit.dialogs == ["hello"]
        assert visit.errors == ["broken"]
        assert "error: odd" in visit.console
        assert len(visit.trouble) >= 4


@pytest.mark.browser
def test_quiet_page_has_no_trouble_and_each_visit_a_fresh_profile(tmp_path):
    (tmp_path / "a.html").write_text("<script>document.title = localStorage.n ??= 'first'</script>")
    for _ in range(2):
        with browser.page(tmp_path / "a.html", size=(390, 844), scheme="dark") as visit:
            assert visit.page.title() == "first"
            assert visit.page.evaluate("innerWidth") == 390
            assert visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            visit.page.evaluate("localStorage.n = 'again'")
            assert visit.trouble == []
