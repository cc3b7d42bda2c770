"""How each family of tasks is scored: one file each, one registry line a task."""

from __future__ import annotations

from collections.abc import Callable

from formlab.scoring.tasks import (
    actions,
    content,
    entities,
    facts,
    jsonvalue,
    layout,
    relations,
    text,
)
from formlab.scoring.tasks._kit import TaskScores

# A scorer that stands for several tasks runs once.
TASKS: dict[str, Callable[..., TaskScores]] = {
    "text": text.score,
    "marking": content.score,
    "visual": content.score,
    "cross": content.score,
    "layout": layout.score,
    "vqa": relations.score,
    "consistency": relations.score,
    "click": actions.score,
    "entity": entities.score,
    "fact": facts.score,
    "value": jsonvalue.score,
}
# What families of tasks note of all predictions, by one of their tasks.
MARKS = {"layout": layout.marks, "consistency": relations.marks, "click": actions.marks}
# Those that read fields under boxes take the name of the reading rule as well.
READING = (text.score, content.score)
