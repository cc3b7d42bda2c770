from formlab.charts import waterfall
from tests.analysis.made_pairs import built


def case(doc, number, cause=None, outcome="mismatch", **more):
    return {
        "doc_id": doc, "path": f"/{number}", "task": "text", "level": "field", "gold": "g",
        "outcome": outcome if cause else "match", "cause": cause, "status": "ok",
    } | more  # fmt: skip


CASES = [
    case("a", 0), case("a", 1, "digit"), case("a", 2, "missed", "missing"), case("b", 0, "case"),
    case("b", 1, "spurious", "spurious", gold=None),
]  # fmt: skip


def test_each_bar_begins_where_the_one_before_it_ends():
    figure = waterfall.waterfall(built(CASES), "m")
    rows = [(row["stage"], row["from"], row["to"], *row["shown"]) for row in figure["rows"]]
    assert rows == [
        ("now", 0.0, 0.25, "25.0 %", "0.0 %"),
        ("reading", 0.25, 0.75, "+50.0", "+50.0"),
        ("form", 0.75, 1.0, "+25.0", "+25.0"),
        # What the gold does not have takes nothing from its values, but from its documents.
        ("extra", 1.0, 1.0, "+0.0", "+25.0"),
    ]
    lines = [row["line"] for row in figure["rows"]]
    assert lines == [None, "cause=digit&cause=missed", "cause=case", "cause=spurious"]
    note = "2 wrong values in 1 documents; +50.0 points of values right, 95 % interval +0.0 to"
    assert figure["rows"][1]["note"].startswith(note.replace("1 documents", "1 document"))
    assert "of documents right +0.0 to +50.0" in figure["rows"][2]["note"]
