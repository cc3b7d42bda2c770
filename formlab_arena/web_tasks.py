"""Tasks on any web page: an address, instructions, files, and the right answers."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from formlab import files
from formlab.errors import DataBroken
from formlab_arena.address_secrets import Secrets

if TYPE_CHECKING:
    from formlab_arena.session import Session

# A name is that of a folder in the run, beside files such as run.json.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$"
_EXAMPLE = '{"name": "camp", "address": "https://example.com/form", "text": "…", "gold": {…}}'
_Scalar = bool | str | int | Annotated[float, Field(allow_inf_nan=False)] | None
_Gold = dict[Annotated[str, Field(min_length=1)], _Scalar | list[str]]
_GOLD = TypeAdapter(_Gold, config=ConfigDict(strict=True))


class Judge(Protocol):
    """A page that sets its task itself and judges what was done.

    `key` tells the task from others, also where a server has another port.
    """

    key: str

    def begin(self, session: Session) -> None:
        """Prepare the open page, and give the session its text."""

    def reward(self, session: Session) -> float | None:
        """The page's own reward, from -1 to 1; None as long as it is not done."""


@dataclasses.dataclass(frozen=True)
class WebTask:
    """One form to fill in.

    Parameters
    ----------
    name
        Letters, digits, - and _; unique in a file of tasks.
    address
        An http or https address.
    text
        The instructions for an agent.
    files
        What can be uploaded, each by its file name.
    gold
        The right answers by the labels or names of the fields: a text (a date in any usual
        notation), yes or no for a tick, a list for several choices, None for a field to leave
        empty. None: the task cannot be scored.
    judge
        For a page that gives a reward of its own.
    """

    name: str
    address: str
    text: str = ""
    files: tuple[Path, ...] = ()
    gold: Mapping[str, Any] | None = None
    judge: Judge | None = None

    @property
    def key(self) -> str:
        """The address, or the judge's name of it that stays the same."""
        return self.judge.key if self.judge else self.address


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=_NAME)] | None = None
    address: str
    text: str | None = None
    text_file: str | None = None
    files: list[str] = []
    gold: _Gold | None = None
    gold_file: str | None = None


def read(path: str | Path) -> tuple[WebTask, ...]:
    """The tasks of a JSONL file, one a line.

    A line has `address`, and as it needs them `name` (else ``task-<line>``), `text` or
    `text_file`, `files`, `gold` or `gold_file`. Files are named relative to the JSONL file and
    must be in its folder or below it: what a page may be sent is what was put there.

    Raises
    ------
    DataBroken, DataMissing
        Naming file and line, for what is no task, for names and files that are not allowed, and
        for files that are not there.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tasks.jsonl"
    >>> write(file, [WebTask("camp", "https://example.com/", "I am Ada.", gold={"Name": "Ada"})])
    >>> read(file)[0].gold
    {'Name': 'Ada'}
    """
    path, tasks = Path(path), dict[str, WebTask]()
    for number, row in files.each_jsonl(path):
        task = _task(row, path, number)
        # A folder of one name in other letters is the same folder on some systems.
        if task.name.casefold() in tasks:
            raise DataBroken(f"two tasks are named {task.name}", where=f"{path}:{number}")
        tasks[task.name.casefold()] = task
    return tuple(tasks.values())


def _task(row: dict[str, Any], path: Path, number: int) -> WebTask:
    where = f"{path}:{number}"
    try:
        line = _Line.model_validate(row)
    except ValidationError as error:
        raise DataBroken(f"not a task: {_first(error)}", where=where, remedy=_EXAMPLE) from error
    check_address(line.address, where=where)
    for name, content in (("text", line.text), ("gold", line.gold)):
        if content is not None and getattr(line, f"{name}_file") is not None:
            raise DataBroken(f"both {name} and {name}_file", where=where, remedy="leave one out")
    text = line.text or ""
    if line.text_file is not None:
        text = files.read_text(_inside(path, line.text_file, where))
    answers = None if line.gold is None else _texts(line.gold)
    if line.gold_file is not None:
        answers = gold(file := _inside(path, line.gold_file, where), files.read_json(file))
    uploads = tuple(_inside(path, name, where) for name in line.files)
    if len({file.name for file in uploads}) < len(uploads):
        raise DataBroken("two files have the same name", where=where, remedy="rename one")
    return WebTask(line.name or f"task-{number}", line.address, text, uploads, answers)


def check_address(address: str, *, where: object) -> None:
    """`DataBroken` unless it is an http or https address with a host."""
    try:
        parts = urllib.parse.urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        shown = Secrets(address)(address)[:80]
        what, remedy = f"not an http address: {shown!r}", "http://127.0.0.1:8000/form"
        raise DataBroken(what, where=where, remedy=remedy)


def gold(where: object, content: Any) -> dict[str, Any]:
    """The right answers of one task, checked; numbers become texts.

    Examples
    --------
    >>> gold("gold.json", {"Age": 40, "Swims": True, "Days": ["Mon", "Tue"], "Note": None})
    {'Age': '40', 'Swims': True, 'Days': ['Mon', 'Tue'], 'Note': None}
    """
    try:
        return _texts(_GOLD.validate_python(content))
    except ValidationError as error:
        remedy = '{"Name": "Ada", "Swims": true, "Days": ["Mon", "Tue"]}'
        raise DataBroken(f"no gold: {_first(error)}", where=where, remedy=remedy) from error


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    kept = (bool, str, list, type(None))
    return {key: v if isinstance(v, kept) else str(v) for key, v in values.items()}


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(at)[:60] for at in problem['loc'])}: {problem['msg']}"


def _inside(path: Path, name: str, where: str) -> Path:
    """The file that a line names, if it is in the folder of the tasks or below."""
    folder = path.parent.resolve()
    try:
        file = (folder / name).resolve()
        usable = file.is_file() and file.is_relative_to(folder)
    # A NUL, a name of a megabyte and a link to itself are no files.
    except (OSError, ValueError, RuntimeError):
        usable = False
    if not usable:
        remedy = f"put the file into {path.parent} and name it relative to that"
        raise DataBroken(f"no file {name[:80]!r} in the tasks' folder", where=where, remedy=remedy)
    return file


def write(path: str | Path, tasks: Iterable[WebTask]) -> None:
    """Write tasks as the JSONL that `read` reads; their files must be in its folder or below."""
    folder = Path(path).parent.resolve()
    rows = []
    for task in tasks:
        row = {"name": task.name, "address": task.address, "text": task.text}
        names = [Path(file).resolve().relative_to(folder).as_posix() for file in task.files]
        row |= {"files": names} if names else {}
        rows.append(row if task.gold is None else row | {"gold": dict(task.gold)})
    files.write_jsonl(path, rows)
