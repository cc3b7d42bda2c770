"""From the folder of a run to gold and predictions, as for any other benchmark."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files, tables
from formlab.benchmarks.formfactory import Box, FormField, gold_row, pointer
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Corpus, Predictions
from formlab.systems.runs import BROKEN, entries
from formlab_arena import action_groups, log_structure, page_reading, spec, web_episodes
from formlab_arena.action_groups import Episode
from formlab_arena.episode import RunSettings
from formlab_arena.spec import answer_text
from formlab_arena.web_episodes import WebEpisode

BENCHMARK, SPLIT = "formfactory", "arena"
# The arena's word for a type where the tables have another.
KINDS = {"multiple": "choice"}
# A stopped agent answered in part; one that crashed or sent nothing did not answer.
STATUS = {
    "submitted": "ok", "unsent": "missing", "unfinished": "truncated", "crashed": "missing",
}  # fmt: skip
# A field that the agent never saw is on a page that no click can be on.
NEVER = [0, 0, 0, 0, 0]
Row = dict[str, Any]


def read_run(
    folder: str | Path, *, only: str | None = None, gold: Mapping[str, Any] | None = None
) -> tuple[Corpus, Predictions]:
    """The episodes of a run as documents with gold, and what its system did as predictions.

    A document is an episode; its gold are the right answers, at the places where the controls
    stood on each screen (a page of the form, or one after a field was shown or hidden). In pixels
    of the whole page, `page` being the number of the screen, the predictions have

    - ``/lines/<n>`` (task `click`): each group of actions, a box of zero size and what it enters;
    - ``/<label>`` (task `value`): the answers of the submission that the server stored.

    A field that was never on a screen has its place on page 0, which no click can hit: an agent
    that stops early has missed it. Fields that did not apply are not asked for. `meta` of a
    document has `status`, `error`, `steps`, `seconds`, the `images` of the screens, `elements`
    ``[page, x0, y0, x1, y1, path]``, the `lines` with what they changed, each field's `content`
    at last, the field that each depends on (`when`), and the `page` that the form was filled in
    from, with what was read there for each field. Documents have the column `text_kind`: what kind
    of text the task was. `only` is the name of the one episode to read.

    Of a run on other web pages the gold are the right answers of its tasks, or `gold`: an object
    of labels and answers for its only task, or one of them for each task. A submission is then
    what the account says was sent and accepted, of several (a wizard's) the last value of each
    name. `meta` has the labels that no page had (`missing`, they count as missed) and the names
    that were sent without gold (`stray`).

    Raises
    ------
    DataMissing, DataBroken
        If the folder holds no run of ``formlab arena fill``, a file of it is damaged, or an
        episode on another page has no right answers.
    """
    folder = Path(folder)
    settings = _settings(folder)
    notes: Counter[str] = Counter()
    results = [row for row in _results(folder, notes) if only in (None, row["doc_id"])]
    documents, asked, predicted, responses = [], [], [], []
    name = system_name(settings)
    others = [result["doc_id"] for result in results if "form" not in result]
    answers = web_episodes.golds(folder, others, gold) if others else {}
    for result in results:
        episode = _EpisodeTables(folder, result, name, answers.get(result["doc_id"]))
        documents.append(episode.document(settings))
        asked += episode.gold()
        predicted += episode.predictions()
        responses.append(episode.response())
        notes[f"episodes {result['status']}"] += result["status"] != "submitted"
        if result["status"] == "unsent":
            # Why: what the browser says of a field that it does not accept.
            refused = (result.get("account") or {}).get("validation", ())
            notes["fields refused in episodes unsent"] += len(refused)
        notes["labels of the gold on no page"] += len(episode.task.missing)
    sources = {
        path.relative_to(folder).as_posix(): files.sha256(path)
        for path in (folder / "run.json", folder / "episodes.jsonl")
    }
    corpus = Corpus(
        documents=tables.table("documents", documents).with_columns(
            pl.Series("text_kind", [r.get("text_kind") for r in results], dtype=pl.String)
        ),
        records=tables.table("records", asked),
        benchmark=BENCHMARK, split=SPLIT, root=folder.resolve(), sources=sources,
    )  # fmt: skip
    predictions = Predictions(
        records=tables.table("records", predicted),
        responses=tables.table("responses", responses),
        system=name, settings=settings, sources=sources,
        notes={what: count for what, count in notes.items() if count},
    )  # fmt: skip
    return corpus.check(), predictions.check()


def _settings(folder: Path) -> Row:
    if not (folder / "run.json").is_file() or not (folder / "episodes.jsonl").is_file():
        remedy = "the folder that formlab arena fill wrote with --out"
        raise DataMissing("no run of the arena", where=folder, remedy=remedy)
    settings = files.read_json(folder / "run.json")
    return log_structure.settings(settings, where=folder / "run.json")


def _results(folder: Path, notes: Counter[str]) -> list[Row]:
    """The last result of each episode, in the order of their names; broken lines are counted."""
    file, last = folder / "episodes.jsonl", {}
    results, _, broken = entries(file)
    notes[BROKEN] += broken
    for number, entry in enumerate(results, start=1):
        last[entry["doc_id"]] = log_structure.result(entry, where=f"{file}:{number}")
    if not last:
        raise DataBroken("no episode has ended yet", where=folder, remedy="formlab arena fill")
    return [last[name] for name in sorted(last)]


def system_name(settings: Row) -> str:
    """The system of a ``run.json``, with the settings that are not at their default.

    Examples
    --------
    >>> system_name(RunSettings("rules", ruler=True, texts="prose").as_json())
    'rules(ruler=True,texts=prose)'
    """
    usual = dataclasses.asdict(RunSettings(settings["system"]))
    changed = [
        f"{key}={value}"
        for key, value in settings.items()
        if key in usual and key != "system" and value != usual[key]
    ]
    return f"{settings['system']}({','.join(changed)})" if changed else settings["system"]


class _EpisodeTables:
    """One episode: its form, its right answers, its log."""

    def __init__(self, folder: Path, result: Row, system: str, gold: Row | None = None) -> None:
        self.result, self.system, self.name = result, system, result["doc_id"]
        self.folder = folder / self.name
        self.log: Episode = action_groups.read(self.folder / "events.jsonl")
        self.task = web_episodes.read(result, gold, self.log) if gold is not None else self._own()
        self.form, self.values = self.task.form, self.task.values
        self.paths = {field.name: pointer(field.label) for field in self.form.fields}
        self.all_paths = self.paths | {
            name: self.paths[owner] for (name, _), owner in self.task.owners.items()
        }
        self.asked = [field for field in self.form.fields if field.applies(self.values)]
        self.boxes = {field.name: self._boxes(field) for field in self.form.fields}
        self.base = {"benchmark": BENCHMARK, "split": SPLIT, "doc_id": self.name}
        self.rows = [self._gold(field) for field in self.asked]
        self.status = STATUS[result["status"]]
        if result["status"] == "unfinished" and self.log.unusable and not self.log.lines:
            # Not a word of it could be used: what was wrong with the last one says more.
            self.status = self.log.unusable[-1]

    def _own(self) -> WebEpisode:
        """The episode of one of formlab's forms, in which every name is the form's own."""
        own = self.folder.parent / spec.OWN_FORMS
        try:
            form = spec.form(self.result["form"], own if own.is_dir() else spec.FOLDER)
        except UnknownName as error:
            where = self.folder.parent / "episodes.jsonl"
            raise DataBroken(error.what, where=where, remedy=error.remedy) from error
        file = self.folder / "values.json"
        values = log_structure.values(files.read_json(file), where=file)
        answers = self.result.get("answers") or {}
        sent = {name: answer_text(value) for name, value in answers.items() if value is not None}
        return WebEpisode(form, values, sent)

    def _boxes(self, field: spec.FormField) -> list[Box]:
        """Boxes whose clicks reach a field: its controls and, as in browsers, their labels."""
        return [
            Box(self.task.option(control) or field.label, [number, *box])
            for number, screen in self.log.screens.items()
            for control in screen["controls"]
            if self.task.owner(control["field"], control["option"]) == field.name
            for box in (control["box"], *control["labels"])
        ]

    def _gold(self, field: spec.FormField) -> Row:
        kind = KINDS.get(field.type, field.type)
        target, value = FormField(field.label, kind, (field.label,)), self.values.get(field.name)
        row, items = gold_row(target, value, self.boxes[field.name])
        shown = [item | {"targets": item["targets"] or [NEVER]} for item in items]
        return row | {
            "meta": action_groups.dumps({"items": shown}),
            "origin": f"{self.name}/values.json#/{field.name}",
        }

    def gold(self) -> list[Row]:
        """The records of the right answers."""
        base = self.base | {"role": "gold", "task": "click", "status": "ok"}
        return [base | row for row in self.rows]

    def predictions(self) -> list[Row]:
        """The records of the actions, of the submission, and of the episode as a whole."""
        base = self.base | {"role": "prediction", "system": self.system}
        whole = {"task": "value", "kind": "form", "status": self.status}
        whole["origin"] = f"episodes.jsonl#{self.name}"
        rows = [base | whole]
        for number, line in enumerate(self.log.lines):
            rows.append(base | {
                "task": "click", "path": f"/lines/{number}", "kind": "line", "status": "ok",
                "value": self.task.shown(line.field, line.value), "page": line.page,
                "x0": line.x, "x1": line.x, "y0": line.y, "y1": line.y,
                "origin": f"{self.name}/events.jsonl#step={line.step}",
            })  # fmt: skip
        source = "submissions.sqlite" if "form" in self.result else "episodes.jsonl"
        for name, value in self.task.answers.items():
            rows.append(base | {
                "task": "value", "path": self.paths.get(name, f"/{name}"), "status": "ok",
                "value": value, "origin": f"{source}#{self.name}",
            })  # fmt: skip
        return rows

    def response(self) -> Row:
        """The row of *responses*: one an episode, with what a model's answers took together."""
        whole = {"attempts": 1, "seconds": self.result.get("seconds")} | self.log.usage
        return self.base | whole | {
            "system": self.system, "task": "click", "status": self.status,
            "error": self.result["error"],
        }  # fmt: skip

    def document(self, settings: Row) -> Row:
        """The row of *documents*."""
        screens, text = self.log.screens, self.folder / "task.txt"
        images = [f"{self.name}/{s['image']}" if s["image"] else None for s in screens.values()]
        width, height = next(iter(screens.values()))["size"] if screens else (None, None)
        kinds: Sequence[str] = [row["kind"] for row in self.rows]
        return self.base | {
            "image": images[0] if images else None, "width": width, "height": height,
            "template": self.form.code, "domain": self.form.domain,
            "n_fields": len(kinds), "n_kinds": len(set(kinds)),
            # An episode that could not begin may have none.
            "context": files.read_text(text) if files.is_file(text) else None,
            "meta": action_groups.dumps(self._meta(settings, images)),
        }  # fmt: skip

    def _page(self) -> Row | None:
        """The page that the form was filled in from, with what was read there for each field."""
        file = self.folder / page_reading.FILE
        if not file.is_file():
            return None
        page = log_structure.page(files.read_json(file), where=file)
        if strange := [name for name in page["fields"] if name not in self.paths]:
            raise DataBroken(f"no field {strange[0]!r:.80} in the form", where=file)
        return page | {"fields": {self.paths[n]: row for n, row in page["fields"].items()}}

    def _meta(self, settings: Row, images: list[str | None]) -> Row:
        sent = self.task.answers
        content = sent if self.result["status"] == "submitted" else self.task.content(self.log)
        kept = {key: self.result.get(key) for key in ("status", "error", "steps", "seconds")}
        run = {key: settings.get(key) for key in ("policy", "scale", "ruler")}
        number = int(self.name.rpartition("-")[2]) if "form" in self.result else None
        return kept | run | {
            "form": self.form.name, "instance": number,
            "place": "control or its label", "images": images,
            "elements": [
                [*box.row, self.paths[name]] for name, boxes in self.boxes.items() for box in boxes
            ],
            "lines": [action_groups.as_json(line, self.all_paths) for line in self.log.lines],
            "content": {path: content.get(name, "") for name, path in self.paths.items()},
            "page": self._page(), "missing": self.task.missing, "stray": self.task.stray,
            "when": {
                self.paths[field.name]: [self.paths[name] for name in field.when]
                for field in self.form.fields
                if field.when
            },
        }  # fmt: skip
