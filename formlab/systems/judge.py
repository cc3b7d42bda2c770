"""A language model as the judge of facts: its messages, its schema, its verdicts."""

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
_SAYS = {"found_in_prediction": {"type": "boolean"}, "correct": {"type": "boolean"}}
_VERDICT = closed(number={"type": "integer"}, **_SAYS, matched_text=TEXT, reason=TEXT)
_STRUCTURE = {"structure_score": {"type": "integer", "enum": [0, 1, 2]}}
_OVERALL = {"structure_explanation": TEXT, "overall_score": NUMBER, "overall_explanation": TEXT}
# Where a prompt has a place for a page, and what is said of pages that stand there.
_PLACE, _FENCES = re.compile(MARKS["judge"]["place"], re.IGNORECASE), MARKS["judge"]["fences"]
# One call: the messages and the schema of the answer (`form`) in, the answer back.
Call = Callable[..., chat.Answer]
# What is said of each fact of a page: `type`, `value` and `hint`.
Facts = Sequence[Mapping[str, str]]


def judge_call(model: str, *, store: str | Path, settings: dict[str, Any] | None = None) -> Call:
    """A caller of `model` for `ask` that asks nothing twice. Threads may share it.

    Its answers are kept in `store`; settings and errors are those of `chat.ChatSystem`.
    """
    client = chat.Client(model, chat.SHAPING | chat.RUNNING | (settings or {}))
    asker = chat.Asker(client, chat.AnswerStore(store))

    def status(answer: chat.Answer) -> str:
        status = content(answer, json=True).status
        # The released code reads answers more leniently, and its reading counts here.
        return parse(answer.text or "")[1] if status in (*USABLE, "bad_json") else status

    return lambda messages, form: asker.answer(messages, form, status=status, task="judge")


def messages(facts: Facts, gold: str, pred: str, *, prompt: str) -> list[dict[str, str]]:
    """The two messages about one page; `DataBroken` if the prompt has a place for one page alone.

    A prompt with places for both pages, such as ``{gold_html}`` and ``{generated_html}``, is sent
    as it is, each page between two lines with a code that a prediction cannot know; ``{facts}``
    takes the list of facts. Any other prompt is an instruction, followed by facts and pages in one
    JSON object, where a prediction cannot close a quotation and pass for instructions.

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
        remedy = "write {gold_html} and {generated_html}, or neither"
        raise DataBroken("the judge's prompt has a place for one page alone", remedy=remedy)
    if places:
        texts = {"facts": json.dumps(numbered)}
        for name, page in pages.items():
            code = hashlib.sha256(page.encode("utf-8", "replace")).hexdigest()[:16]
            texts[name] = f"BEGIN {code}\n{page}\nEND {code}"
        filled = _PLACE.sub(lambda match: texts[match.lastgroup or ""], prompt)
        system, user = _FENCES, filled.encode("utf-8", "replace").decode()
    else:
        body = {"FACTS": numbered, "GROUND TRUTH": pages["gold"], "GENERATED": pages["pred"]}
        # ASCII only: half surrogate pairs and control characters travel as escapes.
        system, user = prompt, json.dumps(body)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _named(fact: Mapping[str, str]) -> dict[str, str]:
    return {"type": fact["type"], "value": fact["value"], "context_hint": fact.get("hint", "")}


def ask(
    page: str, facts: Facts, gold: str, pred: str, *, call: Call, prompt: str | Path = PROMPT
) -> dict[str, Any]:
    """A judge's answer on one page, in the released form, with its status and the reason.

    `page` is its `doc_id`, `gold` the tagged page, `pred` what was predicted, `call` as from
    `judge_call`, `prompt` a name or file as for `prompts.read`. Entries have type, value and hint
    of their facts. A call that a limit forbids is ``missing``; `NotAvailable` if none can succeed.
    """
    chosen = prompts.read(prompt)
    sent = messages(facts, gold, pred, prompt=chosen.text)
    # The schema is that of formlab's own prompt, each fact once; another says itself what it wants.
    verdicts = listed(_VERDICT) | {"minItems": len(facts), "maxItems": len(facts)}
    form = closed(entity_diagnostics=verdicts, **_STRUCTURE, **_OVERALL)
    try:
        answer = call(sent, form=form if prompt == PROMPT else None)
    except chat.Stopped as stop:
        answer = chat.Answer(status="missing", error=f"not asked: {stop}")
    verdicts, status = parse(answer.text or "")
    status = status if answer.status in USABLE else answer.status
    verdicts = verdicts if verdicts and status in USABLE else {}
    entries = [e for e in verdicts.get(ENTRIES) or () if isinstance(e, dict)]
    named = {repr(number): _named(fact) for number, fact in enumerate(facts, start=1)}
    entries = [named.get(repr(entry.get("number")), {}) | entry for entry in entries]
    judged = verdicts | {"id": page, ENTRIES: entries, "status": status, "prompt": chosen.version}
    judged |= {"cut_at": _LONGEST} if max(len(gold), len(pred)) > _LONGEST else {}
    reason = answer.error or ("" if verdicts else "no verdicts in the answer")
    return judged | ({"error": reason} if reason else {})
