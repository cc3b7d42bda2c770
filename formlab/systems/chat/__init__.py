"""The systems `chat:MODEL`: any model at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, NotAvailable, UnknownName
from formlab.metrics.judge import parse
from formlab.systems._spec import Reader, System
from formlab.systems.chat._gate import Gate
from formlab.systems.chat.asker import Asker, Prompt
from formlab.systems.chat.client import Client, Unanswered
from formlab.systems.chat.prices import PRICES, Budget, price_of
from formlab.systems.chat.run import Looks, predictions, questions, results
from formlab.systems.chat.store import Answer, Store
from formlab.systems.chat.tasks import check_prompts, prompt_of, tasks_of, version_of
from formlab.tables import Corpus, Predictions

PREFIX = "chat:"
STORE, HEAD = "answers.sqlite", "run.json"
# What shapes an answer, and therefore stands in a run's settings.
SHAPING: dict[str, Any] = {
    "temperature": 0.0, "max_tokens": 8192, "extra": "{}", "form": "auto",
    "image_limit": 2048, "max_pages": 10, "boxes": "thousandths", "tasks": "",
}  # fmt: skip
# How the answers are got, which leaves them as they are.
RUNNING: dict[str, Any] = {
    "base_url": "", "prompts": "", "retry": "", "max_cost": math.inf, "max_calls": sys.maxsize,
    "concurrency": 16, "timeout": 120.0, "attempts": 6, "patience": 300.0, "store": "",
    "prices": str(PRICES),
}  # fmt: skip


@dataclass(frozen=True)
class ChatSystem(System):
    """A model as a system: it answers many questions at once, so it runs itself.

    Settings: those of `SHAPING` and `RUNNING`. `extra` is JSON put into the body of each call, and
    null in it takes a member out (``{"temperature": null}``); `store` is a file of answers that
    runs may share; `max_calls=0` asks nothing and takes what the store has.
    """

    model: str = ""

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
        given = self.defaults | (settings or {})
        out = Path(out)
        chosen = tasks_of(corpus.benchmark, given["tasks"])
        if given["prompts"]:
            check_prompts(given["prompts"], corpus.benchmark)
        prompts = {
            t.name: (t, prompt_of(t, prompts=given["prompts"], boxes=given["boxes"]))
            for t in chosen
        }
        client = _client(self.model, given)
        said = {k: given[k] for k in SHAPING} | {"model": self.model, "address": client.address}
        said |= {f"prompt {n}": version_of(prompt) for n, (_, prompt) in prompts.items()}
        name = name or self.run_name(given)
        _same_run(out, {
            "benchmark": corpus.benchmark, "split": corpus.split, "system": self.name,
            "settings": said, "name": name,
        })  # fmt: skip
        # Predictions of before would look complete while this run is under way.
        (out / "manifest.json").unlink(missing_ok=True)
        looks = Looks(given["image_limit"], given["max_pages"], given["boxes"])
        todo = list(questions(corpus, prompts, limit=limit))
        with Store(given["store"] or out / STORE) as store:
            asker = Asker(client, store, form=given["form"], retry=given["retry"])
            found = results(
                todo, asker, root=corpus.root, looks=looks, workers=given["concurrency"]
            )
        versions = {"openai": metadata.version("openai"), "formlab": files.version()}
        made = predictions(
            corpus, found, name=name, settings=said | versions, store=store.path.name
        )
        made.save(out)
        return made


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
        name=f"{PREFIX}{model}", title=f"{model} at an OpenAI-compatible endpoint",
        start=_no_pages, defaults=SHAPING | RUNNING, versions=("openai",), model=model,
    )  # fmt: skip


def judge_call(
    model: str, *, store: str | Path, settings: dict[str, Any] | None = None
) -> Callable[..., tuple[str, int | None, int | None]]:
    """A caller of `model` for `formlab.systems.judge.ask` that asks nothing twice.

    Its answers are kept in `store`; retries, limits of money and calls, and the forms of JSON are
    those of `ChatSystem`.
    """
    given = SHAPING | RUNNING | (settings or {})
    asker = Asker(_client(model, given), Store(store), form=given["form"], retry=given["retry"])

    def call(
        said: list[dict[str, Any]], *, form: dict[str, Any]
    ) -> tuple[str, int | None, int | None]:
        def status(answer: Answer) -> str:
            if answer.text is None:
                return "api_error"
            return answer.status if answer.status != "ok" else parse(answer.text)[1]

        answer = asker.answer(Prompt(said, lambda: said, form, status, task="judge"))
        if answer.text is None:
            raise Unanswered(answer.error or "no answer")
        return answer.text, answer.tokens_in, answer.tokens_out

    return call


def _client(model: str, given: dict[str, Any]) -> Client:
    price = price_of(model, prices=given["prices"])
    if math.isfinite(given["max_cost"]) and price is None:
        raise NotAvailable(
            f"max_cost needs a price, and {model!r} has none", where=given["prices"],
            remedy="a line for it in a file of your own, prices=FILE",
        )  # fmt: skip
    extra = files.parse_json(given["extra"], where="extra")
    if not isinstance(extra, dict):
        raise DataBroken("extra is not a JSON object", remedy='extra={"seed": 1}')
    options = {name: given[name] for name in ("temperature", "max_tokens")} | extra
    return Client(
        model, base_url=given["base_url"] or None, options=options,
        attempts=given["attempts"], patience=given["patience"], timeout=given["timeout"],
        gate=Gate(given["concurrency"]), price=price,
        budget=Budget(max_cost=given["max_cost"], max_calls=given["max_calls"]),
    )  # fmt: skip


def _same_run(out: Path, head: dict[str, Any]) -> None:
    file = out / HEAD
    if file.is_file():
        before = files.read_json(file)
        other = [key for key in head if before.get(key) != json.loads(json.dumps(head[key]))]
        if other:
            said = ", ".join(f"{k} {before.get(k)!r}, now {head[k]!r}" for k in other)
            raise DataBroken(f"this folder holds another run: {said}", where=out, remedy="--out")
    files.write_json(file, head)


def _no_pages(settings: dict[str, Any], threads: int) -> Reader:
    del settings, threads
    raise NotAvailable("a model is not run page by page", remedy="ChatSystem.run")
