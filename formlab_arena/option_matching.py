"""Which options, and which file, a value of a text means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from rapidfuzz import fuzz

from formlab.text import typed

_PLACEHOLDER = re.compile(
    r"\W*(?:(?:please )?(?:choose|select|pick)(?: (?:an?|one|the|your|from|here)\b.*|\W*))?$",
    re.IGNORECASE,
)
# How alike an option and a value are that are not the same, in per cent.
_ALIKE = 80


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


def closest(value: str, options: Sequence[str]) -> int | None:
    """The option that a value means: equal, with the same number, or alike; None if none is.

    Examples
    --------
    >>> closest("usa", ["Choose", "U.S.A.", "UK"]), closest("True", ["No", "Yes"])
    (1, 1)
    >>> closest("34", ["18-24", "25-34", "35+"]), closest("Engineering", ["Sales", "Law"])
    (1, None)
    """
    key, words = _key(value), value.casefold().strip()
    number = typed.number(value)
    keys = [_key(option) for option in options]
    likely = [n for n in range(len(options)) if keys[n] and not _PLACEHOLDER.match(options[n])]
    tests = (
        lambda n: options[n].strip() == value.strip(),
        lambda n: keys[n] == key != "",
        lambda n: (
            typed.checked(words) is not None and typed.checked(options[n]) is typed.checked(words)
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
        if len(key) > 1 and re.search(rf"\b{re.escape(words)}\b", options[n].casefold())
    ]
    if inside:
        return min(inside, key=lambda n: len(options[n]))
    scored = [(fuzz.token_sort_ratio(words, options[n].casefold()), -n) for n in likely]
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
    words = set(re.findall(r"[a-z]{3,}", label.lower()))
    like = [name for name in files if words & set(re.findall(r"[a-z]{3,}", name.lower()))]
    return like[0] if len(like) == 1 else files[0] if len(files) == 1 else None
