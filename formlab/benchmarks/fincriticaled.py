"""FinCriticalED: financial pages as HTML in which experts tagged the facts that must be right.

Layout: ``gold_<i>.txt`` in the root or in a folder ``gold`` or ``gold_annotation_html`` (a page
image of the same number may stand in ``images``, and beside it the boxes of its facts, in the
order of their tags, in a JSON list). The facts of a page have the order, values and hints of the
released code.
"""

import json
import re
import tomllib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from formlab import files, tables
from formlab.benchmarks.corpus import Part, Row, SplitReader, box_of, counts_of, image_columns
from formlab.errors import DataBroken, GoldInDoubt
from formlab.text.markup import SILENT, VOID, Event, written_events

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FACTS: dict[str, tuple[str, str]] = {tag: tuple(names) for tag, names in _TABLE["facts"].items()}
TYPES = tuple(dict.fromkeys(name for name, _ in FACTS.values()))
_STEPS = [(sign, re.compile(form), new) for sign, form, new in _TABLE["steps"].values()]
_SHORTEST, _AROUND = 30, 40
# More characters than the values of a page have, unless its tags were not closed.
_LARGEST = 10_000_000
_ROLES = dict.fromkeys(VOID, "void") | dict.fromkeys(SILENT, "silent")
_ROLES |= dict.fromkeys(FACTS, "fact")
_NAME = re.compile(r"gold_(\d+)\.(?:txt|html?)")
_OPEN, _CLOSE = (
    re.compile(tag % "|".join(FACTS), re.IGNORECASE) for tag in (r"<(%s)\b[^>]*>", r"</(%s)\s*>")
)
_REMEDY = "a folder with gold_0.txt, gold_1.txt, …"


def untagged(markup: str) -> str:
    """A gold page's HTML without the tags of its facts, which no system is asked to write.

    >>> untagged("<td><Number>4,310</Number></td>")
    '<td>4,310</td>'
    """
    return _CLOSE.sub("", _OPEN.sub("", markup))


def decoded(file: Path, counts: Counter[str]) -> str:
    """The text of a file; one that is not UTF-8 is read as latin-1 and counted."""
    try:
        return files.read_text(file)
    except DataBroken:
        counts["files in latin-1"] += 1
        return files.read_text(file, encodings=("latin-1",))


def reader(split: str, root: Path) -> SplitReader:
    """The pages of one split: a record per fact at ``/facts/<n>``, and the page's HTML at no path.

    Facts keep the published order, numbers first, then dates, monetary units, entities and
    concepts, each from top to bottom. `kind` is the fact's type; `meta` holds the rest (`tagged`).
    """

    def read(file: Path, flaws: Counter[str]) -> Iterator[Part]:
        number, markup = _NAME.fullmatch(file.name)[1], decoded(file, flaws)  # type: ignore[index]
        facts = tagged(written_events(markup), flaws=flaws, where=file.name)
        opened, closed = (Counter(tag.findall(markup.lower())) for tag in (_OPEN, _CLOSE))
        flaws["fact tags not closed"] += (opened - closed).total()
        flaws["fact tags closed but not opened"] += (closed - opened).total()
        flaws["fact tags without text"] += opened.total() - len(facts)
        flaws["pages without a fact"] += not facts
        document, boxes = _picture(root, str(int(number)), flaws)
        rows: list[Row] = [{"kind": "page", "value": markup, "origin": file.name}]
        for place, fact in enumerate(facts):
            path, row = f"/facts/{place}", {name: fact.pop(name) for name in ("kind", "value")}
            row |= {"path": path, "origin": f"{file.name}#{path}"} | boxes.get(fact["mark"], {})
            rows.append(row | {"meta": json.dumps(fact, ensure_ascii=False)})
        # The type of document that a page says it is becomes its domain.
        if (beside := file.with_name(f"meta_{number}.json")).is_file():
            meta = files.read_json(beside, dict[str, Any])
            domain = files.convert(meta.get("document_type"), str | None, where=beside)
            document |= {"domain": domain, "meta": json.dumps(meta, ensure_ascii=False)}
        yield {"doc_id": str(int(number))} | counts_of(rows[1:]) | document, rows

    same, empty = {"task": "fact", "page": 1}, f"gold pages: {_REMEDY}"
    return SplitReader("fincriticaled", split, root, _pages(root), read, same, empty=empty)


def _pages(root: Path) -> list[Path]:
    """The files of pages in the order of their numbers."""
    for name in _TABLE["folders"]:
        found = (files.folder(root, remedy=_REMEDY) / name).glob("gold_*")
        pages = sorted((int(m[1]), file) for file in found if (m := _NAME.fullmatch(file.name)))
        for (number, first), (other, second) in pairwise(pages):
            if number == other:
                what = f"two golds of page {number}: {first.name} and {second.name}"
                raise GoldInDoubt(what, where=second.parent, remedy="keep one of them")
        if pages:
            return [file for _, file in pages]
    return []


def _picture(base: Path, stem: str, flaws: Counter[str]) -> tuple[Row, dict[int, Row]]:
    """The columns of a page's image, and the boxes of its fact tags by their running numbers."""
    images = (base / folder / f"{stem}.png" for folder in _TABLE["images"])
    image = next(filter(Path.is_file, images), None)
    if image is None:  # Pages may come without images: that is no flaw.
        return {}, {}
    columns, listed = image_columns(base, image, flaws), []
    if (beside := image.with_suffix(".json")).is_file():
        listed = files.read_json(beside, list[Any], remedy="[[x0, y0, x1, y1], …]")
    sides = (dict(zip(tables.BOX, box_of(value) or (), strict=False)) for value in listed)
    boxes = {mark: box for mark, box in enumerate(sides) if box}
    flaws["fact boxes not known"] += len(listed) - len(boxes)
    return columns, boxes


