"""What was lost: chains of faults in a form, and the stage of each loss."""

import dataclasses
import itertools
import json
from pathlib import Path

import polars as pl
import pytest
import yaml

import formlab_arena
from formlab import analysis
from formlab.tables import only
from formlab_arena.evaluation import read_run

from ..made_arena import VALUES, click, fill, keys, run, screen

HOLDER, BORN, ACCOUNT = "/Account holder", "/Born on", "/Kind of account"
PROOF, NUMBER = "/Proof of identity", "/Number of the document"
SHIFTED = [*itertools.pairwise((HOLDER, BORN, ACCOUNT, PROOF, NUMBER))]


def good(*names):
    return [event for name in names for event in fill(name, VALUES[name])]


def brief(row):
    return row["fault"], row["first"], row["after"], row["root"], row["chain"]


# Whose values were entered into which fields, and of each faulty field the fault, whether it was
# first, after which it came, the first of its chain and how many are in it.
CHAINS = {
    "values shifted by one field are one chain": (
        [*itertools.pairwise(VALUES)],
        [(HOLDER, "misplaced", True, None, HOLDER, 5)]
        + [(path, "wrong_field", False, after, HOLDER, 5) for after, path in SHIFTED],
    ),
    "of two that changed places the first line wrote the date into the name's field": (
        [*((n, n) for n in ("account", "proof", "number")), ("born", "holder"), ("holder", "born")],
        [(HOLDER, "wrong_field", True, BORN, HOLDER, 2),
         (BORN, "wrong_field", False, HOLDER, HOLDER, 2)],
    ),
    "a misclick that was made good leaves its damage as a first fault": (
        [*((n, n) for n in ("account", "proof", "number", "holder")),
         ("born", "holder"), ("born", "born")],
        [(HOLDER, "overwritten", True, BORN, HOLDER, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("entered", CHAINS)
def test_faults_of_a_form_are_in_chains(tmp_path, entered):
    events, contents, (pairs, expected) = [screen()], {}, CHAINS[entered]
    for name, into in pairs:
        events += fill(name, VALUES[name], before=contents.get(into, ""), into=into)
        contents[into] = VALUES[name]
    done = analysis.evaluate(*read_run(run(tmp_path, (events, {}))))
    rows = formlab_arena.propagation(done).sort("path").to_dicts()
    assert [(row["path"], *brief(row)) for row in rows] == sorted(expected)


def test_pages_that_never_came_follow_the_fault_that_held_them_up(tmp_path):
    first = screen(("holder", "born"))
    stuck = [first, *fill("holder", "Ada Berg"), *fill("born", "3 Feb")]
    done = analysis.evaluate(*read_run(run(tmp_path, (stuck, {}), ([], {"status": "crashed"}))))
    rows = {(r["doc_id"], r["path"]): brief(r) for r in formlab_arena.propagation(done).to_dicts()}
    assert rows["E12-001", BORN] == ("wrong_value", True, None, BORN, 4)
    for path in (ACCOUNT, PROOF, NUMBER):
        assert rows["E12-001", path] == ("not_reached", False, BORN, BORN, 4)
    # A crash before anything was seen is one fault, not five.
    assert rows["E12-002", HOLDER] == ("not_reached", True, None, HOLDER, 5)
    assert rows["E12-002", NUMBER] == ("not_reached", False, HOLDER, HOLDER, 5)


def test_field_that_never_appeared_follows_the_one_it_depends_on(tmp_path):
    seen = screen(("holder", "born", "account", "proof"))
    log = [seen, *good("holder", "born", "account"), *fill("proof", "Driving licence")]
    done = analysis.evaluate(*read_run(run(tmp_path, (log, {}))))
    meta = json.dumps(json.loads(done.documents["meta"][0]) | {"when": {NUMBER: [PROOF]}})
    done = dataclasses.replace(done, documents=done.documents.with_columns(meta=pl.lit(meta)))
    rows = {row["path"]: brief(row) for row in formlab_arena.propagation(done).to_dicts()}
    assert rows[NUMBER] == ("not_shown", False, PROOF, PROOF, 2)


def test_every_wrong_field_has_one_row_and_chains_add_up_to_them(tmp_path):
    # All ways of entering three values into three fields, some of them twice or never.
    names, episodes = ("holder", "born", "number"), []
    for places in itertools.product(names, repeat=3):
        pairs = zip(names, places, strict=True)
        events = [e for name, into in pairs for e in fill(name, VALUES[name], into=into)]
        episodes.append(([screen(), *events], {}))
    table = formlab_arena.propagation(analysis.evaluate(*read_run(run(tmp_path, *episodes))))
    assert table.filter("first")["chain"].sum() == table.height
    assert table.select("doc_id", "path").is_unique().all()
    # The account and the proof are entered nowhere, in any of the 27 forms.
    assert only(table, path=ACCOUNT)["fault"].to_list() == ["missing"] * 27
    # A first fault is its own root, and a root is a first fault of the same form.
    roots = table.filter("first").select("doc_id", root="path")
    assert table.join(roots, on=["doc_id", "root"], how="anti").height == 0


LABELS = {"holder": "/Account holder", "born": "/Born on", "number": "/Number of the document"}


def doing(**changes):
    """The events that fill in every field rightly, but for those that are given."""
    return [
        event for name in VALUES for event in changes.get(name, fill(name, VALUES[name]))
    ]  # fmt: skip


@pytest.fixture
def losses(tmp_path):
    numbers = itertools.count()

    def found(events, *, observed=True, alone=False, **evidence):
        folder = run(
            tmp_path / f"run{next(numbers)}", ([*([] if alone else [screen()]), *events], {})
        )
        fields = {
            name: {
                "source": f"/{name}", "text": value, "kind": "date" if name == "born" else "string",
                "read": value if observed else None, "assigned": value if observed else None,
            } | evidence.get(name, {})
            for name, value in VALUES.items()
        }  # fmt: skip
        page = {"doc_id": "scan-7", "fields": fields}
        (folder / "E12-001" / "page.json").write_text(json.dumps(page))
        table = formlab_arena.loss_stages(analysis.evaluate(*read_run(folder)))
        assert set(table["source"]) <= {"scan-7"}
        return {
            row["path"]: (row["stage"], row["cause"]) for row in table.iter_rows(named=True)
        }  # fmt: skip

    return found


def test_nothing_is_found_where_nothing_was_lost(losses):
    assert losses(doing()) == {}
    # Nor where the reader erred and the agent knew better.
    assert losses(doing(), holder={"read": "Ida Borg", "assigned": ""}) == {}


STAGES = yaml.safe_load(Path(__file__).with_name("stages.yml").read_text("utf-8"))


@pytest.mark.parametrize(("name", "value", "evidence", "expected"), STAGES)
def test_planted_fault_ends_in_its_stage(losses, name, value, evidence, expected):
    if value is None:
        events = []
    elif expected == "click misplaced":
        events = fill(name, value, at=(350, 20), hit=False)
    elif name == "born":
        # The calendar takes no words.
        events = [click(150, 210, "born"), keys(value, "born", [["born", None, "", ""]])]
    else:
        events = fill(name, value)
    found = losses(doing(**{name: events}), **{name: evidence})
    assert found == {LABELS[name]: tuple(expected.split())}


def test_page_that_never_came_is_lost_where_the_field_before_it_was(losses):
    # The form was sent back for a date that was misread, so that its second page never came.
    first = [screen(["holder", "born"]), *fill("holder", "Ada Berg")]
    typed = [click(150, 210, "born"), keys("3 Fe8 1970", "born", [["born", None, "", "3 Fe8"]])]
    misread = {"read": "3 Fe8 1970", "assigned": "3 Fe8 1970"}
    found = losses([*first, *typed], alone=True, born=misread, number={"assigned": ""})
    assert found.pop(LABELS["born"])[0] == "reading"
    # What its label was not given would have been lost all the same.
    assert found.pop(LABELS["number"]) == ("structure", "missed")
    assert set(found.values()) == {("reading", "not_reached")}
    assert len(found) == 2


def test_swapped_labels_are_structure_and_values_of_another_row_a_relation(losses):
    other = fill("holder", "K1234567")
    swapped = {"holder": {"assigned": "K1234567"}, "number": {"assigned": "Ada Berg"}}
    assert losses(doing(holder=other, number=fill("number", "Ada Berg")), **swapped) == {
        LABELS[name]: ("structure", "wrong_field") for name in swapped
    }
    rows = {"holder": {"source": "/item/0/name", "assigned": "K1234567"},
            "number": {"source": "/item/1/name"}}  # fmt: skip
    assert losses(doing(holder=other), **rows) == {LABELS["holder"]: ("relation", "wrong_row")}
