import polars as pl
import pytest

import formlab_arena
from formlab import analysis, readers
from formlab.benchmarks import formfactory
from formlab_arena.evaluation import read_run

from ..made_arena import CLUMSY, run
from ..made_formfactory import make


@pytest.fixture
def clumsy(tmp_path):
    return analysis.evaluate(*read_run(run(tmp_path / "run", (CLUMSY, {}))))


def test_clicks_and_values_of_a_clumsy_episode_are_counted_by_type(clumsy):
    table = formlab_arena.click_and_value(clumsy)
    counts = {(r["kind"], r["click"], r["value"]): r["n_cases"] for r in table.to_dicts()}
    # The name; its misplaced number. Of the lists one is right, one set to another option.
    assert [counts["string", c, v] for c in ("right", "wrong") for v in ("right", "wrong")] == [
        1, 0, 1, 0,
    ]  # fmt: skip
    assert counts["date", "wrong", "right"] == 1
    assert (counts["dropdown", "right", "right"], counts["dropdown", "right", "wrong"]) == (1, 1)
    assert [counts["all", c, v] for c in ("right", "wrong") for v in ("right", "wrong")] == [
        2, 1, 2, 0,
    ]  # fmt: skip
    cells = dict(table.filter(kind="all").select("cell", "n_cases").rows())
    assert cells["click wrong, value right"] == 2
    assert table.filter(kind="all")["n_kind"].to_list() == [5] * 4
    shares = table.group_by("kind").agg(pl.col("share").sum(), pl.len())
    assert set(shares["share"]) == {1.0}
    assert set(shares["len"]) == {4}


def test_misses_tell_how_far_off_and_what_was_hit(clumsy):
    table = formlab_arena.misses(clumsy)
    columns = ("path", "pred", "x", "y", "distance", "near", "near_distance")
    assert table.select(columns).rows() == [
        ("/Born on", "1970-02-03", 150, 110, 70, "/Account holder", 0),
        ("/Number of the document", "K1234567", 150, 540, 10, "/Number of the document", 10),
    ]  # fmt: skip
    assert table["template"].to_list() == ["E12", "E12"]
    assert table.select("band", "hit").rows() == [
        ("40–80", "hit a wrong element"), ("10–20", "hit no element"),
    ]  # fmt: skip
    assert table["band"].dtype.categories[0] == "under 5"


def test_lines_on_released_screenshots_have_misses_too(tmp_path):
    corpus = formfactory.read("all", make(tmp_path / "formfactory"))
    (tmp_path / "A12-01.txt").write_text("[15,20] Ada\n[150,35] Berg\n")
    done = analysis.evaluate(corpus, readers.read_predictions(tmp_path / "A12-01.txt", corpus))
    [row] = formlab_arena.misses(done).to_dicts()
    assert (row["path"], row["distance"], row["near"]) == ("/Last Name", 5, "/Last Name")
    table = formlab_arena.click_and_value(done).filter(pl.col("kind") == "all")
    # A12-01: name right, last name beside its box, four not given of which one box stays empty;
    # A12-02: six not given; F12-01: two with a box, not given.
    assert table["n_cases"].to_list() == [1, 0, 1, 3 + 6 + 2]
