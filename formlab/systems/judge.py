"""A language model as the judge of facts: its messages, its schema, its verdicts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab.metrics.judge import ENTRIES, parse
from formlab.systems import chat, prompts
from formlab.systems.chat.answers import content
from formlab.systems.chat.ask import NUMBER, TEXT, closed, listed
from formlab.tables import USABLE
from formlab.text.answers import MARKS

# The name of formlab's own prompt.
PROMPT = "judge"
# A page beyond this is cut for the judge: no endpoint takes 5 MB.
_LONGEST = 200_000
_VERDICT = closed(
    number={"type": "integer"},
    found_in_prediction={"type": "boolean"},
    correct={"type": "boolean"},
    matched_text=TEXT,
    reason=TEXT,
)
# Where a prompt has a place for a page, and what is said of pages that stand there.
_PLACE, _FENCES = re.compile(MARKS["judge"]["place"], re.IGNORECASE), MARKS["judge"]["fences"]
# One call: the messages and the schema of the answer (`form`) in, the answer back.
Call = Callable[..., chat.Answer]


def judge_call(model: str, *, store: str | Path, settings: dict[str, Any] | None = None) -> Call:
    """A caller of `model` for `ask` that asks nothing twice. Threads may share it.

    Its answers are kept in `store`; retries, limits of money and calls, and the forms of JSON are
    those of `ChatSystem`, and so are the errors.
    """
    chosen = chat.SHAPING | chat.RUNNING | (settings or {})
    asker = chat.Asker(chat.Client(model, chosen), chat.AnswerStore(store))

    def call(messages: list[dict[str, Any]], *, form: dict[str, Any] | None) -> chat.Answer:
        return asker.answer(chat.Prompt(messages, lambda: messages, form, _status, task="judge"))

    return call


def _status(answer: chat.Answer) -> str:
    status = content(answer, json=True).status
    # The released code reads answers more leniently, and its reading counts here.
    return parse(answer.text or "")[1] if status in (*USABLE, "bad_json") else status


def schema(count: int) -> dict[str, Any]:
    """The JSON schema of an answer to formlab's prompt on `count` facts: each once, by number.

    >>> schema(3)["properties"]["entity_diagnostics"]["minItems"]
    3
    """
    return closed(
        entity_diagnostics=listed(_VERDICT) | {"minItems": count, "maxItems": count},
        structure_score={"type": "integer", "enum": [0, 1, 2]},
        structure_explanation=TEXT,
        overall_score=NUMBER,
        overall_explanation=TEXT,
    )


def messages(
    facts: Sequence[Mapping[str, str]], gold: str, pred: str, *, prompt: str
) -> list[dict[str, str]]:
    """The two messages about one page.

    A prompt with places for both pages, such as ``{gold_html}`` and ``{generated_html}``, is sent
    as it is, each page between two lines with a code that a prediction cannot know; ``{facts}``
    takes the list of facts. Any other prompt is an instruction, followed by facts and pages in one
    JSON object, where a prediction cannot close a quotation and pass for instructions.

    `DataBroken` if the prompt has a place for one of the two pages and none for the other.

    >>> _, user = messages([{"type": "Number", "value": "5"}], "<p>5", "5", prompt="Judge.")
    >>> json.loads(user["content"])["FACTS"]
    [{'number': 1, 'type': 'Number', 'value': '5', 'context_hint': ''}]
    >>> messages([], "<p>5", "5", prompt="A: {gold} B: {pred}")[1]["content"].splitlines()[1]
    '<p>5'
    """
    numbered = [{"number": n} | _named(fact) for n, fact in enumerate(facts, start=1)]
    pages = {"gold": gold[:_LONGEST], "pred": pred[:_LONGEST]}
    places = {match.lastgroup for match in _PLACE.finditer(prompt)} & pages.keys()
    if len(places) == 1:
        absent = "generated page" if "gold" in places else "gold page"
        remedy = "write {gold_html} and {generated_html}, or neither"
        raise DataBroken(f"the judge's prompt has no place for the {absent}", remedy=remedy)
    if places:
        texts = {name: _fenced(page) for name, page in pages.items()}
        texts["facts"] = json.dumps(numbered)
        filled = _PLACE.sub(lambda match: texts[match.lastgroup or ""], prompt)
        system, user = _FENCES, filled.encode("utf-8", "replace").decode()
    else:
        body = {"FACTS": numbered, "GROUND TRUTH": pages["gold"], "GENERATED": pages["pred"]}
        # ASCII only: half surrogate pairs and control characters travel as escapes.
        system, user = prompt, json.dumps(body)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _fenced(page: str) -> str:
    code = hashlib.sha256(page.encode("utf-8", "replace")).hexdigest()[:16]
    return f"BEGIN {code}\n{page}\nEND {code}"


def _named(fact: Mapping[str, str]) -> dict[str, str]:
    return {"type": fact["type"], "value": fact["value"], "context_hint": fact.get("hint", "")}


def ask(
    page: str,
    facts: Sequence[Mapping[str, str]],
    gold: str,
    pred: str,
    *,
    call: Call,
    prompt: str | Path = PROMPT,
) -> dict[str, Any]:
    """A judge's answer on one page.

    `page` is the page's `doc_id`, `facts` have `type`, `value` and `hint`, `gold` is the tagged
    page, `pred` what was predicted for it, `call` as from `judge_call`, and `prompt` a name
    or file as for `prompts.read`, such as the paper's; its answer has the released form.

    The answer is in the released form, its entries with type, value and hint filled in from the
    facts, empty where none could be read, with the status and the reason. A failed call has the
    status ``api_error``; a call that a limit of money or calls forbids is ``missing``.
    `NotAvailable` if no call can succeed, `DataBroken` if the store of answers is damaged.
    """
    instructions = prompts.read(prompt)
    sent = messages(facts, gold, pred, prompt=instructions.text)
    try:
        # The schema is that of formlab's own prompt; another prompt says itself what it wants.
        answer = call(sent, form=schema(len(facts)) if prompt == PROMPT else None)
    except chat.Stopped as stop:
        answer = chat.Answer(status="missing", error=f"not asked: {stop}")
    verdicts, status = parse(answer.text or "")
    status = status if answer.status in USABLE else answer.status
    verdicts = verdicts if verdicts and status in USABLE else {}
    entries = [e for e in verdicts.get(ENTRIES) or () if isinstance(e, dict)]
    for index, entry in enumerate(entries):
        number = entry.get("number")
        if type(number) is int and 0 < number <= len(facts):
            entries[index] = _named(facts[number - 1]) | entry
    judged = verdicts | {"id": page, ENTRIES: entries, "status": status}
    judged["prompt"] = instructions.version
    if max(len(gold), len(pred)) > _LONGEST:
        judged["cut_at"] = _LONGEST
    if reason := answer.error or ("" if verdicts else "no verdicts in the answer"):
        judged["error"] = reason
    return judged
