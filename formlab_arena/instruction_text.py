"""Finds what instructions in everyday English say about the label of a field."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Collection, Sequence

from rapidfuzz import fuzz

from formlab_arena.labelled_lines import LabelledValue, labelled_values
from formlab_arena.matching import assigned
from formlab_arena.value_patterns import PATTERNS, kind_asked_for

_QUOTES = "\"'“”‘’„«»`"
_QUOTED = re.compile(r"[“„«\"]([^“”„«»\"]+)[”“»\"]")
_WORD = re.compile(r"[^\W_]")
# Words around a value: function words, and the verbs and nouns of filling in forms.
_AROUND = frozenset(
    re.findall(
        r"\S+",
        """
        a am an and are as at be been by for from has have here i i'd i'll i'm in into is it it's
        its me my of on or our that the their them then there they this to under us was we were
        where which will with would you your
        add answer ask asks attach box call called check choose click enter field file fill give
        go label like mark may name named option page pick please put reads say says select set
        should tell tick type upload use value write
        """,
    )
)
_NOT = re.compile(
    r"\b(?:no|not|never|leave|without|decline|refuse|skip|un(?:ticked|checked|selected|marked)"
    r"|blank|empty|false|\w+n['’]t)\b",
    re.IGNORECASE,
)
# What says that a field stays empty.
_NO_VALUE = re.compile(
    r"\W*(?:(?:please )?(?:leave|left|keep)(?: (?:it|this|field))*(?: as)? (?:blank|empty)"
    r"|blank|empty|skip|not? (?:applicable|provided|given|available)|n/?a|none provided)?\W*",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[.!?])[\"”’»)]*\s+(?=[\"“‘«(]*[^\W_a-z])|\n\s*\n|\n(?=\s*[-*•\d])")
_SHORT = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|Inc|Ltd|vs|etc))\.$")
_CLAUSE = re.compile(
    r"[;,](?=\s)|\s(?:and|but|while|who|which|where)\s(?=(?:my|our|his|her|its|their|the|you|we"
    r"|i|he|she|it|they|please|can|live|was|am|is)\b)|\s[–—-]\s",
    re.IGNORECASE,
)
# A text that names a label more often than this is no text for a form.
_MENTIONS = 50
# A text of "Label: value" has at least so many of them, in such a share of its sentences or lines.
_PAIRS, _SHARE = 2, 0.4
# How alike a label of the page and one of a line are where no other label of the page is known.
_SURE = 0.9
_LIKENESS = 88.0
_LONG = 6
_FILLERS = {"a", "an", "are", "enter", "for", "full", "is", "of", "please", "the", "your"}


@dataclasses.dataclass(frozen=True)
class LabelMention:
    """One sentence about a label: the value in it, and whether the sentence is a negation.

    `whole` is the value with the sentences after it, up to the next that names something new.
    `plain` tells how plainly the label is named: 4 in a text of "Label: value", 3 in quotes, 2
    before a colon or ``is``, 1 at the start of its sentence, else 0. `place` is that of a
    `LabelledValue`, else -1.
    """

    value: str
    denies: bool
    whole: str = ""
    plain: int = 0
    place: int = -1


class InstructionText:
    """The instructions of an episode, searchable for the values of labels.

    Examples
    --------
    >>> text = InstructionText('My name is Ada Berg. Under “Colour” put red, please.')
    >>> text.about("Name").value, text.about("Colour").value, text.about("Weight")
    ('Ada Berg', 'red', None)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.sentences = _sentences(text)
        self._spread = [(char.lower(), at) for at, char in enumerate(text) if _WORD.match(char)]
        self._squashed = "".join(char for char, _ in self._spread)
        # A letter such as İ is two in lower case; positions would no longer agree.
        self._aligned = len(self._squashed) == len(self._spread)

    def about(self, label: str) -> LabelMention | None:
        """The plainest mention of a label; None if the text does not name it."""
        if self.labelled:
            [value] = assigned([[label]], self._values, least=_SURE)
            if value:
                return _of_line(value)
        mentions = [self._mention_at(start, end) for start, end in self._mentions(label)]
        known = [mention for mention in mentions if mention is not None]
        return max(known, key=lambda m: (m.plain, bool(m.value)), default=None)

    def assign(
        self, labels: Sequence[Sequence[str]], *, used: Collection[int] = ()
    ) -> list[LabelMention | None]:
        """For each field of a page the mention that is meant for it, None for what is not named.

        Parameters
        ----------
        labels
            For each of n fields its label, and what else it may be called, likeliest first.
        used
            The places of values that fields of other pages have had.

        Examples
        --------
        >>> text = InstructionText("Company: Lund\\nName: Ada\\nPhone: (555) 010-22 x7")
        >>> [m and m.value for m in text.assign([["Name *"], ["Age"], ["Phone number"]])]
        ['Ada', None, '(555) 010-22 x7']
        """
        known = [names[0] for names in labels if names]
        values = labelled_values(self.text, known)
        of_lines = [value and _of_line(value) for value in assigned(labels, values, used=used)]
        labelled = self._is_labelled(values, known)
        mentions: list[LabelMention | None] = []
        for names, of_line in zip(labels, of_lines, strict=True):
            if of_line and labelled:
                mentions.append(of_line)
                continue
            prose = next((m for name in names if (m := self.about(name))), None)
            # A label that a list of labels leaves out is not meant by a word in passing.
            plain = prose is not None and (not labelled or prose.plain == 3)
            mentions.append((prose if plain else None) or of_line)
        return mentions

    @functools.cached_property
    def _values(self) -> list[LabelledValue]:
        return labelled_values(self.text)

    def _is_labelled(self, values: Sequence[LabelledValue], known: Sequence[str]) -> bool:
        """Whether the text is a list of labels with values, and no prose that quotes labels."""
        quoted = re.findall(r"[“„«\"]([^“”„«»\"\n]{1,80})[”“»\"](?!\s*[:：])", self.text)
        if known:
            names = {name.casefold().strip(" *:") for name in known}
            quoted = [each for each in quoted if each.casefold() in names]
        pairs = len({value.place for value in values})
        return pairs >= _PAIRS and pairs >= _SHARE * len(self.sentences) and len(quoted) < pairs / 3

    def span(self, label: str, mention: LabelMention | None, *, hint: str = "") -> str | None:
        """The e-mail address, date, … that a label asks for; None if it asks for nothing such.

        If the label is not mentioned: the first one in the text.

        Examples
        --------
        >>> InstructionText("Write to ada@example.org.").span("E-mail address", None)
        'ada@example.org'
        """
        kind = kind_asked_for(f"{label} {hint}")
        match = PATTERNS[kind].search(mention.value if mention else self.text) if kind else None
        if match and mention and mention.place >= 0:
            # What stands alone behind a label is the value, but for words around it.
            value = mention.value.rstrip(" .,;")
            value = value if value.endswith(match[0]) else mention.value
            around = re.findall(r"[^\W\d_]{3,}", value.replace(match[0], " ", 1))
            return match[0] if len(around) > 1 else value
        return match[0] if match else None

    @functools.cached_property
    def labelled(self) -> bool:
        """Whether the text is a list of labels with values."""
        return self._is_labelled(self._values, ())

    def _mentions(self, label: str) -> list[tuple[int, int]]:
        key = "".join(char for char in label.lower() if _WORD.match(char))
        if not 2 <= len(key) <= len(self._squashed) or not self._aligned:
            return []
        # Overlapping occurrences count as well.
        starts = (match.start() for match in re.finditer(f"(?={key})", self._squashed))
        spans = [self._words_at(at, at + len(key)) for at in itertools.islice(starts, _MENTIONS)]
        if not any(spans) and len(key) >= _LONG:
            near = fuzz.partial_ratio_alignment(key, self._squashed, score_cutoff=_LIKENESS)
            spans = [self._words_at(near.dest_start, near.dest_end)] if near else []
        if not any(spans) and len(words := _content(label)) == 1 and words[0] != label.lower():
            return self._mentions(words[0])
        return [span for span in spans if span]

    def _words_at(self, start: int, end: int) -> tuple[int, int] | None:
        """The span in the text, if it consists of whole words."""
        if end <= start:
            return None
        first, last = self._spread[start][1], self._spread[end - 1][1] + 1
        before, after = self.text[first - 1 : first], self.text[last:]
        whole = not _WORD.match(before or " ") and not re.match(r"\w|['’]s\b", after)
        # What ends a label and is no word: “Do you smoke?”, “Bid (USD)”.
        last += len(re.match(r"[)\]?!*]*", after)[0]) if whole else 0
        return (first, last) if whole else None

    def _mention_at(self, start: int, end: int) -> LabelMention | None:
        at = next((n for n, (a, b) in enumerate(self.sentences) if a <= start < b), None)
        if at is None:
            return None
        first, last = self.sentences[at]
        before, after = self.text[first:start], self.text[end : max(last, end)]
        # The rest of a label whose end the page leaves out: “Manuscript (PDF)”.
        after = re.sub(r"^\s*\([^)]{1,30}\)", "", after)
        quoted = before[-1:] in tuple(_QUOTES) and after[:1] in tuple(_QUOTES)
        open_ = after.lstrip(_QUOTES + " ")
        named = re.match(r"[:=]|(?:is|are|was)\b", open_) is not None
        plain = 3 if quoted else 2 if named else int(not before.strip(_QUOTES + " "))
        rest = f"{before[-40:]} {after}"
        denies = _NOT.search(rest) is not None
        if colon := re.match(r"(?:[\w'’]+\s+){0,4}[\w'’]*\s*:\s+", open_):
            words = re.findall(r"[\w'’]+", colon[0])
            if all(word.lower() in _AROUND for word in words):
                value = open_[colon.end() :].strip()
                lead = re.match(r"(?:[a-z'’]+\s+)*", value)
                if lead and all(word in _AROUND for word in lead[0].split()):
                    value = value[lead.end() :]
                return LabelMention(
                    _trimmed(value), denies, f"{value} {self._more(at)}".strip(), plain
                )
        value = _core(after, cut=not quoted) or _core(before, cut=False, leading=True)
        return LabelMention(value, denies, f"{value}. {self._more(at)}".strip(), plain)

    def _more(self, at: int) -> str:
        """The sentences after one, up to the next that names something new."""
        more = []
        for (_, end), (first, last) in itertools.pairwise(self.sentences[at:]):
            sentence = self.text[first:last]
            apart = "\n" in self.text[end:first]
            if apart or any(c in sentence for c in '“"«:') or PATTERNS["email"].search(sentence):
                break
            more.append(sentence.strip())
        return " ".join(more)


