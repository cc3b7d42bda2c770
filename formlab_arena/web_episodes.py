"""What an episode on a page that is not formlab's is scored by: fields, gold, what was sent.

The gold names fields by their labels, the log has the page's own names for them, and a submission
the names and codes that the page sends. Here all three become one form as formlab's own have.
"""

import dataclasses
import re
import urllib.parse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken
from formlab.text import values as typed
from formlab_arena import matching, page_fields, spec, web_tasks
from formlab_arena.action_groups import Episode
from formlab_arena.observation import Element
from formlab_arena.page_fields import PageField

_GOLD = '--gold gold.json with {"Label": "value"}, or {"task": {"Label": "value"}}'
# The item of a list in the path of a JSON submission.
_ITEM = re.compile(r"(?:\.\d+|\[\d*\])$")
_KINDS = {
    "select": "dropdown", "listbox": "dropdown", "radio": "radio", "number": "number",
    "range": "number", "date": "date", "file": "file", "textarea": "description",
    "textbox": "description",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class WebEpisode:
    """One episode in the terms of `spec.WebForm`, whose fields have the labels of the gold.

    Parameters
    ----------
    form
        A field for each label of the gold.
    values
        The right answers by field: options by their texts, dates as the control has them.
    answers
        What was sent and accepted, by field.
    owners
        The field of each control, by its name on the page and its option (None for all).
    codes
        By the control's name: the text of each code that a page has for an option.
    missing
        Labels of the gold that no control of the pages seen has.
    stray
        Names that were sent and are no label of the gold.
    """

    form: spec.WebForm
    values: dict[str, Any]
    answers: dict[str, str]
    owners: Mapping[tuple[str, str | None], str] = dataclasses.field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()

    def owner(self, field: str | None, option: str | None = None) -> str:
        """The field that a control belongs to; its own name if none."""
        known = self.owners.get((field or "", option)) or self.owners.get((field or "", None))
        return known or field or ""

    def shown(self, field: str | None, text: str) -> str:
        """A content of a control as people read it, from what it would send."""
        codes = self.codes.get(field or "", {})
        return codes.get(text) or ", ".join(codes.get(each, each) for each in text.split(", "))

    def option(self, control: Mapping[str, Any]) -> str | None:
        """The option that a control is, as people read it; None for all but ticks of a choice."""
        option = control["option"]
        if self.owner(control["field"], option).startswith(page_fields.TOGETHER):
            return control["name"]
        return self.codes.get(control["field"], {}).get(option, option)

    def content(self, log: Episode) -> dict[str, str]:
        """What each field held when last seen."""
        texts: dict[str, list[str]] = {}
        for name, content in log.content.items():
            shown = self.shown(name, content)
            for option in (None, *self.codes.get(name, ())):
                owner = self.owners.get((name, option), name if option is None else None)
                if owner == name:
                    texts[name] = [shown]
                elif owner and (content == "true" or option in content.split(", ")):
                    texts.setdefault(owner, []).append(self.codes.get(name, {}).get(option, name))
        return {owner: ", ".join(each) for owner, each in texts.items()}


def golds(run: Path, names: list[str], given: Any = None) -> dict[str, dict[str, Any]]:
    """The right answers of each task of a run: those that are `given` now, else its own.

    `given` are the answers of the only task, or an object of them for each task.
    """
    by_task: dict[str, Any] = {}
    if given is not None:
        many = (
            isinstance(given, dict) and given and all(isinstance(v, dict) for v in given.values())
        )
        if not many and len(names) != 1:
            raise DataBroken(f"the run has {len(names)} tasks", where="--gold", remedy=_GOLD)
        by_task = given if many else {names[0]: given}
    golds = {}
    for name in names:
        file = run / name / "values.json"
        if name not in by_task and not file.is_file():
            raise DataBroken("no right answers to score by", where=run / name, remedy=_GOLD)
        where, content = (
            ("--gold", by_task[name]) if name in by_task else (file, files.read_json(file))
        )
        golds[name] = web_tasks.gold(where, content)
    return golds


class PageLog:
    """The fields of all pages that a log has seen, and the texts of the codes that they send."""

    def __init__(self, log: Episode) -> None:
        controls = [c for screen in log.screens.values() for c in screen["controls"] if c["field"]]
        elements = {(c["field"], c["option"]): _element(c) for c in controls}
        self.fields = page_fields.fields_of(elements.values())
        self.codes = {field: dict(known) for field, known in log.codes.items()}
        for control in controls:
            known = self.codes.setdefault(control["field"], {})
            if control["option"] is not None:
                known[control["option"]] = control.get("name") or control["option"]
            known |= zip(control.get("values") or (), control["options"] or (), strict=False)

    def sent(self, account: Mapping[str, Any]) -> dict[str, list[str]]:
        """The values of all accepted submissions by name; of one that was sent twice, the last.

        The items of a list in JSON are one value of several texts.
        """
        own = {name for field in self.fields.values() for name in names_of(field)}
        sent: dict[str, list[str]] = {}
        for submission in account.get("submissions", ()):
            if submission["outcome"] == "accepted":
                values: dict[str, list[str]] = {}
                for name, texts in submission["values"].items():
                    whole = name if name in own else _ITEM.sub("", name)
                    values.setdefault(whole, []).extend(texts)
                sent |= values
        return sent

    def texts(self, field: PageField, sent: Mapping[str, list[str]]) -> list[str]:
        """What a field was sent with, as people read it."""
        own = next((name for name in names_of(field) if name in sent), None)
        if field.name.startswith(page_fields.TOGETHER):
            return [m.name for m in field.marks if ticked(sent.get(m.field.partition("#")[0], []))]
        texts = sent.get(own, [])
        number = field.first.field.partition("#")[2]
        if number.isdecimal() and int(number) <= len(texts):
            texts = texts[int(number) - 1 : int(number)]
        texts = [self.codes.get(field.first.field, {}).get(text, text) for text in texts]
        if field.name.startswith(page_fields.APART):
            return ["true"] if field.first.name in texts else []
        several = field.first.many or field.kind == "file" or len(field.marks) > 1
        return texts if several else texts[:1]

    def read(self, field: PageField | None, texts: list[str], held: str) -> list[str]:
        """What a script sent, as people read it.

        A code that no option of a choice is known by is read as what the field `held`.
        """
        names = [mark.name for mark in field.marks] if field else []
        if not (field and (names := names or list(field.first.options))):
            return texts
        codes = self.codes.get(field.name, {})
        plain = {name.casefold(): name for name in names} | codes
        known = [plain.get(text) or plain.get(text.casefold()) for text in texts]
        return (
            [codes.get(held, held)]
            if held and None in known
            else [k or t for k, t in zip(known, texts, strict=True)]
        )


def read(result: Mapping[str, Any], gold: Mapping[str, Any], log: Episode) -> WebEpisode:
    """An episode from its result, its right answers and its log."""
    page = PageLog(log)
    homes = page_fields.paired(gold, page.fields)
    sent = page.sent(result.get("account") or {})
    fields, values, answers, used = [], {}, {}, set[str]()
    for key, value in gold.items():
        home = homes.get(key)
        name = home.name if home else f"missing {key}"
        kind = _kind(value, home)
        fields.append(spec.FormField(name, kind, key, required=False))
        values[name] = value if home is None else _canonical(value, home, gold.values())
        used |= {own for own in names_of(home) if own in sent}
        if home and (texts := page.texts(home, sent)):
            answers[name] = _joined(texts, kind)
    left = {name: texts for name, texts in sent.items() if name not in used}
    for field, key in zip(fields, gold, strict=True):
        # What a script sends under names of its own: by those, else by a value that is unique.
        if used.isdisjoint(names_of(homes.get(key))) and (name := _sent_as(key, gold[key], left)):
            answers[field.name] = _joined(
                page.read(homes.get(key), left.pop(name), log.content.get(field.name, "")),
                field.type,
            )
    parts = urllib.parse.urlsplit(str(result.get("address", "")))
    code = f"{parts.netloc}{parts.path}"[:200]
    form = spec.WebForm(code, code, parts.hostname or "", {}, (spec.FormPage("", tuple(fields)),))
    missing = tuple(key for key in gold if key not in homes)
    owners = _owners(homes, page.fields)
    return WebEpisode(form, values, answers, owners, page.codes, missing, tuple(left))


def names_of(field: PageField | None) -> list[str]:
    """The names under which a page sends a field: without the number of one of many."""
    elements = field.elements if field else ()
    return list(dict.fromkeys(element.field.partition("#")[0] for element in elements))


def ticked(texts: Sequence[str]) -> bool:
    """Whether what was sent of a tick says that it is on."""
    return bool(texts) and texts[-1] != "" and typed.checked(texts[-1]) is not False


def _joined(texts: Sequence[str], kind: str) -> str:
    return str(ticked(texts)).lower() if kind == "checkbox" else ", ".join(texts)


def _sent_as(key: str, value: Any, left: Mapping[str, list[str]]) -> str | None:
    name = matching.pair([key], {name: (name,) for name in left}).get(key)
    text = page_fields.as_text(value)
    equal = [other for other in left if page_fields.same(", ".join(left[other]), text)]
    unique = len(equal) == 1 and text and not isinstance(value, bool)
    return name or (equal[0] if unique else None)


def _owners(
    homes: Mapping[str, PageField], pages: Mapping[str, PageField]
) -> dict[tuple[str, str | None], str]:
    owners: dict[tuple[str, str | None], str] = {}
    for home in homes.values():
        if home.name in pages:
            owners[home.name, None] = home.name
        else:
            for mark in home.elements:
                of_choice = len(pages[mark.field].elements) > 1
                option = next(
                    (e.option for e in pages[mark.field].elements if e.name == mark.name), None
                )
                owners[mark.field, option if of_choice else None] = home.name
    return owners


def _element(control: Mapping[str, Any]) -> Element:
    return Element(
        control["field"], control["option"], control["kind"], control["value"] or "",
        control["checked"], tuple(control["options"] or ()), tuple(control["box"]),
        name=control.get("name", ""), label=control.get("label", ""),
        group=tuple(control.get("group", ())), many=bool(control.get("many")),
    )  # fmt: skip


def _kind(value: Any, home: PageField | None) -> str:
    """The type of a field, from that of the control that was seen."""
    if home is None or isinstance(value, list):
        file = home is not None and home.kind == "file"
        plain = "checkbox" if isinstance(value, bool) else "string"
        return "file" if file else "multiple" if isinstance(value, list) else plain
    if home.marks:
        alone = len(home.elements) == 1 and home.first.option is None
        return "checkbox" if alone else "radio" if home.kind == "radio" else "multiple"
    if home.kind == "text" and page_fields.is_day(home, value):
        return "date"
    return _KINDS.get(home.kind, "string")


def _canonical(value: Any, home: PageField, others: Collection[Any]) -> Any:
    """The right answer as the control has it."""
    if value is None:
        return None
    if home.marks:
        if len(home.elements) == 1 and home.first.option is None:
            return value if isinstance(value, bool) else typed.checked(str(value)) is not False
        names = [text if at is None else home.marks[at].name for at, text in home.chosen(value)]
        return [str(name) for name in names] if home.kind != "radio" else str(names[0])
    if home.first.options:
        options = list(home.options(value))
        return options if isinstance(value, list) else options[0]
    return page_fields.native(home.kind, "", value, others)
