import pytest

from formlab_arena.address_secrets import Secrets
from formlab_arena.sent_values import carries, values_of
from formlab_arena.uploads import inside


def test_bodies_that_are_no_forms_and_hostile_ones_cost_nothing():
    assert values_of(b"\xff\xfe", "application/json") == {}
    assert values_of(b"[" * 100_000, "application/json") == {}
    assert values_of(b"a=1\r\nb=x=y\r\n", "text/plain") == {"a": ["1"], "b": ["x=y"]}
    assert values_of(b"--x\r\n\r\n", "multipart/form-data; boundary=x") == {}
    assert values_of(b'[{"a": 1}, {"a": 2}]', "") == {"0.a": ["1"], "1.a": ["2"]}
    assert carries({"food": ["on"]}, {"food": True})
    assert carries({"food": ["veg"]}, {"food": ["veg", "fish"]})
    assert not carries({"food": [""]}, {"food": "", "other": False})


ADDRESS = "http://ada:p%40ss@h.example/form?token=a/b c=&page=1#/route"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"no answer at {ADDRESS}", "no answer at http://h.example/form?token=***&page=***#/route"),
        ("http://ada:p@ss@h.example/", "http://h.example/"),
        ("http://h.example/?token=a%2Fb%20c%3D", "http://h.example/?token=***"),
        ("http://h.example/?x=2&token=a/b+c=#end", "http://h.example/?x=2&token=***#end"),
        # Cut at the end of a line that is too long.
        ("http://h.example/?token=a/b", "http://h.example/?token=***"),
        # Another value, another name, and a mail address.
        ("http://h.example/?page=12&token=a", "http://h.example/?page=12&token=***"),
        ("http://h.example/?page=12&nexttoken=a/b&page=2", "http://h.example/?page=12&nexttoken=a/b&page=2"),
        ("ada:p@ss@post.example", "ada:p@ss@post.example"),
    ],
)  # fmt: skip
def test_secrets_are_hidden_and_nothing_else(text, shown):
    assert Secrets(ADDRESS)({"at": [text, 5, None]}) == {"at": [shown, 5, None]}


def test_query_without_a_name_and_what_is_no_address_are_hidden_too():
    assert Secrets("http://h/?abc")("http://h/?abc") == "http://h/?***"
    assert Secrets("ada:pw@h/form")("ada:pw@h/form is no address") == "h/form is no address"
    assert Secrets("http://h/form")("http://ada@h/?x=1") == "http://ada@h/?x=1"


@pytest.fixture
def upload(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "plan.pdf").write_text("%PDF")
    (tmp_path / "secret.pdf").write_text("secret")
    (folder / "link.pdf").symlink_to(tmp_path / "secret.pdf")
    return folder


@pytest.mark.parametrize(
    "name",
    ["../secret.pdf", "link.pdf", "/etc/passwd", ".", "", "none.pdf", "a\0b", "\ud800", "x" * 9999],
)
def test_only_files_of_the_run_itself_can_be_uploaded(upload, name):
    assert inside(upload, name) is None
