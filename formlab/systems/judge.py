"""A language model as the judge of facts: its messages, its schema, its verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import NotAvailable
from formlab.metrics.judge import parse, plain_text
from formlab.systems import chat
from formlab.systems.chat._ask import closed, listed
from formlab.systems.chat.answers import content
from formlab.tables import USABLE
from formlab.text.markup import visible_text

PROMPT = Path(__file__).parent / "prompts" / "judge.md"
# A page beyond this is cut for the judge: no endpoint takes 5 MB.
_LONGEST = 200_000
_VERDICT = closed(
    number={"type": "integer"}, found_in_prediction={"type": "boolean"},
    correct={"type": "boolean"}, matched_text={"type": "string"},
)  # fmt: skip
# One call: the messages and the schema of the answer (`form`) in, the answer back.
Call = Callable[..., chat.Answer]


def judge_call(
    model: str, *, store: str | Path, settings: dict[str, Any] | None = None
) -> Callable[..., chat.Answer]:
    """A caller of `model` for `ask` that asks nothing twice. Threads may share it.

    Its answers are kept in `store`; retries, limits of money and calls, and the forms of JSON are
    those of `ChatSystem`, and so are the errors.
    """
    chosen = chat.SHAPING | chat.RUNNING | (settings or {})
    client, answers = chat.client_of(model, chosen), chat.AnswerStore(store)
    asker = chat.Asker(client, answers, form=chosen["form"], retry=chosen["retry"])

    def call(messages: list[dict[str, Any]], *, form: dict[str, Any]) -> chat.Answer:
        return asker.answer(chat.Prompt(messages, lambda: messages, form, _status, task="judge"))

    return call


def _status(answer: chat.Answer) -> str:
    status = content(answer, json=True).status
    # The released code reads answers more leniently, and its reading counts here.
    return parse(answer.text or "")[1] if status in (*USABLE, "bad_json") else status


def schema(count: int) -> dict[str, Any]:
    """The JSON schema of an answer on `count` facts: each is numbered, none is left out.

    Examples
    --------
    >>> schema(3)["properties"]["entity_diagnostics"]["minItems"]
    3
    """
    return closed(entity_diagnostics=listed(_VERDICT) | {"minItems": count, "maxItems": count})


def messages(
    facts: Sequence[Mapping[str, str]], gold: str, pred: str, *, prompt: str
) -> list[dict[str, str]]:
    """The two messages about one page: the instructions, and facts and texts as one JSON object.

    In JSON a prediction cannot close a quotation and pass for instructions.

    Examples
    --------
    >>> _, user = messages([{"type": "Number", "value": "5"}], "<p>5", "5", prompt="Judge.")
    >>> json.loads(user["content"])["FACTS"]
    [{'number': 1, 'type': 'Number', 'value': '5', 'context_hint': ''}]
    """
    body = {
        "FACTS": [{"number": n} | _named(fact) for n, fact in enumerate(facts, start=1)],
        "TRUE PAGE": visible_text(gold)[:_LONGEST],
        "READ PAGE": plain_text(pred)[:_LONGEST],
    }
    # ASCII only: half surrogate pairs and control characters travel as escapes.
    return [{"role": "system", "content": prompt}, {"role": "user", "content": json.dumps(body)}]


def _named(fact: Mapping[str, str]) -> dict[str, str]:
    return {"type": fact["type"], "value": fact["value"], "context_hint": fact.get("hint", "")}


def ask(
    page: str,
    facts: Sequence[Mapping[str, str]],
    gold: str,
    pred: str,
    *,
    call: Call,
    prompt: Path = PROMPT,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A judge's answer on one page, and its columns of *responses*.

    `page` is the page's `doc_id`, `facts` have `type`, `value` and `hint`, `gold` is the tagged
    page, `pred` what was predicted for it, `call` as from `judge_call`, and `prompt` a file of
    instructions to use instead of formlab's, such as the paper's.

    The answer is in the released form, its entries with type, value and hint filled in from the
    facts, empty where none could be read. A failed call has the status ``api_error``; a call that
    a limit of money or calls forbids is ``missing``. `NotAvailable` if no call can succeed.
    """
    asked = messages(facts, gold, pred, prompt=files.read_text(prompt))
    try:
        answer = call(asked, form=schema(len(facts)))
    except NotAvailable:
        raise
    except chat.Stopped as stop:
        answer = chat.Answer(status="missing", error=f"not asked: {stop}", attempts=0)
    # Any other error of the endpoint or its client fails this page, not the run.
    except Exception as error:
        answer = chat.Answer(status="api_error", error=f"{type(error).__name__}: {error}"[:500])
    verdicts, status = parse(answer.text or "")
    status = status if answer.status in USABLE else answer.status
    names = ("text", "attempts", "tokens_in", "tokens_out", "cost", "seconds", "error")
    key = answer.key or hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    record = {"request": key, "status": status} | {name: getattr(answer, name) for name in names}
    verdicts = verdicts if status in USABLE and verdicts else {}
    entries = verdicts.get("entity_diagnostics")
    entries = [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    for index, entry in enumerate(entries):
        number = entry.get("number")
        if isinstance(number, int) and 0 < number <= len(facts):
            entries[index] = _named(facts[number - 1]) | entry
    return verdicts | {"id": page, "entity_diagnostics": entries}, record
