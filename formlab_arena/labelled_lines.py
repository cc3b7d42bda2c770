"""Reads the labels and values in lines and paragraphs such as "Label: value"."""

import dataclasses
import itertools
import re
from collections.abc import Collection, Sequence

# Bounds for hostile text: lines, and characters of a line and of a label.
_LINES, _LONG_LINE, LONG_LABEL = 2_000, 20_000, 200
# So many labels of a text on a page, but for a tenth, make other words before colons none.
_SEVERAL = 3
# Marks of Markdown around words; marks within words, as in file_name, are none.
_INLINE = re.compile(
    r"`+(?P<code>[^`\n]+)`+|!?\[(?P<text>[^\]\n]+)\]\((?P<link>[^()\s]+)\)"
    r"|<(?P<auto>https?://[^\s<>]+|[\w.+-]+@[\w.-]+)>"
    r"|(?P<kept>https?://[^\s<>()\[\]*`\"“”]+)"
    r"|(?<![^\s(\[“\"'|_:>-])(?P<star>\*{1,3})(?=[^\s*])(?P<strong>[^\n]{0,2000}?[^\s*])(?P=star)"
    r"(?![^\s.,;:!?)\]”\"'|_-])"
    r"|(?<![^\s(\[“\"'|*:>-])(?P<line>_{1,3})(?=[^\s_])(?P<low>[^\n]{0,2000}?[^\s_])(?P=line)"
    r"(?![^\s.,;:!?)\]”\"'|*-])"
    r"|\\(?P<escaped>[*_`#\[\]~|\\])"
)
_BULLET = re.compile(r"(?:[-*+•◦▪‣–]|(?:\d{1,3}|[a-z])[.)])\s+(?=\S)")
_HEADING = re.compile(r"#{1,6}\s+|(?P<bold>\*\*[^*]+\*\*|__[^_]+__)$")
_TASK = re.compile(r"(?:\[([ xX])\]|([☐☑☒✓✔]))\s+(.+)")
_RULE = re.compile(r"[\s|:=*_+-]{3,}")
_COLON = re.compile(r"\s*[:：](?!//)(?=\s|$)|(?<!\d)[:：](?!//)(?=[^\s\d/\\])")
_WEAK = re.compile(r"\s(?:[–—-]|[-=]>|→|=)(?:\s+|$)")
_CELL = re.compile(r"\t+| {3,}|\s*\|\s*")
_QUERY = re.compile(r"(?<=\?)\s+(?:[–—=-]\s+)?(?=\S)")
# Where a sentence ends and a label begins: "… Berg. Date of birth: …"
_NEXT = re.compile(
    r"(?<=[.!?;])[\"”’)]*\s+(?=[\"“*]*(?P<label>[A-Z](?:[^.:;!?\n]|\.(?!\s+[^a-z])){0,120}\??)[\"”*]*\s?[:：](?:\s|\*|$))"
)
_SENTENCE = re.compile(r"[.!?][\"”’)]*\s+(?=[\"“(]?[^\W_a-z])")
# What ends with a dot of its own: initials behind a name, "p.m.", titles, "ext."
_SHORT = re.compile(
    r"(?:(?<=\s)[A-Z]|(?<![^\s(])(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}"
    r"|(?<![^\s(])(?:Mrs?|Ms|Dr|Prof|Capt|Rev|Sgt|Hon|St|Ave|Rd|Blvd|Mt|Inc|Ltd|Corp|Co|Bros|Jr|Sr"
    r"|etc|vs|[Ee]xt|[Nn]os?|[Nn]r|[Tt]el|[Aa]pprox|[Cc]a|[Vv]ol|[Aa]rt|[Ff]ig|[Aa]pt))\.$"
)


@dataclasses.dataclass(frozen=True)
class LabelledValue:
    """A value that stands behind its label.

    `whole` goes on over the lines after it, up to the next label. `place` is the same for all ways
    to divide a line into label and value. `alone` tells whether its line has no other label.
    `section` is the heading that it stands under.
    """

    label: str
    value: str
    whole: str
    place: int
    alone: bool = True
    section: str = ""


@dataclasses.dataclass
class _Line:
    """A line, or as much of it as belongs to its first label, and the ways to divide it."""

    text: str
    splits: list[tuple[str, str]]
    indent: int = 0
    bullet: bool = False
    heading: bool = False
    after_gap: bool = False
    alone: bool = True
    number: str = ""


def unmarked(text: str) -> str:
    """The text without the marks of Markdown within a line.

    Examples
    --------
    >>> unmarked("**Name:** `__init__` in *my_own_file*, 2*3*4, [here](https://x.example/_a_)")
    'Name: __init__ in my_own_file, 2*3*4, here'
    """

    def plain(match: re.Match[str]) -> str:
        if inner := match["strong"] or match["low"]:
            return unmarked(inner)
        return match[next(k for k in ("code", "text", "auto", "kept", "escaped") if match[k])]

    return _INLINE.sub(plain, text)


