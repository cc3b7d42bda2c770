"""The arena's forms, one YAML file each."""

import dataclasses
import datetime
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from formlab import files
from formlab.errors import DataBroken, UnknownName

FOLDER = Path(__file__).parent / "forms"
# Where a run keeps the forms that are not ours.
OWN_FORMS = "forms"
TYPES = (
    "string", "description", "number", "date", "dropdown", "radio", "checkbox", "multiple", "file",
)  # fmt: skip
LAYOUTS = ("stacked", "beside", "columns", "cards")
FONTS = ("sans", "serif", "mono")
# Controls of the browser, or those of a library: lists that a script opens, ticks that are drawn.
WIDGETS = ("native", "custom")
CHOICES = ("dropdown", "radio", "multiple")
# What a generator of instances makes values from; a drop-down or tick needs none.
_MAKERS = ("make", "any", "like", "range", "between")
# What `make` may name: what a generator of instances knows of a person.
PERSON = (
    "first", "middle", "last", "person", "email", "other", "other_email", "phone", "company",
    "institute", "url", "profile", "street", "city", "address", "job",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class FormField:
    """One question of a form. `when` names a field and the answer that makes this one apply."""

    name: str
    type: str
    label: str
    required: bool = True
    format: str = ""
    options: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    range: tuple[int, int] | None = None
    step: int = 1
    between: tuple[datetime.date, datetime.date] | None = None
    when: Mapping[str, str] = dataclasses.field(default_factory=dict)
    make: str = ""
    any: tuple[str, ...] = ()
    like: str = ""

    def applies(self, answers: Mapping[str, Any]) -> bool:
        """Whether the field is asked, given the answers to the others.

        Examples
        --------
        >>> pets = FormField("which", "string", "Which?", when={"pets": "Yes"})
        >>> pets.applies({"pets": "No"}), pets.applies({"pets": "Yes"})
        (False, True)
        """
        return all(answer_text(answers.get(name)) == answer for name, answer in self.when.items())


def answer_text(answer: Any) -> str:
    """An answer as text: ``true`` or ``false`` of a tick, several options with commas.

    Examples
    --------
    >>> answer_text(True), answer_text(["Tea", "Jam"]), answer_text(3)
    ('true', 'Tea, Jam', '3')
    """
    if isinstance(answer, bool):
        return str(answer).lower()
    return ", ".join(answer) if isinstance(answer, list) else str(answer)


@dataclasses.dataclass(frozen=True)
class FormPage:
    """One screen of a form."""

    title: str
    fields: tuple[FormField, ...]


@dataclasses.dataclass(frozen=True)
class WebForm:
    """One form: its pages and how they look."""

    code: str
    name: str
    domain: str
    style: Mapping[str, str]
    pages: tuple[FormPage, ...]

    @property
    def fields(self) -> tuple[FormField, ...]:
        """All fields in reading order."""
        return tuple(field for page in self.pages for field in page.fields)


def load(path: Path) -> WebForm:
    """The form of one YAML file.

    Raises
    ------
    DataBroken
        If the file is no YAML, or misses or misuses a key; names file, field and remedy.
    """
    raw = files.read_yaml(path, remedy="see forms/A11.yaml")
    try:
        form = WebForm(
            code=str(raw["code"]), name=raw["name"], domain=raw["domain"], style=raw["style"],
            pages=tuple(
                FormPage(page.get("title", ""), tuple(_field(item) for item in page["fields"]))
                for page in raw["pages"]
            ),
        )  # fmt: skip
        _check(form)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"not a form: {type(error).__name__} {error}"
        raise DataBroken(what, where=path, remedy="see forms/A11.yaml for the keys") from error
    return form


def _field(item: dict[str, Any]) -> FormField:
    item = dict(item)
    for key in ("options", "accept", "any", "range", "between"):
        if key in item:
            item[key] = tuple(item[key])
    return FormField(**item)


def _check(form: WebForm) -> None:
    names = [field.name for field in form.fields]
    if len(set(names)) < len(names) or not names:
        raise ValueError("field names must be unique, and there must be one")
    style = form.style
    if style["layout"] not in LAYOUTS or style["font"] not in FONTS:
        raise ValueError(f"layout is one of {LAYOUTS}, font one of {FONTS}")
    if style.get("widgets", WIDGETS[0]) not in WIDGETS:
        raise ValueError(f"widgets is one of {WIDGETS}")
    # The colour goes into a style sheet, so nothing but a colour may pass.
    if not re.fullmatch(r"#[0-9a-f]{6}", style["colour"]):
        raise ValueError(f"colour {style['colour']!r} is not like #1a2b3c")
    if not re.fullmatch(r"[A-Za-z0-9]{1,20}", form.code):
        raise ValueError(f"code {form.code!r} is not letters and digits")
    for field in form.fields:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", field.name):
            raise ValueError(f"name {field.name!r} is not lower-case letters, digits and _")
        if field.type not in TYPES:
            raise ValueError(f"{field.name}: type {field.type!r} is none of {TYPES}")
        if (field.type in CHOICES) != bool(field.options):
            raise ValueError(f"{field.name}: options belong to {CHOICES}, and to each of them")
        if not isinstance(field.required, bool):
            raise ValueError(f"{field.name}: 'required' is true or false")
        is_span = not field.between or len(field.between) == 2
        if not is_span or not all(type(day) is datetime.date for day in field.between or ()):
            raise ValueError(f"{field.name}: 'between' is two dates")
        if field.type == "file" and not field.accept:
            raise ValueError(f"{field.name}: a file needs accept")
        if not set(field.when) <= set(names[: names.index(field.name)]):
            raise ValueError(f"{field.name}: 'when' must name an earlier field")
        if field.type in ("string", "description", "number", "date") and not any(
            getattr(field, key) for key in _MAKERS
        ):
            raise ValueError(f"{field.name}: needs one of {_MAKERS}")
        if field.make and field.make not in PERSON:
            raise ValueError(f"{field.name}: 'make' is one of {', '.join(PERSON)}")


def write(form: WebForm, path: Path) -> None:
    """Write a form as the YAML file that `load` reads.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "E12.yaml"
    >>> write(form("E12"), file)
    >>> load(file) == form("E12")
    True
    """
    usual = dataclasses.asdict(FormField("", "", ""))
    raw = dataclasses.asdict(form)
    for page in raw["pages"]:
        page["fields"] = [
            {key: list(v) if isinstance(v, tuple) else v for key, v in field.items()
             if key in ("name", "type", "label") or v != usual[key]}
            for field in page["fields"]
        ]  # fmt: skip
    raw["pages"] = list(raw["pages"])
    files.write_text(path, yaml.safe_dump(raw, sort_keys=False, allow_unicode=True))


@functools.cache
def forms(folder: Path = FOLDER) -> Mapping[str, WebForm]:
    """All forms by code, in the order of their codes.

    Examples
    --------
    >>> len(forms()), forms()["E12"].name
    (25, 'Bank Account Opening Form')
    """
    by_code = {}
    for path in sorted(folder.glob("*.yaml")):
        form = load(path)
        if form.code in by_code:
            raise DataBroken(f"two forms have the code {form.code}", where=path, remedy="rename")
        by_code[form.code] = form
    return by_code


def form(code: str, folder: Path = FOLDER) -> WebForm:
    """The form with this code; `UnknownName` if there is none."""
    known = forms(folder)
    if code not in known:
        raise UnknownName.of("form", code, known)
    return known[code]
