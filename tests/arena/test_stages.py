import itertools
import json

import pytest

import formlab_arena
from formlab import analysis
from formlab_arena.evaluation import read_run

from ..made_arena import VALUES, click, fill, keys, run, screen

LABELS = {"holder": "/Account holder", "born": "/Born on", "number": "/Number of the document"}
RIGHT = [event for name in VALUES for event in fill(name, VALUES[name])]


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
    assert losses(RIGHT) == {}
    # Nor where the reader erred and the agent knew better.
    assert losses(RIGHT, holder={"read": "Ida Borg", "assigned": ""}) == {}


@pytest.mark.parametrize(
    ("name", "value", "evidence", "expected"),
    [
        # The word was misread, and everything after it is a consequence.
        ("holder", "Ada 8erg", {"read": "Ada 8erg", "assigned": "Ada 8erg"}, "reading lookalike"),
        ("holder", None, {"read": "", "assigned": ""}, "reading missed"),
        # It was read with its neighbour, and the label was given both, or half of it, or nothing.
        ("holder", "Ada Berg Tel", {"read": "Ada Berg Tel", "assigned": "Ada Berg Tel"},
         "structure merged"),
        ("holder", "Ada", {"assigned": "Ada"}, "structure clipped"),
        ("holder", None, {"assigned": ""}, "structure missed"),
        ("holder", "Berg Ada", dict.fromkeys(("read", "assigned"), "Berg Ada"),
         "structure characters"),
        # Its comma was read as a dot; or dropped by who gave it to the label.
        ("holder", "Ada. Berg", {"text": "Ada, Berg", "read": "Ada. Berg", "assigned": "Ada. Berg"},
         "reading punctuation"),
        ("holder", "Ada; Berg", {"text": "Ada, Berg", "read": "Ada, Berg", "assigned": "Ada; Berg"},
         "relation punctuation"),
        # Day and month were exchanged on the way from 02/03/70, read month first, to the form.
        ("born", "1970-03-02", dict.fromkeys(("text", "read", "assigned"), "02/03/70"),
         "relation date_order"),
        # What was assigned is right in another notation, and was typed as it stands on the page.
        ("born", "03-Feb-70", dict.fromkeys(("text", "read", "assigned"), "3 Feb 1970"),
         "relation date_format"),
        # The right value was at hand, and the click before it hit nothing.
        ("holder", "Ada Berg", {}, "click misplaced"),
    ],
)  # fmt: skip
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


def test_swapped_labels_are_structure_and_swapped_rows_a_relation(losses):
    events = doing(holder=fill("holder", "K1234567"), number=fill("number", "Ada Berg"))
    swapped = {"holder": {"assigned": "K1234567"}, "number": {"assigned": "Ada Berg"}}
    expected = ("structure", "wrong_field")
    assert losses(events, **swapped) == {LABELS["holder"]: expected, LABELS["number"]: expected}


def test_value_of_another_line_item_is_a_relation(losses):
    rows = {"holder": {"source": "/item/0/name", "assigned": "K1234567"},
            "number": {"source": "/item/1/name"}}  # fmt: skip
    found = losses(doing(holder=fill("holder", "K1234567")), **rows)
    assert found == {LABELS["holder"]: ("relation", "wrong_row")}
