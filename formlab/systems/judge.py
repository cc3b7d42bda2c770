"""A language model as the judge of facts: what it is asked, and what its answer says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import NotAvailable
from formlab.metrics.judge import parse, plain_text
from formlab.systems.chat import Answer, Stopped
from formlab.tables import USABLE
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
# One call: the messages and the schema of the answer (`form`) in, the answer back.
Call = Callable[..., Answer]


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
        As from `formlab.systems.chat.judge_call`.
    prompt
        Instructions to use instead of our own, such as the paper's.

    Returns
    -------
    tuple
        The answer in the released form, its entries with type, value and hint filled in from the
        facts, empty where none could be read; and request hash, text, status, tokens, cost,
        seconds and error. A failed call is the status ``api_error``; a call that a limit of
        money or calls forbids is ``missing``.

    Raises
    ------
    NotAvailable
        If no call can succeed.
    """
    said = messages(facts, gold, pred, prompt=files.read_text(prompt))
    try:
        given = call(said, form=schema(len(facts)))
    except NotAvailable:
        raise
    except Stopped as stop:
        return _nothing(page, said, "missing", f"not asked: {stop}")
    # Whatever the endpoint or its client raises is this page's fate, not the run's.
    except Exception as error:
        return _nothing(page, said, "api_error", f"{type(error).__name__}: {error}"[:500])
    answer, status = parse(given.text or "")
    status = status if given.status in USABLE else given.status
    names = ("text", "attempts", "tokens_in", "tokens_out", "cost", "seconds", "error")
    record = {"request": given.key, "status": status} | {n: getattr(given, n) for n in names}
    answer = answer if status in USABLE and answer else {}
    entries = answer.get("entity_diagnostics")
    listed = entries if isinstance(entries, list) else []
    named = [_named(entry, facts) for entry in listed if isinstance(entry, dict)]
    return answer | {"id": page, "entity_diagnostics": named}, record


def _nothing(page: str, said: list[dict[str, str]], status: str, error: str) -> tuple:
    request = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    record = {"request": request, "attempts": int(status != "missing")}
    return {"id": page, "entity_diagnostics": []}, record | {"status": status, "error": error}


def _named(entry: dict[str, Any], facts: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    number = entry.get("number")
    if not isinstance(number, int) or not 0 < number <= len(facts):
        return entry
    fact = facts[number - 1]
    known = {"type": fact["type"], "value": fact["value"], "context_hint": fact.get("hint", "")}
    return known | entry
