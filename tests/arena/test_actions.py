from formlab_arena.actions import Check, Click, Drag, Press, Scroll, Upload, as_json, mapped


def test_coordinates_of_a_resized_image_are_mapped_back():
    # An image of half the window's width: each of its pixels is two of the window's.
    assert mapped(Click(320, 200), 2.0) == Click(640, 400)
    assert mapped(Scroll(10, x=5, y=6), 2.0) == Scroll(20, x=10, y=12)
    assert mapped(Drag(1, 2, 3, 4), 2.0) == Drag(2, 4, 6, 8)
    for action in (Press("Enter"), Click(element="e5"), Drag(element="a", to="b")):
        assert mapped(action, 2.0) == action


def test_only_what_was_asked_for_is_logged():
    assert as_json(Upload("e5", ("cv.pdf",))) == {
        "do": "Upload", "element": "e5", "names": ("cv.pdf",),
    }  # fmt: skip
    assert as_json(Check("e5", ticked=False)) == {"do": "Check", "element": "e5", "ticked": False}
