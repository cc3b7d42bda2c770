"""A model as a system: questions about a corpus, each asked once, and the rows of the answers."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from formlab import benchmarks, files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.show import progress
from formlab.systems import System, prompts
from formlab.systems.chat import answers, ask
from formlab.systems.chat.answers import Answer, AnswerStore, Sure
from formlab.systems.chat.ask import PageView, Question, Row
from formlab.systems.chat.benchmarks import tasks_of
from formlab.systems.chat.client import FORMS, RUNNING, SHAPING, Client, Messages, Stopped
from formlab.systems.pages import Page
from formlab.systems.runs import Reading, told
from formlab.tables import USABLE
from formlab.text.answers import Parsed
from formlab.workers import threads

PREFIX, STORE = "chat:", "answers.sqlite"
# A bound that is not set is not named: runs of before there was one go on.
_UNNAMED = ("shots", "shots_seed", "logprobs", "samples")
# The status of an answer by what its text is good for.
Status = Callable[[Answer], str]


class Asker:
    """Asks one model, keeping every answer in a store before it counts. Threads may share it.

    JSON is asked for in the `form` of the client's settings, by ``auto`` in the first of `FORMS`
    that the server takes. What ended in an error of the API is asked again in any case.
    """

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self.client, self.store = client, store
        self._again = ("api_error", *(answers.BAD if client.settings["retry"] else ()))
        form = client.settings["form"]
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        # Of threads with the same question one asks, and the others wait for its answer.
        self._locks: dict[str, threading.Lock] = {}
        self._first = len(FORMS)  # The first form that was answered.

    def answer(
        self, messages: Messages, schema: Any, *, status: Status, sample: int = 0, **about: str
    ) -> Answer:
        """The stored answer, or a new one that is stored before this returns.

        A `Page` in `messages` is drawn only if the model is asked; `status` judges an answer; each
        `sample` of a question has its own. `about` are the `task` and `doc_id` of the answer.
        `NotAvailable` if no call can succeed, `Stopped` if no further one may be made.
        """

        def filled(part: Callable[[Page], Any]) -> Messages:
            return json.loads(json.dumps(messages, default=part))

        client, forms = self.client, ("text",) if schema is None else self._forms
        shape = filled(lambda page: page.shape) + [{"sample": sample}] * bool(sample)
        whole = {"address": client.address, "model": client.model, "options": client.options}
        whole |= {"messages": shape, "schema": schema}
        keys = {form: files.key_of(whole | {"form": form}) for form in forms}
        with self._locks.setdefault(keys[forms[0]], threading.Lock()):
            answer = self.store.get(keys.values())
            if answer is None or status(answer) in self._again:
                sent, attempts = filled(lambda page: page.url()), 0
                # A form that the server does not take is put in the next one.
                for form in forms[self._first % len(forms) :]:
                    answer = client.ask(client.body(sent, schema=schema, form=form))
                    attempts += answer.attempts
                    if answer.finish != "bad_request":
                        break
                answer = dataclasses.replace(answer, attempts=attempts, key=keys[form], **about)
                self.store.put(answer)
                if answer.text is not None:
                    # A page that fails under a schema does not show that the server takes none.
                    self._first = min(self._first, forms.index(form))
        return dataclasses.replace(answer, status=status(answer))


class ChatWork:
    """How a model works on a corpus: attributes as of `formlab.systems.runs.PageWork`."""

    def __init__(self, model: ChatSystem, corpus: Corpus, settings: Row) -> None:
        self.corpus, self.chosen, self.client = corpus, settings, model.client(settings)
        self.images, self.notes = settings["image_limit"] > 0, Counter[str]()
        self.texts = benchmarks.get(corpus.benchmark).schema is not None
        tasks, prompt = tasks_of(corpus.benchmark, settings["tasks"]), settings["prompt"]
        if prompt and len(tasks) > 1:
            remedy = f"--set tasks={tasks[0].name}"
            raise DataBroken("one prompt for several tasks", where=prompt, remedy=remedy)
        named = {n: v for n in SHAPING if (v := settings[n]) != SHAPING[n] or n not in _UNNAMED}
        self.view, examples = PageView(settings), None
        if settings["shots"]:
            seed = named["shots_seed"] = settings["shots_seed"]
            examples = benchmarks.training(corpus, limit=settings["shots"], seed=seed)
            named["shots documents"] = examples.documents["doc_id"].to_list()
        named |= {"model": self.client.model, "address": self.client.address}
        self.plan: dict[ask.Task, Row] = {}
        for task in tasks:
            sent = ask.prompt_of(task, **settings)
            turns = ask.example_turns(task, examples, self.view) if examples else ()
            self.plan[task] = {"task": task.name, "kind": task.kind, "prompt": sent, "turns": turns}
            named[f"prompt {task.name}"] = prompts.version_of(sent)
        named |= {"prompt": prompts.read(prompt).version} if prompt else {}
        self.head: Row = {"settings": named}
        libraries = ["openai", *["rapidocr"] * (settings["pages"] == "text"), "formlab"]
        self.settings = named | {name: metadata.version(name) for name in libraries}
        self.settings |= {"price": str(self.client.price)} if self.client.price else {}

    def read(
        self, documents: pl.DataFrame, *, out: Path, workers: int | str = 1, **_: Any
    ) -> list[Reading]:
        """What came of each question, from answers that are there and new ones."""
        if isinstance(workers, str):
            raise NotAvailable("models are asked from one machine", remedy="--workers N")
        questions = list[Question]()
        columns = self.corpus.records.select("doc_id", "task", "path", "kind", "meta")
        gold = columns.rows_by_key("doc_id", named=True, include_key=True)
        for document in documents.iter_rows(named=True):
            for task, about in self.plan.items():
                question = task.make(document, gold.get(document["doc_id"], []))
                if question is not None:
                    questions.append(dataclasses.replace(question, document=document, **about))
        with AnswerStore(self.chosen["store"] or out / STORE) as store:
            return readings(questions, Asker(self.client, store), self.view, root=self.corpus.root)


@dataclasses.dataclass(frozen=True)
class ChatSystem(System):
    """A model at any endpoint that speaks OpenAI's protocol; `SETTINGS` are its settings.

    A document is one question a task, after examples that a run's settings name under ``shots
    documents``. With `logprobs` the `confidence` of a record is the probability of its value's
    tokens; with several `samples` the share of answers that agree with the first.
    """

    work: Callable[..., Any] | None = ChatWork
    model: str = ""

    def client(self, settings: Row) -> Client:
        """What asks the model."""
        return Client(self.model, settings)

    def run_name(self, settings: Row) -> str:
        """The model's name, with the settings that shape answers and are not at their default."""
        return super().run_name({k: v for k, v in settings.items() if k in SHAPING})


