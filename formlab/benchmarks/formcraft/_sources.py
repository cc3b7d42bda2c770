"""FUNSD and SROIE as forms of FORMCRAFT, read from their own folders without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from formlab.benchmarks import funsd
from formlab.benchmarks.formcraft import _linked, _receipts
from formlab.benchmarks.formcraft.schema import FormCraft


class SplitFiles(NamedTuple):
    """The files of the forms of one split, how a form is read, and where the images are."""

    files: list[Path]
    form_of: Callable[[Path, Counter[str]], FormCraft]
    images: Path


def sources(root: Path) -> dict[str, SplitFiles]:
    """The splits of a dataset in the folder `root`, named as the dataset names them."""
    if (root / "key").is_dir() and (root / "box").is_dir():
        keys, form_of = sorted((root / "key").glob("*.json")), partial(_receipts.form_of, root)
        return {"train": SplitFiles(keys, form_of, root / "img")}
    return {
        split: SplitFiles(
            sorted((root / folder / "annotations").glob("*.json")),
            _linked.form_of,
            root / folder / "images",
        )
        for split, folder in reversed(funsd.FOLDERS.items())
        if (root / folder / "annotations").is_dir()
    }
