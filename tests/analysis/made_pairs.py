"""Evaluations from rows made by hand."""

import dataclasses

import numpy as np
import polars as pl

from formlab import tables
from formlab.folders import Evaluation
from tests.made_parts import of_parts

KEY = {"benchmark": "b", "split": "s", "system": "m"}


def built(cases=(), scores=(), documents=None, **facts):
    """An evaluation of rows, without what all of them share; its documents are theirs."""
    key = {name: facts.get(name, value) for name, value in KEY.items()}
    if documents is None:
        ids = dict.fromkeys(row["doc_id"] for row in [*cases, *scores])
        documents = [{"doc_id": doc_id} for doc_id in ids]
    own = {name: key[name] for name in ("benchmark", "split")}
    scored = key | {"status": "ok", "settings": {}}
    return Evaluation(**{
        "documents": tables.table("documents", [own | row for row in documents]),
        "cases": tables.table("cases", [key | row for row in cases]),
        "scores": tables.table("scores", [scored | row for row in scores]),
    } | key | facts)  # fmt: skip


def made(system, rows, *, documents=None, gold="x", **facts):
    """An evaluation from rows of doc_id, path, right and further columns of the case."""
    ids = documents or list(dict.fromkeys(row[0] for row in rows))
    cases, scores = [], []
    for doc, path, right, *more in rows:
        case = {
            "doc_id": doc, "task": "text", "path": path, "kind": "word", "gold": gold,
            "pred": gold if right else "?", "status": "ok", "similarity": float(right),
            "outcome": "match" if right else "mismatch", "normalised": bool(right),
            "gold_origin": f"{doc}.json#{path}",
        }  # fmt: skip
        cases.append(case | more[0] if more else case)
        if cases[-1]["outcome"] != "unscored":
            scores.append({
                "doc_id": doc, "path": path, "level": "field", "metric": "normalised_accuracy",
                "hits": float(right), "total": 1.0, "value": float(right),
            })  # fmt: skip
    sizes = [{"doc_id": doc, "width": 300, "height": 300} for doc in ids]
    facts = {"system": system, "settings": {"threshold": 0.8}} | facts
    own = {name: facts.pop(name) for name in ("benchmark", "split") if name in facts}
    return dataclasses.replace(built(cases, scores, sizes, **facts), **own)


def from_matrix(system, matrix):
    """An evaluation from a row of zeros and ones for each document."""
    rows = [
        (f"{i:03}", f"/{j}", int(right))
        for i, line in enumerate(matrix)
        for j, right in enumerate(line)
    ]
    return made(system, rows)


def in_parts(evaluation, count, seed=0):
    """The same documents in another order, in so many parts."""
    order = np.random.default_rng(seed).permutation(evaluation.documents.height)
    parts = []
    for numbers in np.array_split(order, count):
        documents = evaluation.documents[numbers]
        ids = documents.select("doc_id").with_row_index("turn")
        cut = {
            table: getattr(evaluation, table).join(ids, on="doc_id").sort("turn").drop("turn")
            for table in ("cases", "scores")
        }  # fmt: skip
        parts.append(dataclasses.replace(evaluation, documents=documents, **cut))
    return of_parts(parts)


def noise(seed, rate, docs=20, fields=8, spread=0.2):
    draw = np.random.default_rng(seed)
    ease = draw.uniform(-spread, spread, (docs, 1))
    return (draw.random((docs, fields)) < rate + ease).astype(int)


def with_pages(evaluation, values):
    """Its whole pages scored by CER, `values` for each document, of 100 characters."""
    rows = [
        {"doc_id": doc, "level": "page", "metric": "cer", "hits": 100.0 * value, "total": 100.0,
         "value": float(value)}
        for doc, value in zip(evaluation.documents["doc_id"], values, strict=True)
    ]  # fmt: skip
    pages = built(scores=rows, system=evaluation.system).scores
    return dataclasses.replace(evaluation, scores=pl.concat([evaluation.scores, pages]))


def pages_alone(system, values):
    docs = [{"doc_id": f"{n:02}"} for n in range(len(values))]
    case = {"task": "text", "outcome": "match", "gold": "x" * 100, "pred": "y", "status": "ok"}
    return with_pages(built([case | doc for doc in docs], documents=docs, system=system), values)
