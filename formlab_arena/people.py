"""People fill in the forms: what they do is logged as agents' episodes are, and scored alike."""

import dataclasses
import io
import json
import re
import threading
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from flask import Blueprint, Response, abort, redirect, render_template, request, send_file, url_for
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from formlab import files
from formlab.errors import FormlabError
from formlab.systems.runs import Journal, entries
from formlab.trees import unescape
from formlab_arena import page_documents, validate
from formlab_arena.episode import RunSettings, check_same_settings, prepare
from formlab_arena.instances import Instance
from formlab_arena.page_observer import MOST_SCREENS
from formlab_arena.run import blank_result, sent_result
from formlab_arena.spec import WebForm
from formlab_arena.store import SubmissionStore
from formlab_arena.texts import TaskSet
from formlab_arena.uploads import inside

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
LOST = "the log of clicks was not usable"
_MOST_EVENTS = 3000
_Number = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
_Short, _Text = Annotated[str, Field(max_length=500)], Annotated[str, Field(max_length=20_000)]
_Box = Annotated[list[_Number], Field(min_length=4, max_length=4)]
_Pair = Annotated[list[_Number], Field(min_length=2, max_length=2)]


class _Model(BaseModel):
    # What a browser sends is hostile: other members and types are refused.
    model_config = ConfigDict(extra="forbid", strict=True)


class _Control(_Model):
    field: _Short
    option: _Short | None
    kind: _Short
    value: _Text | None = None
    checked: bool | None = None
    box: _Box
    labels: list[_Box] = []
    options: list[_Short] | None = None


class _Click(_Model):
    do: Literal["Click"]
    x: _Number
    y: _Number


class _Type(_Model):
    do: Literal["Type"]
    text: _Text


class _Press(_Model):
    do: Literal["Press"]
    key: Literal["Tab"]


class _Screen(_Model):
    step: int
    screen: int
    size: Annotated[list[int], Field(min_length=2, max_length=2)]
    controls: Annotated[list[_Control], Field(max_length=300)]


class _Action(_Model):
    step: int
    seconds: _Number
    asked: Annotated[_Click | _Type | _Press, Field(discriminator="do")]
    on: int | None
    at: _Pair | None = None
    hit: _Control | None = None
    target: _Control | None = None
    changed: list[tuple[_Short, _Short | None, bool | _Text, bool | _Text]] = []


_LOG = TypeAdapter(Annotated[list[_Screen | _Action], Field(max_length=_MOST_EVENTS)])


def read_log(text: str) -> list[dict[str, Any]]:
    """The events that a page has recorded, checked; `ValidationError` if anything is odd.

    Examples
    --------
    >>> read_log('[{"step": 1, "screen": 1, "size": [400, 600], "controls": []}]')
    [{'step': 1, 'screen': 1, 'size': [400, 600], 'controls': [], 'image': None}]
    """
    events = [event.model_dump(mode="json") for event in _LOG.validate_json(text or "[]")]
    return [event | {"image": None} if "screen" in event else event for event in events]


class People:
    """The tasks for people and the folder in which each of them has a run of their own.

    A run is written as `run.fill` writes an agent's: ``formlab arena score`` reads it. A task that
    was begun and not sent is an unfinished episode; the first submission of a task stands.
    """

    def __init__(self, out: Path, tasks: TaskSet, settings: RunSettings) -> None:
        self.out, self.tasks, self.settings = out, tasks, settings
        self.instances = {instance.name: instance for instance in tasks.instances}
        self._lock = threading.Lock()

    def results(self, person: str) -> dict[str, dict[str, Any]]:
        """The last result of each task that a person has begun, by its name."""
        path = self._folder(person) / "episodes.jsonl"
        return {entry["doc_id"]: entry for entry in entries(path)[0]} if path.is_file() else {}

    def _folder(self, person: str) -> Path:
        if not NAME.fullmatch(person):
            abort(400, "a name has letters, digits, - and _, at most 40")
        return self.out / person

    def begin(self, person: str, task: str) -> None:
        """Begin a task, or go on with it; nothing if it was sent."""
        folder, instance = self._folder(person), self.instance(task)
        with self._lock:
            if task in self.results(person):
                return
            folder.mkdir(parents=True, exist_ok=True)
            settings = dataclasses.replace(self.settings, system=person)
            check_same_settings(
                folder / "run.json", settings, tasks=self.tasks.digest, window="the person's"
            )
            self.tasks.write_forms(folder)
            prepare(folder / task, instance.text, instance.files)
            files.write_json(folder / task / "values.json", instance.values)
            self._append(person, {
                **blank_result(instance), "status": "unfinished", "error": "not sent",
                "seconds": None, "begun": time.time(),
            })  # fmt: skip

    def _append(self, person: str, entry: dict[str, Any]) -> None:
        with Journal(self._folder(person) / "episodes.jsonl", wait=True) as journal:
            journal.append(entry)

    def instance(self, task: str) -> Instance:
        """The instance of a task; 404 if there is none."""
        return self.instances.get(task) or abort(404, f"there is no task {task[:40]!r}")

    def form(self, task: str) -> WebForm:
        """The form of a task."""
        return self.tasks.forms[self.instance(task).code]

    def send(self, person: str, task: str, answers: dict[str, Any] | None, log: str) -> None:
        """Keep the log of a page and, with answers, its submission.

        The log is that of the window that sent it, whole: two windows do not mix. A task that was
        sent before stays as it was.
        """
        with self._lock:
            begun = self.results(person)[task]
            if begun["status"] == "submitted":
                return
            events = self._write_log(self._folder(person) / task / "events.jsonl", log)
            if answers is None:
                return
            SubmissionStore(self._folder(person) / "submissions.sqlite").add(
                self.instance(task).code, task, answers, {}
            )
            self._append(person, begun | sent_result(self.instance(task), answers) | {
                "seconds": round(time.time() - begun["begun"], 2), "reason": None,
                "steps": sum("asked" in event for event in events or ()),
                "error": LOST if events is None else None,
            })  # fmt: skip

    @staticmethod
    def _write_log(path: Path, log: str) -> list[dict[str, Any]] | None:
        try:
            events = read_log(log)
        except ValidationError:
            path.unlink(missing_ok=True)
            return None
        files.write_text(path, "".join(json.dumps(event) + "\n" for event in events))
        return events


