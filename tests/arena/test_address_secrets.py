"""What is secret in an address, in whatever way a text writes it."""

import pytest

from formlab_arena.address_secrets import Secrets

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
