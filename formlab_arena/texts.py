"""Tasks and their texts: quoted, in prose, or of a file; and what can be recovered from a text."""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from formlab import benchmarks, files, pictures
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Corpus
from formlab.text import date, normalise
from formlab_arena import instances, spec
from formlab_arena.instances import Instance
from formlab_arena.matching import options_in
from formlab_arena.spec import FormField, WebForm
from formlab_arena.uploads import inside
from formlab_arena.value_patterns import PATTERNS

KINDS = ("letter", "email", "resume", "notes")
QUOTED, PROSE, RELEASED, PAGES = "quoted", "prose", "released", "pages"
FILE = "instances.yaml"
_NAME = re.compile(r"([A-Za-z0-9]{1,20})-([0-9]{3,6})")
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?!\w|[.,]\d)")


@dataclasses.dataclass(frozen=True)
class TaskSet:
    """Instances and their forms; `digest` tells files of tasks apart, empty for our own.

    `pages` are the documents that tasks without a text are read from.
    """

    instances: tuple[Instance, ...]
    forms: Mapping[str, WebForm]
    digest: str = ""
    pages: Corpus | None = None

    def write_forms(self, out: Path) -> Path | None:
        """Write forms that are not ours into the run `out`; their folder, None if all are ours."""
        if all(spec.forms().get(code) == form for code, form in self.forms.items()):
            return None
        for code, form in self.forms.items():
            spec.write(form, out / spec.OWN_FORMS / f"{code}.yaml")
        return out / spec.OWN_FORMS


def task_set(
    texts: str | Path = QUOTED, *, codes: Sequence[str] = (), count: int = 1, seed: int = 0
) -> TaskSet:
    """The first `count` instances of each form, with the texts asked for.

    Parameters
    ----------
    texts
        ``quoted``: made from values and labels; ``prose``: the project's own letters, e-mails,
        résumés and notes, one for each form; else a file of texts, or the folder that holds it.
    codes
        Forms; all if empty.
    seed
        Of the values, where formlab makes them.

    Raises
    ------
    UnknownName, DataMissing, DataBroken
        For an unknown form, a form without so many texts, and a file that holds none.

    Examples
    --------
    >>> [(each.name, each.kind) for each in task_set("prose", codes=["A13", "E12"]).instances]
    [('A13-001', 'email'), ('E12-001', 'email')]
    """
    forms = {code: spec.form(code) for code in codes or spec.forms()}
    if texts == QUOTED:
        made = (
            instances.make(f, n, seed=seed) for f in forms.values() for n in range(1, count + 1)
        )
        return TaskSet(tuple(made), forms)
    path = benchmarks.SAMPLES / "arena" / "prose.yaml" if texts == PROSE else Path(texts)
    path = path / FILE if path.is_dir() else path
    by_form: dict[str, list[Instance]] = {}
    for instance in read(path):
        by_form.setdefault(instance.code, []).append(instance)
    forms = {code: form for code, form in forms.items() if codes or code in by_form}
    for code in forms:
        if len(by_form.get(code, ())) < count:
            raise DataMissing(
                f"{len(by_form.get(code, ()))} texts for form {code}, {count} asked for",
                where=path, remedy="fewer --instances, or formlab arena write for more texts",
            )  # fmt: skip
    chosen = tuple(instance for code in forms for instance in by_form[code][:count])
    return TaskSet(chosen, forms, files.sha256(path)[:16])


def read(path: Path) -> list[Instance]:
    """The instances of a file of texts, a YAML list.

    An entry has a `name` (``E12-007``), a `kind` and a `text`. Where it has a `file`, a PDF beside
    it, the text is the one in the PDF. Its right answers are its `values`; without any, those of
    the instance that formlab makes by that name from its `seed`.
    """
    remedy = "a list of entries with name, kind and text, as formlab arena write makes it"
    entries = files.read_yaml(path, remedy=remedy)
    try:
        if not isinstance(entries, list) or not entries:
            raise ValueError("not a list of texts")
        return [_instance(entry, path) for entry in entries]
    except UnknownName as error:
        raise DataBroken(error.what, where=path, remedy=error.remedy) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        what = f"not a file of texts: {type(error).__name__} {' '.join(str(error).split())}"
        raise DataBroken(what[:300], where=path, remedy=remedy) from error


