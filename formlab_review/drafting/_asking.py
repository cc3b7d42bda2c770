"""How drafts are asked for and kept: every answer once, every draft in one file."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formlab.errors import NotAvailable
from formlab.systems.chat import PREFIX, RUNNING, SHAPING, AnswerStore, Asker, Client, PageView
from formlab.systems.chat.ask import Question
from formlab.systems.chat.model import readings
from formlab.systems.prompts import read as read_prompt
from formlab.systems.runs import Reading
from formlab.tables import USABLE
from formlab_review import drafts
from formlab_review.drafts import Draft

STORE = "answers.sqlite"


def asked(
    task: str,
    todo: list[Question],
    *,
    model: str,
    out: str | Path,
    settings: Mapping[str, Any] | None,
    split: str,
    root: Path | None = None,
) -> list[tuple[Reading, Draft]]:
    """What came of each question, with the draft of its whole form.

    With `root`, the folder of their images, pages are shown.
    """
    full = SHAPING | RUNNING | dict(settings or {})
    if full["pages"] == "text":
        raise NotAvailable(
            "drafts are made of annotations, not of what an OCR engine reads",
            remedy="image_limit=0 to show no images",
        )
    chosen = read_prompt(full["prompt"] or task)
    prompt = chosen.text.strip()
    named = f"; prompt {chosen.version}" if full["prompt"] else ""
    # The questions are made beforehand: annotations are no corpus.
    limit = full["image_limit"] if root else 0
    view = PageView(full | {"image_limit": limit, "boxes": "pixels"})
    about = {"task": task, "kind": "layout", "prompt": prompt}
    questions = [dataclasses.replace(question, **about) for question in todo]
    with AnswerStore(full["store"] or Path(out) / STORE) as store:
        asker = Asker(Client(model, full), store)
        answered = readings(questions, asker, view, root=root)
    return [
        (reading, Draft(
            split, reading.doc_id, "layout", None, reading.status,
            () if reading.status in USABLE else (reading.response["error"],),
            system=f"{PREFIX}{model}", origin=f"{reading.origin}{named}" if reading.origin else "",
        ))
        for reading in answered
    ]  # fmt: skip


def keep(made: list[Draft], out: str | Path) -> None:
    """Put drafts into the file in `out`, in place of earlier ones of the same forms and task."""
    file = Path(out) / drafts.FILE
    redone = {(draft.split, draft.doc_id, draft.task) for draft in made}
    before = drafts.read(file) if file.is_file() else []
    others = [d for d in before if (d.split, d.doc_id, d.task) not in redone]
    drafts.write(file, [*others, *made])


def counts(made: list[Draft]) -> dict[str, int]:
    """How many forms, items, rejected items and forms without a usable answer there are.

    Examples
    --------
    >>> counts([Draft("test", "a", "vqa", None, "refused"), Draft("test", "b", "vqa", "/vqa/d1")])
    {'forms': 1, 'items': 1, 'rejected': 0, 'failed': 1}
    """
    whole = [draft for draft in made if draft.path is None]
    listed = [draft for draft in made if draft.path is not None]
    return {
        "forms": len(whole), "items": len(listed),
        "rejected": sum(bool(draft.rejected) for draft in listed),
        "failed": sum(draft.status not in USABLE for draft in whole),
    }  # fmt: skip
