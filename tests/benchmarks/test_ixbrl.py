import pytest

from formlab import benchmarks
from formlab.benchmarks.ixbrl import gold_pages, write_pages
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
    assert facts == [1, 1, 1]
    assert "<reportingentity>Tarn Corp.</reportingentity>" in pages[0]
    assert "<number>1,279</number>)" in pages[1]
    assert "ix:" not in "".join(pages)
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
def test_a_limit_takes_the_first_pages_with_a_fact(filing, tmp_path):
    notes = write_pages(filing, tmp_path / "out", limit=2, dpi=72)
    assert (notes["pages"], notes["facts"]) == (2, 2)
    documents = benchmarks.load("fincriticaled", split="test", root=tmp_path / "out").documents
    assert documents["doc_id"].to_list() == ["0", "1"]


def test_real_filings_keep_every_tag_or_count_it(shared):
    # 674 + 86 tags in one filing, 948 + 95 in the other.
    for name, tags in (("ixbrl-aapl-20250329.htm", 760), ("ixbrl-nvda-10q-20250827.htm", 1043)):
        pages, facts, notes = gold_pages(shared / "data" / "sec" / name)
        assert notes.pop("facts") + sum(notes.values()) == tags
        assert len(pages) == len(facts) > 20
