"""FORMCRAFT's form: fields, groups and nested groups, as the paper defines them (appendix F).

`FieldModel`, `Group` and `FormCraft` hold the paper's keys. What the paper's tasks need beyond
them is optional here: boxes, pages, and the questions and consistency checks of L3.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation

from formlab.benchmarks.corpus import box_of
from formlab.text.normalise import as_text, as_texts


def _box(value: Any) -> Any:
    # A malformed box must not cost the field it belongs to.
    sides = map(share, value) if isinstance(value, list | tuple) else ()
    return box_of(list(sides))


def _page(value: Any) -> Any:
    try:
        page = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return page if 0 < page < 1_000_000 else None


def _word(value: Any) -> Any:
    return None if value is None else as_text(value)


def share(value: Any) -> float | None:
    """A finite number in any notation of Python's; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


Word = Annotated[str | None, BeforeValidator(_word)]
Text = Annotated[str, BeforeValidator(as_text)]
# Kept as it is, with what a model's answer says of it.
Value = Annotated[SkipValidation[str], BeforeValidator(as_text)]
Texts = Annotated[list[str], BeforeValidator(as_texts)]
Box = Annotated[tuple[float, float, float, float] | None, BeforeValidator(_box)]
Page = Annotated[int | None, BeforeValidator(_page)]
Share = Annotated[float | None, BeforeValidator(share)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore")


class FieldModel(_Model):
    """One field: its label, modality, subtype and value, all as text.

    A ticked box is a value such as ``checked``; a set of options is a list of those marked. `box`
    is x0, y0, x1, y1 in pixels of image `page`, counted from 1.

    >>> FieldModel(label="Copies", modality="Textual", modality_subtype="Mixed", value=3).value
    '3'
    """

    label: Text = Field("", description="The label of the field.")
    modality: Text = Field("", description="The modality of the field.")
    modality_subtype: Text = Field("", description="The modality subtype of the field.")
    value: Value = Field("", description="The value of the field.")
    kind: Word = Field(None, description="The type of value: date, money, choice …")
    accepted: Texts = Field(default_factory=list, description="Further values that are right.")
    page: Page = Field(None, description="The page, from 1.")
    box: Box = Field(None, description="x0, y0, x1, y1 in pixels of the page's image.")


class Group(_Model):
    """Fields, and groups within the group."""

    label: Text = Field("", description="The label of the group.")
    fields: list[FieldModel] = Field(default_factory=list, description="The fields in the group.")
    groups: list[Group] | None = Field(None, description="The nested groups within the group.")
    page: Page = Field(None, description="The page, from 1.")
    box: Box = Field(None, description="x0, y0, x1, y1 in pixels of the page's image.")


class Relation(_Model):
    """What L3 says of a pair of fields: scope, reference type, complexity, modal relationship."""

    scope: Word = None
    reference: Word = None
    complexity: Word = None
    modal: Word = None
    rationale: Text = ""
    derivation: dict[str, Any] | None = Field(
        None, description="How the value follows: an operation and the paths it is applied to."
    )


class Question(Relation):
    """A cross-reference question; `answers` are all accepted, the first is the one shown."""

    id: Text
    question: Text
    answers: Texts
    options: Texts = Field(default_factory=list)
    fields: Texts = Field(default_factory=list, description="Paths of the fields involved.")
    kind: Word = None


class Check(Relation):
    """A consistency check: the value of field `dependent` follows from field `source`.

    `fields` are further ones that it follows from; those of the `derivation` are among them.
    """

    id: Text
    source: Text
    dependent: Text
    expected: Text
    fields: Texts = Field(default_factory=list, description="Paths of further fields involved.")
    confidence: Share = None
    kind: Word = None


class FormCraft(_Model):
    """A whole form.

    >>> form = FormCraft.model_validate({"fields": [], "groups": [{"label": "A", "fields": []}]})
    >>> form.groups[0].label
    'A'
    """

    fields: list[FieldModel] = Field(default_factory=list, description="The fields in the form.")
    groups: list[Group] = Field(default_factory=list, description="The groups in the form.")
    pages: Texts = Field(default_factory=list, description="The images, in order.")
    template: Word = None
    domain: Word = None
    vqa: list[Question] = Field(default_factory=list)
    consistency: list[Check] = Field(default_factory=list)