def labelled_values(text: str, known: Collection[str] = ()) -> list[LabelledValue]:
    """All values behind labels, in reading order.

    Parameters
    ----------
    text
        Lines, bullets, numbered items, tables or paragraphs; in Markdown or not.
    known
        Labels of the page, which begin a value also within a sentence.

    Examples
    --------
    >>> [(v.label, v.value) for v in labelled_values("- **Name:** Ada\\n- Site: https://a.example")]
    [('Name', 'Ada'), ('Site', 'https://a.example')]
    >>> [(v.label, v.value) for v in labelled_values("Name: Ada Berg. Seats: 4. We come by car.")]
    [('Name', 'Ada Berg'), ('Seats', '4. We come by car.')]
    """
    lines = _lines(text, known)
    values: list[LabelledValue] = []
    section = ""
    for at, line in enumerate(lines):
        if not line.splits:
            section = line.text if line.heading else section
            continue
        more = _continuation(lines, at)
        if not line.splits[0][1] and (not more or any(each.splits for each in more)):
            section = line.splits[0][0]
        for label, value in line.splits:
            value, whole = _joined(value, more)
            values.append(LabelledValue(label, value, whole, at, line.alone, section))
    return _without_ends(values)


def _lines(text: str, known: Collection[str]) -> list[_Line]:
    # A page may number its questions.
    known = [name[m.end() :] if (m := _BULLET.match(name)) else name for name in known]
    names = sorted((name for name in known if 3 <= len(name) <= LONG_LABEL), key=len, reverse=True)
    # A known label begins a value also behind a comma; one within a longer label does not.
    either = "|".join(map(re.escape, names)) or r"(?!)"
    inside = rf"(?:^|(?<=[.,;!?)])\s+)(?P<label>{either})\s*[:：](?=\s)"
    letters = "".join(f"\n{_letters(name)}" for name in known)
    strict = _is_strict(text, letters)
    lines: list[_Line] = []
    gap = False
    for raw in text.splitlines()[:_LINES]:
        body = re.sub(r"^\s*(?:>\s*)+", "", raw.rstrip())[:_LONG_LINE]
        indent, body = len(body) - len(body.lstrip()), body.strip()
        if not body or _RULE.fullmatch(body):
            gap = True
            continue
        bullet = _BULLET.match(body)
        body = body[bullet.end() :] if bullet else body
        heading = _HEADING.match(body)
        body = unmarked(body[heading.end() :] if heading and not heading["bold"] else body).strip()
        nexts = (m for m in _NEXT.finditer(body) if not strict or _is_known(m["label"], letters))
        cuts = {0, len(body), *(match.end() for match in nexts)}
        cuts |= {m.start("label") for m in re.finditer(inside, body, re.IGNORECASE)}
        ends = sorted(cuts)
        for start, end in itertools.pairwise(ends):
            piece = body[start:end].strip()
            line = _Line(piece, _splits(piece), indent, bullet is not None, heading is not None)
            line.after_gap, line.alone, gap = gap, len(ends) == 2, False
            line.number = bullet[0] if bullet and start == 0 and bullet[0][0].isalnum() else ""
            lines.append(line)
    _divide_by_dashes(lines)
    return lines