def _instance(entry: Mapping[str, Any], path: Path) -> Instance:
    match = _NAME.fullmatch(entry["name"])
    if not match:
        raise ValueError(f"name {entry['name']!r} is not like E12-007")
    code, number = match[1], int(match[2])
    made = instances.make(spec.form(code), number, seed=int(entry.get("seed", 0)))
    values, text, document = entry.get("values", made.values), entry.get("text"), None
    if name := entry.get("file"):
        document = inside(path.parent, str(name))
        if document is None:
            raise DataMissing("no such file beside the texts", where=path.parent / str(name))
        text = pdf_text(document)
    if not isinstance(values, dict) or not isinstance(text, str):
        raise ValueError(f"{match[0]} has no values or no text")
    return Instance(code, number, values, text, str(entry["kind"]), document)


def pdf_text(path: Path) -> str:
    """The text layer of a PDF, page after page; `DataBroken` if it cannot be read."""
    with pictures.pdf(path) as document:
        pages = [page.get_textpage().get_text_bounded() for page in document]
    return "\n\n".join(pages).replace("\r\n", "\n").strip()


def recover(
    form: WebForm, values: Mapping[str, Any], text: str, evidence: Mapping[str, str]
) -> dict[str, str]:
    """How each value that is to be entered can be recovered from a text, by the field's name.

    ``exact``: it stands in the text, and of a field's options no other does; ``typed``: a date or
    a number that is equal; ``declared``: the phrase that `evidence` gives for an option, tick,
    date or number stands in the text and names no other option; ``only file``: the one file of the
    task. Empty: not at all. Fields to leave alone need nothing. A declared phrase is in the text
    by rule, and that the value follows from it is for people to judge.

    Examples
    --------
    >>> from formlab_arena.spec import form
    >>> values = {"holder": "Ada Berg", "born": "1970-02-03", "account": "Joint", "number": "K1"}
    >>> text = "Ada Berg, born 3 February 1970, wants one account with her husband."
    >>> recover(form("E12"), values, text, {"account": "with her husband"})
    {'holder': 'exact', 'born': 'typed', 'account': 'declared', 'number': ''}
    """
    text = normalise(text, steps=("nfc", "space"))
    uploads = [f.name for f in form.fields if f.type == "file" and values.get(f.name)]
    how = {}
    for field in form.fields:
        value = values.get(field.name)
        if value is None or value is False:
            continue
        how[field.name] = _how(field, value, text, normalise(evidence.get(field.name, "")))
        if not how[field.name] and uploads == [field.name]:
            how[field.name] = "only file"
    return how


def _how(field: FormField, value: Any, text: str, phrase: str) -> str:
    plain = normalise(text)
    chosen = set(value) if isinstance(value, list) else {value}
    if field.options and _named(plain, field.options) == chosen:
        return "exact"
    if field.type == "date" and any(
        {str(day) for day in date(match[0]) or ()} == chosen
        for match in PATTERNS["date"].finditer(text)
    ):
        return "typed"
    if field.type == "number" and any(
        Decimal(match[0].replace(",", "")) == Decimal(str(value))
        for match in _NUMBER.finditer(plain)
    ):
        return "typed"
    if field.type in ("string", "description", "file"):
        return "exact" if _stands(normalise(str(value)), plain) else ""
    fits = _stands(phrase, plain) and _named(phrase, field.options) <= chosen
    return "declared" if fits else ""


def _named(text: str, options: Sequence[str]) -> set[str]:
    return {options[number] for number in options_in(text, options)}


def _stands(phrase: str, plain: str) -> bool:
    return bool(phrase) and re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", plain) is not None


def lost(how: Mapping[str, str]) -> list[str]:
    """The fields whose value cannot be recovered."""
    return [name for name, rule in how.items() if not rule]


def write(path: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of texts, as `read` takes it."""
    text = yaml.safe_dump(list(entries), sort_keys=False, allow_unicode=True, width=96)
    files.write_text(path, text)
