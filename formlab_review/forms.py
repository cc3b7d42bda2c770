"""A form of FORMCRAFT's schema as nodes that people add, move, change and delete.

A node is a field, a group, a question or a check. Its id is the path that it has in the form as
drafted, or would have where it was added, and stays the same however it is moved or renamed: so
the changes of two reviewers can be compared node by node.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from formlab import files
from formlab.benchmarks.formcraft import (
    MODALITIES,
    RELATIONS,
    NotAFormError,
    Paths,
    canonical,
    field_rows,
    modality_of,
    read_form,
    tidied,
)
from formlab.errors import DataBroken, UnknownName
from formlab.files import convert
from formlab.text.normalise import as_text
from formlab_review.attributes import (
    KINDS,
    attributes,
    numbers_in,
    read_value,
    readdressed,
    written,
)

# The lists of a form and of a group.
INSIDE = {"": tuple(KINDS), "groups": ("fields", "groups")}
ITEMS = ("vqa", "consistency")
Row = dict[str, Any]
Texts = dict[str, str]


class _Group(msgspec.Struct):
    """The nodes of a form, or of a group in it."""

    fields: list[Row] | None = None
    groups: list[_Group] | None = None
    vqa: list[Row] | None = None
    consistency: list[Row] | None = None


class FormNode(NamedTuple):
    """Where a node stands: its list is `kind`, a key of `KINDS`; `path` is as in the corpus."""

    id: str
    parent: str
    kind: str
    path: str


class FormNodes:
    """A form as nodes, and the changes that can be made to it.

    Parameters
    ----------
    content
        The form's JSON, with fields and groups where the schema wants them.
    source
        The text of its file, which an unchanged form is written as.
    reviewer
        Whose name the ids of new questions and checks have.

    Raises
    ------
    UnknownName, DataBroken
        By the methods that give a change (`edit`, `move`, `add`, `delete`, `verify`), `apply` and
        `check`: if there is no such node, list or attribute, a text is no word of the taxonomy or
        cannot be read, a group would stand in itself, nothing would change, or the form is not as
        it was when the change was made.

    Examples
    --------
    >>> form = FormNodes({"fields": [{"label": "Name", "value": "Ada"}], "groups": []})
    >>> form.apply(form.edit("/Name", {"value": "Eve"}))
    >>> form.content()["fields"]
    [{'label': 'Name', 'value': 'Eve'}]
    """

    def __init__(self, content: Row, source: str = "", reviewer: str = "new") -> None:
        self._reviewer = reviewer
        self._values: dict[str, Row] = {}
        self._children: dict[tuple[str, str], list[str]] = {}
        self._home: dict[str, tuple[str, str]] = {}
        # The version of the form that its reviewer verified.
        self.verified_version: str | None = None
        self._read("", "", content, Paths())
        self._first, self._source = self.content(), source

    @classmethod
    def of_file(cls, file: Path, reviewer: str) -> FormNodes:
        """The form in a file."""
        form, content = read_form(file), files.read_json(file, once=True)
        convert(content, _Group, where=file)
        # Other names of keys, or fields elsewhere: such a file is written anew.
        content = form if tidied(content)[1] else content
        return cls(content, files.read_text(file), reviewer)

    def _read(self, node: str, kind: str, row: Row, paths: Paths) -> None:
        inside = INSIDE.get(kind, ())
        # The lists stay as empty places, so that a form that is written again keeps its order.
        lists = {name: row[name] and [] for name in inside if name in row}
        self._values[node] = row | lists
        for name in inside:
            for child in row.get(name) or ():
                if name in INSIDE["groups"]:
                    path = paths.of(node, as_text(child.get("label", "")))
                else:
                    path = self._fresh(f"/{name}/{as_text(child['id'])}")
                self._children.setdefault((node, name), []).append(path)
                self._home[path] = (node, name)
                self._read(path, name, child, paths)

    def walk(self) -> Iterator[FormNode]:
        """All nodes, as benchmark formcraft reads them: a group before what is in it."""
        return self._walk("", "", "", Paths())

    def _walk(self, node: str, kind: str, path: str, paths: Paths) -> Iterator[FormNode]:
        for name in INSIDE.get(kind, ()):
            for child in self._children.get((node, name), ()):
                values = self._values[child]
                own = f"/{name}/{as_text(values.get('id'))}"
                if name in INSIDE["groups"]:
                    own = paths.of(path, as_text(values.get("label", "")))
                yield FormNode(child, node, name, own)
                yield from self._walk(child, name, own, paths)

    def paths(self) -> Texts:
        """The path of each node in the form as it now is, by its id."""
        return {node.id: node.path for node in self.walk()}

    def children(self, node: str, kind: str) -> list[str]:
        """The nodes in one of the lists of a node."""
        return list(self._children.get((node, kind), ()))

    def kind(self, node: str) -> str:
        """The list that a node stands in; empty for the form itself."""
        if not self._stands(node):
            raise DataBroken(f"there is no {node!r:.200} in this form")
        return self._home[node][1] if node else ""

    def _stands(self, node: str) -> bool:
        # What is in a group that was deleted still has its place in that group.
        while node in self._home:
            node = self._home[node][0]
        return not node

    def _place(self, node: str) -> list[Any]:
        parent, kind = self._home[node]
        return [parent, kind, self._children[parent, kind].index(node)]

    def _built(self, node: str, kind: str) -> Row:
        row = dict(self._values[node])
        for name in INSIDE.get(kind, ()):
            if inside := self._children.get((node, name)):
                row[name] = [self._built(child, name) for child in inside]
        return row

    def content(self) -> Row:
        """The form's JSON as it now is; questions and checks name fields by their paths now."""
        form, paths = self._built("", ""), self.paths()
        for kind in ITEMS:
            if form.get(kind):
                form[kind] = [readdressed(item, paths) for item in form[kind]]
        return copy.deepcopy(form)

    @property
    def is_changed(self) -> bool:
        """Whether the form differs from the one in its file."""
        return self.content() != self._first

    def text(self) -> str:
        """The form as a file: that which was read, byte for byte, where nothing is changed."""
        if self._source and not self.is_changed:
            return self._source
        return json.dumps(self.content(), indent=1, ensure_ascii=False) + "\n"

    def version(self) -> str:
        """Twelve hexadecimal digits that differ between two states of the form."""
        return hashlib.sha256(json.dumps(self.content()).encode()).hexdigest()[:12]

    @property
    def verified(self) -> bool:
        """Whether the reviewer verified the form as it now stands."""
        return self.verified_version == self.version()

    def texts(self, node: str, paths: Mapping[str, str] | None = None) -> Texts:
        """The attributes of a node as text, lists as a line each; absent ones are empty.

        Other nodes are named by `paths`, by id; by their paths now if left out.
        """
        kind = self.kind(node)
        values = readdressed(self._values[node], self.paths() if paths is None else paths)
        known = attributes(kind).items()
        texts = {name: written(values.get(name), notation) for name, notation in known}
        words = {name: canonical(name, texts[name]) for name in RELATIONS if name in texts}
        if kind == "fields":
            pair = modality_of(texts["modality"], texts["modality_subtype"])
            words = dict(zip(("modality", "modality_subtype"), pair, strict=True))
        return texts | {name: word for name, word in words.items() if word}

    def boxes(self, node: str) -> list[tuple[int, tuple[float, ...]]]:
        """The page and box of a node, if it is there and has one; those of an item's fields."""
        if not node or not self._stands(node):
            return []
        texts, notations = self.texts(node, {}), attributes(self.kind(node))
        named = [texts[name] for name, notation in notations.items() if "path" in notation]
        if named:
            # A model's question may name itself.
            names = [name for text in named for name in text.split("\n") if name in self._home]
            fields = [name for name in names if self._home[name][1] in INSIDE["groups"]]
            return [box for name in fields for box in self.boxes(name)]
        box, page = numbers_in(texts.get("box", "")), numbers_in(texts.get("page", "")) or [1]
        return [(int(page[0]), tuple(box))] if len(box) == 4 else []

    def edit(self, node: str, texts: Mapping[str, str]) -> Row:
        """The change that gives attributes of a node other values, as text."""
        now, kind = self.texts(node), self.kind(node)
        new = self._typed(kind, {k: text for k, text in texts.items() if text != now.get(k)})
        if not new:
            raise DataBroken("the edit changes nothing")
        if "modality" in new and "modality_subtype" not in new:
            # A subtype of another modality would be unknown.
            fits = now["modality_subtype"] in MODALITIES.get(str(new["modality"]), ())
            new |= {} if fits else {"modality_subtype": ""}
        values = self._values[node]
        before = {name: values[name] for name in new if name in values}
        after = {name: value for name, value in new.items() if value is not None}
        return {"node": node, "before": before, "after": after}

    def move(self, node: str, parent: str, index: int) -> Row:
        """The change that puts a node at a place in a group, or at the top (an empty parent)."""
        kind, above = self.kind(node), parent
        if not node or kind not in INSIDE.get(self.kind(parent), ()):
            raise DataBroken(f"{parent or 'the form'!r:.200} takes none of {kind or 'forms'}")
        while above:
            if above == node:
                raise DataBroken("a group cannot stand in itself")
            above = self._home[above][0]
        place, count = self._place(node), len(self.children(parent, kind))
        after = [parent, kind, max(0, min(index, count - (place[0] == parent)))]
        if after == place:
            raise DataBroken("the node stands there already")
        return {"node": node, "before": {"place": place}, "after": {"place": after}}

    def add(
        self, parent: str, kind: str, texts: Mapping[str, str], *, index: int | None = None
    ) -> Row:
        """The change that adds a node to a list of the form or a group; at its end by default."""
        if kind not in INSIDE.get(self.kind(parent), ()):
            raise UnknownName.of("list", kind, INSIDE.get(self.kind(parent), ()))
        typed = self._typed(kind, texts)
        values = {name: value for name, value in typed.items() if value is not None}
        needed = {"vqa": ("question",), "consistency": ("source", "dependent", "expected")}
        for name in needed.get(kind, ("label",)):
            if not values.get(name):
                raise DataBroken(f"{name} is empty")
        if kind in INSIDE["groups"]:
            node = self._fresh(Paths().of(parent, values["label"]))
        else:
            taken = {as_text(self._values[item]["id"]) for item in self.children("", kind)}
            names = (f"{self._reviewer}-{n}" for n in range(1, len(taken) + 2))
            # Two reviewers' new questions are two questions.
            values = {"id": next(name for name in names if name not in taken)} | values
            values = {"answers": []} | values if kind == "vqa" else values
            node = self._fresh(f"/{kind}/{values['id']}")
        place = [parent, kind, len(self.children(parent, kind)) if index is None else index]
        return {"node": node, "before": None, "after": {"place": place} | values}

    def delete(self, node: str) -> Row:
        """The change that takes a node out, a group with all that is in it."""
        if not (kind := self.kind(node)):
            raise DataBroken("a form cannot be deleted", remedy="leave it out of the corpus")
        before = {"place": self._place(node)} | self._built(node, kind)
        return {"node": node, "before": copy.deepcopy(before), "after": None}

    def verify(self) -> Row:
        """The change that says that the form is right as it now stands."""
        before = {"verified": self.verified_version} if self.verified_version else {}
        return {"node": "", "before": before, "after": {"verified": self.version()}}

    def apply(self, change: Mapping[str, Any]) -> None:
        """Make a change, as the methods above or a file of changes give it."""
        node, before, after = change["node"], change["before"], change["after"]
        if self._now(node, before) != before:
            what = f"the form is not as it was when {node or 'it'!r:.200} was changed"
            raise DataBroken(what, remedy="the form of that time, or without these lines")
        if not node:
            self.verified_version = after["verified"]
            return
        if before is not None and (after is None or "place" in after):
            self._children[self._home[node]].remove(node)
            del self._home[node]
        if after is None:
            return
        if before is None:
            self._values[node] = {}
            for kind in INSIDE["groups"]:
                self._children.pop((node, kind), None)
        if "place" in after:
            parent, kind, index = after["place"]
            # A file of people may put a group into itself: by now that does not stand anywhere.
            if kind not in INSIDE.get(self.kind(parent), ()):
                raise DataBroken(f"{parent!r:.200} takes none of {kind!r:.80}")
            self._children.setdefault((parent, kind), []).insert(index, node)
            self._home[node] = (parent, kind)
        values = {name: value for name, value in after.items() if name != "place"}
        gone = set(before or ()) - set(after)
        others = {name: value for name, value in self._values[node].items() if name not in gone}
        self._values[node] = others | copy.deepcopy(values)

    def _now(self, node: str, before: Row | None) -> Row | None:
        if not node:
            return {} if self.verified_version is None else {"verified": self.verified_version}
        if not self._stands(node):
            return None
        whole = {"place": self._place(node)} | self._built(node, self.kind(node))
        return whole if before is None else {n: whole[n] for n in before if n in whole}

    def reorder(self, node: str, kind: str, order: list[str]) -> None:
        """Put some nodes of a list into another order, in the places that they have."""
        inside, rest = self._children[node, kind], iter(order)
        if not set(order) <= set(inside) or len(set(order)) != len(order):
            raise DataBroken(f"the order of {node!r:.200} names other nodes than are there")
        self._children[node, kind] = [next(rest) if c in order else c for c in inside]

    def check(self) -> dict[str, Row]:
        """Rows of the fields and groups by their paths now; `DataBroken` if it is no such form."""
        try:
            form, _ = tidied(self.content())
            return {row["path"]: row for row in field_rows(form, Counter())}
        except NotAFormError as error:
            raise DataBroken(f"then this is no form: {str(error).splitlines()[0]}") from error

    def _fresh(self, node: str) -> str:
        # Of what stands in the form: what was deleted and is added again is the same node.
        name, number = node, 1
        while self._stands(name):
            number += 1
            name = f"{node}#{number}"
        return name

    def _typed(self, kind: str, texts: Mapping[str, str]) -> Row:
        """The values of attributes from text; None takes an attribute away."""
        known, ids = attributes(kind), {path: node for node, path in self.paths().items()}
        values: Row = {}
        for name, text in texts.items():
            if name not in known:
                raise UnknownName.of("attribute", name, known)
            values[name] = read_value(name, known[name], as_text(text))
            named = values[name] if known[name] == "paths" else [values[name]]
            for path in named if known[name] in ("path", "paths") else ():
                # The node's id as well: a review of two reviewers' changes has no other name.
                if path not in ids and path not in ids.values():
                    raise DataBroken(f"there is no field at {path!r:.200}")
        return readdressed(values, ids)
