from formlab import tables
from formlab.analysis import top_errors

KEY = {"benchmark": "b", "split": "s", "system": "x", "task": "text", "doc_id": "1"}


def case(number, outcome, cause, similarity):
    said = {"path": f"/{number:03d}", "outcome": outcome, "cause": cause, "gold": "g"}
    return KEY | said | {"similarity": similarity}


def made(**counts):
    names = {"missed": "missing", "spurious": "spurious"}
    rows, number = [case(999, "match", None, 1.0)], 0
    for cause, count in counts.items():
        for place in range(count):
            number += 1
            outcome = "match" if cause == "wrong_order" else names.get(cause, "mismatch")
            rows.append(case(number, outcome, cause, place / 100))
    return tables.table("cases", rows)


def counted(cases):
    return dict(cases["cause"].value_counts().iter_rows())


def test_each_cause_has_its_share_and_the_commonest_stands_first():
    shown = top_errors(made(digit=30, missed=60, space=10), limit=10)
    assert counted(shown) == {"missed": 6, "digit": 3, "space": 1}
    assert shown["cause"][0] == "missed"


def test_of_each_cause_the_least_similar_are_shown():
    shown = top_errors(made(digit=30, missed=60), limit=9)
    assert shown.filter(shown["cause"] == "digit")["similarity"].to_list() == [0, 0.01, 0.02]


def test_a_field_read_right_and_out_of_order_is_shown_and_one_in_order_is_not():
    assert counted(top_errors(made(wrong_order=2))) == {"wrong_order": 2}


def test_fewer_wrong_fields_than_asked_for_are_all_shown():
    assert top_errors(made(digit=2, missed=1), limit=20).height == 3
