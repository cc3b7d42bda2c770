"""What the readers of benchmarks share: the corpus of their rows, and images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.errors import DataBroken, FormlabError
from formlab.folders import Corpus

Row = dict[str, Any]


def corpus(
    benchmark: str, split: str, root: Path, *, documents: list[Row], records: list[Row],
    flaws: Counter[str], sources: dict[str, str], empty: FormlabError | None = None,
) -> Corpus:  # fmt: skip
    """The corpus of rows that lack only what they share; raises `empty` without documents."""
    if empty and not documents:
        raise empty
    base = {"benchmark": benchmark, "split": split}
    gold = base | {"role": "gold", "status": "ok"}
    return Corpus(
        documents=tables.table("documents", [base | row for row in documents]),
        records=tables.table("records", [gold | row for row in records]),
        benchmark=benchmark,
        split=split,
        root=root,
        flaws={what: count for what, count in sorted(flaws.items()) if count},
        sources=sources,
    )


def image_columns(
    root: Path, image: Path | None, flaws: Counter[str], *, missing: str = "images missing"
) -> Row:
    """The columns `image`, `width` and `height` of a page; what is not there is counted."""
    if image is None or not image.is_file():
        flaws[missing] += 1
        return {}
    row: Row = {"image": image.relative_to(root).as_posix()}
    try:
        row["width"], row["height"] = files.image_size(image)
    except DataBroken:
        # Whatever opens the image reports why; the document stays.
        flaws["images unreadable"] += 1
    return row
