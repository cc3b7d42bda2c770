"""Content as data: YAML files that are read, checked and turned into objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union

import pydantic
import yaml
from pydantic import Discriminator, Tag

from formlab import files
from formlab.errors import DataBroken

# The templates of the samples of FORMCRAFT and FUNSD.
FOLDER = Path(__file__).parent / "templates"
# What the templates of a folder have in common; a template's own keys go before it.
COMMON = "common.yaml"
STRICT = pydantic.ConfigDict(extra="forbid")


class Content(pydantic.BaseModel):
    """A part of a template: a key that it does not know is an error."""

    model_config = pydantic.ConfigDict(**STRICT, frozen=True)


AnyContent = TypeVar("AnyContent", bound=Content)


def _kind(content: Any) -> str | None:
    return str(next(iter(content), None)) if isinstance(content, Mapping) else None


def one_of(base: type[pydantic.BaseModel]) -> Any:
    """The type of a part that is one of the classes of `base`: its first key says which."""
    classes = []
    for cls in base.__subclasses__():
        name, field = next(iter(cls.model_fields.items()))
        classes.append(Annotated[cls, Tag(field.alias or name)])
    return Annotated[Union[tuple(classes)], Discriminator(_kind)]  # noqa: UP007


def load(path: Path, model: type[AnyContent]) -> AnyContent:
    """The template of one YAML file; its name is the file's, unless it says another.

    `DataBroken` if it is no YAML, or a key is missing, unknown or of a wrong type; names both.
    """
    common = path.with_name(COMMON)
    shared = _mapping(common) if common.exists() else {}
    return check(shared | {"name": path.stem} | _mapping(path), model, where=path)


def load_all(folder: str | Path, model: type[AnyContent]) -> list[AnyContent]:
    """The templates of a folder, in the order of their names: one below `FOLDER`, or any."""
    paths = sorted(path for path in (FOLDER / folder).glob("*.yaml") if path.name != COMMON)
    return [load(path, model) for path in paths]


def check(content: Any, model: type[AnyContent], *, where: object) -> AnyContent:
    """The template that `content` describes; else `DataBroken` names `where` and the wrong keys."""
    try:
        return model.model_validate(content)
    except pydantic.ValidationError as error:
        lines = [f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        remedy = "correct these keys; text that looks like a number or a date goes in quotes"
        what = "not a template: " + "; ".join(lines)
        raise DataBroken(what, where=where, remedy=remedy) from error


def _mapping(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(files.read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        raise DataBroken("not a readable YAML file", where=where) from error
    if not isinstance(content, dict):
        raise DataBroken("not a mapping of keys", where=path)
    return content
