"""Instances of forms: values of made-up people, and a text that quotes labels and values."""

from __future__ import annotations

import dataclasses
import datetime
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab_arena.spec import FormField, WebForm

if TYPE_CHECKING:
    from formlab_arena.page_reading import SourcePage

PER_FORM = 50
_FIRST = (
    "Ada", "Bruno", "Chidi", "Dora", "Emre", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi",
    "Lena", "Mateo", "Nadia", "Omar", "Petra",
)  # fmt: skip
_LAST = (
    "Berg", "Castillo", "Dube", "Eriksen", "Farkas", "Grant", "Haddad", "Iversen", "Jansen",
    "Kaya", "Lund", "Mori", "Novak", "Okoye",
)  # fmt: skip
_FIRM = (
    "Northgate", "Lantern", "Kettle", "Harrow", "Bluebell", "Quarry", "Tessel", "Meridian",
)  # fmt: skip
_TRADE = (
    "Foods", "Tools", "Textiles", "Optics", "Logistics", "Print", "Gardens",
)  # fmt: skip
_TOWN = (
    "Ashford", "Bellmere", "Corby", "Dunmore", "Elmstead", "Fairlight", "Granton",
)  # fmt: skip
_STREET = (
    "Mill Lane", "Station Road", "Cedar Avenue", "Quay Street", "Orchard Way", "Hill Terrace",
)  # fmt: skip
_JOB = (
    "Surveyor", "Head Nurse", "Bookkeeper", "Site Manager", "Translator", "Carpenter", "Analyst",
)  # fmt: skip
_SENTENCES = {
    "string": ("For “{label}” it is {value}.", "{label}: that would be {value}.",
               "Where they ask for “{label}”, please write {value}."),
    "description": ("On “{label}” I would say: {value}", "As for “{label}”: {value}"),
    "number": ("“{label}” comes to {value}.", "Under “{label}” put {value}."),
    "date": ("“{label}” is {value}.", "The day for “{label}” is {value}."),
    "dropdown": ("For “{label}” choose {value}.", "Of the choices under “{label}”, {value} fits."),
    "multiple": ("Under “{label}” tick {value}.",),
    "file": ("The file {value} belongs to “{label}”.", "Attach {value} as “{label}”."),
    "yes": ("Yes to “{label}”.", "You may tick “{label}”."),
    "no": ("Leave “{label}” unticked.", "No to “{label}”."),
}  # fmt: skip
_SENTENCES["radio"] = _SENTENCES["dropdown"]


@dataclasses.dataclass(frozen=True)
class Instance:
    """One task: the form, its right answers by field (null: left empty), and the text.

    `kind` is that of the text: ``quoted`` where it quotes labels and values, ``released``, or one
    of `texts.KINDS`. `document` is the PDF that the text is read from, if there is one. `page` is
    the document that a task without a text of its own is filled in from (kind ``pages``).
    """

    code: str
    number: int
    values: dict[str, Any]
    text: str
    kind: str = "quoted"
    document: Path | None = None
    page: SourcePage | None = None

    @property
    def name(self) -> str:
        """Unique among all instances: ``E12-007``."""
        return f"{self.code}-{self.number:03d}"

    @property
    def files(self) -> dict[str, bytes]:
        """Name and content of each file of the task."""
        names = [v for v in self.values.values() if isinstance(v, str) and v.startswith(self.name)]
        return {name: f"%PDF-1.4\n% {name}\n%%EOF\n".encode() for name in names}


def make(form: WebForm, number: int, *, seed: int = 0) -> Instance:
    """Instance `number` of a form: the same for the same seed, on every machine.

    Examples
    --------
    >>> from formlab_arena.spec import form
    >>> one = make(form("E11"), 1)
    >>> one == make(form("E11"), 1), one.values == make(form("E11"), 2).values
    (True, False)
    """
    # A text gives the same seed on every machine; the hash of a tuple would not.
    dice = random.Random(f"{seed}/{form.code}/{number}")
    person = _person(dice)
    values: dict[str, Any] = {}
    for field in form.fields:
        values[field.name] = None
        if field.applies(values):
            values[field.name] = _value(field, dice, person, f"{form.code}-{number:03d}")
    return Instance(form.code, number, values, _prose(form, values, dice))


