import random
import time

from formlab_arena.matching import option, pair


def test_labels_are_paired_with_names_whatever_the_notation():
    fields = {
        "firstName": ("firstName", "First name *"), "lastName": ("lastName", "Family name"),
        "mail": ("mail", "Your e-mail address"), "mail2": ("mail2", "Confirm e-mail address"),
        "dob": ("dob", "Date of birth (DD/MM/YYYY)"),
    }  # fmt: skip
    keys = ["First Name", "lastname", "Your Email Address", "Confirm Email", "Date of birth"]
    assert list(pair(keys, fields).values()) == list(fields)


def test_key_that_may_be_two_fields_is_left_out_and_an_equal_one_takes_the_first():
    assert pair(["Name"], {"a": ("First name",), "b": ("Last name",)}) == {}
    assert pair(["Name"], {"a": ("Name",), "b": ("Name",)}) == {"Name": "a"}
    # The second is left for the key that is like it only.
    assert pair(["Name", "Company"], {"a": ("Company name",), "b": ("Name",)}) == {
        "Name": "b", "Company": "a",
    }  # fmt: skip


def test_options_are_chosen_by_the_same_text_first():
    assert option("No", ["Norway", "No", "NO"]) == 1
    assert option("two", ["One", "Two", "Twofold"]) == 1
    assert option("Mon", ["Monday", "Tuesday"]) is None
    assert option(False, ["Yes", "No"]) == 1


def test_pairs_are_one_to_one_whatever_the_text():
    dice = random.Random(0)
    for _ in range(300):
        label = lambda: "".join(dice.choices("ab A1-_İ名", k=dice.randint(0, 6)))  # noqa: E731
        keys = list(dict.fromkeys(label() for _ in range(5)))
        labels = [label() for _ in range(5)]
        pairs = pair(keys, {str(n): (text,) for n, text in enumerate(labels)})
        assert len(set(pairs.values())) == len(pairs)
        assert all(labels[int(pairs[key])] == key for key in keys if key in labels)


def test_long_labels_cost_no_time():
    start = time.monotonic()
    pair(["a" * 5000, "b " * 5000], {str(n): (f"{'a ' * 3000}{n}",) for n in range(200)})
    assert time.monotonic() - start < 2
