"""The instances that FormFactory releases, as tasks: its texts on forms that ask for its fields.

The arena's own forms ask for other things under other labels, so a released value could be entered
in only some of them. Each released form is therefore made anew from the release: its fields, their
kinds, and as options the values that its instances choose from.
"""

import dataclasses
import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formlab import benchmarks
from formlab.benchmarks import formfactory
from formlab.errors import DataMissing
from formlab.text import as_text, checked
from formlab.text import values as typed
from formlab_arena import spec
from formlab_arena.instances import Instance
from formlab_arena.spec import FormField, FormPage, WebForm
from formlab_arena.texts import RELEASED, TaskSet

_TYPES = {"choice": "multiple"}
# How many of a field's values a form that is written down shows as examples.
_EXAMPLES = 3
Row = dict[str, Any]


def task_set(root: str | Path, *, codes: Sequence[str] = (), count: int = 1) -> TaskSet:
    """The first `count` instances of each released form that have a text.

    Parameters
    ----------
    root
        The folder of the release: ``data1`` (values) and ``data2`` (texts).
    codes
        Forms by the paper's code; all that the folder has if empty.

    Raises
    ------
    DataMissing, DataBroken
        If there is no release, no text for a form that is asked for, or a file is damaged.
    """
    root = Path(root)
    corpus = benchmarks.load("formfactory", root=root)
    texts = dict(corpus.documents.select("doc_id", "context").drop_nulls().iter_rows())
    known = formfactory.forms(root)
    forms, instances = {}, []
    for code in codes or corpus.documents["template"].unique(maintain_order=True):
        file = root / "data1" / f"{known[code].file}.json" if code in known else None
        if file is None or not file.is_file():
            raise DataMissing(f"the release has no form {code}", where=root / "data1")
        form, values = _form(known[code], formfactory.instances(file))
        forms[code] = form
        named = [
            Instance(code, number, answers, texts[name], RELEASED)
            for number, answers in enumerate(values, start=1)
            if (name := formfactory.doc_id(known[code], number)) in texts
        ]
        if len(named) < count:
            raise DataMissing(f"{len(named)} texts for form {code}", where=root / "data2")
        instances += named[:count]
    digest = "".join(digest for _, digest in sorted(corpus.sources.items()))
    return TaskSet(tuple(instances), forms, digest[:16])


def _form(released: formfactory.WebForm, rows: list[Row]) -> tuple[WebForm, list[Row]]:
    """The form, and the right answers of each instance by the names of its fields."""
    labels = dict.fromkeys([*released.fields, *(label for row in rows for label in row)])
    fields, columns = [], {}
    for number, label in enumerate(labels):
        known = released.fields.get(label)
        kind = known.kind if known else "string"
        answers = [_answer(kind, row.get(label)) for row in rows]
        if kind in ("number", "date") and any(isinstance(a, str) and not _iso(a) for a in answers):
            # A number with a leading zero, or a date without a year, is a text to a browser.
            kind, answers = "string", [_text(kind, row.get(label)) for row in rows]
        name = f"f{number}_{re.sub('[^a-z0-9]+', '_', label.lower())}".strip("_")[:60]
        columns[name] = answers
        fields.append(_field(name, kind, label, answers))
    ours = spec.forms().get(released.code)
    size = -(-len(fields) // (len(ours.pages) if ours else 1))
    style = ours.style if ours else {"layout": "stacked", "font": "sans", "colour": "#204a9e"}
    form = WebForm(
        released.code, released.name, released.domain, style,
        tuple(FormPage("", tuple(fields[at : at + size])) for at in range(0, len(fields), size)),
    )  # fmt: skip
    return form, [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]


def _field(name: str, kind: str, label: str, answers: list[Any]) -> FormField:
    kind = _TYPES.get(kind, kind)
    values = [each for answer in answers if answer is not None for each in _listed(answer)]
    distinct = tuple(dict.fromkeys(values))
    if kind in spec.CHOICES and not distinct:
        kind = "string"
    field = FormField(name, kind, label, required=kind != "checkbox" and None not in answers)
    if kind in spec.CHOICES:
        return dataclasses.replace(field, options=tuple(sorted(distinct)))
    if kind == "file":
        return dataclasses.replace(field, accept=("pdf",))
    if kind == "checkbox":
        return field
    return dataclasses.replace(field, any=distinct[:_EXAMPLES] or ("–",))


def _listed(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def _answer(kind: str, value: Any) -> Any:
    if kind == "checkbox":
        return checked(as_text(value)) is True
    text = _text(kind, value)
    if text is None or kind == "file":
        return None
    if kind == "choice" and isinstance(value, list):
        return sorted({" ".join(as_text(item).split()) for item in value}) or None
    if kind == "choice":
        return [text]
    if kind == "number":
        number = typed.number(text)
        plain = number is not None and re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]+)?", text)
        return text if not plain else int(number) if number == int(number) else float(number)
    if kind == "date":
        days = typed.date(text)
        return min(days).isoformat() if days and len(days) == 1 else text
    return text


def _text(kind: str, value: Any) -> str | None:
    """A value as a browser sends it: of one line, except for descriptions."""
    text = ", ".join(map(as_text, value)) if isinstance(value, list) else as_text(value)
    text = text.replace("\r\n", "\n").strip() if kind == "description" else " ".join(text.split())
    return text or None


def _iso(text: str) -> bool:
    try:
        return bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False