def _person(dice: random.Random) -> dict[str, str]:
    first, middle, near = dice.sample(_FIRST, 3)
    last, other = dice.sample(_LAST, 2)
    firm = f"{dice.choice(_FIRM)} {dice.choice(_TRADE)}"
    street, city = f"{dice.randint(1, 240)} {dice.choice(_STREET)}", dice.choice(_TOWN)
    return {
        "first": first, "middle": middle, "last": last, "person": f"{first} {last}",
        "email": f"{first}.{last}{dice.randint(1, 99)}@example.org".lower(),
        "other": f"{near} {other}", "other_email": f"{near}.{other}@example.net".lower(),
        "phone": f"+1 555 01{dice.randint(0, 99):02d} {dice.randint(0, 999):03d}",
        "company": firm, "institute": f"{dice.choice(_TOWN)} Institute",
        "url": f"https://{firm.split()[0].lower()}.example.com",
        "profile": f"https://people.example.com/{first}-{last}".lower(),
        "street": street, "city": city, "address": f"{street}, {city}", "job": dice.choice(_JOB),
    }  # fmt: skip


def _value(field: FormField, dice: random.Random, person: dict[str, str], name: str) -> Any:
    if field.type == "checkbox":
        return field.required or dice.random() < 0.5
    if field.type == "file":
        return f"{name}-{field.name}.{field.accept[0]}"
    if not field.required and dice.random() < 0.3:
        return None
    if field.type == "multiple":
        chosen = dice.sample(field.options, dice.randint(1, min(3, len(field.options))))
        return [option for option in field.options if option in chosen]
    if field.options:
        return dice.choice(field.options)
    if field.range:
        return dice.randrange(field.range[0], field.range[1] + 1, field.step)
    if field.between:
        days = (field.between[1] - field.between[0]).days
        return (field.between[0] + datetime.timedelta(dice.randint(0, days))).isoformat()
    if field.like:
        drawn = re.sub("#", lambda _: str(dice.randint(0, 9)), field.like)
        return re.sub("@", lambda _: dice.choice("ABCDEFGHKLMNPRSTUVWXYZ"), drawn)
    if field.make:
        return person[field.make]
    if field.type == "description":
        return " ".join(dice.sample(field.any, 2))
    return dice.choice(field.any)


def _prose(form: WebForm, values: dict[str, Any], dice: random.Random) -> str:
    paragraphs = [f"Please fill in the {form.name} for me."]
    for page in form.pages:
        lines = [
            _sentence(field, values[field.name], dice)
            for field in page.fields
            if values[field.name] is not None
        ]
        # A text that names things in the order of the form would give the order away.
        dice.shuffle(lines)
        paragraphs.append(" ".join(lines))
    return "\n\n".join(paragraphs)


def _sentence(field: FormField, value: Any, dice: random.Random) -> str:
    kind = {True: "yes", False: "no"}[value] if isinstance(value, bool) else field.type
    return dice.choice(_SENTENCES[kind]).format(label=field.label, value=spoken(field, value))


def spoken(field: FormField, value: Any) -> str:
    """A value as the text gives it: dates and large numbers as people write them.

    Examples
    --------
    >>> spoken(FormField("day", "date", "Day"), "2027-03-05")
    '5 March 2027'
    """
    if field.type == "date":
        day = datetime.date.fromisoformat(value)
        return f"{day.day} {day:%B} {day.year}"
    if field.type == "number":
        return f"{value:,}" if value >= 10_000 else str(value)
    return " and ".join(value) if isinstance(value, list) else str(value)
