"""What an address holds beside its server and path, kept out of logs, results and errors."""

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
_USER = re.compile(r"(?:[^/?#]*//)?([^/?#]*)@")
# Of a value of a query in a text.
_LETTER = r"[^&;#\s\"'<>\\)]"
# What browsers leave as it is in a query.
_KEPT = "!$%'()*+,/:=?@[]{}|~`^"


class Secrets:
    """Hides the user, the password and the values of the query of an address in any value.

    Other parts of other addresses stay, and so does what a page sends of itself.

    Examples
    --------
    >>> hide = Secrets("http://ada:pw@h.example/form?token=a%20b&x=1")
    >>> hide("http://ada:pw@h.example/form?token=a%20b&x=1")
    'http://h.example/form?token=***&x=***'
    >>> hide({"left": {"to": "http://h.example/thanks?x=12&token=a+b#end"}, "status": 200})
    {'left': {'to': 'http://h.example/thanks?x=12&token=***#end'}, 'status': 200}
    """

    def __init__(self, address: str) -> None:
        user = _USER.match(address)
        # In an address only: the same may be the begin of a mail address that was typed.
        before = "(?<=//)" if "//" in address else ""
        ways = _written(user[1] if user else "")
        self._users = re.compile(f"{before}{_any(ways)}@") if ways else None
        self._ways: dict[str, list[str]] = {}
        for piece in re.split("[?&;#]", address)[1:]:
            name, equals, value = piece.partition("=")
            if not equals and f"?{piece}" in address:
                name, value = "", piece
            self._ways.setdefault(name + equals, []).extend(_written(value))
        self._values = [
            re.compile(rf"(?<=[?&;#])({re.escape(name)})({_any(ways)}(?!{_LETTER})|{_LETTER}+)")
            for name, ways in self._ways.items() if ways
        ]  # fmt: skip

    def __call__(self, value: Any) -> Any:
        """The same text, list or mapping without the secrets."""
        if isinstance(value, Mapping):
            return {self(key): self(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self(item) for item in value]
        if not isinstance(value, str):
            return value
        text = self._users.sub("", value) if self._users else value
        for pattern in self._values:
            text = pattern.sub(self._shown, text)
        return text

    def _shown(self, found: re.Match[str]) -> str:
        name, value = found.groups()
        ways = self._ways[name]
        # A text may have been cut within the value.
        cut = found.end() == len(found.string)
        if value in ways or (cut and any(way.startswith(value) for way in ways)):
            return f"{name}{HIDDEN}"
        return found[0]


def _any(ways: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, ways))})"


def _written(value: str) -> list[str]:
    """The ways in which a browser or a library writes a part of an address, the longest first."""
    plain = urllib.parse.unquote(value)
    quotes = (urllib.parse.quote, urllib.parse.quote_plus)
    ways = {quote(plain, safe=kept) for quote in quotes for kept in ("", _KEPT)} | {value, plain}
    return sorted(ways - {""}, key=len, reverse=True)
