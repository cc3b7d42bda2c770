"""Forms in six looks: a list of fields and a template give a page, its texts and what is sent.

A form is a file of lines ``name | kind | label | value | options | as the text says it``; a star
after the kind is a required field, an option is ``value=Text``, and a tick's value is yes or no.
"""

import dataclasses
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from tests.arena.web.hosting import Page, lines

HERE = Path(__file__).parent
LOOKS = ("plain", "bootstrap4", "bootstrap5", "material", "table", "native")
TEXTS = ("lines", "markdown", "block")
_MANY = ("checks", "multiple")


@dataclasses.dataclass(frozen=True)
class Field:
    """A question of a form: how it is asked, answered, and told in a text."""

    name: str
    kind: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...] = ()
    told: str = ""
    required: bool = False

    @property
    def type(self) -> str:
        """The type of an ``input``."""
        return "text" if self.kind in ("datetext", "money") else self.kind

    @property
    def hint(self) -> str:
        """The notation that a label asks for in brackets, such as DD/MM/YYYY."""
        return (
            match[0]
            if (match := re.search(r"[DMY]{2,4}\W[DMY]{2}\W[DMY]{2,4}", self.label))
            else ""
        )

    @property
    def plain(self) -> str:
        """The label without the notation that it asks for."""
        return self.label.replace(f" ({self.hint})", "") if self.hint else self.label

    @property
    def answer(self) -> str | bool | list[str]:
        """The right answer, as shown in the form."""
        if self.kind == "check":
            return self.value == "yes"
        return self.value.split("; ") if self.kind in _MANY and self.value else self.value

    @property
    def sent(self) -> list[str]:
        """What the server gets; nothing for what is empty or not ticked."""
        if self.kind == "check":
            return ["on"] if self.answer else []
        texts = self.answer if isinstance(self.answer, list) else [self.value]
        values = {text: value for value, text in self.options}
        return [values.get(text, text) for text in texts if text]


def fields_of(file: Path) -> tuple[str, list[Field]]:
    """A form's title, which is the first line, and its fields."""
    title, *rows = file.read_text("utf-8").strip().split("\n")
    return title, [_field(*(cell.strip() for cell in row.split("|"))) for row in rows]


def _field(
    name: str, kind: str, label: str, value: str, options: str = "", told: str = ""
) -> Field:
    pairs = (option.strip().partition("=") for option in options.split(";") if option.strip())
    shown = tuple((value, text or value) for value, _, text in pairs)
    return Field(name, kind.rstrip("*"), label, value, shown, told, kind.endswith("*"))


def text_of(fields: Iterable[Field], kind: str) -> str:
    """The answers in words that name the labels; what has none is not mentioned."""
    told = {f.plain: f.told or f.answer for f in fields if f.value}
    rows = lines(told).split("\n")
    if kind == "lines":
        return "\n".join(rows)
    if kind == "block":
        sentences = (row if row.endswith((".", "!", "?")) else f"{row}." for row in rows)
        return "Please fill in the form for us. " + " ".join(sentences)
    bold = [re.sub(r"^(.*?): ", r"**\1:** ", row, count=1) for row in rows[::2]]
    listed = [re.sub(r"^(.*?): ", r"- **\1**: ", row, count=1) for row in rows[1::2]]
    return "\n".join(
        ["# Data for the form", "", *("\n\n".join(bold), ""), "## Further", "", *listed]
    )


def page(
    title: str, fields: Sequence[Field], template: Path, name: str = "", text: str = "lines"
) -> Page:
    """The form as a page in the look of a template."""
    folders = FileSystemLoader([template.parent, HERE / "styles"])
    environment = Environment(
        loader=folders, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )  # fmt: skip
    html = environment.get_template(template.name).render(title=title, fields=fields)
    gold = {field.label: field.answer for field in fields if field.value}
    sent = {field.name: field.sent for field in fields}
    return Page(name or template.stem, html, gold, sent, text_of(fields, text))


def pages(folder: Path = HERE, texts: Sequence[str] = TEXTS) -> list[Page]:
    """Each form of a folder in each of its looks; the kinds of text take turns."""
    made = []
    for number, file in enumerate(sorted((folder / "forms").glob("*.txt"))):
        for at, look in enumerate(LOOKS):
            text = texts[(number + at) % len(texts)]
            title, fields = fields_of(file)
            name = f"{look}-{file.stem}-{text}"
            made.append(page(title, fields, folder / "styles" / f"{look}.html", name, text))
    return made
