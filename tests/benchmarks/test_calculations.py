"""Calculation links of a filing, by the printed names of its rows."""

import pytest

from formlab.benchmarks.calculations import KnownSum, known_sums, links
from formlab.errors import DataBroken

LINKS = """<?xml version="1.0"?>
<linkbase xmlns="http://www.xbrl.org/2003/linkbase" xmlns:xlink="http://www.w3.org/1999/xlink">
<calculationLink xlink:role="http://x/balance" xlink:type="extended">
{locs}{arcs}</calculationLink></linkbase>"""
LOC = '<loc xlink:href="us-gaap.xsd#us-gaap_{0}" xlink:label="l_{0}" xlink:type="locator"/>'
ARC = (
    '<calculationArc xlink:from="l_{0}" xlink:to="l_{1}" weight="{2}" xlink:type="arc" '
    'xlink:arcrole="http://www.xbrl.org/2003/arcrole/summation-item"/>'
)
ROW = (
    "<tr><td>{1}</td><td><ix:nonFraction name='us-gaap:{0}' contextRef='c' unitRef='usd' "
    "format='ixt:num-dot-decimal'>{2}</ix:nonFraction></td></tr>"
)
ROWS = [
    ("Revenues", "Revenue (Note 2)", "4,310"), ("CostOfRevenue", "Cost of revenue", "1,204"),
    ("GrossProfit", "Gross profit", "3,106"),
]  # fmt: skip


def linkbase(arcs, path):
    names = sorted({name for arc in arcs for name in arc[:2]})
    locs = "".join(LOC.format(name) for name in names)
    path.write_text(LINKS.format(locs=locs, arcs="".join(ARC.format(*arc) for arc in arcs)))
    return path


@pytest.fixture
def files(tmp_path):
    filing = tmp_path / "filing.htm"
    rows = "".join(ROW.format(*row) for row in ROWS)
    head = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">'
    )
    filing.write_text(f"{head}<body><table>{rows}</table></body></html>")
    arcs = [("GrossProfit", "Revenues", "1.0"), ("GrossProfit", "CostOfRevenue", "-1.0")]
    return filing, linkbase(arcs, tmp_path / "filing_cal.xml")


def test_sums_have_the_names_of_printed_rows_and_the_signs_of_the_links(files):
    assert links(files[1]) == {
        "us-gaap_GrossProfit": [("us-gaap_Revenues", 1), ("us-gaap_CostOfRevenue", -1)]
    }
    parts = (("revenue", 1), ("cost of revenue", -1))
    assert known_sums(*files) == [KnownSum("gross profit", parts)]


def test_a_sum_of_which_a_row_is_not_printed_is_left_out(files, tmp_path):
    arcs = [("GrossProfit", "Revenues", "1"), ("GrossProfit", "Unprinted", "1")]
    assert known_sums(files[0], linkbase(arcs, tmp_path / "other_cal.xml")) == []


@pytest.mark.parametrize(
    ("content", "what"),
    [("<linkbase", "not XML"), ("<x/>", "no calculation links"), ("", "not XML")],
)
def test_what_is_no_linkbase_is_one_error_with_its_file(content, what, tmp_path):
    file = tmp_path / "x_cal.xml"
    file.write_text(content)
    with pytest.raises(DataBroken, match=what) as caught:
        links(file)
    assert "x_cal.xml" in str(caught.value)
