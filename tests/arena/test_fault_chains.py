import dataclasses
import itertools
import json

import polars as pl
import pytest

import formlab_arena
from formlab import analysis
from formlab.tables import only
from formlab_arena.evaluation import read_run

from ..made_arena import VALUES, fill, run, screen

HOLDER, BORN, ACCOUNT = "/Account holder", "/Born on", "/Kind of account"
PROOF, NUMBER = "/Proof of identity", "/Number of the document"


@pytest.fixture
def faults(tmp_path):
    def found(*events, **result):
        folder = run(tmp_path / "run", ([screen(), *events], result))
        table = formlab_arena.propagation(analysis.evaluate(*read_run(folder)))
        return {row["path"]: row for row in table.iter_rows(named=True)}

    return found


def good(*names):
    return [event for name in names for event in fill(name, VALUES[name])]


def brief(row):
    return row["fault"], row["first"], row["after"], row["root"], row["chain"]


def test_values_shifted_by_one_field_are_one_chain(faults):
    # The name in the date's field, the date in the account's, and so on to the last field.
    names = list(VALUES)
    shifted = [
        event
        for name, into in itertools.pairwise(names)
        for event in fill(name, VALUES[name], into=into)
    ]
    found = faults(*shifted)
    assert brief(found[HOLDER]) == ("misplaced", True, None, HOLDER, 5)
    assert [found[path]["fault"] for path in (BORN, ACCOUNT, PROOF, NUMBER)] == ["wrong_field"] * 4
    assert [found[path]["after"] for path in (BORN, ACCOUNT, PROOF, NUMBER)] == [
        HOLDER, BORN, ACCOUNT, PROOF,
    ]  # fmt: skip
    assert {row["root"] for row in found.values()} == {HOLDER}


def test_of_two_values_that_changed_places_the_earlier_was_first(faults):
    found = faults(
        *good("account", "proof", "number"),
        *fill("born", VALUES["born"], into="holder"),
        *fill("holder", VALUES["holder"], into="born"),
    )
    # The first line of the two wrote the date into the name's field.
    assert brief(found[HOLDER]) == ("wrong_field", True, BORN, HOLDER, 2)
    assert brief(found[BORN]) == ("wrong_field", False, HOLDER, HOLDER, 2)


def test_misclick_that_was_made_good_leaves_its_damage_as_a_first_fault(faults):
    found = faults(
        *good("account", "proof", "number", "holder"),
        *fill("born", VALUES["born"], before=VALUES["holder"], into="holder"),
        *good("born"),
    )
    assert list(found) == [HOLDER]
    assert brief(found[HOLDER]) == ("overwritten", True, BORN, HOLDER, 1)


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


def altered(folder, gold=VALUES, when=None):
    """An evaluation whose form has other right answers, or a field that depends on another."""
    (folder / "E12-001" / "values.json").write_text(json.dumps(gold))
    done = analysis.evaluate(*read_run(folder))
    meta = json.loads(done.documents["meta"][0]) | {"when": when or {}}
    documents = done.documents.with_columns(meta=pl.lit(json.dumps(meta)))
    return dataclasses.replace(done, documents=documents)


def test_field_that_never_appeared_follows_the_one_it_depends_on(tmp_path):
    seen = screen(("holder", "born", "account", "proof"))
    log = [seen, *good("holder", "born", "account"), *fill("proof", "Driving licence")]
    done = altered(run(tmp_path, (log, {})), when={NUMBER: [PROOF]})
    rows = {row["path"]: brief(row) for row in formlab_arena.propagation(done).to_dicts()}
    assert rows[NUMBER] == ("not_shown", False, PROOF, PROOF, 2)


def test_every_wrong_field_has_one_row_and_chains_add_up_to_them(tmp_path):
    # All ways of entering three values into three fields, some of them twice or never.
    names = ("holder", "born", "number")
    log = [screen()]
    episodes = []
    for first in names:
        for second in names:
            for third in names:
                pairs = zip(names, (first, second, third), strict=True)
                events = [e for name, into in pairs for e in fill(name, VALUES[name], into=into)]
                episodes.append(([*log, *events], {}))
    done = analysis.evaluate(*read_run(run(tmp_path, *episodes)))
    table = formlab_arena.propagation(done)
    assert table.filter("first")["chain"].sum() == table.height
    assert table.select("doc_id", "path").is_unique().all()
    # The account and the proof are entered nowhere, in any of the 27 forms.
    assert only(table, path=ACCOUNT)["fault"].to_list() == ["missing"] * 27
    # A first fault is its own root, and a root is a first fault of the same form.
    roots = table.filter("first").select("doc_id", root="path")
    assert table.join(roots, on=["doc_id", "root"], how="anti").height == 0
