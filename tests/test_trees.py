"""Form trees, from FORMCRAFT JSON and from records, however hostile."""

from collections import Counter

import pytest

from formlab.benchmarks.formcraft import field_rows, tidied
from formlab.errors import DataBroken
from formlab.trees import MAX_LEVELS, Flat, Node, from_records


def shape(tree):
    """(label, value, depth) of every node in document order."""
    flat = Flat(tree)
    return [
        (node.label, node.value, depth)
        for node, depth in zip(flat.nodes, flat.depth.tolist(), strict=True)
    ]


def field(label, value=""):
    return {"label": label, "modality": "Textual", "modality_subtype": "Mixed", "value": value}


FORM = {
    "fields": [field("Date", "1 May"), field("Date", "2 May")],
    "groups": [
        {
            "label": "Patient",
            "fields": [field("Name", "Ann"), field("and/or ~")],
            "groups": [{"label": "History", "fields": [field("Allergies", "none")]}],
        },
        {"label": "Patient", "fields": [], "groups": None},
    ],
}


def chain(levels):
    root = node = Node("g")
    for _ in range(levels - 1):
        node.children.append(Node("g"))
        node = node.children[0]
    return root


def test_formcraft_form_becomes_fields_then_groups_in_groups():
    tree = from_records(list(field_rows(tidied(FORM)[0], Counter())))
    assert shape(tree) == [
        ("form", None, 0), ("Date", "1 May", 1), ("Date", "2 May", 1), ("Patient", None, 1),
        ("Name", "Ann", 2), ("and/or ~", "", 2), ("History", None, 2), ("Allergies", "none", 3),
        ("Patient", None, 1),
    ]  # fmt: skip
    assert [node.path for node in Flat(tree).nodes] == [
        "", "/Date", "/Date#2", "/Patient", "/Patient/Name", "/Patient/and~1or ~0",
        "/Patient/History", "/Patient/History/Allergies", "/Patient#2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        # List items share a label and teeth keep theirs.
        (["/lines/0", "/lines/1", "/teeth/1", "/teeth/2"],
         ["lines", "[]", "[]", "teeth", "1", "2"]),
        # A number sign is part of a label that stands alone.
        (["/Ref#2", "/Name", "/Name#2", "/Name#b"], ["Ref#2", "Name", "Name", "Name#b"]),
    ],
)  # fmt: skip
def test_labels_of_paths(paths, labels):
    tree = from_records([{"path": path, "value": "9"} for path in paths])
    assert [label for label, _, _ in shape(tree)[1:]] == labels


def entities(links, kinds=("header", "question", "answer", "answer", "other")):
    rows = [
        {"path": f"/entities/{place}", "kind": kind, "value": f"{kind[0]}{place}"}
        for place, kind in enumerate(kinds)
    ]
    return rows + [{"path": f"/links/{start}/{end}", "kind": "link"} for start, end in links]


def test_headers_hold_questions_and_answers_are_their_values():
    tree = from_records(entities([(0, 1), (1, 3), (1, 2)]))
    assert shape(tree) == [
        ("form", None, 0), ("h0", None, 1), ("q1", "a2 a3", 2), ("o4", None, 1),
    ]  # fmt: skip


def test_answer_without_a_question_is_a_field_without_label():
    assert shape(from_records(entities([(0, 2)], ("header", "question", "answer"))))[1:] == [
        ("h0", None, 1), ("", "a2", 2), ("q1", None, 1),
    ]  # fmt: skip


def test_links_that_no_tree_can_hold_are_counted_and_no_entity_is_lost():
    flaws = Counter()
    links = [(0, 1), (4, 1), (1, 0), (0, 9), (4, 4)]
    tree = from_records([*entities(links), {"path": "/note"}], flaws=flaws)
    assert flaws == {
        "links to a second parent": 1, "links in a circle": 2, "links to nothing": 1,
        "records that are no entity": 1,
    }  # fmt: skip
    assert len(Flat(tree)) == 1 + 5


def test_deepest_allowed_chain_is_read_and_one_level_more_is_not():
    path = "/g" * (MAX_LEVELS - 1)
    assert len(Flat(from_records([{"path": path}]))) == MAX_LEVELS
    assert len(Flat(chain(MAX_LEVELS))) == MAX_LEVELS
    for build in (
        lambda: Flat(chain(MAX_LEVELS + 1)),
        lambda: from_records([{"path": path + "/g" * 9}]),
    ):
        with pytest.raises(DataBroken, match="nested deeper than 2,000 levels"):
            build()


def test_a_circle_is_one_clear_error():
    circle = Node("a", children=[Node("b")])
    circle.children[0].children.append(circle)
    with pytest.raises(DataBroken, match="in a circle"):
        Flat(circle)


def test_paths_that_would_fill_the_memory_are_refused():
    long = "x" * 1_000_000
    with pytest.raises(DataBroken, match="50,000,000 characters"):
        from_records([{"path": f"/{long}" + "/a" * 100}])
