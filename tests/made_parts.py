"""An evaluation cut into parts of few documents."""

import dataclasses
from functools import partial

import polars as pl


def cut(evaluation, size):
    """The same evaluation in parts of `size` documents each."""
    ids = evaluation.documents["doc_id"].unique(maintain_order=True)
    parts = [ids[at : at + size] for at in range(0, len(ids), size)]
    return of_parts([only(evaluation, part) for part in parts], notes=evaluation.notes)


def of_parts(parts, **values):
    """The folder that consists of other ones, each of other documents."""
    scans = {name: [partial(part.scan, name) for part in parts] for name in parts[0].TABLES}
    for name in parts[0].MEMBERS:
        if getattr(parts[0], name) is not None:
            values[name] = of_parts([getattr(part, name) for part in parts])
    return parts[0]._with(scans, **values)


def only(folder, ids):
    """Some documents of a folder of tables."""
    known = pl.col("doc_id").is_in(ids.implode())
    tables = {name: getattr(folder, name).filter(known) for name in folder.TABLES}
    for name in folder.MEMBERS:
        if (member := getattr(folder, name)) is not None:
            tables[name] = only(member, ids)
    return dataclasses.replace(folder, **tables)
