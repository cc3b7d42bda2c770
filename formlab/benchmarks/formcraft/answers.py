"""What a model answered in FORMCRAFT's schema, as rows: its form, and its answers to the items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from formlab.benchmarks.formcraft.records import CONSISTENCY, VQA, answer_meta, field_rows
from formlab.benchmarks.formcraft.schema import FormCraft, share
from formlab.benchmarks.formcraft.tidy import tidied
from formlab.benchmarks.meta import Row
from formlab.text.normalise import as_text

# Where the answers to questions and checks stand, by their tasks.
ITEMS = {"vqa": VQA, "consistency": CONSISTENCY}
_KEYS = ("answer", "value", "prediction", "expected")


def form_rows(value: Any, notes: Counter[str]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a form, and how it was mended; `ValueError` if it is none."""
    tidy, mended = tidied(value)
    flaws = Counter[str]()
    rows = list(field_rows(FormCraft.model_validate(tidy), flaws))
    notes.update({f"predicted {flaw}": count for flaw, count in flaws.items()})
    return rows, mended


def answer_rows(task: str, found: Any) -> Iterator[Row]:
    """A row for each answer, of an object by id or a list; without an id its path is null.

    >>> [row["path"] for row in answer_rows("vqa", {"q1": "9.00"})]
    ['/vqa/q1']
    """
    pairs = list(found.items()) if isinstance(found, dict) else []
    if isinstance(found, list):
        pairs = [(a.get("id") if isinstance(a, dict) else None, a) for a in found]
    for name, answer in pairs:
        row: Row = {
            "task": task,
            "path": None if name is None else f"{ITEMS[task]}/{as_text(name)}",
        }
        if isinstance(answer, dict):
            row["meta"] = answer_meta(answer)
            row["confidence"] = share(answer.get("confidence"))
            answer = next((answer[key] for key in _KEYS if key in answer), None)
        yield row | ({"status": "missing"} if answer is None else {"value": as_text(answer)})
