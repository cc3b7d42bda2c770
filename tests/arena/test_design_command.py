import json

import polars as pl
import pytest
from click.testing import CliRunner

from formlab.cli import main
from formlab.folders import Evaluation
from formlab_arena.designs import KINDS


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", "design", *map(str, asked)])


@pytest.mark.browser
def test_oracle_fills_in_every_control_of_both_libraries_and_gold_is_complete(tmp_path):
    asked = ("--factors", "fields=8", "kinds=8", "pages=2", "widgets", "--out", tmp_path)
    done = invoked(*asked, "--system", "oracle", "--workers", 2)
    assert done.exit_code == 0, done.output
    head, native, custom, *_ = (line.split() for line in done.stdout.splitlines())
    assert head[:3] == ["term", "value", "share"]
    assert (native[:3], custom[:3]) == (
        ["widgets", "native", "1.0000"], ["widgets", "custom", "1.0000"],
    )  # fmt: skip
    evaluation = Evaluation.load(tmp_path / "evals" / "oracle")
    assert evaluation.documents.select("page_of", "fields", "kinds", "pages", "widgets").rows() == [
        ("f8k8p2wcustomr1", 8, 8, 2, "custom"), ("f8k8p2wnativer1", 8, 8, 2, "native"),
    ]  # fmt: skip
    fields = evaluation.fields.filter(pl.col("gold").is_not_null())
    assert fields.group_by("doc_id").len()["len"].to_list() == [8, 8]
    assert fields["content"].n_unique() == len(KINDS)
    # A list that a script opens, and ticks of which the label alone is seen, have their places.
    assert evaluation.scores.filter(metric="click_accuracy")["value"].min() == 1
    again = invoked(*asked, "--system", "oracle", "--json")
    assert len(json.loads(again.stdout)) == 2 + len(KINDS)
