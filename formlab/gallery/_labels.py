"""What a case is called: the label or the question that its benchmark knows for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from formlab.benchmarks.meta import meta_of
from formlab.readers.types import FieldTypes

Row = Mapping[str, Any]
_PLACE = ("benchmark", "split", "doc_id", "path")


def labels(cases: pl.DataFrame, gold: pl.DataFrame | None, documents: pl.DataFrame) -> list[str]:
    """The label of each case: the first that is known of these.

    A column ``label`` or ``question`` of the cases; that of the gold's `meta`; that of the type
    declared for the field of an own form; the question that the gold links to it; the last part
    of its path, a number with the kind of the field before it.
    """
    known = _of_gold(cases, gold) | _of_types(cases, documents)
    columns = [name for name in ("label", "question") if name in cases.columns]
    return [
        next((str(row[name]) for name in columns if row[name]), None)
        or known.get(tuple(row[name] for name in _PLACE))
        or path_label(row["path"] or row["pred_path"], row["kind"] or row["level"])
        for row in cases.select(*_PLACE, "pred_path", "kind", "level", *columns).to_dicts()
    ]


def path_label(path: str | None, kind: str | None) -> str:
    """A name made of the path, where nothing else is known.

    Examples
    --------
    >>> path_label("/items/2/unit_price", "money"), path_label("/entities/64", "question")
    ('unit price', 'question 64')
    >>> path_label(None, "page")
    'page'
    """
    steps = [step for step in (path or "").split("/") if step]
    if not steps:
        return (kind or "case").replace("_", " ")
    last = steps[-1].replace("~1", "/").replace("~0", "~").replace("_", " ")
    if not last.isdecimal():
        return last
    name = kind or (steps[-2] if len(steps) > 1 else "item")
    return f"{name.replace('_', ' ')} {last}"


def _of_gold(cases: pl.DataFrame, gold: pl.DataFrame | None) -> dict[tuple[Any, ...], str]:
    """Labels by benchmark, split, document and path, of the gold's `meta` and of its links."""
    if gold is None or not gold.height:
        return {}
    documents = cases.select(_PLACE[:3]).unique()
    gold = gold.join(documents, on=_PLACE[:3], how="semi")
    links = gold.filter(pl.col("kind") == "link").select(
        *_PLACE[:3], pl.col("value").str.split(" ").alias("ends")
    )
    links = links.filter(pl.col("ends").list.len() == 2).with_columns(
        path=pl.col("ends").list.first(), end=pl.col("ends").list.last()
    )
    questions = gold.filter(pl.col("kind") == "question").select(*_PLACE, "value")
    linked = links.join(questions, on=_PLACE, maintain_order="left")
    found = {
        (*place, end): text.strip()
        for *place, end, text in linked.select(*_PLACE[:3], "end", "value").iter_rows()
        if text and text.strip()
    }
    stated = gold.filter(pl.col("meta").str.contains('"(question|label)"'))
    return found | dict(_stated(stated.select(*_PLACE, "meta").iter_rows()))


def _stated(rows: Iterator[Sequence[Any]]) -> Iterator[tuple[tuple[Any, ...], str]]:
    for *place, text in rows:
        meta = meta_of(text)
        if label := meta.get("label") or meta.get("question"):
            yield tuple(place), str(label)


def _of_types(cases: pl.DataFrame, documents: pl.DataFrame) -> dict[tuple[Any, ...], str]:
    """Labels of the fields of own forms, whose documents carry the declared types."""
    declared = documents.filter(pl.col("meta").str.contains('"(question|label)"'))
    # The documents of a corpus mostly share their types.
    types = lru_cache(maxsize=64)(lambda meta: FieldTypes.of_document({"meta": meta}))
    fields = cases.select(_PLACE).join(
        declared.select(*_PLACE[:3], "meta").unique(_PLACE[:3]), on=_PLACE[:3]
    )
    found = {}
    for *place, path, meta in fields.iter_rows():
        field = types(meta).of(path)
        if label := field.label or field.question:
            found[*place, path] = label
    return found
