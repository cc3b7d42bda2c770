import numpy as np
import pytest

from formlab.analysis.finding import FINDINGS, Finding, finding_table, p_text
from formlab.stats.tests import adjusted_p


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
