"""The errors a user can meet. Each message says what is wrong, where, and what to try."""

from __future__ import annotations


class FormlabError(Exception):
    """Base of every error formlab raises for something the user can mend.

    >>> raise DataMissing("no folder 'x'", where="x", remedy="pass --root")
    Traceback (most recent call last):
    ...
    formlab.errors.DataMissing: no folder 'x' (x). Try: pass --root
    """

    def __init__(self, what: str, *, where: object = None, remedy: str | None = None) -> None:
        # Names come from files of others: one of megabytes must not hide what is wrong.
        self.what, self.where = _cut(what, 4000), None if where is None else _cut(str(where), 400)
        self.remedy = remedy
        message = self.what if where is None else f"{self.what} ({self.where})"
        super().__init__(message if remedy is None else f"{message}. Try: {remedy}")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


class DataMissing(FormlabError):
    """A file or folder that is needed is not there."""


class DataBroken(FormlabError):
    """A file is there and cannot be read as what it should be; `where` names file and line."""


class GoldInDoubt(DataBroken):
    """The gold contradicts itself; without that document it would be another benchmark."""


class TableBroken(FormlabError):
    """A table does not follow its schema; the message lists every mismatch."""


class UnknownName(FormlabError):
    """A name (benchmark, metric, system, split, parameter …) that is not registered."""

    @classmethod
    def of(cls, noun: str, name: object, known: object, *, where: object = None) -> UnknownName:
        """The error for `name`, naming what is known and the closest spelling."""
        from difflib import get_close_matches

        names = sorted(map(str, known))
        near = get_close_matches(str(name), names, n=1)
        listed = ", ".join([*names[:100], "…"] if names[100:] else names) or "none"
        remedy = f"'{near[0]}' (known: {listed})" if near else f"one of: {listed}"
        return cls(f"unknown {noun} {str(name)!r}", where=where, remedy=remedy)


class NotAvailable(FormlabError):
    """Something is needed and absent: an optional library, a browser, a key, a network."""
