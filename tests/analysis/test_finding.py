import numpy as np
import pytest

from formlab.analysis.finding import FINDINGS, Finding, finding_table, left_out, odd, p_text
from formlab.stats.tests import adjusted_p
from tests.analysis.made_pairs import made


def test_findings_become_a_table_with_all_they_rest_on():
    one = Finding("so", "kinds", effect=0.5, p=0.01, p_adjusted=0.03, n_tested=3, n_docs=4)
    table = finding_table([one])
    assert list(table.schema) == list(FINDINGS)
    row = table.row(0, named=True)
    names = ("finding", "effect", "p_adjusted", "n_tested")
    assert [row[name] for name in names] == ["so", 0.5, 0.03, 3]
    assert finding_table([]).height == 0


def test_holm_leaves_alone_what_could_not_be_tested():
    # Two tests: the smaller p counts twice, the larger once and never below it.
    assert adjusted_p([0.01, np.nan, 0.015]).tolist() == pytest.approx(
        [0.02, np.nan, 0.02], nan_ok=True
    )


def test_p_is_said_with_two_digits_and_small_ones_are_small():
    assert [p_text(p) for p in (0.5, 0.0312, 0.00009)] == ["p = 0.5", "p = 0.031", "p < 0.0001"]


def test_what_a_claim_must_hold_without_is_named_once_each():
    plain = made("m", [("1", "/a", 1), ("1", "/b", 0)])
    assert left_out(plain) == [()]
    several = made("m", [
        ("1", "/a", 1, {"cause": "reader"}), ("1", "/b", 0, {"cause": "label_error"}),
        ("1", "/c", 0, {"cause": "digit"}),
    ])  # fmt: skip
    assert left_out(several) == [(), ("reader",), ("reader", "label_error")]
    paths = [sorted(odd(several, causes)["path"]) for causes in left_out(several)]
    assert paths == [[], ["/a"], ["/a", "/b"]]
