"""A model as a system: it answers many questions at once, so it runs itself."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from formlab import benchmarks, files, tables
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus, Predictions
from formlab.systems.chat.ask import Row, Task, prompt_of
from formlab.systems.chat.asker import Asker
from formlab.systems.chat.benchmarks import tasks_of
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import Price
from formlab.systems.chat.questions import TaskResult, questions, results
from formlab.systems.chat.settings import RUNNING, SHAPING, client_of
from formlab.systems.chat.shots import Shots, drawn
from formlab.systems.chat.store import AnswerStore
from formlab.systems.chat.view import OcrLines, PageView
from formlab.systems.pages import Page
from formlab.systems.prompts import read as read_prompt
from formlab.systems.prompts import version_of
from formlab.systems.runs import HEAD, PREDICTIONS, SKIPPED, begin, check_head, first, read_head
from formlab.systems.system import Reader, System

PREFIX = "chat:"
STORE = "answers.sqlite"
# A bound that is not set is not named: runs of before there was one go on.
_UNNAMED = ("shots", "shots_seed", "logprobs", "samples")
_TAKEN = ("attempts", "tokens_in", "tokens_out", "cost", "seconds")


@dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol.

    Settings: those of `SHAPING` and `RUNNING`. `extra` is JSON put into the body of each
    call, and null in it takes a member out (``{"temperature": null}``); `store` is a file of
    answers that runs may share; `max_calls=0` asks nothing and takes what the store has. With
    ``pages=text`` a model that sees no images gets what an OCR engine reads on them. `prompt`, the
    name of one of formlab's prompts or a file, replaces the instructions of the only task asked.

    A document's pages are all in one question, the first `max_pages` of them, with `image_limit`
    as their longest side; `notes` say what was sent. `prices` is a file, see `limits.price_of`.

    Before a question come `shots` examples of the documents to learn from, drawn by `shots_seed`,
    as text; the settings of a run name them under ``shots documents``.

    With `logprobs` records have the probability of their value's tokens as `confidence`, where the
    server gives them; with several `samples` the share of so many answers to the question that
    agree with the first, which is the answer.
    """

    model: str = ""

    def client(self, settings: dict[str, Any]) -> Client:
        """What asks the model."""
        return client_of(self.model, settings)

    def run_name(self, settings: dict[str, Any]) -> str:
        """The model's name, with the settings that shape answers and are not at their default."""
        return super().run_name({k: v for k, v in settings.items() if k in SHAPING})

    def run(
        self,
        corpus: Corpus,
        *,
        out: str | Path,
        settings: dict[str, Any] | None = None,
        limit: int | None = None,
        name: str | None = None,
    ) -> Predictions:
        """Ask the model about the documents of `corpus` and save the predictions in `out`.

        Every answer is on disk before it counts, and the same call after a crash asks nothing
        again that was answered. A document without a usable answer has records with the reason as
        their status, one that was not asked for a limit of money or calls the status `missing`.

        Raises
        ------
        NotAvailable
            If no call can succeed, or `max_cost` is given and the model has no price.
        DataBroken
            If `out` holds a run of another benchmark, split, model or of other settings.
        """
        chosen, out = self.defaults | (settings or {}), Path(out)
        client = self.client(chosen)
        plan = _Plan.of(client, chosen, corpus)
        name = name or self.run_name(chosen)
        head = {"benchmark": corpus.benchmark, "split": corpus.split, "system": self.name}
        head |= {"settings": plan.settings, "name": name}
        # With these the run is read before it is finished; they may change from run to run.
        again = {setting: chosen[setting] for setting in SHAPING} | {"base_url": client.address}
        again |= {n: chosen[n] and str(Path(chosen[n]).resolve()) for n in ("store", "prices")}
        again["prompt"] = chosen["prompt"] and read_prompt(chosen["prompt"]).source
        begin(out, head, chosen=again, limit=limit)
        found = _predictions(plan, client, corpus, chosen, out=out, name=name, limit=limit)
        found.save(out / PREDICTIONS)
        return found


