"""Answers to questions about a form, from its fields as they were read, without a model.

The answer is the value of the field whose names share the rarest words with the question. Where
there are options, it is those that are marked anywhere on the form, or, if the question has a "not"
in it, the others. Nothing is worked out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formlab import text
from formlab.benchmarks.formcraft import VQA

Row = dict[str, Any]
_WORD = re.compile(r"\w+")
# Of such a question the answer is a number.
_COUNTED = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\bno[tr]?\b", re.IGNORECASE)


def answers(questions: Sequence[Row], fields: Sequence[Row]) -> Iterator[Row]:
    """A row for each question that a field answers.

    `fields` are rows of fields, with `task`, `path` and `value`.

    Examples
    --------
    >>> fields = [
    ...     {"task": "text", "path": "/Bill/Paid", "value": "4.00"},
    ...     {"task": "marking", "path": "/Menu/Sweet", "value": "tart"},
    ... ]
    >>> paid = {"id": "q1", "question": "How much of the bill was paid?"}
    >>> sweet = {"id": "q2", "question": "Which was not chosen?", "options": ["tart", "ice"]}
    >>> [row["value"] for row in answers([paid, sweet], fields)]
    ['4.00', 'ice']
    """
    fields = [row for row in fields if row["value"]]
    marks = [text.choices(row["value"]) for row in fields if row["task"] == "marking"]
    marked = frozenset().union(*filter(None, marks))
    filled = [(_words(row["path"]), row["value"]) for row in fields]
    known = Counter(word for words, _ in filled for word in words)
    for item in questions:
        asked = _words(item["question"])
        is_number = bool(_COUNTED.search(item["question"]))
        rated = [
            (sum(1 / known[word] for word in words & asked), value)
            for words, value in filled
            if not is_number or any(map(str.isdecimal, value))
        ]
        score, value = max(rated, key=lambda pair: pair[0], default=(0, ""))
        if options := item.get("options"):
            chosen = [option for option in options if text.normalise(option) in marked]
            others = [option for option in options if option not in chosen]
            is_negated = bool(_NEGATED.search(item["question"]))
            score, value = len(chosen), "; ".join(others if is_negated else chosen)
        if score and value:
            yield {"task": "vqa", "path": f"{VQA}/{item['id']}", "value": value}


def _words(name: str) -> set[str]:
    """The words of a text, the plural of each as its singular."""
    return {word.removesuffix("s") for word in _WORD.findall(name.casefold()) if len(word) > 1}
