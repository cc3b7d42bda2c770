"""A model's answer to a question, its status, and the JSON or text in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from formlab.text.answers import Parsed, parse, plain

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


@dataclass(frozen=True)
class Answer:
    """A model's answer to one question; `key` is the hash of everything that shaped it.

    `text` is null if no call succeeded, and then `error` says why. `finish` is why the model
    stopped, as the server says (``bad_request`` if the server took the question for one);
    `seconds` are those of the answered call alone; `images` is the JSON of the pages that were
    sent: their files, sizes and sizes as sent; `logprobs` those of its tokens, if they were asked
    for (`confidence.token_spans`).
    """

    key: str = ""
    model: str = ""
    task: str = ""
    doc_id: str = ""
    text: str | None = None
    status: str = "ok"
    finish: str | None = None
    error: str | None = None
    attempts: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    images: str | None = None
    logprobs: str | None = None


def content(answer: Answer, *, json: bool, calls: bool = True) -> Parsed:
    """The JSON object in an answer, or with ``json=False`` its text; see `formlab.text.answers`.

    Examples
    --------
    >>> content(Answer("k", text='{"a": 1}'), json=True)
    Parsed(value={'a': '1'}, status='ok', changes=())
    >>> content(Answer("k", text="I'm sorry, I can't help with that."), json=True).status
    'refused'
    >>> content(Answer("k", text="<p>Hel", finish="length"), json=False).status
    'truncated'
    """
    if answer.text is None:
        return Parsed(None, "api_error", (answer.error or "no answer",))
    if answer.finish in _FILTERED or answer.status == "refused":
        return Parsed(None, "refused", (answer.error or "refused by the server",))
    if answer.finish in _CUT:
        return Parsed(None, "truncated", ("the model stopped at its limit of tokens",))
    parsed = parse(answer.text, calls=calls) if json else plain(answer.text)
    if declines(answer.text) and (parsed.value is None or not json):
        return Parsed(None, "refused", ("declined in words",))
    return parsed


def declines(text: str) -> bool:
    """Whether a short text only says that the model will not or cannot answer.

    Examples
    --------
    >>> declines("Unfortunately, I cannot read this."), declines("I can see a form. I cannot")
    (True, False)
    """
    return len(text) <= _LONGEST_REFUSAL and _DECLINES.match(text) is not None