def system(name: str) -> ChatSystem:
    """The system of a name such as ``chat:gpt-4o``; `UnknownName` if it has no model in it."""
    model = name.removeprefix(PREFIX).strip()
    if not name.startswith(PREFIX) or not model:
        raise UnknownName(f"no model in {name!r}", remedy="chat:MODEL, as the server names it")
    title, options = f"{model} at an OpenAI-compatible endpoint", {"extra": "chat", "model": model}
    return ChatSystem(f"{PREFIX}{model}", title, None, SHAPING | RUNNING, **options)


def readings(
    questions: Sequence[Question], asker: Asker, view: PageView, *, root: Path | None
) -> list[Reading]:
    """What came of each question, in their order, put as often as the setting `samples` says.

    A response has the key of its answer as `request`, and why there is no usable one, or how it
    was repaired, as `error`. `NotAvailable` if no call can succeed.
    """
    done, client, bad = dict[int, Reading](), asker.client, 0

    def answered(number: int) -> Reading:
        question, notes = questions[number], Counter(["answers missing"])
        try:
            return _reading(question, asker, view, root)
        except Stopped as stop:
            reason = f"not asked: {stop}"
            notes[reason] += 1
        except NotAvailable:
            raise
        except Exception as error:  # An error on one page must not lose the others.
            reason = told(error)
        doc_id, response = question.document["doc_id"], {"task": question.kind, "error": reason}
        return Reading(doc_id, "missing", None, question.blank, response, notes)

    # After an error or Ctrl-C no call is begun; those in flight are waited for.
    many, ended = client.settings["concurrency"], lambda: client.stop("the run ended")
    asked = threads(answered, range(len(questions)), workers=many, name="chat", ended=ended)
    text = "answers, {task.fields[bad]} unusable{task.fields[cost]}"
    with closing(asked), progress(text) as bars:
        bar = bars.add_task(client.model, total=len(questions), cost="", bad=0)
        for number, reading in asked:
            done[number] = reading
            bad += reading.status not in USABLE
            cost = f", {client.cost:.4f} {client.price.currency}" if client.price else ""
            bars.update(bar, advance=1, cost=cost, bad=bad)
    return [done[number] for number in range(len(questions))]


