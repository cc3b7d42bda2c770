"""The arena on pages that are not formlab's: what an episode tells, and what the server got.

`FORMLAB_WEB_PAGES=all` runs every page (about ten minutes on two cores) in place of a choice.
"""

import os

import pytest

from tests import seeds
from tests.arena.web import pages, styles
from tests.arena.web.filling import play

ALL = os.environ.get("FORMLAB_WEB_PAGES") == "all"
ASIDE, FRESH = styles.HERE / "aside", styles.HERE / "fresh"
# Pages whose kind of control or of sending no other test fills in.
CHOICE = ("confirm", "datepicker", "unsent", "frame-other", "returned", "shadow", "steps")
CHOICE += ("unnamed", "combobox", "formdata", "signature") if seeds.ALL else ()
# The form that was set aside and on which every look had a fault when it was first filled in.
FORMS = (
    "plain-grant-markdown", "bootstrap4-grant-block", "bootstrap5-grant-lines",
    "material-grant-markdown", "table-grant-block", "native-grant-lines",
)  # fmt: skip
# Seconds that a page may take on a busy machine, and those that an endless loop gets.
DEADLINE, LOOP = 180, 12
pytestmark = pytest.mark.browser


def chosen(made, names):
    return [page for page in made if ALL or page.name in names]


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    """The oracle on the pages, several at a time, by the names of the pages."""
    made = chosen([*pages(), *pages(ASIDE / "pages")], CHOICE)
    folder = tmp_path_factory.mktemp("oracle")
    # What becomes of a page that hangs is in `test_episode.py`, too.
    loop = [page for page in made if page.name == "loop"]
    played = play(loop, folder / "loop", "oracle", deadline=LOOP)
    others = [page for page in made if page.name != "loop"]
    played += play(others, folder, "oracle", workers=7, deadline=DEADLINE)
    return {episode.page.name: episode for episode in played}


def test_the_account_of_an_episode_says_what_the_server_got(episodes):
    told = {name: episode.told for name, episode in episodes.items()}
    assert told == {name: episode.got for name, episode in episodes.items()}
    sending = [name for name, values in told.items() if values]
    # A loop, and two pages that nothing can be sent from; one of them is in the choice.
    assert len(sending) >= len(told) - (3 if ALL else 1)


def test_oracle_sends_all_that_a_page_lets_be_filled_in(episodes):
    wrong = {name: episode.wrong for name, episode in episodes.items()}
    assert {name: fields for name, fields in wrong.items() if fields} == {}
    statuses = {name: episode.result["status"] for name, episode in episodes.items()}
    assert statuses == {name: episode.page.status for name, episode in episodes.items()}


def test_another_server_gets_nothing_unless_it_is_allowed(episodes):
    got = {name: episode.host.other.requests for name, episode in episodes.items()}
    assert {name for name, requests in got.items() if requests} == {"frame-other"}
    other = episodes["unsent"].host.other.root
    blocked = episodes["unsent"].result["account"]["blocked"]
    assert {f"{other}/pixel", f"{other.replace('http', 'ws')}/live"} <= set(blocked)


def test_the_account_has_dialogs_tabs_and_what_the_browser_refused(episodes):
    accounts = {name: episode.result["account"] for name, episode in episodes.items()}
    assert [dialog["kind"] for dialog in accounts["confirm"]["dialogs"]] == ["confirm"]
    assert accounts["confirm"]["dialogs"][0]["accepted"]
    assert len(accounts["confirm"]["tabs"]) == 2
    assert {fault["field"] for fault in accounts["unsent"]["validation"]} == {"card"}
    (returned, *_) = accounts["returned"]["submissions"]
    assert (returned["status"], returned["outcome"]) == (200, "returned")
    assert "Month" not in episodes["datepicker"].result["filled"]


@pytest.mark.complete
def test_rules_fills_in_forms_of_six_looks(tmp_path):
    """At least 95 in 100 values in each look, and all forms are sent."""
    made = [page for folder in (styles.HERE, ASIDE, FRESH) for page in styles.pages(folder)]
    played = play(chosen(made, FORMS), tmp_path, "rules", workers=4, deadline=DEADLINE)
    right, fields, unsent = dict.fromkeys(styles.LOOKS, 0), dict.fromkeys(styles.LOOKS, 0), []
    for episode in played:
        look = episode.page.name.split("-")[0]
        fields[look] += len(episode.page.sent)
        right[look] += len(episode.page.sent) - len(episode.wrong)
        unsent += [episode.page.name] if episode.result["status"] != "submitted" else []
    shares = {look: right[look] / max(1, fields[look]) for look in styles.LOOKS}
    assert unsent == []
    assert min(fields.values()) > 0
    assert {look: share for look, share in shares.items() if share < 0.95} == {}
