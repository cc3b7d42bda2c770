"""FUNSD's forms and SROIE's receipts as forms of FORMCRAFT, with the relations that rules find.

An answer of FUNSD is a field labelled by the question that it is linked from, if there is one; a
question without an answer is a field left blank; a header, a question with further questions, and
whatever else has something below it is a group. Other text to which nothing is linked is no field.

A receipt has header, items, totals and footer, by its lines and their places. A *row* is what
stands side by side; its amount is a number with two decimals at its right end.

- Totals begin and end with rows that have an amount and whose label names a total, tax, service,
  rounding or payment (`receipts.toml`).
- Items begin under the row of column headings. An item is a row with an amount; its name stands in
  the row, else in the rows before it or, where the first row has no name, in those after it.
- The header is above the headings, the footer below the totals. Company, address and date are
  SROIE's keys, in the group whose rows they stand in.

What cannot be made out for want of totals or headings is counted.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, dropwhile, pairwise
from pathlib import Path
from typing import NamedTuple

from formlab import tables, text, trees
from formlab.benchmarks import funsd
from formlab.benchmarks.corpus import Row, around
from formlab.benchmarks.formcraft import RuleRelation, number_in, same, with_relations
from formlab.benchmarks.sroie import SIDES, box_in, receipt
from formlab.text.markup import in_rows
from formlab.trees import Node

_LETTER = re.compile(r"[^\W\d_]")
_TOTAL = re.compile(r"\btotals?\b", re.IGNORECASE)
_DIGITS = 5
# A filled-in field, the questions that it is linked from, and the header that it stands under.
_Answer = tuple[Row, list[Row], str]
_TABLE = tomllib.loads(Path(__file__).with_name("receipts.toml").read_text("utf-8"))
_ROLES, _PATTERNS = (
    {name: re.compile(pattern) for name, pattern in table.items()} for table in _TABLE.values()
)
_SIGNS = {"tax": "+", "service": "+", "rounding": "+", "discount": "-"}
_OF_TOTALS = {"total", "tax", "service", "rounding", "cash", "card", "change"}
# In the order of their questions.
_RULES = ("date", "items", "total", "change", "payment", "quantity", "tax")


def has_letters(label: str) -> bool:
    """Whether a text has three letters, without which it is no label."""
    return len(_LETTER.findall(label)) >= 3


def field_of(label: str, value: str, box: Sequence[float] | None, kind: str | None = None) -> Row:
    """A filled-in field of a form."""
    return {"label": label, "modality": "textual", "value": value, "kind": kind, "box": box}


def of_entities(file: Path, flaws: Counter[str]) -> Row:
    """The form in a file of FUNSD's annotations, with the relations found on it."""
    columns = funsd.columns_of(file, flaws)
    _, *rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    for row in rows:
        row["box"] = tuple(map(row.get, tables.BOX)) if row["x0"] is not None else None
    entities = {row["path"]: row for row in rows if row["task"] == "text"}
    links = [row for row in rows if row["kind"] == "link"]
    questions: dict[str, list[Row]] = defaultdict(list)
    for start, _, end in (row["value"].partition(" ") for row in links):
        if entities.get(start, {}).get("kind") == "question":
            questions[end].append(entities[start])
    # Without their kinds, all entities are nodes of the tree: no answers are joined.
    nodes = [{"path": path, "value": row["value"]} for path, row in entities.items()]
    odd, answers = Counter[str](), list[_Answer]()
    tree = trees.from_records([*nodes, *links], flaws=odd)
    flaws["links in a circle"] += odd["links in a circle"]

    def fill(holder: Row, nodes: list[Node], label: str = "", header: str = "") -> None:
        """Put the fields and groups that nodes stand for into what `label` names."""
        for node in nodes:
            row, asked, inner = entities[node.path], questions[node.path], holder
            kind, kinds = row["kind"], {entities[child.path]["kind"] for child in node.children}
            is_deep = any(child.children for child in node.children)
            if kind == "answer" or (kind == "other" and asked):
                value = row["value"].strip()
                sort = None if number_in(value) is None else "number"
                sort = "date" if text.date(value) else sort
                holder["fields"].append(field := field_of(label, value, row["box"], sort))
                answers.append((field, asked, header))
            elif kind == "question" and not kinds:
                holder["fields"].append({"label": node.label, "modality": "textual"})
            elif kind == "header" or is_deep or kinds & {"question", "header"}:
                # There is more below it than its answers.
                holder["groups"].append(inner := {"label": node.label, "fields": [], "groups": []})
            below = {kind: node.label}
            fill(inner, node.children, below.get("question", ""), below.get("header", header))

    form: Row = {"fields": [], "groups": [], "domain": "forms"}
    fill(form, tree.children)
    labels = Counter(_name(row["value"]) for row in entities.values())
    proposed = [*_cells(answers, labels), *_under_headers(answers, labels)]
    return with_relations(form, [*proposed, *_sums(answers), *_repeated(answers)], flaws)