def _reading(question: Question, asker: Asker, view: PageView, root: Path | None) -> Reading:
    """The first usable sample, with what all of them cost, and its values' share of agreement."""
    if question.lacking:
        raise Stopped(question.lacking)
    document, settings, price = question.document, asker.client.settings, asker.client.price
    text = "" if view.limit and document["image"] else question.text or ""
    pages = [] if text else view.pages(document, root)
    shown = {page.number: page for page in pages[: view.most]}
    options = {"schema": question.schema, "text": text}
    parts = view.parts(list(shown.values()))
    system, user = ask.messages(question.prompt, question.asked, parts, **options)
    about = {"task": question.task, "doc_id": document["doc_id"]}
    read = partial(_rows, question, shown, view)
    found, samples = list[tuple[Answer, Parsed]](), settings["samples"]
    for sample in range(samples):
        try:
            sent = [system, *question.turns, user], question.schema
            answer = asker.answer(*sent, status=lambda a: read(a).status, sample=sample, **about)
            found.append((answer, read(answer)))
        except Stopped:
            if sample + 1 == samples and not found:
                raise
    usable = [pair for pair in found if pair[1].status in USABLE]
    answer, parsed = (usable or found)[0]
    if len(found) == samples > 1 and usable:
        fixed = {row.get("path") for row in question.blank}
        shares = answers.agreement([parsed.value for _, parsed in usable], fixed, samples)
        for row, share in zip(parsed.value, shares, strict=True):
            row["confidence"] = share
    response: Row = {"task": question.kind, "error": "; ".join(parsed.changes) or None}
    response |= {"text": answer.text, "request": answer.key}
    for name in ("attempts", "tokens_in", "tokens_out", "cost", "seconds"):
        numbers = [getattr(answer, name) for answer, _ in found]
        response[name] = None if None in numbers else sum(numbers)
    if price:  # Whatever it cost when it was asked for.
        response["cost"] = price.of(response["tokens_in"], response["tokens_out"])
    is_bare = settings["logprobs"] and answer.text and not answer.logprobs
    notes = Counter({f"answers {parsed.status}": 1, "pages sent": len(shown)})
    notes["pages not sent: beyond max_pages"] = len(pages) - len(shown)
    notes["samples not asked: no confidence"] = samples - len(found)
    notes["documents sent as text"] = int(bool(question.text) and not shown)
    notes["answers without log-probabilities"] = int(bool(is_bare))
    origin = f"{asker.store.path.name}#{answer.key[:16]}"
    return Reading(document["doc_id"], parsed.status, origin, parsed.value, response, notes)


def _rows(question: Question, shown: Mapping[int, Page], view: PageView, answer: Answer) -> Parsed:
    """The rows of an answer, or the blank ones where it is not usable, with its status."""
    is_json = question.schema is not None
    parsed = answers.content(answer, json=is_json)
    if parsed.status not in USABLE:
        return dataclasses.replace(parsed, value=question.blank)

    def locate(number: Any, box: Any) -> Row:
        try:
            place = int(number) if number is not None else 1
        except (TypeError, ValueError, OverflowError):
            return {}
        if place in shown and box is not None:
            return {"page": place} | shown[place].located(box, unit=view.boxes)
        return {"page": place} if 0 < place < 1_000_000 else {}

    value = parsed.value
    if answer.logprobs and is_json:
        value = answers.with_confidence(value, answer.text or "", answer.logprobs)
    try:
        rows = question.read(value, locate)
    except ask.WrongShape as error:
        return Parsed(question.blank, "bad_json", (str(error),))
    for row in rows:
        if isinstance(value := row.get("value"), Sure):
            row["confidence"] = min(1.0, value.confidence)
        row |= {name: str(item) for name, item in row.items() if isinstance(item, Sure)}
    return dataclasses.replace(parsed, value=rows)
