"""A model writes the texts of instances, and each text is checked for what it must say."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from formlab import workers
from formlab.files import storable
from formlab.systems import chat
from formlab.systems.chat.answers import Answer, content
from formlab.systems.chat.ask import TEXT, Task, closed, listed, messages
from formlab.tables import USABLE
from formlab_arena import texts
from formlab_arena.instances import Instance, spoken
from formlab_arena.spec import FormField, WebForm
from formlab_arena.texts import KINDS, QUOTED, TaskSet

TASK, STORE = "arena_write", "answers.sqlite"
SCHEMA = closed(text=TEXT, evidence=listed(closed(field=TEXT, phrase=TEXT)))
_LONGEST = 10_000
Row = dict[str, Any]


def write(
    out: Path, tasks: TaskSet, *, system: str, settings: Mapping[str, Any] | None = None,
    kind: str | None = None, tries: int = 3, seed: int = 0,
    tell: Callable[[Row], None] = lambda _: None,
) -> list[Row]:  # fmt: skip
    """Let a model write a text for each instance, in which its values are implied.

    Parameters
    ----------
    out
        A folder: ``instances.yaml``, which ``arena fill --texts`` takes, and the model's answers.
        What it has answered there is not asked again.
    tasks
        The instances, with the texts that stand where the model's are no use.
    system, settings
        ``chat:MODEL`` and the settings of `formlab.systems.chat` that are not at their default.
    kind
        One of `texts.KINDS` for all; else each in turn.
    tries
        How often the model is asked for one text, at most: again with the fields whose values
        could not be recovered from the last one.
    seed
        That of the instances' values.
    tell
        Called with each entry as it comes.

    Returns
    -------
    list of dict
        An entry for each instance: `name`, `kind`, `status` (``written``, or ``plain`` where the
        instance keeps its own text, with `missing` and `error`), `tries`, `text`, `evidence`.

    Raises
    ------
    NotAvailable, UnknownName, DataBroken
        If there is no key, no call can succeed, or a setting is wrong.
    """
    full = chat.SHAPING | chat.RUNNING | dict(settings or {})
    client = chat.Client(chat.system(system).model, full)
    prompt = chat.prompt_of(Task(TASK, "click", places=""), prompt=full["prompt"])
    out.mkdir(parents=True, exist_ok=True)
    entries: dict[int, Row] = {}
    with chat.AnswerStore(full["store"] or out / STORE) as store:
        asker = chat.Asker(client, store)

        def one(number: int) -> Row:
            instance = tasks.instances[number]
            wanted = kind or KINDS[number % len(KINDS)]
            form = tasks.forms[instance.code]
            return {"seed": seed} | _written(asker, prompt, form, instance, wanted, tries)

        numbers = range(len(tasks.instances))
        written = workers.threads(
            one, numbers, workers=full["concurrency"], name="write",
            ended=lambda: client.stop("the run ended"),
        )  # fmt: skip
        with closing(written):
            for number, entry in written:
                entries[number] = entry
                tell(entry)
    ordered = [entries[number] for number in numbers]
    texts.write(out / texts.FILE, ordered)
    return ordered


def _written(
    asker: chat.Asker, prompt: str, form: WebForm, instance: Instance, kind: str, tries: int
) -> Row:
    asked = {"FORM": form.name, "KIND": kind, "FIELDS": _fields(form, instance)}
    entry = {
        "name": instance.name, "kind": QUOTED, "status": "plain", "tries": 0, "text": instance.text,
    }  # fmt: skip
    missing, error = list[str](), ""
    for number in range(1, tries + 1):
        try:
            sent, about = messages(prompt, asked, schema=SCHEMA), {"doc_id": instance.name}
            answer = asker.answer(sent, SCHEMA, status=lambda a: _read(a)[0], task=TASK, **about)
        except chat.Stopped as stop:
            return entry | {"missing": missing, "error": f"not asked: {stop}"}
        entry["tries"] = number
        status, text, evidence = _read(answer)
        how = texts.recover(form, instance.values, text, evidence)
        missing = texts.lost(how)
        if status in USABLE and not missing:
            evidence = {name: evidence[name] for name, rule in how.items() if rule == "declared"}
            return entry | {
                "kind": kind, "status": "written", "text": text, "evidence": evidence,
            }  # fmt: skip
        error = f"values not in the text: {', '.join(missing)}" if status in USABLE else status
        # The number makes the question new where the same answer came twice.
        asked |= {"LAST": text, "MISSING": missing, "TRY": number + 1}
    return entry | {"missing": missing, "error": error}


def _fields(form: WebForm, instance: Instance) -> list[Row]:
    return [
        {"field": field.name, "label": field.label, "value": _value(field, value)}
        | ({"options": list(field.options)} if field.options else {})
        for field in form.fields
        if (value := instance.values[field.name]) is not None
    ]


def _value(field: FormField, value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else spoken(field, value)


def _read(answer: Answer) -> tuple[str, str, dict[str, str]]:
    """Status, text and evidence of an answer; whatever it is, it is only ever text."""
    parsed = content(answer, json=True)
    value = parsed.value if isinstance(parsed.value, dict) else {}
    text, listed_ = value.get("text"), value.get("evidence")
    if parsed.status not in USABLE or not isinstance(text, str) or len(text) > _LONGEST:
        return parsed.status if parsed.status not in USABLE else "bad_shape", "", {}
    phrases = {
        str(item.get("field")): str(storable(item.get("phrase") or ""))
        for item in (listed_ if isinstance(listed_, list) else ())
        if isinstance(item, dict)
    }
    clean = "".join(char for char in storable(text) if char.isprintable() or char == "\n")
    return parsed.status, clean.strip(), phrases
