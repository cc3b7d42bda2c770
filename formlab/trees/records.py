"""Trees from records: JSON Pointers, or entities with links between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from formlab.tables import USABLE
from formlab.trees.node import Node, check_level, check_paths

# Records of these tasks ask about a form and are no part of it.
ASIDE = ("vqa", "consistency", "click")
ITEM = "[]"
# No more digits than fit a whole number of a table.
_NUMBER = "(-?[0-9]{1,18})"
_INDEX = re.compile("[0-9]+")
_ENTITY = re.compile(f"/entities/{_NUMBER}")
_LINK = re.compile(f"/links/{_NUMBER}/{_NUMBER}")


def from_records(
    records: pl.DataFrame | Iterable[Mapping[str, Any]],
    *,
    label: str = "form",
    flaws: Counter[str] | None = None,
) -> Node:
    """The tree of one document's records, of one role and system.

    Paths are JSON Pointers: ``/Patient/Name`` is a field ``Name`` in a group ``Patient``, and
    ``/Patient/Name#2`` another field ``Name``. Items of a list (``/lines/0``, ``/lines/1``) all
    have the label ``[]``: their place tells them apart.

    A form of entities and links, as FUNSD's, is recognised by its paths: a linked entity stands
    below the one it is linked from. Headers become groups and questions fields, labelled by their
    text; the answers of a question become its value, joined by a space; an answer without a
    question is a field without label.

    Left out: document-level rows, rows about a form (`ASIDE`), and rows whose status is not
    usable. Siblings keep the order of the records, entities that of their ids.

    Parameters
    ----------
    records
        Rows with `path`, and `value`, `kind`, `task` and `status` where known.
    flaws
        Counts what a tree cannot hold: links to nothing, second parents, links in a circle,
        rows that are neither entity, word nor link.

    Raises
    ------
    DataBroken
        If a path has more than `MAX_LEVELS` steps.

    Examples
    --------
    >>> tree = from_records([
    ...     {"path": "/entities/0", "kind": "question", "value": "Name:"},
    ...     {"path": "/entities/1", "kind": "answer", "value": "Ann"},
    ...     {"path": "/links/0/1"},
    ... ])
    >>> tree.children
    [Node('Name:', value='Ann')]
    """
    rows = list(_parts(records))
    flaws = Counter() if flaws is None else flaws
    entities = {int(match[1]): row for row in rows if (match := _ENTITY.fullmatch(row["path"]))}
    if entities:
        return _linked(rows, dict(sorted(entities.items())), label, flaws)
    return _nested(rows, label)


def _parts(records: pl.DataFrame | Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    rows = records.iter_rows(named=True) if isinstance(records, pl.DataFrame) else records
    for row in rows:
        known = row.get("path") is not None and row.get("task") not in ASIDE
        if known and row.get("status", "ok") in USABLE:
            yield row


def _nested(rows: list[Mapping[str, Any]], label: str) -> Node:
    root = Node(label)
    known, characters = {"": root}, 0
    for row in rows:
        node = root
        steps = row["path"].removeprefix("/").split("/")
        check_level(len(steps), row["path"])
        for step in steps:
            path = f"{node.path}/{step}"
            if path not in known:
                known[path] = Node(_label(node.path, step, known), path=path)
                node.children.append(known[path])
                characters += len(path)
                check_paths(characters)
            node = known[path]
        if row.get("kind") == "group":
            # What a path cannot show of a label (white space, great length) its row still has.
            node.label = row.get("value") or ""
        else:
            node.value = row.get("value")
    for node in known.values():
        _name_items(node)
    return root


def _label(parent: str, step: str, known: Mapping[str, Node]) -> str:
    first, _, number = step.rpartition("#")
    if _INDEX.fullmatch(number) and f"{parent}/{first}" in known:
        step = first
    return step.replace("~1", "/").replace("~0", "~")


def _name_items(node: Node) -> None:
    steps = [child.path.rpartition("/")[2] for child in node.children]
    # A list starts at 0; the teeth of a dental chart are fields whose labels are numbers.
    if "0" in steps and all(map(_INDEX.fullmatch, steps)):
        for child in node.children:
            child.label = ITEM


def _linked(
    rows: list[Mapping[str, Any]],
    entities: dict[int, Mapping[str, Any]],
    label: str,
    flaws: Counter[str],
) -> Node:
    known = (_ENTITY, _LINK)
    flaws["records that are no entity"] += sum(
        not any(form.fullmatch(row["path"]) for form in known) and row.get("kind") != "word"
        for row in rows
    )
    parents = _parents(rows, entities, flaws)
    inner = set(parents.values())
    root = Node(label)
    nodes: dict[int | None, Node] = {None: root}
    answers: dict[int, list[str]] = {}
    for number, row in entities.items():
        text, parent = (row.get("value") or "").strip(), parents.get(number)
        is_answer = row.get("kind") == "answer"
        above = entities[parent].get("kind") if parent is not None else None
        if is_answer and above == "question" and number not in inner:
            answers.setdefault(parent, []).append(text)
        else:
            content = ("", text) if is_answer else (text, None)
            nodes[number] = Node(*content, path=row["path"])
    for number, node in nodes.items():
        if number is not None:
            nodes[parents.get(number)].children.append(node)
    for number, texts in answers.items():
        nodes[number].value = " ".join(text for text in texts if text)
    return root


def _parents(
    rows: list[Mapping[str, Any]], entities: Mapping[int, Any], flaws: Counter[str]
) -> dict[int, int]:
    """For each linked entity the one it stands below: of several, the first by id."""
    links = (_LINK.fullmatch(row["path"]) for row in rows)
    parents: dict[int, int] = {}
    for start, end in sorted((int(link[1]), int(link[2])) for link in links if link):
        if start not in entities or end not in entities:
            flaws["links to nothing"] += 1
        elif end in parents:
            flaws["links to a second parent"] += 1
        elif _leads_to(start, end, parents):
            flaws["links in a circle"] += 1
        else:
            parents[end] = start
    return parents


def _leads_to(start: int, end: int, parents: Mapping[int, int]) -> bool:
    number: int | None = start
    steps = 0
    while number is not None and number != end:
        number = parents.get(number)
        steps += 1
        check_level(steps, f"/entities/{start}")
    return number == end
