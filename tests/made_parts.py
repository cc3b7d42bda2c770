"""An evaluation cut into parts of few documents."""

import dataclasses
from functools import partial

import polars as pl

from formlab.folders import Evaluation


def cut(evaluation, size):
    """The same evaluation in parts of `size` documents each."""
    ids = evaluation.documents["doc_id"].unique(maintain_order=True)
    parts = [ids[at : at + size] for at in range(0, len(ids), size)]
    return Evaluation.of(
        [partial(only, evaluation, part) for part in parts], notes=evaluation.notes
    )


def only(folder, ids):
    """Some documents of a folder of tables."""
    known = pl.col("doc_id").is_in(ids.implode())
    tables = {name: getattr(folder, name).filter(known) for name in folder.TABLES}
    for name in folder.MEMBERS:
        if (member := getattr(folder, name)) is not None:
            tables[name] = only(member, ids)
    return dataclasses.replace(folder, **tables)
