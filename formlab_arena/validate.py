"""Validates submissions on the server, whatever the browser let through."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formlab_arena.spec import FormField, WebForm

if TYPE_CHECKING:
    from werkzeug.datastructures import FileStorage
    from werkzeug.wrappers import Request

LONGEST = {"string": 500, "description": 20_000, "file": 255}
# What the pages send of themselves.
_HIDDEN = ("_episode", "_log")
_MISSING = {"checkbox": "must be ticked", "file": "must be attached"}
_PATTERNS = {
    "email": (r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address, such as ada@example.org"),
    "url": (r"https?://\S+", "an address that starts with https://"),
}


def sent(
    request: Request,
) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, FileStorage]]:
    """Under each name the texts of a request, the names of its files, and the first of them.

    Examples
    --------
    >>> import werkzeug.test
    >>> built = werkzeug.test.EnvironBuilder(data={"born": "1970-01-31", "_episode": "one"})
    >>> sent(built.get_request())
    ({'born': ['1970-01-31']}, {}, {})
    """
    texts = {name: request.form.getlist(name) for name in request.form if name not in _HIDDEN}
    # A browser sends a field of files that was left empty as one without a name.
    files = [(name, file) for name, file in request.files.items(multi=True) if file.filename]
    names: dict[str, list[str]] = {}
    for name, file in files:
        names.setdefault(name, []).append(file.filename or "")
    return texts, names, dict(reversed(files))


def read(
    form: WebForm, sent: Mapping[str, Sequence[str]], files: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The answers of a submission and a message for each field that is wrong.

    `sent` are the texts under each name, `files` the names of files. An answer is a text, number,
    `true`/`false`, list of options, or null where the field was left empty or did not apply.

    Examples
    --------
    >>> from formlab_arena.spec import form
    >>> read(form("E12"), {"holder": ["Ada Berg"], "born": ["1970-02-30"]}, {})[1]["born"]
    'Born on: a date that exists, written YYYY-MM-DD'
    """
    answers: dict[str, Any] = {}
    wrong = {
        name: f"{name[:40]!r} is no field of this form"
        for name in {*sent, *files} - {field.name for field in form.fields}
    }
    for field in form.fields:
        texts = [text for text in sent.get(field.name, []) if text.strip()]
        if not field.applies(answers):
            answers[field.name] = None
            continue
        try:
            answers[field.name] = _answer(field, texts, files.get(field.name, []))
        except ValueError as error:
            answers[field.name] = None
            wrong[field.name] = f"{field.label}: {error}"
    return answers, wrong


def _answer(field: FormField, texts: list[str], files: Sequence[str]) -> Any:
    if field.type == "file" and texts:
        raise ValueError("a file, not a text")
    if field.type != "file" and files:
        raise ValueError("a text, not a file")
    given = files or texts
    if not given:
        if field.required:
            raise ValueError(_MISSING.get(field.type, "must be filled in"))
        return False if field.type == "checkbox" else None
    if field.type == "checkbox":
        return True
    if field.type == "multiple":
        for text in texts:
            _choice(field, text)
        # In the form's order, so that the order of clicks makes no difference.
        return [option for option in field.options if option in texts]
    if len(given) > 1:
        raise ValueError("one answer only")
    return _READERS[field.type](field, given[0])


def _text(field: FormField, text: str) -> str:
    # Browsers send the line ends of a text area as CR LF.
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST[field.type]:
        raise ValueError(f"at most {LONGEST[field.type]} characters")
    if field.format:
        pattern, hint = _PATTERNS[field.format]
        if not re.fullmatch(pattern, text):
            raise ValueError(hint)
    return text


def _number(field: FormField, text: str) -> int | float:
    if not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,10})?", text.strip()):
        raise ValueError("a number, such as 1200")
    value = float(text)
    if field.range and not field.range[0] <= value <= field.range[1]:
        raise ValueError(f"a number from {field.range[0]} to {field.range[1]}")
    return int(value) if value.is_integer() else value


def _date(field: FormField, text: str) -> str:
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip(), re.ASCII):
            raise ValueError
        day = datetime.date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("a date that exists, written YYYY-MM-DD") from None
    if field.between and not field.between[0] <= day <= field.between[1]:
        raise ValueError(f"a date from {field.between[0]} to {field.between[1]}")
    return day.isoformat()


def _file(field: FormField, name: str) -> str:
    if len(name) > LONGEST["file"]:
        raise ValueError(f"a name of at most {LONGEST['file']} characters")
    if name.rsplit(".", 1)[-1].lower() not in field.accept:
        raise ValueError(f"a file that ends in {' or '.join('.' + e for e in field.accept)}")
    return name


def _choice(field: FormField, text: str) -> str:
    if text not in field.options:
        raise ValueError("one of the options listed")
    return text


_READERS = {
    "string": _text, "description": _text, "number": _number, "date": _date,
    "dropdown": _choice, "radio": _choice, "file": _file,
}  # fmt: skip
