import json

import numpy as np
import pytest
import sacrebleu

from formlab.metrics import METRICS, actions
from formlab.metrics.actions import ActionLine, Filled, GoldField, TargetValue, counts, nearest

NAME = GoldField("/Name", "string", "Ada", (TargetValue("Ada", ((1, 100, 100, 300, 140),)),))
CITY = GoldField("/City", "string", "Oslo", (TargetValue("Oslo", ((1, 100, 200, 300, 240),)),))
NEWS = GoldField("/News", "checkbox", "false", (), ("No", "false"))
TICK = GoldField(
    "/Agree", "checkbox", "true", (TargetValue("true", ((1, 100, 300, 120, 320),)),), ("Yes",)
)
ELEMENTS = [
    (1, 100, 100, 300, 140, "/Name"),
    (1, 100, 200, 300, 240, "/City"),
    (1, 100, 300, 120, 320, "/Agree"),
    (1, 100, 400, 120, 420, "/News"),
]


def filled(fields, lines, elements=ELEMENTS, **options):
    output = "\n".join(line.value for line in lines)
    return Filled(fields, lines, elements, output).judge(**options)


def episode(fields, verdicts):
    whole = actions.episodes(fields, verdicts, [len(fields)], counts(fields, verdicts))
    return {name: tuple(tallies[0].tolist()) for name, tallies in whole.items()}


def test_distance_is_measured_to_the_edge_and_is_infinite_to_another_page():
    # (97, 96) is 3 left of and 4 above the corner (100, 100); the last three: another page, no
    # point, any page. Of two boxes that are hit the smaller one is meant.
    points = [(1, 97, 96), (1, 100, 140), (1, 310, 120), (2, 150, 120),
              (np.nan, np.nan, np.nan), (np.nan, 150, 120)]  # fmt: skip
    gaps = nearest(np.array(points), np.array([[1, 100, 100, 300, 140]]))[1]
    assert gaps.tolist() == [5, 0, 10, np.inf, np.inf, 0]
    boxes = np.array([(1, 0, 0, 500, 500), (1, 100, 100, 300, 140)])
    assert nearest(np.array([(1, 150, 120), (1, 600, 10)]), boxes)[0].tolist() == [1, 0]


def test_a_line_is_meant_for_the_value_it_types_before_the_place_it_hits():
    # Each types the other's value into its box; then neither types a value.
    lines = [ActionLine(200, 120, "Oslo"), ActionLine(200, 220, "Ada")]
    assert [v.lines for v in filled([NAME, CITY], lines)[0]] == [[1], [0]]
    lines = [line._replace(value="x") for line in lines]
    assert [v.lines for v in filled([NAME, CITY], lines)[0]] == [[0], [1]]
    assert filled([NAME, CITY], [ActionLine(500, 500, "x")])[1] == [0]


def test_hand_counted_form():
    # Name right; City typed into Name's box; Agree ticked by a bare click; News left alone.
    lines = [ActionLine(200, 120, "Ada"), ActionLine(200, 121, "Oslo"), ActionLine(110, 310, "")]
    fields = [NAME, CITY, TICK, NEWS]
    verdicts, spare = filled(fields, lines)
    assert [v.placed for v in verdicts] == [True, False, True, True]
    assert [v.found for v in verdicts] == [True, True, True, True]
    assert spare == []
    parts = {name: tally.sum(axis=0).tolist() for name, tally in counts(fields, verdicts).items()}
    # News has no click to make: three clicks, two right. City is 79 below its box's upper edge.
    assert parts["click_accuracy"] == [2, 3]
    assert parts["value_found_accuracy"] == [4, 4]
    assert parts["value_placed_accuracy"] == [3, 4]
    assert parts["value_submitted_accuracy"] == [0, 0]
    # Each of three fields wants a click and a value; six made, five right: 10 / 12.
    assert parts["action_match_rate"] == [10, 12]
    assert parts["click_distance"] == [79, 1]
    assert verdicts[1].near == "/Name"
    whole = episode(fields, verdicts)
    assert whole["episodic_click"] == (pytest.approx(2 / 3), 1)
    assert whole["episodic_value"] == (1, 1)
    assert whole["form_completed"] == (0, 1)


def test_hand_counted_task_score():
    # Sent: three of four values right, two of three clicks. Not sent: nothing counts. The third
    # form has one field to leave alone, right and without a click. (3/4 + 2/3) / 2 = 17/24.
    tick = actions.FieldVerdict(clicked=True, submitted=True)
    wrong = actions.FieldVerdict(clicked=False, submitted=False)
    alone = actions.FieldVerdict(clicked=None, submitted=True)
    fields = [NAME, CITY, TICK, NEWS]
    forms = [tick, wrong, tick, alone, tick, tick, alone]
    fields += [NAME, CITY, NEWS]
    whole = actions.episodes(fields, forms, [4, 2, 1], counts(fields, forms), [True, False, True])
    assert whole["task_score"].tolist() == [[pytest.approx(17 / 24), 1], [0, 1], [1, 1]]
    # As many values right without one right click get half at most.
    blind = [actions.FieldVerdict(clicked=False, submitted=True)] * 2
    whole = actions.episodes(fields[:2], blind, [2], counts(fields[:2], blind), [True])
    assert whole["task_score"].tolist() == [[0.5, 1]]