class _Elements:
    """The trimmed strings and the elements of a page as Python's own parser builds them.

    Nothing is moved, and an end tag closes all that was opened since its start tag. Elements are
    numbers from the root, 0, by start tags: inside of one are those up to its `end`, and the
    strings from its `first` up to its `last`.
    """

    def __init__(self, stream: Iterable[Event], flaws: Counter[str]) -> None:
        # Beside each string the element right around it.
        self.strings, self.owners, self.facts = strings, owners, facts = [], [], []
        self.tags, self.above, self.first = tags, above, first = [""], [-1], [0]
        self.last, self.end, self.hints = last, end, _ = {}, {}, {}
        open_tags, open_roles = defaultdict[str, int](int), defaultdict[str | None, int](int)
        top = 0
        for event, name, _ in stream:
            if event == "text":
                if not open_roles["silent"] and (text := name.strip()):
                    strings.append(text)
                    owners.append(top)
            elif event == "start":
                if (role := _ROLES.get(name)) == "void":
                    continue
                open_tags[name] += 1
                above.append(top)
                top = len(tags)
                tags.append(name)
                first.append(len(strings))
                if role == "fact":
                    flaws["fact tags nested in a fact tag"] += open_roles["fact"] > 0
                    facts.append(top)
                open_roles[role] += 1
            elif open_tags[name]:
                closed = ""
                while closed != name:
                    closed, last[top], end[top] = tags[top], len(strings), len(tags)
                    open_tags[closed] -= 1
                    open_roles[_ROLES.get(closed)] -= 1
                    top = above[top]
        while top >= 0:
            last[top], end[top], top = len(strings), len(tags), above[top]
        self.numbers = [element for element, tag in enumerate(tags) if tag == "number"]
        # How long the strings are up to each, joined by spaces.
        self.ends = [0, *accumulate(len(text) + 1 for text in strings)]

    def size(self, element: int) -> int:
        """How many characters the strings of an element have, joined by spaces."""
        return self.ends[self.last[element]] - self.ends[self.first[element]]

    def text(self, element: int, by: str = "") -> str:
        return by.join(self.strings[self.first[element] : self.last[element]])

    def number_after(self, element: int) -> str:
        """The number that a lone currency sign stands before; empty if there is none."""
        for anchor in (element, self.above[element]):
            above, after = self.above[anchor], self.last[anchor]
            # Text beside the sign itself ends the search in its own element only.
            if above < 0 or after >= self.last[above] or self.owners[after] == above:
                continue
            sibling = self.owners[after]
            while self.above[sibling] != above:
                sibling = self.above[sibling]
            place = bisect_left(self.numbers, sibling + (anchor != element))
            if place < len(self.numbers) and self.numbers[place] < self.end[sibling]:
                return self.text(self.numbers[place])
        return ""

    def hint(self, element: int, value: str) -> str:
        """The text around a value in the closest element with enough of it."""
        above = self.above[element]
        # A hint is no longer than the strings that it is made of, a space behind each.
        while above >= 0 and (self.size(above) <= _SHORTEST or len(self._hint(above)) < _SHORTEST):
            above = self.above[above]
        text = self._hint(above if above >= 0 else element)
        if (at := text.find(value)) < 0:
            return text[: 2 * _AROUND].strip()
        return text[max(0, at - _AROUND) : at + len(value) + _AROUND].strip()

    def _hint(self, element: int) -> str:
        if element not in self.hints:
            text = self.text(element, " ")
            for sign, form, new in _STEPS:
                text = form.sub(new, text) if sign in text else text
            self.hints[element] = text.strip()
        return self.hints[element]


def tagged(
    stream: Iterable[Event], *, flaws: Counter[str] | None = None, where: object = None
) -> list[Row]:
    """The facts of a page from its events as written, those of a `type` together.

    Each has the published name of its `type`, its `kind` and `value`, its context as `hint`, and
    as `mark` the running number of its tag among all fact tags of the page.

    A hint is up to 40 characters either side of the value's first place in the closest element
    with 30 characters. A lone currency sign takes the number that follows it. `DataBroken`, with
    `where`, if facts stand in so many others that their values are many times the page.

    >>> from formlab.text.markup import written_events
    >>> page = "<td><monetaryunit>$</monetaryunit> <NUMBER>4,310</NUMBER></td>"
    >>> [(fact["type"], fact["value"]) for fact in tagged(written_events(page))]
    [('Number', '4,310'), ('Monetary Unit', '$4,310')]
    """
    flaws = Counter() if flaws is None else flaws
    page, facts = _Elements(stream, flaws), []
    if (size := sum(map(page.size, page.facts))) > max(_LARGEST, 2 * page.ends[-1]):
        what = f"fact tags in fact tags, with {size:,} characters as values"
        raise DataBroken(what, where=where, remedy="close the tags")
    for mark, element in enumerate(page.facts):
        if not (value := page.text(element)):
            continue
        name, kind = FACTS[page.tags[element]]
        if name == "Monetary Unit" and value in _TABLE["symbols"]:
            value += page.number_after(element)
            flaws["currency signs without a number"] += value in _TABLE["symbols"]
        hint = page.hint(element, value)
        facts.append({"type": name, "kind": kind, "value": value, "hint": hint, "mark": mark})
    return sorted(facts, key=lambda fact: TYPES.index(fact["type"]))
