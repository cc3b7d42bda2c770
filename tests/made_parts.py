"""An evaluation cut into parts of few documents."""

import dataclasses

import polars as pl


def cut(evaluation, size):
    """The same evaluation in parts of `size` documents each."""
    ids = evaluation.documents["doc_id"].unique(maintain_order=True)
    parts = [ids[at : at + size] for at in range(0, len(ids), size)]
    return of_parts([only(evaluation, part) for part in parts], notes=evaluation.notes)


def of_parts(parts, **values):
    """The folder that consists of other ones, each of other documents."""
    for name in parts[0].MEMBERS:
        if getattr(parts[0], name) is not None:
            values[name] = of_parts([getattr(part, name) for part in parts])
    return parts[0].with_scans([part.scan for part in parts], **values)


def only(folder, ids):
    """Some documents of a folder of tables."""
    known = pl.col("doc_id").is_in(ids.implode())
    tables = {name: getattr(folder, name).filter(known) for name in folder.TABLES}
    for name in folder.MEMBERS:
        if (member := getattr(folder, name)) is not None:
            tables[name] = only(member, ids)
    return dataclasses.replace(folder, **tables)