def test_ticking_a_box_to_leave_alone_is_wrong_and_saying_no_there_is_not():
    wrong, spare = filled([NEWS], [ActionLine(110, 410, "")])
    right, _ = filled([NEWS], [ActionLine(110, 410, "No")])
    assert (wrong[0].clicked, wrong[0].placed, wrong[0].made, spare) == (None, False, 1, [0])
    assert (right[0].clicked, right[0].placed) == (None, True)
    assert (wrong[0].unwanted, right[0].unwanted) == (True, False)
    assert counts([NEWS], wrong)["unwanted_clicks"].tolist() == [[1, 1]]
    # A click on a box that stands nowhere cannot be seen.
    assert filled([NEWS], [ActionLine(110, 410, "")], [])[0][0].unwanted is None


def test_a_value_given_by_the_name_of_its_field_is_in_its_place():
    nan = float("nan")
    lines = [
        ActionLine(nan, nan, "Oslo", field="/Name"),
        ActionLine(nan, nan, "Oslo", field=CITY.path),
        ActionLine(nan, nan, "yes", field=NEWS.path),
    ]
    verdicts, _ = filled([NAME, CITY, NEWS], lines)
    assert [v.placed for v in verdicts] == [False, True, False]
    assert [v.clicked for v in verdicts] == [False, False, None]
    # Said to be ticked, though nothing clicked it.
    assert verdicts[2].unwanted is False


def test_modes_differ_in_where_and_how_a_value_may_be_written():
    nine = GoldField("/Size", "number", "9", (TargetValue("9"),))
    target = TargetValue("2024/03/15", ((1, 0, 0, 50, 50),))
    day = GoldField("/Day", "date", "2024/03/15", (target,))
    output = [ActionLine(500, 900, "19"), ActionLine(20, 20, "March 15, 2024")]
    fixed, official = (filled([nine, day], output, exact=exact)[0] for exact in (False, True))
    assert [official[0].found, fixed[0].found] == [True, False]
    assert [official[1].placed, fixed[1].placed] == [False, True]


def test_every_choice_must_be_ticked():
    courses = GoldField(
        "/Courses", "choice", json.dumps(["A 1", "B 2"]),
        (TargetValue("A 1", ((1, 0, 0, 9, 9),)), TargetValue("B 2", ((1, 0, 20, 9, 29),))),
    )  # fmt: skip
    both = [ActionLine(5, 5, "A 1"), ActionLine(5, 25, "B 2")]
    verdicts, _ = filled([courses], both)
    assert verdicts[0].placed
    assert verdicts[0].text == "A 1, B 2"
    half, _ = filled([courses], both[:1])
    assert (half[0].clicked, half[0].placed, half[0].found) == (False, False, False)


def test_description_is_scored_by_bleu_as_sacrebleu_computes_it():
    gold = "Full renovation of a commercial office building, including plumbing."
    pred = "Full renovation of an office building, including electrical plumbing."
    want = GoldField("/Work", "description", gold, (TargetValue(gold, ((1, 0, 0, 50, 50),)),))
    verdicts, _ = filled([want, NAME], [ActionLine(20, 20, pred)])
    parts = counts([want, NAME], verdicts)
    bleu = METRICS["description_bleu"]
    expected = sacrebleu.corpus_bleu([pred], [[gold]]).score / 100
    assert float(bleu.score(parts["description_bleu"].sum(axis=0))) == pytest.approx(expected)
    assert parts["value_placed_accuracy"].tolist() == [[0, 0], [0, 1]]


def test_list_in_one_field_is_typed_with_commas_or_as_it_stands():
    box = ((1, 0, 0, 50, 50),)
    want = GoldField(
        "/Done", "description", '["ran far", "sang"]', (TargetValue("ran far, sang", box),)
    )
    for said in ("ran far, sang", want.value):
        verdicts, _ = filled([want], [ActionLine(20, 20, said)], exact=True)
        assert verdicts[0].placed
    verdicts, _ = filled([want], [ActionLine(20, 20, "ran far, sang")])
    bleu = METRICS["description_bleu"]
    assert bleu.score(counts([want], verdicts)["description_bleu"])[0] == pytest.approx(1.0)


def test_bare_click_sets_a_mark_to_leave_alone_and_only_enters_a_text_field():
    for kind, right in (("choice", False), ("radio", False), ("string", True), ("date", True)):
        empty = GoldField("/News", kind, "", ())
        [verdict], _ = filled([empty], [ActionLine(110, 410, "", 1)])
        assert verdict.right is right
        [verdict], _ = filled([empty], [ActionLine(110, 410, "Ada", 1)])
        assert verdict.right is False
