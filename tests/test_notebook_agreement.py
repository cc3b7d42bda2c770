"""Notebook 74 over made evaluations."""

import altair as alt
import numpy as np

from formlab import gallery
from tests.analysis.made_pairs import from_matrix
from tests.test_notebook_compare import run, saved, texts

NAMES = "klm"


def systems(seed, shares=(0.6, 0.7, 0.9)):
    """Three systems on 12 forms of 8 fields, of which none has the first one right."""
    draws = np.random.default_rng(seed).random((3, 12, 8))
    draws[:, :, 0] = 1
    return [
        from_matrix(name, draw < share)
        for name, draw, share in zip(NAMES, draws, shares, strict=True)
    ]


def test_shared_failures_stand_first_and_in_the_gallery(tmp_path):
    first, shown, space = run("74_agreement", saved(tmp_path, *systems(0)), {"resamples": 200})
    none = space["none"]
    assert none["n_items"] >= 12
    assert first["sentence"].startswith(f"No system is right on {none['n_items']} of 96 fields")
    assert none["excess_low"] > 0
    assert first["cards"][0]["label"] == "wrong with every system"
    (cases,) = [part for part in shown if isinstance(part, gallery.Gallery)]
    hardest = cases.selected.head(none["n_items"])
    assert hardest.select("doc_id", "path").equals(
        space["hard"].filter(group="none right").select("doc_id", "path")
    )
    assert hardest["path"].to_list().count("/0") == 12
    assert np.isclose(space["kinds"]["difficulty"][0], space["items"]["difficulty"].mean())
    assert "No two benchmarks have three systems in common." in texts(shown)
    assert sum(isinstance(part, alt.TopLevelMixin) for part in shown) == 2