def blueprint(people: People) -> Blueprint:
    """The pages ``/play`` for people."""
    pages = Blueprint("play", __name__, url_prefix="/play")

    @pages.errorhandler(FormlabError)
    def refuse(error: FormlabError) -> Any:
        return render_template("refused.html.j2", name="Not possible", what=str(error)), 400

    @pages.get("/")
    def index() -> str:
        person = request.args.get("name", people.settings.system)
        return render_template("play.html.j2", people=people, person=person)

    @pages.post("/")
    def begin() -> Any:
        person, task = (request.form.get(key, "") for key in ("name", "task"))
        people.begin(person, task)
        return redirect(url_for("play.show", person=person, task=task), 303)

    def page(person: str, task: str, sent: dict[str, list[str]], wrong: dict[str, str]) -> str:
        return render_template(
            "form.html.j2", form=people.form(task), episode="", sent=sent, wrong=wrong,
            task=people.instance(task), person=person,
            # A page that is shown again goes on with what it recorded.
            log=request.form.get("_log", ""),
            seconds=round(time.time() - people.results(person)[task]["begun"]),
            action=url_for("play.receive", person=person, task=task),
        )  # fmt: skip

    def status(person: str, task: str) -> str:
        begun = people.results(person).get(task) or abort(404, "this task has not been begun")
        return begun["status"]

    @pages.get("/<person>/<task>")
    def show(person: str, task: str) -> Any:
        if status(person, task) == "submitted":
            return redirect(url_for("play.score", person=person, task=task))
        return page(person, task, {}, {})

    @pages.post("/<person>/<task>")
    def receive(person: str, task: str) -> Any:
        if status(person, task) == "submitted":
            return redirect(url_for("play.score", person=person, task=task), 303)
        form = people.form(task)
        sent, names, _ = validate.sent(request)
        answers, wrong = validate.read(form, sent, names)
        people.send(person, task, None if wrong else answers, request.form.get("_log", ""))
        if wrong:
            return page(person, task, sent, wrong), 400
        return redirect(url_for("play.score", person=person, task=task), 303)

    @pages.get("/<person>/<task>/score")
    def score(person: str, task: str) -> Any:
        if status(person, task) != "submitted":
            return redirect(url_for("play.show", person=person, task=task))
        return render_template("score.html.j2", person=person, **scored(people, person, task))

    @pages.get("/<person>/<task>/files/<name>")
    def upload(person: str, task: str, name: str) -> Response:
        status(person, task)
        path = inside(people.out / person / task / "files", name) or abort(404, "no such file")
        return send_file(
            io.BytesIO(files.read_bytes(path)), "application/octet-stream", as_attachment=True,
            download_name=path.name,
        )  # fmt: skip

    @pages.get("/<person>/<task>/document.pdf")
    def document(person: str, task: str) -> Response:
        status(person, task)
        path = people.instance(task).document or abort(404, "the text is no PDF")
        return Response(files.read_bytes(path), mimetype="application/pdf")

    @pages.get("/record.js")
    def record() -> Response:
        """The observer of agents' pages, for the recorder of people's."""
        # What is done before the recorder listens would be missing: until then nothing can be.
        script = (
            "document.documentElement.inert = true;\n"
            'addEventListener("load", () => { document.documentElement.inert = false; });\n'
            f"const observer = {page_documents.OBSERVER};\nconst observed = observer.logged;\n"
            f"const shownAs = observer.shown, controlAt = observer.at;\n"
            f"const mostScreens = {MOST_SCREENS};\n"
        )
        return Response(script, mimetype="text/javascript")

    return pages


def scored(people: People, person: str, task: str) -> dict[str, Any]:
    """What the page of a person's score shows: the numbers of ``formlab arena score``."""
    from formlab import tables
    from formlab.scoring.evaluate import evaluate
    from formlab_arena.evaluation import read_run

    done = evaluate(*read_run(people.out / person, only=task), mode="fixed")
    clicks = tables.only(done.scores, metric="click_accuracy").select("path", "hits", "total")
    clicked = {path: hits == total for path, hits, total in clicks.iter_rows() if total}
    right = tables.only(done.scores, metric="value_submitted_accuracy")
    golds = done.cases.filter(done.cases["gold"].is_not_null())
    names = {field.label: field.name for field in people.form(task).fields}
    values, result = people.instance(task).values, people.results(person)[task]
    rows = [
        {
            "label": label, "gold": values[names[label]], "right": row["outcome"] == "match",
            "sent": result["answers"][names[label]], "clicked": clicked.get(row["path"]),
        }
        for row in golds.iter_rows(named=True)
        for label in [unescape(row["path"].removeprefix("/"))]
    ]  # fmt: skip
    # Without a log of clicks there is none.
    overall = tables.only(done.scores, metric="task_score")["value"].to_list()
    return {
        "form": people.form(task), "rows": rows, "result": result,
        "overall": overall[0] if overall else None,
        "clicks": (sum(clicked.values()), len(clicked)), "values": right["hits"].sum(),
        "asked": right["total"].sum(),
    }  # fmt: skip