def _name(label: str) -> str:
    return text.normalise(label, text.LADDER_STEPS).strip(" :.")


def _share(box: tuple | None, other: tuple, axis: int) -> float:
    """The length that two boxes have in common along an axis."""
    return min(box[axis + 2], other[axis + 2]) - max(box[axis], other[axis]) if box else 0


def _cells(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    cells = Counter(frozenset(row["path"] for row in asked) for _, asked, _ in answers)
    for field, asked, _ in answers:
        # Two columns of one name would leave open which is meant.
        once = cells[frozenset(row["path"] for row in asked)] == 1
        once = once and all(labels[_name(row["value"])] == 1 for row in asked)
        if not (once and len(asked) == 2 and field["box"] and field["value"]):
            continue
        beside = [row["value"] for row in asked if _share(row["box"], field["box"], 1) > 0]
        over = [row["value"] for row in asked if _share(row["box"], field["box"], 0) > 0]
        if len(beside) == len(over) == 1 and all(map(has_letters, beside + over)):
            yield RuleRelation("cell", field, {}, words={"row": beside[0], "column": over[0]})


def _under_headers(answers: list[_Answer], labels: Counter[str]) -> Iterator[RuleRelation]:
    keys = [(_name(header), _name(field["label"])) for field, _, header in answers]
    once, headers = Counter(keys), Counter(label for _, label in set(keys))
    for (field, asked, header), key in zip(answers, keys, strict=True):
        single = once[key] == labels[key[0]] == len(asked) == 1
        if field["value"] and single and headers[key[1]] > 1 and all(map(has_letters, key)):
            words = {"header": header, "label": field["label"]}
            yield RuleRelation("header", field, {}, words=words)


def _sums(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """Totals under a column of numbers."""
    numbers = [a for a in answers if a[0]["box"] and number_in(a[0]["value"]) is not None]
    for total, asked, _ in numbers:
        if any(_TOTAL.search(row["value"]) for row in asked):
            end = total["box"]
            column = [field for field, _, _ in numbers if _share(field["box"], end, 0) > 0]
            above = [field for field in column if field["box"][3] <= end[1] + 1]
            if len(above) > 1:
                sources = {f"n{n}": field for n, field in enumerate(above)}
                yield RuleRelation("sum", total, sources, " + ".join(sources))


def _repeated(answers: list[_Answer]) -> Iterator[RuleRelation]:
    """The same number in the two fields of one label: short texts are the same by chance."""
    labels = Counter(_name(field["label"]) for field, _, _ in answers)
    for first, second in combinations([field for field, _, _ in answers], 2):
        label, value = _name(first["label"]), first["value"]
        is_number = sum(map(str.isdigit, value)) >= _DIGITS and text.date(value) is None
        is_twice = label == _name(second["label"]) and labels[label] == 2
        if is_twice and is_number and same(value, second["value"]):
            yield RuleRelation("same", second, {"first": first})


class _Line(NamedTuple):
    """A row of a receipt: text and box, numbers with two decimals, and the label before them.

    Its role is that of its label, ``headings`` of columns, or ``taxed``: a rate, what is taxed and
    the tax. `amount` is the number that it ends in.
    """

    text: str
    label: str
    role: str
    box: tuple[float, ...]
    numbers: list[Row]
    amount: Row | None
    pieces: list[Row]


def of_receipt(root: Path, file: Path, flaws: Counter[str]) -> Row:
    """The form of the receipt whose keys are in `file`, with the relations found on it."""
    keys, texts = receipt(file, root, flaws)
    # What is longer is no line of a receipt, and patterns take long for it.
    boxed = [row for row in texts if "x0" in row and len(row["value"]) <= 200]
    boxes = list(map(SIDES, boxed))
    lines = [_line([boxed[place] for place in row]) for row in in_rows(boxes)]
    parts = _parts(lines, flaws)
    groups = {name: _group(name, part) for name, part in parts.items()}
    form: Row = {"fields": [], "groups": list(groups.values()), "domain": "receipts"}
    homes = {id(line): groups[name]["fields"] for name, part in parts.items() for line in part}
    proposed = list(_dates(keys, lines, homes, form["fields"]))
    items = _items(parts["items"], lines, groups["items"]["groups"]) if "items" in parts else []
    totals = parts.get("totals", [])
    for line in totals:
        if line.amount and line.label and len(line.numbers) == 1:
            line.amount["label"] = line.label
            groups["totals"]["fields"].append(line.amount)
    proposed += [*_totals(totals, [item["fields"][-1] for item in items]), *_times(items)]
    for name in ("totals", "footer"):
        proposed += _taxes(parts.get(name, []), groups.get(name))
    proposed.sort(key=lambda relation: _RULES.index(relation.rule))
    return with_relations(form, proposed, flaws)


def _line(pieces: list[Row]) -> _Line:
    written = " ".join(piece["value"] for piece in pieces)
    amounts = _PATTERNS["amount"].finditer
    found = [(piece, match) for piece in pieces for match in amounts(piece["value"])]
    numbers = [field_of("amount", m[0], box_in(piece, *m.span()), "money") for piece, m in found]
    matches = list(amounts(written))
    label = written[: matches[0].start()] if matches else written
    closed = bool(numbers and matches and _PATTERNS["code"].fullmatch(written[matches[-1].end() :]))
    label = _PATTERNS["behind_label"].sub("", label.strip())
    plain = " ".join(re.sub("[^a-z]+", " ", label.casefold()).split())
    role = next((role for role, pattern in _ROLES.items() if pattern.search(plain)), "none")
    words = set(_PATTERNS["heading"].findall(written.casefold()))
    if (len(words) > 1 or words == {"rm"}) and not any(map(str.isdigit, written)):
        role = "headings"
    elif closed and len(numbers) == 2 and _PATTERNS["rate"].search(written):
        role = "taxed"
    amount = numbers[-1] if closed else None
    return _Line(written, label, role, around(list(map(SIDES, pieces))), numbers, amount, pieces)


def _group(label: str, lines: list[_Line]) -> Row:
    box = around([line.box for line in lines])
    return {"label": label, "fields": [], "groups": [], "box": box}


def _parts(lines: list[_Line], flaws: Counter[str]) -> dict[str, list[_Line]]:
    """The rows of header, items, totals and footer, as far as the rules tell them apart."""
    amounts = [n for n, line in enumerate(lines) if line.amount and line.role != "taxed"]
    # The items are above the first of the totals.
    named = [n for n in amounts if "total" in lines[n].label.casefold()]
    rows = [n for n in amounts if n in named or lines[n].role in _OF_TOTALS]
    # Headings below a total are those of a table of taxes.
    total = next((n for n in rows if lines[n].role == "total"), len(lines))
    heading = next((n for n in range(total) if lines[n].role == "headings"), None)
    sums = [n for n in rows if heading is None or n > heading]
    flaws["receipts without rows of totals"] += not sums
    flaws["receipts whose items have no column headings"] += heading is None
    if not sums:
        return {}
    end = sums[-1] + 1
    parts = {"totals": lines[sums[0] : end], "footer": lines[end:]}
    if heading is not None:
        items = list(dropwhile(lambda line: line.role == "headings", lines[heading + 1 : sums[0]]))
        parts = {"header": lines[:heading], "items": items} | parts
    return {name: part for name, part in parts.items() if part}


def _items(lines: list[_Line], page: list[_Line], items: list[Row]) -> list[Row]:
    """Adds the items: groups of an amount and, where known, of quantity and price before it."""
    named = [has_letters(line.label) for line in lines]
    after = bool(lines[0].amount) and not named[0]
    headings = " ".join(line.text.casefold() for line in page if line.role == "headings")
    columns = "qty" in headings and "price" in headings
    before: list[str] = []
    for line, has_name in zip(lines, named, strict=True):
        if line.amount is None:
            is_count = _PATTERNS["counted"].search(line.text.casefold())
            if after and items and not is_count:
                items[-1]["label"] = f"{items[-1]['label']} {line.text}".strip()
            elif not (after or is_count):
                before.append(line.text)
            continue
        fields = [*_quantity(line, columns=columns), line.amount]
        name = line.label if has_name else " ".join(before)
        # The quantity, which is a field of its own, stands behind the name.
        name = _PATTERNS["count"].sub("", name) if has_name and len(fields) > 1 else name
        before = []
        items.append({"label": name, "fields": fields, "groups": [], "box": line.box})
    return items


def _quantity(line: _Line, *, columns: bool) -> list[Row]:
    for piece in line.pieces:
        if match := _PATTERNS["times"].search(piece["value"]):
            boxes = box_in(piece, *match.span(1)), box_in(piece, *match.span(2))
            price = field_of("unit price", match[2], boxes[1], "money")
            return [field_of("quantity", match[1], boxes[0], "number"), price]
    counts = [piece for piece in line.pieces if re.fullmatch(r"\d{1,3}", piece["value"].strip())]
    if columns and len(counts) == 1 and len(line.numbers) > 1:
        count = field_of("quantity", counts[0]["value"].strip(), SIDES(counts[0]), "number")
        return [count, line.numbers[0] | {"label": "unit price"}]
    return []


def _times(items: list[Row]) -> Iterator[RuleRelation]:
    for item in items:
        # Once a price is the price: nothing follows that was not read already.
        if len(item["fields"]) == 3 and item["fields"][0]["value"] != "1":
            count, price, amount = item["fields"]
            sources, words = {"n": count, "price": price}, {"item": item["label"]}
            yield RuleRelation("quantity", amount, sources, "n * price", words)


def _totals(lines: list[_Line], amounts: list[Row]) -> Iterator[RuleRelation]:
    """Sums of items, totals from other totals, change and payment."""
    single = [line for line in lines if line.amount and len(line.numbers) == 1]
    rows = [line for line in single if line.role != "none"]
    totals = [row.amount for row in rows if row.role == "total"]
    if amounts and totals:
        sources = {f"i{n}": amount for n, amount in enumerate(amounts, start=1)}
        sums = [RuleRelation("items", total, sources, " + ".join(sources)) for total in totals]
        yield next((relation for relation in sums if relation.holds()), sums[0])
    roles = Counter(row.role for row in rows)
    # Of several totals above a row the last one is tried first.
    pairs = ((end, n) for end in range(len(rows)) for n in reversed(range(end)))
    for end, start in ((end, n) for end, n in pairs if rows[n].role == "total"):
        role, amount, base = rows[end].role, rows[end].amount, rows[start].amount
        between = [line for line in rows[start + 1 : end] if line.role in _SIGNS]
        if role == "total" and between:
            sources = {"base": base} | {f"a{n}": line.amount for n, line in enumerate(between)}
            signs = ("+" if x.amount["value"].startswith("-") else _SIGNS[x.role] for x in between)
            formula = " ".join(["base", *(f"{sign} a{n}" for n, sign in enumerate(signs))])
            yield RuleRelation("total", amount, sources, formula)
        elif role == "card" or (role == "cash" and not roles["change"]):
            yield RuleRelation("payment", amount, {"total": base}, "total")
        elif role == "cash" and roles["cash"] == roles["change"] == 1:
            change = next(row.amount for row in rows if row.role == "change")
            formula = "-cash - total" if amount["value"].startswith("-") else "cash - total"
            yield RuleRelation("change", change, {"cash": amount, "total": base}, formula)


def _taxes(lines: list[_Line], group: Row | None) -> Iterator[RuleRelation]:
    for line in lines:
        rate = _PATTERNS["rate"].search(line.text)
        # Nothing follows from a rate of nought that is not there already.
        percent = rate and (rate[1] or rate[2])
        if line.role == "taxed" and group and float(percent):
            taxed, tax = line.numbers
            taxed["label"], tax["label"] = "taxed amount", "tax"
            group["groups"].append(_group(line.label, [line]) | {"fields": line.numbers})
            formula, words = f"taxed * {percent} / 100", {"percent": percent}
            yield RuleRelation("tax", tax, {"taxed": taxed}, formula, words)


def _dates(
    keys: list[Row], lines: list[_Line], homes: Mapping[int, list[Row]], rest: list[Row]
) -> Iterator[RuleRelation]:
    """Puts the keys, and what repeats the date, among the fields of their rows, or into `rest`."""
    date = None
    for key in keys:
        value = key.get("value") or ""
        if key["kind"] not in ("company", "date", "address") or not value.strip():
            continue
        box = SIDES(key) if "x0" in key else None
        field = field_of(key["kind"], value, box)
        line = next((line for line in lines if box and _covers(line.box, box)), None)
        homes.get(id(line), rest).append(field)
        if key["kind"] == "date" and box and text.date(value):
            date, field["kind"] = field, "date"
    pieces = [(line, *pair) for line in lines for pair in pairwise([{"value": ""}, *line.pieces])]
    for line, before, piece in pieces if date else ():
        for match in _PATTERNS["date"].finditer(piece["value"]):
            box = box_in(piece, *match.span())
            if not _covers(date["box"], box) and same(date["value"], match[0]):
                start = piece["value"][: match.start()]
                words = re.split(r"\d", f"{before['value']} {start}")[0]
                label = words.strip(" :.-(") if has_letters(words) else "date"
                other = field_of(label, match[0], box, "date")
                homes.get(id(line), rest).append(other)
                again = {"question": "date_again"} if label == "date" else {}
                yield RuleRelation("date", other, {"date": date}, words=again)


def _covers(box: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the middle of `other` lies in `box`."""
    x, y = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
