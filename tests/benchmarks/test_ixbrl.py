import pytest

from formlab.benchmarks._own import OWN
from formlab.benchmarks.ixbrl import gold_pages, write_pages
from formlab.errors import DataBroken
from tests import leaking

FILING = """<?xml version="1.0"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>
<div style="display:none"><ix:header><ix:hidden>
<ix:nonNumeric name="dei:X">no</ix:nonNumeric></ix:hidden></ix:header></div>
<p>Annual report of <ix:nonNumeric name="dei:EntityRegistrantName">Tarn Corp.</ix:nonNumeric></p>
<hr style="page-break-after:always"/>
<ix:nonNumeric name="us-gaap:TextBlock"><p>Income <ix:nonFraction name="us-gaap:NI"
 scale="6" sign="-" format="ixt:num-dot-decimal" unitRef="usd">1,279</ix:nonFraction>)</p>
<hr style="page-break-after:always"/><p>Shares <ix:nonFraction name="us-gaap:S"
 format="ixt:num-comma-decimal">1.234,5</ix:nonFraction>
<ix:nonFraction name="z">—</ix:nonFraction></p></ix:nonNumeric>
</body></html>"""


@pytest.fixture
def filing(tmp_path):
    file = tmp_path / "filing.htm"
    file.write_text(FILING)
    return file


def test_pages_are_cut_at_breaks_and_tags_become_facts_or_are_counted(filing):
    pages, facts, notes = gold_pages(filing)
    # The second break is inside a text block.
    assert [len(page) for page in facts] == [1, 1, 1]
    assert "<reportingentity>Tarn Corp.</reportingentity>" in pages[0]
    assert "<number>1,279</number>)" in pages[1]
    assert "ix:" not in "".join(pages)
    # Scale, sign and format make the value that the issuer states.
    assert facts[1][0]["value"] == "-1279000000"
    assert facts[2][0]["value"] == "1234.5"
    assert notes["hidden facts left out"] == 1
    assert notes["tags without a printed figure, date or name left out"] == 2


def test_what_looks_like_a_fact_and_is_none_of_the_filing_keeps_its_text_alone(filing):
    false = """<p data-fact="0" title="&lt;number data-fact='9'">of
        <number data-fact="7">12</number> data-fact="7" <Temporal>2024</Temporal></p>"""
    whole = gold_pages(filing)
    filing.write_text(FILING.replace("<p>Income", f"{false}<p>Income"))
    pages, facts, notes = gold_pages(filing)
    assert (facts, notes) == whole[1:]
    assert pages[1].count("<number") == 1
    assert ">12</span> data-fact=" in pages[1]
    assert ">2024</span>" in pages[1]


def test_other_html_is_refused(tmp_path):
    file = tmp_path / "x.htm"
    file.write_text("<html><body><p>5</p></body></html>")
    with pytest.raises(DataBroken, match="inline XBRL"):
        gold_pages(file)


@pytest.mark.browser
def test_pages_are_drawn_and_load_as_a_benchmark(filing, tmp_path):
    notes = write_pages(filing, tmp_path / "out", dpi=150)
    corpus = OWN["fincriticaled"].load("test", tmp_path / "out")
    assert notes["pages"] == corpus.documents.height == 3
    assert set(corpus.documents["width"]) == {1275}
    assert corpus.documents["n_fields"].to_list() == [1, 1, 1]
    facts = corpus.records.drop_nulls("path")
    assert facts["x0"].null_count() == 0
    assert (facts["x1"] - facts["x0"]).min() > 10


@pytest.mark.parametrize(
    ("old", "new"),
    [('name="us-gaap:', 'name="us-&#xD800;gaap:'), ("</body>", "<&#xD800;x></body>")],
)
def test_half_a_character_in_a_name_is_an_error_that_names_the_file(filing, old, new):
    filing.write_text(FILING.replace(old, new))
    with pytest.raises(DataBroken, match=r"half a character .*filing\.htm"):
        gold_pages(filing)


@pytest.mark.browser
def test_page_of_a_filing_runs_no_script_and_fetches_nothing(filing, tmp_path):
    with leaking.listeners() as (tcp, udp, arrived):
        hostile = """<meta http-equiv="refresh" content="0; url=HTTP/left"/>
          <img src="HTTP/a.png" onerror="document.body.hidden = true"/><img src="file:///etc/passwd"/>
          <script>document.body.style.background = 'black'; new WebSocket('WS/socket');
          new RTCPeerConnection({iceServers: [{urls: 'stun:HOST:UDP'}]}).createOffer()</script>"""
        hostile = leaking.filled(hostile, tcp, udp)
        filing.write_text(FILING.replace("<p>Annual", f"{hostile}<p>Annual"))
        notes = write_pages(filing, tmp_path / "out", dpi=72)
    assert arrived == []
    assert notes["requests blocked"] == 3
    plain = tmp_path / "plain.htm"
    plain.write_text(FILING.replace("<p>Annual", '<img src="data:,"/><img src="data:,"/><p>Annual'))
    assert write_pages(plain, tmp_path / "plain", dpi=72)["requests blocked"] == 0
    pictures = [tmp_path / name / "images" / "0.png" for name in ("out", "plain")]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


@pytest.mark.browser
def test_page_that_cannot_be_drawn_has_no_picture_and_the_others_have(
    filing, tmp_path, monkeypatch
):
    from playwright.sync_api import Error, Page

    shot, calls = Page.screenshot, []

    def screenshot(self, **options):
        calls.append(options)
        if len(calls) == 2:
            raise Error("Unable to capture screenshot")
        return shot(self, **options)

    monkeypatch.setattr(Page, "screenshot", screenshot)
    notes = write_pages(filing, tmp_path / "out", dpi=72)
    assert (notes["pages"], notes["pages not drawn"], notes["facts"]) == (3, 1, 3)
    images = sorted(file.name for file in (tmp_path / "out" / "images").iterdir())
    assert images == ["0.json", "0.png", "2.json", "2.png"]
    corpus = OWN["fincriticaled"].load("test", tmp_path / "out")
    assert corpus.documents["image"].null_count() == 1


@pytest.mark.browser
def test_a_limit_takes_the_first_pages_with_a_fact(filing, tmp_path):
    notes = write_pages(filing, tmp_path / "out", limit=2, dpi=72)
    assert (notes["pages"], notes["facts"]) == (2, 2)
    documents = OWN["fincriticaled"].load("test", tmp_path / "out").documents
    assert documents["doc_id"].to_list() == ["0", "1"]


def test_real_filings_keep_every_tag_or_count_it(shared):
    # 674 + 86 tags in one filing, 948 + 95 in the other.
    for name, tags in (("ixbrl-aapl-20250329.htm", 760), ("ixbrl-nvda-10q-20250827.htm", 1043)):
        pages, facts, notes = gold_pages(shared / "data" / "sec" / name)
        assert notes.pop("facts") + sum(notes.values()) == tags
        assert len(pages) == len(facts) > 20