def _of_line(value: LabelledValue) -> LabelMention:
    empty = _NO_VALUE.fullmatch(value.value)
    denies = not value.value or _NOT.search(value.value) is not None
    texts = ("", "") if empty else (value.value, value.whole)
    return LabelMention(texts[0], denies, texts[1], 4, value.place)


def _sentences(text: str) -> list[tuple[int, int]]:
    sentences, start = [], 0
    for gap in _ENDS.finditer(text):
        if _SHORT.search(text[start : gap.start()][-8:]):
            continue
        sentences.append((start, gap.start()))
        start = gap.end()
    return [*sentences, (start, len(text))]


def _core(text: str, *, cut: bool, leading: bool = False) -> str:
    """The text beside a label without the words that only lead to a value or away from it.

    Inside a sentence a capital begins a value; at its start, with `leading`, it says nothing.
    """
    text = text.rstrip(_QUOTES + " ") if leading else text.lstrip(_QUOTES + " ")
    if inside := _QUOTED.findall(text):
        return inside[-1 if leading else 0].strip()
    if cut:
        text = _CLAUSE.split(f" {text}", maxsplit=1)[0]
    if leading:
        text = _CLAUSE.split(text)[-1]
    text = _trimmed(text)
    first = True
    while word := re.match(r"[\w'’]+", text):
        plain = word[0].replace("’", "'").lower()
        known = word[0] == plain or word[0] == "I" or (leading and first)
        if plain not in _AROUND or not known:
            break
        text, first = _trimmed(text[word.end() :]), False
    while (word := re.search(r"(?:^|(?<=\s))[\w'’]+$", text)) and word[0] in _AROUND:
        text = _trimmed(text[: word.start()])
    empty = r"yes|no|leave" if leading else r"un\w+ed|blank|empty"
    return "" if re.fullmatch(empty, text, re.IGNORECASE) else text


def _trimmed(text: str) -> str:
    text = text.strip(f" \t\n,;:=–—{_QUOTES}")
    # The dot of a sentence, and not that of an abbreviation or of several sentences.
    return text[:-1] if text.endswith((".", "!", "?")) and not _SHORT.search(text[-8:]) else text


def _content(label: str) -> list[str]:
    return [word for word in re.findall(r"[\w'’-]+", label.lower()) if word not in _FILLERS]