def unfinished(folder: Path, corpus: Corpus) -> Predictions | None:
    """The predictions of a run under way (or killed) so far; None if `folder` is no such run.

    Nothing is asked. Documents of the run that have no answer yet are `missing`.

    Raises
    ------
    DataBroken
        If the run was made with another benchmark, split, prompts or pages than there are now.
    """
    head = read_head(folder) if (folder / HEAD).is_file() else {}
    if not str(head.get("system")).startswith(PREFIX):
        return None
    try:
        chosen, limit, name = SHAPING | RUNNING | head["chosen"], head["limit"], head["name"]
        model = head["settings"]["model"]
    except (KeyError, TypeError) as error:
        what, remedy = f"the head of this run lacks {error}", "formlab run with its settings"
        raise DataBroken(what, where=folder / HEAD, remedy=remedy) from error
    if chosen["prices"] and not Path(chosen["prices"]).is_file():
        chosen["prices"] = ""
    if not Path(chosen["store"] or folder / STORE).is_file():
        return None
    client = client_of(model, chosen)
    plan = _Plan.of(client, chosen, corpus)
    now = {"benchmark": corpus.benchmark, "split": corpus.split, "settings": plan.settings}
    check_head(folder, now)
    options = {"out": folder, "name": name, "limit": limit, "may_ask": False}
    return _predictions(plan, client, corpus, chosen, **options)


def system(name: str) -> ChatSystem:
    """The system of a name such as ``chat:gpt-4o``.

    Raises
    ------
    UnknownName
        If the name has no model in it.

    Examples
    --------
    >>> system("chat:my-model").run_name({"temperature": 0.5, "concurrency": 4})
    'chat:my-model(temperature=0.5)'
    """
    model = name.removeprefix(PREFIX).strip()
    if not name.startswith(PREFIX) or not model:
        raise UnknownName(f"no model in {name!r}", remedy="chat:MODEL, as the server names it")
    return ChatSystem(
        name=f"{PREFIX}{model}",
        title=f"{model} at an OpenAI-compatible endpoint",
        start=_no_pages,
        defaults=SHAPING | RUNNING,
        versions=("openai",),
        extra="chat",
        model=model,
    )


def _no_pages(_settings: dict[str, Any], _threads: int) -> Reader:
    raise NotAvailable("a model is not run page by page", remedy="ChatSystem.run")


class _Plan(NamedTuple):
    """The prompts and examples of a run; `settings` are those that shape its answers."""

    prompts: dict[str, tuple[Task, str]]
    settings: dict[str, Any]
    examples: Corpus | None

    @classmethod
    def of(cls, client: Client, chosen: dict[str, Any], corpus: Corpus) -> _Plan:
        tasks = tasks_of(corpus.benchmark, chosen["tasks"])
        if chosen["prompt"] and len(tasks) > 1:
            listed = ", ".join(task.name for task in tasks)
            what = f"one prompt for several tasks: {listed}"
            raise DataBroken(what, where=chosen["prompt"], remedy=f"--set tasks={tasks[0].name}")
        shown = {key: chosen[key] for key in ("prompt", "boxes", "pages")}
        settings = {n: v for n in SHAPING if (v := chosen[n]) != SHAPING[n] or n not in _UNNAMED}
        examples = drawn(corpus, chosen["shots"], chosen["shots_seed"])
        if examples is not None:
            settings["shots_seed"] = chosen["shots_seed"]
            settings["shots documents"] = examples.documents["doc_id"].to_list()
        shots = examples is not None
        prompts = {task.name: (task, prompt_of(task, shots=shots, **shown)) for task in tasks}
        settings |= {"model": client.model, "address": client.address}
        settings |= {f"prompt {name}": version_of(text) for name, (_, text) in prompts.items()}
        if chosen["prompt"]:
            settings["prompt"] = read_prompt(chosen["prompt"]).version
        return cls(prompts, settings, examples)


