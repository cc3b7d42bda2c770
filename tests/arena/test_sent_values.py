from formlab_arena.sent_values import carries, values_of


def test_bodies_that_are_no_forms_and_hostile_ones_cost_nothing():
    assert values_of(b"\xff\xfe", "application/json") == {}
    assert values_of(b"[" * 100_000, "application/json") == {}
    assert values_of(b"a=1\r\nb=x=y\r\n", "text/plain") == {"a": ["1"], "b": ["x=y"]}
    assert values_of(b"--x\r\n\r\n", "multipart/form-data; boundary=x") == {}
    assert values_of(b'[{"a": 1}, {"a": 2}]', "") == {"0.a": ["1"], "1.a": ["2"]}
    assert carries({"food": ["on"]}, {"food": True})
    assert carries({"food": ["veg"]}, {"food": ["veg", "fish"]})
    assert not carries({"food": [""]}, {"food": "", "other": False})
