"""What became of an answer: its status, and the JSON or text in it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from formlab.systems.chat.store import Answer
from formlab.tables import USABLE
from formlab.text import llm_json

# Statuses that asking again may mend.
BAD = ("bad_json", "refused", "truncated")
_CUT, _FILTERED = ("length", "max_tokens"), ("content_filter", "refusal")
# How models decline in plain words; only where nothing else was answered.
_DECLINES = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |so )?(?:sorry|unable|not able)"
    r"|(?:sorry|apologies|unfortunately)\b.{0,40}\bi\b"
    r"|i (?:can(?:not|['’]t| not)|won['’]t|will not|must decline)\b"
    r"|as an? (?:ai|language model))",
    re.IGNORECASE,
)
_LONGEST_REFUSAL = 600
_FENCE = re.compile(r"\s*```[ \t]*[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)


class Content(NamedTuple):
    """What an answer holds, its status, and what had to be changed or why there is nothing."""

    value: Any
    status: str
    changes: tuple[str, ...] = ()


def content(answer: Answer, *, json: bool) -> Content:
    """The JSON object in an answer, or with ``json=False`` its text without a fence around it.

    Examples
    --------
    >>> content(Answer("k", text='{"a": 1}'), json=True)
    Content(value={'a': '1'}, status='ok', changes=())
    >>> content(Answer("k", text="I'm sorry, I can't help with that."), json=True).status
    'refused'
    >>> content(Answer("k", text="<p>Hel", finish="length"), json=False).status
    'truncated'
    """
    if answer.text is None:
        return Content(None, "api_error", (answer.error or "no answer",))
    if answer.finish in _FILTERED or answer.status == "refused":
        return Content(None, "refused", (answer.error or "refused by the server",))
    if answer.finish in _CUT:
        return Content(None, "truncated", ("the model stopped at its limit of tokens",))
    if not json:
        return _plain(answer.text)
    reply = llm_json.parse(answer.text)
    if reply.value is None and declines(answer.text):
        return Content(None, "refused", ("declined in words",))
    return Content(reply.value, reply.status, reply.changes)


def declines(text: str) -> bool:
    """Whether a short text only says that the model will not or cannot answer.

    Examples
    --------
    >>> declines("Unfortunately, I cannot read this."), declines("I can see a form. I cannot")
    (True, False)
    """
    return len(text) <= _LONGEST_REFUSAL and _DECLINES.match(text) is not None


def usable(answer: Answer | None) -> bool:
    """Whether an answer counts.

    Examples
    --------
    >>> usable(Answer("k", status="repaired")), usable(None)
    (True, False)
    """
    return answer is not None and answer.status in USABLE


def _plain(text: str) -> Content:
    if not text.strip():
        return Content(None, "missing", ("an empty answer",))
    if declines(text):
        return Content(None, "refused", ("declined in words",))
    if fenced := _FENCE.fullmatch(text):
        return Content(fenced[1], "repaired", ("code fence left out",))
    return Content(text, "ok")
