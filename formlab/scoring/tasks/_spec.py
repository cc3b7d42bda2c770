"""What a task scorer gives: cases, scores and counts of what it met."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Scored:
    """The cases (schema CASES) and scores (schema SCORES) of one family of tasks."""

    cases: pl.DataFrame
    scores: pl.DataFrame
    notes: dict[str, int] = field(default_factory=dict)