def _is_strict(text: str, known: str) -> bool:
    """Whether only labels of the page begin values within lines.

    So it is where most lines have one label, or where the page has nearly all labels of the text.
    """
    lines = [raw for raw in text.splitlines()[:_LINES] if _COLON.search(raw[:_LONG_LINE])]
    inner = [[m["label"] for m in _NEXT.finditer(raw[:_LONG_LINE])] for raw in lines]
    single = sum(not labels for labels in inner)
    labels = [label for some in inner for label in some]
    near = sum(_is_known(label, known) for label in labels)
    rest = len(labels) - near
    nearly = near >= _SEVERAL and rest <= max(1, len(labels) // 10)
    return single > max(1, len(lines) - single) or nearly


def _is_known(label: str, known: str) -> bool:
    """Whether a label is one of the page, whose letters `known` has in lines, or begins like it."""
    plain = _letters(label)
    return f"\n{plain}" in known or plain.startswith(tuple(known.split()))


def _letters(label: str) -> str:
    return "".join(re.findall(r"[^\W_]", label[:LONG_LABEL].casefold()))


def _splits(text: str) -> list[tuple[str, str]]:
    """The ways to divide a line into label and value, likeliest first."""
    if task := _TASK.fullmatch(text):
        ticked = (task[1] or task[2] or "").strip() not in ("", "☐")
        return [(task[3], "yes" if ticked else "no")]
    if text.startswith("|") and text.endswith("|") and len(text) > 1:
        text = text.strip("| ")
    marks = [*_COLON.finditer(text)][:4]
    # A label may hold a colon itself; "14:30" and "C:\" hold none that divides.
    marks.sort(key=lambda match: not text[match.end() : match.end() + 1].isspace())
    marks += [*_CELL.finditer(text)][:2] + [*_QUERY.finditer(text)][:1]
    return [split for match in marks if (split := _two(text, match))[0]]


def _two(text: str, match: re.Match[str]) -> tuple[str, str]:
    label, value = text[: match.start()].strip(' "“”*|'), text[match.end() :].strip()
    words = len(label) <= LONG_LABEL and re.search(r"[^\W_]", label)
    return (label if words else "", _unquoted(value))


def _divide_by_dashes(lines: Sequence[_Line]) -> None:
    """Divide lines such as ``Name - Ada`` where most are such, and put headings before values."""
    first = [min((m.start() for m in _COLON.finditer(line.text)), default=9**9) for line in lines]
    dashes = [[*_WEAK.finditer(line.text)][:3] for line in lines]
    dashed = [bool(d) and d[0].start() < at for d, at in zip(dashes, first, strict=True)]
    if sum(dashed) > max(1, sum(at < 9**9 for at in first) - sum(dashed)):
        for line, marks in zip(lines, dashes, strict=True):
            splits = [split for match in marks if (split := _two(line.text, match))[0]]
            line.splits = splits + line.splits
    for line, after in itertools.pairwise(lines):
        asks = line.heading or line.text.endswith("?")
        if asks and not line.splits and not after.splits and not after.heading:
            line.splits = [(line.text, "")]


def _continuation(lines: Sequence[_Line], at: int) -> list[_Line]:
    """The lines that go on with the value of one: deeper ones, and those without a label."""
    first = lines[at]
    empty = not first.splits[0][1]
    more: list[_Line] = []
    for line in lines[at + 1 :]:
        deeper = line.indent > first.indent or (empty and line.bullet and not first.bullet)
        if line.heading or (line.splits and not deeper):
            break
        more.append(line)
    else:
        # What stands behind the last value after a gap is a greeting.
        gaps = [n for n, line in enumerate(more) if line.after_gap and line.indent <= first.indent]
        more = more[: gaps[0]] if gaps and (gaps[0] or not empty) else more
    return more


def _joined(value: str, more: Sequence[_Line]) -> tuple[str, str]:
    """The value itself, and the value with all lines that go on with it."""
    parts = [value] if value else []
    whole = list(parts)
    last = value
    near = True
    for n, line in enumerate(more):
        # Behind a value, only a long line is one that was broken.
        near = near and not (line.after_gap and (parts or n))
        near = near and (not value or line.indent > 0 or len(last) >= 50)
        if near:
            parts.append(line.number + line.text)
        gap = "\n" if line.after_gap and whole else ""
        whole.append(gap + line.number + line.text)
        last = line.text
    return "\n".join(parts), "\n".join(whole)


def _without_ends(values: list[LabelledValue]) -> list[LabelledValue]:
    """Without the marks that end sentences: within a paragraph, and where all lines have one."""
    filled = [each.value for each in values if each.alone and each.value]
    marks = {value[-1] for value in filled}
    common = marks.pop() if len(marks) == 1 else ""
    done = []
    for each in values:
        value, whole = each.value, each.whole
        if each.alone and common in tuple(".;,"):
            value, whole = value.removesuffix(common), whole.removesuffix(common)
        elif not each.alone and value.endswith((";", ",")):
            value, whole = value[:-1], whole.removesuffix(value[-1])
        elif not each.alone:
            value, whole = _sentence(value, keep=99), _sentence(whole, keep=4)
        done.append(dataclasses.replace(each, value=_unquoted(value), whole=_unquoted(whole)))
    return done


def _sentence(text: str, *, keep: int) -> str:
    """A value within a paragraph; several sentences, or so many words, keep the last full stop."""
    text = re.sub(r"([.!?])\.$", r"\1", text)
    ends = (text[max(0, m.start() - 12) : m.start() + 1] for m in _SENTENCE.finditer(text))
    several = any(not _SHORT.search(end) and not re.match(r"[A-Z]\.$", end) for end in ends)
    # Names and addresses, which have capitals, are no sentences.
    plain = sum(word[0].islower() for word in text.split())
    kept = several or plain >= keep or (" " in text and _SHORT.search(text))
    return text if kept else text.removesuffix(".")


def _unquoted(value: str) -> str:
    for start, end in ('""', "''", "“”", "„“", "«»", "‘’", "``"):
        inner = value[1:-1]
        wrapped = value.startswith(start) and value.endswith(end) and len(value) > 1
        if wrapped and start not in inner and end not in inner:
            return inner
    return value
