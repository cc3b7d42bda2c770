"""Pairs labels with fields, and values with options."""

import functools
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import numpy as np
from rapidfuzz import fuzz

from formlab.text import values as typed
from formlab_arena.labelled_lines import LONG_LABEL, LabelledValue

# The least likeness of two labels in a text, and what it loses where another field has the value
# already; that of a label which is to be exact.
_LEAST, _USED, _EXACT = 0.58, 0.1, 0.72
# The same text, and the same words: no sum of likenesses counts as much.
_SAME_TEXT, _SAME_WORDS = 1e8, 1e5
_OPTIONAL = re.compile(r"\(\s*(?:optional|required|if any|if applicable)\s*\)|[*✱]", re.IGNORECASE)
_FILLERS = frozenset(
    re.findall(
        r"\S+",
        """
        a an any are at be choose complete do does enter for full give have here i in is it its my
        no of on one optional or our please provide required s select the their this to type what
        when where which will with would write you your
        """,
    )
)
_SAME = tuple(
    (re.compile(rf"\b(?:{many})\b"), single)
    for many, single in (
        (r"(?:e ?mail|mail)(?: address)?", "email"),
        (r"(?:tele ?phone|mobile|cell|tel|phone)(?: phone)?(?: (?:number|no|nr))?", "phone"),
        (r"(?:zip|postal|post) ?(?:code)?", "zip"),
        (r"date of birth|birth ?date|birth ?day|dob|born(?: on)?", "birthdate"),
        (r"surname|family name|last ?name", "lastname"),
        (r"given name|fore ?name|first ?name", "firstname"),
        (r"organi[sz]ation|employer|firm", "company"),
        (r"web ?site|home ?page|web ?page|url", "website"),
        (r"num|nr|nbr", "number"),
        (r"qty", "quantity"),
    )
)
_PLACEHOLDER = re.compile(
    r"\W*(?:(?:please )?(?:choose|select|pick)(?: (?:an?|one|the|your|from|here)\b.*|\W*))?$",
    re.IGNORECASE,
)
# How alike an option and a value are that are not the same, in per cent.
_ALIKE = 80


@functools.lru_cache(maxsize=8192)
def words(label: str) -> tuple[str, ...]:
    """The words of a label or of a name such as ``firstName``.

    Examples
    --------
    >>> words("E-mail address: *"), words("guest[firstName]")
    (('e', 'mail', 'address'), ('guest', 'first', 'name'))
    """
    plain = unicodedata.normalize("NFKC", label[:LONG_LABEL])
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return tuple(word.casefold() for word in re.findall(r"[^\W_]+|[%$€£#]", plain))


@functools.lru_cache(maxsize=4096)
def _content(label: str) -> tuple[str, ...]:
    """The words of a label that say something, each in a common form."""
    text = " ".join(words(_OPTIONAL.sub(" ", label[:LONG_LABEL])))
    for pattern, single in _SAME:
        text = pattern.sub(single, text)
    some = [word for word in text.split() if word not in _FILLERS] or text.split()
    return tuple(word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in some)


@functools.lru_cache(maxsize=65536)
def likeness(label: str, other: str) -> float:
    """How alike two labels are, from 0 to 1, which is the same but for marks and case.

    Examples
    --------
    >>> likeness("Your e-mail *", "E-Mail Address"), likeness("Name", "Price")
    (1.0, 0.0)
    >>> likeness("Full name", "Name") > likeness("Company name", "Name") > 0.5
    True
    """
    mine, theirs = _content(label), _content(other)
    if not mine or not theirs:
        return 0.0
    if mine == theirs:
        return 1.0 if _plain(label) == _plain(other) or len(mine) == 1 else 0.98
    if "".join(mine) == "".join(theirs):
        return 0.97
    left, shared = list(theirs), 0
    for word in mine:
        near = [w for w in left if w == word or (len(word) > 3 and fuzz.ratio(w, word) >= 84)]
        if near:
            left.remove(word if word in near else near[0])
            shared += len(word)
    size = sum(map(len, mine)), sum(map(len, theirs))
    words = 2 * (len(theirs) - len(left)) / (len(mine) + len(theirs))
    dice = (2 * shared / sum(size) + words) / 2
    inside = shared >= min(size) * 0.9
    return min(0.95, max(0.95 * dice, 0.6 + 0.3 * dice if inside else 0.0))


