"""Notebook 80 over made evaluations: what its first screen and figures show."""

import ast
import json
from pathlib import Path
from unittest import mock

import nbformat
import pytest

from formlab import analysis, charts, gallery
from tests.analysis.made_pairs import from_matrix, noise

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
FEW = {"resamples": 200, "permutations": 999}


def run(name, folders, few=FEW, **given):
    """The payload of the first screen, and all that the notebook displays."""
    shown = []
    space = {"display": lambda *parts: shown.extend(parts)}
    given |= {"evaluations": [str(folder) for folder in folders]} | few
    for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type != "code":
            continue
        tags, tree = cell.metadata.get("tags", []), ast.parse(cell.source)
        last = tree.body.pop() if "summary" in tags else None
        with mock.patch("formlab.charts.words.display", space["display"]):
            exec(compile(tree, cell.id, "exec"), space)
        if last is not None:
            first = eval(compile(ast.Expression(last.value), cell.id, "eval"), space)
        if "parameters" in tags:
            assert set(given) <= set(space)
            space |= given
    return first.payload, shown, space


def saved(folder, *evaluations):
    return [each.save(folder / str(n)) for n, each in enumerate(evaluations)]


def texts(shown):
    return [part.text for part in shown if isinstance(part, charts.Caption)]


@pytest.fixture
def good():
    return from_matrix("m", noise(0, 0.85))


def test_two_identical_systems_are_called_identical(tmp_path, good):
    first, shown, _ = run("80_compare_systems", saved(tmp_path, good, good))
    assert first["finding"] == (
        "m and m (2) are identical: every answer is the same (160 fields in 20 documents)."
    )
    assert first["findings"] == []
    assert "No field is right with one system alone." in texts(shown)
    assert len([part for part in shown if isinstance(part, gallery.Gallery)]) == 1


def test_two_systems_that_differ_by_chance_are_not_told_apart(tmp_path):
    pair = from_matrix("m", noise(2, 0.6)), from_matrix("n", noise(3, 0.6))
    first, shown, space = run("80_compare_systems", saved(tmp_path, *pair))
    assert first["finding"].startswith("No difference in fields right was shown between m and n: ")
    assert "would have been seen" in first["finding"]
    assert first["findings"] == []
    # All the flipped fields are there, though the systems are not told apart.
    cases, *_ = (part for part in shown if isinstance(part, gallery.Gallery))
    assert len(cases) == (noise(2, 0.6) != noise(3, 0.6)).sum() == space["flipped"].height
    assert not [text for text in texts(shown) if text.startswith("Differences that were shown")]


def test_two_systems_that_differ_are_told_apart_with_the_fields_behind_it(tmp_path, good):
    bad = from_matrix("n", noise(1, 0.4))
    first, shown, space = run("80_compare_systems", saved(tmp_path, good, bad))
    gain = noise(0, 0.85).mean() - noise(1, 0.4).mean()
    assert first["finding"].startswith(
        f"m gets more fields right than n: {100 * noise(0, 0.85).mean():.1f} % against "
    )
    says = f"160 fields in 20 documents are right (difference {100 * gain:.1f} points, 95 % inter"
    assert says in first["finding"]
    assert "; p = 0.001" in first["finding"]
    assert [row["place"] for row in first["findings"]] == [1]
    cases, *_ = (part for part in shown if isinstance(part, gallery.Gallery))
    only_a = (noise(0, 0.85) > noise(1, 0.4)).sum()
    flips = [case["slices"]["flip"] for case in cases.cases]
    assert flips.count("only a") == only_a
    assert {tuple(case["finding"]) for case in cases.cases} == {(1,)}
    # A row of the table of flips selects fields that are in the gallery.
    (table,) = (p for p in shown if isinstance(p, charts.Table) and "only_a" in p.frame.columns)
    assert table.frame["only_a"][0] == only_a
    dots = [part for part in shown if hasattr(part, "to_dict")]
    names = [row["what"] for row in next(iter(dots[0].to_dict()["datasets"].values()))]
    assert names[0] == "fields right"
    # The mean over documents stands in the table alone.
    assert names[1:] == ["accuracy, normalised, all fields"]
    assert space["differences"].filter(better="m").height == len(names) + 1


@pytest.mark.parametrize(
    ("last", "says"),
    [
        (noise(0, 0.4), "run 1 and run 0 are identical: every answer is the same"),
        (noise(0, 0.4) | noise(1, 0.5), "run 1 gets more fields right than run 0: "),
        (noise(0, 0.4) & noise(1, 0.5), "run 0 gets more fields right than run 1: "),
        (noise(5, 0.4), "No difference in fields right was shown between run 1 and run 0: "),
    ],
    ids=["identical", "better", "worse", "chance"],
)
def test_history_begins_with_what_the_last_run_changed(tmp_path, last, says):
    saved(tmp_path, from_matrix("m", noise(0, 0.4)), from_matrix("m", last))
    first, shown, space = run("80_compare_systems", [tmp_path], over_time=True)
    assert first["finding"].startswith(says)
    before = noise(0, 0.4)
    only_last, only_first = (last > before).sum(), (before > last).sum()
    held = " gets more " in says
    assert len(first["findings"]) == held
    galleries = [part for part in shown if isinstance(part, gallery.Gallery)]
    for cases in galleries[:1]:
        flips = [case["slices"].get("flip") for case in cases.cases]
        if only_last + only_first:
            assert (flips.count("only a"), flips.count("only b")) == (only_last, only_first)
            assert {tuple(case["finding"]) for case in cases.cases} == {(1,) if held else ()}
    json.dumps(first)
    assert space["history"].height == analysis.history(space["runs"], **FEW).height
