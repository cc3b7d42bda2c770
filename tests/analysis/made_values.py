"""Judged values, and simulated ones of systems that are calibrated or not."""

import numpy as np
import polars as pl

SEEDS = 200


def values(confidence, right, documents):
    right = pl.Series(right, dtype=pl.Boolean)
    return pl.DataFrame({"doc_id": pl.Series(documents).cast(pl.String)}).with_columns(
        path=pl.format("/{}", pl.int_range(pl.len())), kind=pl.lit("text"), right=right,
        confidence=pl.Series(confidence, dtype=pl.Float64),
    )  # fmt: skip


def simulated(seed, *, n=800, each=8, truth=lambda sure: sure, luck=0.0):
    """Answers right with probability `truth`; with `luck` those of a document share it."""
    generator = np.random.default_rng(seed)
    sure = generator.beta(5, 1, n)
    documents = np.arange(n) // each
    of_answer, of_document = generator.random(n), generator.random(n)[documents]
    drawn = np.where(generator.random(n) < luck, of_document, of_answer)
    return values(sure, drawn < truth(sure), documents)
