"""A language model as the judge of facts, at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import NotAvailable
from formlab.metrics.judge import parse, plain_text
from formlab.text.markup import visible_text

PROMPT = Path(__file__).parent / "prompts" / "judge.md"
# A page beyond this is cut for the judge: no endpoint takes 5 MB.
_LONGEST = 200_000
_VERDICT = {
    "number": {"type": "integer"},
    "found_in_prediction": {"type": "boolean"},
    "correct": {"type": "boolean"},
    "matched_text": {"type": "string"},
}
# One call: messages and options in, the text of the answer and the tokens in and out back.
Call = Callable[..., tuple[str, int | None, int | None]]


def schema(count: int) -> dict[str, Any]:
    """The JSON schema of an answer on `count` facts: each is numbered, none is left out.

    Examples
    --------
    >>> schema(3)["properties"]["entity_diagnostics"]["minItems"]
    3
    """
    entry = {
        "type": "object", "properties": _VERDICT, "required": list(_VERDICT),
        "additionalProperties": False,
    }  # fmt: skip
    listed = {"type": "array", "items": entry, "minItems": count, "maxItems": count}
    return {
        "type": "object", "properties": {"entity_diagnostics": listed},
        "required": ["entity_diagnostics"], "additionalProperties": False,
    }  # fmt: skip


def messages(
    facts: Sequence[Mapping[str, str]], gold: str, pred: str, *, prompt: str
) -> list[dict[str, str]]:
    """The two messages about one page: the instructions, and facts and texts as one JSON object.

    JSON keeps what a prediction says apart from what is asked: it cannot close a quotation.

    Examples
    --------
    >>> said = messages([{"type": "Number", "value": "5"}], "<p>5", "5", prompt="Judge.")
    >>> json.loads(said[1]["content"])["FACTS"]
    [{'number': 1, 'type': 'Number', 'value': '5', 'context_hint': ''}]
    """
    listed = [
        {"number": n, "type": f["type"], "value": f["value"], "context_hint": f.get("hint", "")}
        for n, f in enumerate(facts, start=1)
    ]
    body = {
        "FACTS": listed,
        "TRUE PAGE": visible_text(gold)[:_LONGEST],
        "READ PAGE": plain_text(pred)[:_LONGEST],
    }
    # ASCII only: half surrogate pairs and control characters travel as escapes.
    return [{"role": "system", "content": prompt}, {"role": "user", "content": json.dumps(body)}]


def endpoint(model: str) -> Call:
    """A caller of `model` at OPENAI_BASE_URL with the key OPENAI_API_KEY, temperature 0.

    Raises
    ------
    NotAvailable
        If the package `openai` or the key is absent.
    """
    try:
        import openai
    except ImportError as error:
        raise NotAvailable("openai is not installed", remedy="pip install openai") from error
    if not os.environ.get("OPENAI_API_KEY"):
        raise NotAvailable(
            "no key for the judge", where="OPENAI_API_KEY", remedy="set it and OPENAI_BASE_URL"
        )
    client = openai.OpenAI()

    def call(
        said: list[dict[str, str]], *, form: dict[str, Any]
    ) -> tuple[str, int | None, int | None]:
        done = client.chat.completions.create(
            model=model,
            messages=said,  # type: ignore[arg-type]
            temperature=0,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "verdicts", "strict": True, "schema": form},
            },
        )
        usage = done.usage
        text = done.choices[0].message.content or ""
        return (
            text,
            getattr(usage, "prompt_tokens", None),
            getattr(usage, "completion_tokens", None),
        )

    return call


def ask(
    page: str,
    facts: Sequence[Mapping[str, str]],
    gold: str,
    pred: str,
    *,
    call: Call,
    prompt: Path = PROMPT,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A judge's answer on one page, and the columns of *responses* that tell how it came.

    Parameters
    ----------
    page
        The page's `doc_id`.
    facts
        Its facts, with `type`, `value` and `hint`.
    gold, pred
        The tagged page and what was predicted for it.
    call
        As from `endpoint`.
    prompt
        Instructions to use instead of our own, such as the paper's.

    Returns
    -------
    tuple
        The answer in the released form, its entries with type, value and hint filled in from the
        facts, empty where none could be read; and request hash, text, status, tokens, seconds
        and error. A failed call is the status ``api_error``.
    """
    said = messages(facts, gold, pred, prompt=files.read_text(prompt))
    request = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    start = time.monotonic()
    try:
        text, tokens_in, tokens_out = call(said, form=schema(len(facts)))
    # Whatever the endpoint or its client raises is this page's fate, not the run's.
    except Exception as error:
        failed = {"status": "api_error", "error": f"{type(error).__name__}: {error}"[:500]}
        return {"id": page, "entity_diagnostics": []}, {"request": request, "attempts": 1} | failed
    answer, status = parse(text)
    record = {
        "request": request, "text": text, "status": status, "attempts": 1, "tokens_in": tokens_in,
        "tokens_out": tokens_out, "seconds": time.monotonic() - start,
    }  # fmt: skip
    entries = (answer or {}).get("entity_diagnostics")
    named = (
        [_named(e, facts) for e in entries if isinstance(e, dict)]
        if isinstance(entries, list)
        else []
    )
    return (answer or {}) | {"id": page, "entity_diagnostics": named}, record


def _named(entry: dict[str, Any], facts: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    number = entry.get("number")
    if not isinstance(number, int) or not 0 < number <= len(facts):
        return entry
    fact = facts[number - 1]
    known = {"type": fact["type"], "value": fact["value"], "context_hint": fact.get("hint", "")}
    return known | entry
