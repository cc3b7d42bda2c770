"""`formlab stress`: pages are drawn, read and compared with one command."""

import json

import pytest
from click.testing import CliRunner

from formlab.errors import DataBroken
from formlab.systems import System
from formlab_experiments import open_stress
from formlab_experiments.stress_command import stress


def read(document, root):
    """All of the words of a page as it is, none of a page that is turned."""
    words = {"a": [("Name:", 10, 60), ("Ada", 70, 110), ("Berg", 112, 160)]}
    words["b"] = [("Total 9.00", 10, 160)]
    more = {"task": "layout", "kind": "word", "page": 1, "y0": 10.0, "y1": 30.0}
    page, _, degradation = document["doc_id"].partition("~")
    return [
        more | {"path": f"/{number}", "value": word, "x0": float(x0), "x1": float(x1)}
        for number, (word, x0, x1) in enumerate(words[page] if "skew" not in degradation else ())
    ]


@pytest.fixture
def reader(monkeypatch):
    """A system that is known by name."""
    system = System("still", "reads upright pages", start=lambda *_: read)
    monkeypatch.setattr("formlab.systems.get", lambda name: system)


def run(*arguments):
    return CliRunner().invoke(stress, [str(each) for each in arguments], catch_exceptions=False)


def test_one_command_draws_reads_and_compares(reader, funsd_root, tmp_path):
    out = tmp_path / "out"
    line = ["funsd", "--system", "still", "--root", funsd_root, "--split", "test", "--out", out]
    line += ["--vary", "skew=4,jpeg=50", "--resamples", 50]
    shown = run(*line, "--by", "kind")
    assert shown.exit_code == 0, shown.output
    for title in ("fields right by kind", "half is left", "does more over its range", "causes"):
        assert title in shown.output
    rows = json.loads(run(*line, "--json").stdout)
    found = {
        (row["degradation"], row["step"]): row["share"]
        for row in rows
        if row["table"] == "share of fields right"
    }
    # One of four fields is empty, and stays right where nothing is read.
    assert found == {("skew", 0): 1, ("skew", 1): 0.25, ("jpeg", 0): 1, ("jpeg", 1): 1}
    half = {row["degradation"]: row for row in rows if row["table"].startswith("amount")}
    assert half["skew"]["amount"] == pytest.approx(8 / 3)
    assert half["jpeg"]["amount"] is None
    assert half["jpeg"]["reason"] == "half is never reached in this range"
    opened = open_stress(out)
    assert opened.documents["page_of"].n_unique() == 2
    assert opened.system == "still"


def test_what_cannot_be_read_is_said(reader, funsd_root):
    with pytest.raises(DataBroken, match="from:to:number"):
        run(
            "funsd",
            "--system",
            "still",
            "--root",
            funsd_root,
            "--split",
            "test",
            "--vary",
            "blur=x",
        )
