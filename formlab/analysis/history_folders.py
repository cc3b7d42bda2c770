"""The runs of a history: evaluations in folders, by their time, and which are of one corpus."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formlab import files, saving
from formlab.errors import DataMissing, UnknownName
from formlab.folders import Evaluation


def open_history(folders: str | Path | Sequence[str | Path]) -> dict[str, Evaluation]:
    """Every evaluation in one or more folders and in the folders below them, oldest first.

    Returns
    -------
    dict
        By the path within the folder that all are in. The order is that of `Evaluation.made`: when
        ``formlab score`` first saved it, whatever copying did to the files since. For evaluations
        without such a time it is when their manifest was last written. Equal times stand in the
        order of their names.

    Raises
    ------
    DataMissing
        If there is no such folder, or no evaluation in it.
    DataBroken
        If one is damaged, or of an older format.
    """
    remedy = "a folder with folders that formlab score wrote with --out"
    roots = [folders] if isinstance(folders, str | Path) else folders
    opened: dict[Path, Evaluation] = {}
    for root in roots:
        home = files.folder(root, remedy=remedy).resolve()
        for file in sorted(home.rglob("manifest.json")):
            if saving.is_hidden(file, home):
                continue
            content = files.read_json(file)
            if isinstance(content, dict) and content.get("kind") == Evaluation.__name__:
                opened[file.parent] = _dated(Evaluation.load(file.parent), file, content)
    if not opened:
        where = ", ".join(map(str, roots)) or None
        raise DataMissing("no evaluation here or in its folders", where=where, remedy=remedy)
    home = os.path.commonpath([path.parent for path in opened])
    named = {path.relative_to(home).as_posix(): each for path, each in opened.items()}
    return dict(sorted(named.items(), key=lambda item: (item[1].made["at"], item[0])))


def _dated(evaluation: Evaluation, manifest: Path, content: Mapping[str, Any]) -> Evaluation:
    """With a time, if it was saved before there was one."""
    if evaluation.made.get("at"):
        return evaluation
    at = datetime.fromtimestamp(manifest.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    return dataclasses.replace(evaluation, made={"at": at, "formlab": str(content.get("formlab"))})


def corpora(evaluations: Mapping[str, Evaluation]) -> dict[str, dict[str, Evaluation]]:
    """The evaluations of each corpus, in their order: benchmark, split, mode and documents agree.

    Examples
    --------
    >>> from formlab import analysis
    >>> ocr, larger = analysis.open_compared()
    >>> {name: list(runs) for name, runs in corpora({"monday": ocr, "tuesday": larger}).items()}
    {'funsd:test': ['monday', 'tuesday']}
    """
    groups: dict[tuple[Any, ...], dict[str, Evaluation]] = {}
    for name, each in evaluations.items():
        key = each.benchmark, each.split, each.mode, frozenset(each.documents["doc_id"])
        groups.setdefault(key, {})[name] = each
    named: dict[str, dict[str, Evaluation]] = {}
    for (benchmark, split, mode, documents), runs in groups.items():
        name = f"{benchmark}:{split}" + (f", {mode}" if mode != "fixed" else "")
        name = name if name not in named else f"{name}, {len(documents):,} documents"
        while name in named:
            name += " of others"
        named[name] = runs
    return named


def one_corpus(evaluations: Mapping[str, Evaluation], name: str = "") -> dict[str, Evaluation]:
    """The runs of one of the `corpora`; of that of the newest run, without a name.

    Raises
    ------
    UnknownName
        If there is no such corpus.
    """
    groups = corpora(evaluations)
    newest = next(reversed(evaluations))
    chosen = name or next(corpus for corpus, runs in groups.items() if newest in runs)
    if chosen not in groups:
        raise UnknownName.of("corpus", chosen, groups)
    return groups[chosen]