def _predictions(
    plan: _Plan,
    client: Client,
    corpus: Corpus,
    chosen: dict[str, Any],
    *,
    out: Path,
    name: str,
    limit: int | None,
    may_ask: bool = True,
) -> Predictions:
    """The predictions from the answers that are there and, if it `may_ask`, from new ones."""
    settings = plan.settings | {"openai": metadata.version("openai"), "formlab": files.version()}
    lines = OcrLines(unit=chosen["boxes"])
    view = PageView(chosen["image_limit"], chosen["max_pages"], chosen["boxes"])
    if chosen["pages"] == "text":
        view = dataclasses.replace(view, ocr=lines)
        settings["rapidocr"] = metadata.version("rapidocr")
    texts = benchmarks.get(corpus.benchmark).schema is not None
    documents, skipped = first(corpus, limit, images=view.limit > 0, texts=texts)
    shots = {}
    if plan.examples is not None:
        shots = {n: Shots(plan.examples, t, view, lines) for n, (t, _) in plan.prompts.items()}
    todo = list(questions(corpus, plan.prompts, documents=documents, shots=shots))
    with AnswerStore(chosen["store"] or out / STORE) as store:
        asker = Asker(client, store, form=chosen["form"], retry=chosen["retry"], may_ask=may_ask)
        run = {"workers": chosen["concurrency"], "samples": chosen["samples"]}
        outcomes = results(todo, asker, root=corpus.root, view=view, **run)
    notes = Counter({SKIPPED: skipped})
    if client.price:
        settings["price"] = str(client.price)
        outcomes = [_priced(outcome, client.price) for outcome in outcomes]
    elif chosen["prices"]:
        notes[f"answers of unknown cost: no price of {client.model}"] = len(outcomes)
    records, responses = [], []
    sent: list[Page] = []
    base = {"benchmark": corpus.benchmark, "split": corpus.split, "system": name}
    for outcome in outcomes:
        mark = base | {"doc_id": outcome.question.document["doc_id"], "status": outcome.status}
        key = outcome.answer.key[:16] if outcome.answer else None
        more = {"role": "prediction", "origin": key and f"{store.path.name}#{key}"}
        records += [mark | more | row for row in outcome.rows]
        responses.append(mark | _response(outcome))
        notes.update(_notes(outcome, has_logprobs=bool(chosen["logprobs"])))
        sent += outcome.shown
    if sent:
        across, down = (max(sides) for sides in zip(*(page.sent for page in sent), strict=True))
        notes[f"pages sent, of up to {across} x {down} pixels"] = len(sent)
    return Predictions(
        records=tables.table("records", records),
        responses=tables.table("responses", responses),
        system=name,
        settings=settings,
        notes={note: count for note, count in sorted(notes.items()) if count},
    )


def _response(outcome: TaskResult) -> Row:
    """What the table of responses has of a question beside its document and status."""
    row = {"task": outcome.question.task.kind, "error": "; ".join(outcome.changes) or None}
    if outcome.answer is None:
        return row
    columns = {name: getattr(outcome.answer, name) for name in ("text", *_TAKEN)}
    return row | {"request": outcome.answer.key} | columns


def _notes(outcome: TaskResult, *, has_logprobs: bool) -> Counter[str]:
    """What is counted of an outcome."""
    ask, answer = outcome.question.ask, outcome.answer
    notes = Counter({f"answers {outcome.status}": 1})
    notes["pages not sent: beyond max_pages"] = outcome.left_out
    if answer is None:
        for why in outcome.changes:
            is_said = why.startswith("not asked") or why == ask.lacking
            notes[why if is_said else "documents without a page to show"] += 1
        return notes
    notes["answers without log-probabilities"] = int(
        has_logprobs and bool(answer.text) and not answer.logprobs
    )
    notes["documents sent as text"] = int(bool(ask.text) and not outcome.shown)
    return notes


def _priced(outcome: TaskResult, price: Price) -> TaskResult:
    """An outcome at these prices, whatever its answer cost when it was asked for."""
    if outcome.answer is None:
        return outcome
    cost = price.of(outcome.answer.tokens_in, outcome.answer.tokens_out)
    return dataclasses.replace(outcome, answer=dataclasses.replace(outcome.answer, cost=cost))
