"""Records a person who fills in and sends a form, as a task with its right answers."""

import contextlib
import re
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formlab.errors import DataBroken
from formlab_arena import action_groups, web_tasks
from formlab_arena.action_groups import Episode
from formlab_arena.actions import Type
from formlab_arena.address_secrets import Secrets
from formlab_arena.driver import PageLeft, TimeLimit
from formlab_arena.episode import RunSettings, open_session, prepare
from formlab_arena.session import Session
from formlab_arena.web_episodes import PageLog, names_of, ticked
from formlab_arena.web_tasks import WebTask

# Seconds between two looks at what was entered, and those that a page without any field has after
# a form was sent: a wizard may have more.
_EVERY, _AFTER = 0.3, 3.0


def record(
    address: str,
    out: str | Path,
    *,
    text: str = "",
    name: str = "",
    uploads: Sequence[Path] = (),
    allow: Sequence[str] = (),
    settings: RunSettings | None = None,
    person: Callable[[Session], None] | None = None,
) -> WebTask:
    """Open a page, wait until a form was filled in and sent, and append the task to a file.

    The right answers are what was sent and accepted, by the labels of the fields, in the notation
    of their controls; what a script sent under other names is what the fields held. Passwords are
    left out; the address is kept as it is, since the task needs it. The recording ends when the
    window is closed, or when a page without fields has followed.

    Parameters
    ----------
    address
        Of the page.
    out
        JSONL of tasks, made or added to.
    text, name
        The instructions of the task, and its name; else one of its address.
    uploads
        Files that file dialogs are answered with, one after the other; in the folder of `out`.
    allow
        Other servers that the page may reach.
    settings
        Of the browser; its window can be seen unless they say otherwise.
    person
        Fills in the form in place of a person: a function of the open session.

    Raises
    ------
    DataBroken
        If the address is none, a name is taken, or no form was sent and accepted.
    """
    web_tasks.check_address(address, where="--url")
    out = Path(out)
    earlier = web_tasks.read(out) if out.is_file() else ()
    names = {task.name.casefold() for task in earlier}
    name = name or _unused(address, names)
    if name.casefold() in names:
        raise DataBroken(f"there is a task {name}", where=out, remedy="another --name")
    settings = settings or RunSettings("person", headed=True, deadline=3600)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), text, {file.name: file.read_bytes() for file in uploads})
        account = _watched(address, Path(folder), text, settings, uploads, allow, person)
        log = action_groups.read(Path(folder) / "events.jsonl")
    if not any(item["outcome"] == "accepted" for item in account.get("submissions", ())):
        remedy = "fill in the form, send it, and wait for the answer before the window is closed"
        where = Secrets(address)(address)
        raise DataBroken("no form was sent and accepted", where=where, remedy=remedy)
    task = WebTask(name, address, text, tuple(uploads), answers(account, log))
    web_tasks.write(out, [*earlier, task])
    return task


def _unused(address: str, names: set[str]) -> str:
    parts = urllib.parse.urlsplit(address)
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{parts.hostname}{parts.path}").strip("-")[:60]
    numbered = (f"{words}-{number}" for number in range(2, len(names) + 3))
    return next(name for name in (words, *numbered) if name.casefold() not in names)


def _watched(
    address: str, folder: Path, text: str, settings: RunSettings, uploads: Sequence[Path],
    allow: Sequence[str], person: Callable[[Session], None] | None,
) -> dict[str, Any]:  # fmt: skip
    """The account of what a person does, who is watched through the log."""
    # A person answers dialogs in the window, which only others' browsers leave to them.
    with open_session(address, folder, text, settings, allow=allow, cdp=True) as session:
        with contextlib.suppress(PageLeft, TimeLimit):
            _watch(session, [file.name for file in uploads], person)
        # A page that went away with its window was seen often enough.
        return session.account.summary(session.contents)


def _watch(session: Session, uploads: list[str], person: Callable[[Session], None] | None) -> None:
    """Log what a person does until a form was sent and no other has come."""
    if person:
        person(session)
        session.finish()
    since = None
    while session.tabs:
        session.watch()
        if uploads and session.awaits_file:
            session.do(Type(uploads.pop(0)))
        sent = session.account.submissions(session.contents)
        over = any(item["outcome"] == "accepted" for item in sent)
        over = over and not any(element.field for element in session.elements())
        since = (since or time.monotonic()) if over else None
        if person or (since and time.monotonic() > since + _AFTER):
            return
        time.sleep(_EVERY)


def answers(account: Mapping[str, Any], log: Episode) -> dict[str, Any]:
    """The right answers that a recording gives, by the labels of the fields."""
    page = PageLog(log)
    sent = page.sent(account)
    # A script may send the contents of the fields under names of its own.
    by_script = not any(name in sent for f in page.fields.values() for name in names_of(f))
    values: dict[str, Any] = {}
    labels = [field.first.label or field.first.name for field in page.fields.values()]
    for field, label in zip(page.fields.values(), labels, strict=True):
        texts = page.texts(field, sent)
        if by_script and (content := log.content.get(field.name)):
            codes = page.codes.get(field.name, {})
            several = field.first.many or len(field.marks) > 1
            texts = content.split(", ") if several else [content]
            texts = [codes.get(text, text) for text in texts]
        value: Any = texts if len(texts) > 1 or field.first.many else "".join(texts)
        if field.marks and field.first.option is None:
            value = ticked(texts)
        elif field.kind == "checkbox":
            value = texts
        if field.kind != "password" and value not in ("", []):
            # A label that repeats says nothing; the name of a field does.
            values[label if label and labels.count(label) == 1 else field.name] = value
    return values