def _plain(label: str) -> str:
    return "".join(re.findall(r"\w", _OPTIONAL.sub("", label).casefold()))


def _sureness(key: str, label: str) -> float:
    if key == label:
        return _SAME_TEXT
    mine = "".join(words(key))
    return _SAME_WORDS if mine and mine == "".join(words(label)) else likeness(key, label)


def pair(keys: Sequence[str], fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The field of each key, by the names and labels of each field: the best pairs overall.

    No field is paired twice. A key that is as like a second field as the one it would have is
    left out, unless its text or its words are the same: then it has the first.

    Examples
    --------
    >>> fields = {"q1": ("First name",), "q2": ("Last name", "surname"), "q3": ("Phone",)}
    >>> pair(["Last name *", "first_name", "Town"], fields)
    {'Last name *': 'q2', 'first_name': 'q1'}
    >>> pair(["Name"], fields)
    {}
    """
    names = list(fields)
    if not keys or not names:
        return {}
    scores = np.array(
        [[max([_sureness(key, label) for label in fields[name]], default=0.0) for name in names]
         for key in keys]
    )  # fmt: skip
    scores[scores < _EXACT] = 0
    pairs = {}
    for row, column in _best(scores):
        free = np.delete(scores[row], column)
        if scores[row, column] >= _SAME_WORDS or not (free >= scores[row, column]).any():
            pairs[keys[row]] = names[column]
    return pairs


def assigned(
    labels: Sequence[Sequence[str]],
    values: Sequence[LabelledValue],
    *,
    used: Collection[int] = (),
    least: float = _LEAST,
) -> list[LabelledValue | None]:
    """For each field the value that is meant for it: the best assignment of all together.

    Parameters
    ----------
    labels
        For each of n fields its label, and what else it may be called, likeliest first.
    values
        Those of a text.
    used
        Places that other fields have had, which are taken only if nothing else is alike.
    least
        The least likeness, from 0 to 1.

    Examples
    --------
    >>> from formlab_arena.labelled_lines import labelled_values
    >>> values = labelled_values("Company: Lund\\nName: Ada\\nContact name: Bo")
    >>> fields = [["Name"], ["Contact name"], ["Company name"]]
    >>> [value.value for value in assigned(fields, values)]
    ['Ada', 'Bo', 'Lund']
    """
    places = {place: n for n, place in enumerate(dict.fromkeys(v.place for v in values))}
    if not places or not labels:
        return [None] * len(labels)
    scores = np.zeros((len(labels), len(places)))
    best: dict[tuple[int, int], LabelledValue] = {}
    for row, names in enumerate(labels):
        for value in values:
            column = places[value.place]
            named = (value.label, *([f"{value.section} {value.label}"] if value.section else ()))
            score = max(
                likeness(name, label) - 0.03 * min(n, 3)
                for n, name in enumerate(names or ("",))
                for label in named
            )
            score -= _USED if value.place in used else 0
            if score > max(least, scores[row, column]):
                scores[row, column], best[row, column] = score, value
    # An equal label counts for more than several that are merely alike. Order decides the rest:
    # the first of several fields has a value, and fields that are named alike keep to it.
    rows = np.arange(len(labels))[:, None] / len(labels)
    apart = np.abs(rows - np.arange(len(places)) / len(places))
    weights = np.where(scores > 0, scores**6 + 3e-4 * (1 - rows) + 1e-4 * (1 - apart), 0.0)
    pairs = {row: best[row, column] for row, column in _best(weights)}
    return [pairs.get(row) for row in range(len(labels))]


def _best(scores: np.ndarray) -> list[tuple[int, int]]:
    """The rows and columns of the best assignment, of those with a score."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(row, column) for row, column in pairs if scores[row, column] > 0]


def options_in(value: str, options: Sequence[str]) -> list[int]:
    """Which of the options a value names, longer ones before their own parts.

    Examples
    --------
    >>> options_in("Rail and Bus pass", ["Bus", "Bus pass", "Rail"])
    [1, 2]
    """
    left, chosen = value.lower(), []
    for number in sorted(range(len(options)), key=lambda n: -len(options[n])):
        option = options[number].strip().lower()
        pattern = rf"(?<!\w){re.escape(option)}(?!\w)"
        if option and (match := re.search(pattern, left)):
            left = left[: match.start()] + "\0" * len(match[0]) + left[match.end() :]
            chosen.append(number)
    return sorted(chosen)


def closest(value: str | bool, options: Sequence[str]) -> int | None:
    """The option that a value means: equal, with the same number, or alike; None if none is.

    Examples
    --------
    >>> closest("usa", ["Choose", "U.S.A.", "UK"]), closest("True", ["No", "Yes"])
    (1, 1)
    >>> closest("34", ["18-24", "25-34", "35+"]), closest("Engineering", ["Sales", "Law"])
    (1, None)
    """
    if isinstance(value, bool):
        value = "yes" if value else "no"
    key, plain = _key(value), value.casefold().strip()
    number = typed.number(value)
    keys = [_key(option) for option in options]
    likely = [n for n in range(len(options)) if keys[n] and not _PLACEHOLDER.match(options[n])]
    tests = (
        lambda n: options[n].strip() == value.strip(),
        lambda n: keys[n] == key != "",
        lambda n: (
            typed.checked(plain) is not None and typed.checked(options[n]) is typed.checked(plain)
        ),
        lambda n: number is not None and _holds(options[n], number),
        lambda n: len(key) > 1 and "".join(re.findall(r"\b[A-Z]", options[n])).casefold() == key,
    )
    for test in tests:
        if (match := next((n for n in likely if test(n)), None)) is not None:
            return match
    starts = [n for n in likely if len(key) > 1 and keys[n].startswith(key)]
    if len(starts) == 1:
        return starts[0]
    if named := [n for n in options_in(value, options) if n in likely]:
        return max(named, key=lambda n: len(options[n]))
    inside = [
        n
        for n in likely
        if len(key) > 1 and re.search(rf"\b{re.escape(plain)}\b", options[n].casefold())
    ]
    if inside:
        return min(inside, key=lambda n: len(options[n]))
    scored = [(fuzz.token_sort_ratio(plain, options[n].casefold()), -n) for n in likely]
    score, at = max(scored, default=(0, 0))
    return -at if score >= _ALIKE else None


def several(value: str, options: Sequence[str]) -> list[int]:
    """The options that a list of values means, between commas, lines or ``and``.

    Examples
    --------
    >>> several("rail and Milk, cold; teas", ["Rail", "Bus", "Milk, cold", "Tea"])
    [0, 2, 3]
    """
    chosen = {n for n in options_in(value, options) if not _PLACEHOLDER.match(options[n])}
    named = " ".join(_key(options[n]) for n in chosen)
    for item in re.split(r"[,;\n|]|\s(?:and|&|or)\s", value):
        if (
            (key := _key(item))
            and key not in named
            and (at := closest(item.strip(), options)) is not None
        ):
            chosen.add(at)
    return sorted(chosen)


def _key(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+|[+$€£%]", text.casefold()))


def _holds(option: str, number: Decimal) -> bool:
    """Whether an option is a number or a range that holds it: ``5``, ``1-10``, ``65+``."""
    text = option.replace(",", "")
    if match := re.fullmatch(r"\D*?(\d+)\s*(?:-|–|to)\s*\D?(\d+)\D*", text):
        return int(match[1]) <= number <= int(match[2])
    if match := re.fullmatch(
        r"\D*?(\d+)\s*(?:\+|or (?:more|over|older)|and (?:more|over)).*", text
    ):
        return number >= int(match[1])
    return typed.number(option) == number


def file_named(label: str, value: str, files: Sequence[str]) -> str | None:
    """The file that the text names for a label; else the one named like it; else the only one."""
    if named := [name for name in files if name in value]:
        return max(named, key=len)
    named_in = set(re.findall(r"[a-z]{3,}", label.lower()))
    like = [name for name in files if named_in & set(re.findall(r"[a-z]{3,}", name.lower()))]
    return like[0] if len(like) == 1 else files[0] if len(files) == 1 else None
