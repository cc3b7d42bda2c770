"""The cause of a difference between two values, from the two texts alone."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, combinations, pairwise
from operator import attrgetter

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.text.normalise import UNITS, WORDS
from formlab.text.values import possible_dates

# Longer texts are compared by what they contain, not letter by letter.
LONGEST = 2_000
# From this similarity on, of 100, a text counts as part of another.
_PART = 85
# Texts with fewer letters, each and together, are unlike by chance; below this likeness, in [0, 1],
# others are. Words are seldom misread as other words, but often as figures and signs.
_WORDS, _ANY = (3, 8, 0.35), (4, 10, 0.2)
_DIGIT, _DIGITS, _PLAIN = map(re.compile, (r"[0-9]", r"[0-9]+", r"[\w\s]+"))
_NOT_LETTER, _NOT_WORD = re.compile(r"[\W\d_]+"), re.compile(r"[\W_]+")
_GAP, _PROSE = re.compile(r"(?<=\d)[\W_]+(?=(?P<figures>\d+))|[\W_]+"), re.compile(r"[,;:]\s")
_MARK = re.compile(r"[☐☑☒✓✔✗✘□■▢▣○●◯◉◻◼⬜⬛▪•]|\[[ xX✓]?\]")
# What a mark, or the empty box of one, is read as.
_MARK_AS = frozenset("xv/√+*0oqdc口ロd✓□l|il1j[]")
# Characters that look alike in print or on a scan, upper and lower case taken together.
_PAIRS = {frozenset(pair) for group in WORDS["alike"].split() for pair in combinations(group, 2)}
_PAIRS |= {frozenset(pair.split("=")) for pair in ("rn=m", "vv=w", "cl=d", "ii=u", "li=u", "lo=b")}
_UNITS = {*UNITS, "pct", "percent", "day", "days", "week", "weeks", "month", "months"}
_day = attrgetter("year", "month", "day")
_AMOUNT = re.compile(r"(?P<before>[^\d(+.,-]*)(?P<number>[(+-]?[\d.,' ]*\d\)?-?)(?P<after>\D*)")


# Forms repeat values, and so do errors.
@lru_cache(maxsize=1 << 16)
def cause(gold: str, pred: str, *, right: bool = False) -> str:
    """The cause of a difference, from the two texts alone.

    It is one of `causes.CAUSES`. Where several fit, what the value's type says (unit, sign, number,
    date) goes before what its characters say, and the narrower cause before the wider. `gold` and
    `pred` differ; where the pair is `right` all the same, it does only in how it is written.

    >>> cause("(1,200)", "1,200"), cause("27/03/2018", "2703/2018")
    ('sign', 'lost_separator')
    >>> cause("Total due", "Total"), cause("Illinois", "lllin0is")
    ('clipped', 'lookalike')
    >>> cause("2022-07-01", "Jul 1, 2022", right=True)
    'date_format'
    """
    if not gold.strip() or not pred.strip():
        return "spurious" if pred.strip() else "missed"
    if not (gold + pred).isascii():
        gold, pred = text.normalise(gold, ["nfc"]), text.normalise(pred, ["nfc"])
    if squashed(gold) == squashed(pred):
        if gold.split() == pred.split():
            # Equal but for composed characters, if not for white space.
            return "notation" if gold == pred else "space"
        return "case" if gold.casefold().split() == pred.casefold().split() else "space"
    if name := _marks(gold, pred):
        return name
    if len(gold) + len(pred) > 2 * LONGEST:
        return "notation" if right else _contained(gold, pred) or "characters"
    # Marks were compared above; they would only hide what else differs.
    gold, pred = _unmarked(gold) or gold, _unmarked(pred) or pred
    if name := _values(gold, pred) or _same_letters(gold, pred) or _other_writing(gold, pred):
        # Where both are right the gold is as well.
        return "punctuation" if right and name == "label_error" else name
    return "notation" if right else _misread(gold, pred)


def _marks(gold: str, pred: str) -> str | None:
    """`notation` where only a check box, a tick or a bullet is written otherwise."""
    ticked = text.checked(gold)
    if ticked is not None and ticked == text.checked(pred):
        return "notation"
    if not _MARK.search(gold) and not _MARK.search(pred):
        return None
    plain = _unmarked(gold), _unmarked(pred)
    if not any(map(letters, plain)):
        return "notation" if None in (ticked, text.checked(pred)) else "characters"
    for first, second in (plain, plain[::-1]):
        words = second.split()
        for rest in (words, words[1:], words[:-1]):
            is_mark = _MARK_AS.issuperset(map(str.casefold, {*words} - {*rest}))
            if is_mark and letters(" ".join(rest)) == letters(first):
                return "notation"
    return None


def _unmarked(value: str) -> str:
    return " ".join(_MARK.sub(" ", value).split()) if _MARK.search(value) else value


def _values(gold: str, pred: str) -> str | None:
    """The cause where both texts are a number, an amount or a date."""
    if not _DIGIT.search(gold) or not _DIGIT.search(pred):
        return None
    if _other_unit(gold, pred):
        return "unit"
    amounts = {number.amount for number in _numbers(gold, pred)}
    if len({amount.copy_abs() for amount in amounts}) == 1:
        return "number_format" if len(amounts) == 1 else "sign"
    return _dates(gold, pred)


def _numbers(gold: str, pred: str) -> list[text.Money]:
    """Both numbers, if both texts are one."""
    first = text.read_as("number", gold)
    second = first and text.read_as("number", pred)
    return [first, second] if second else []


def _other_unit(gold: str, pred: str) -> bool:
    """Whether one number stands with another unit or with none."""
    amounts = [_AMOUNT.fullmatch(value.strip()) for value in (gold, pred)]
    if None in amounts:
        return False
    affixes = zip(*(amount.group("before", "after") for amount in amounts), strict=True)
    pairs = [pair for pair in affixes if len({letters(of) + _symbols(of) for of in pair}) > 1]
    changed = {affix.strip(" .,:").casefold() for affix in chain(*pairs)} - {""}
    numbers = {text.number(amount["number"].lstrip(".")) for amount in amounts if changed}
    return len(numbers) == 1 and None not in numbers and all(map(_is_unit, changed))


def _is_unit(word: str) -> bool:
    # Codes of currencies are words in lower case.
    amount = text.money(f"1 {word.upper()}")
    return word in _UNITS or word == _symbols(word)[:1] or bool(amount and amount.currency)


def _symbols(value: str) -> str:
    signs = _PLAIN.sub("", value)
    return "".join(c for c in signs if c in "%‰°" or unicodedata.category(c) == "Sc")


def _dates(gold: str, pred: str) -> str | None:
    sides = possible_dates(gold), possible_dates(gold) and possible_dates(pred)
    if not all(sides):
        return None
    if not all(any(getattr(day, "time", ()) for day in chain(*of)) for of in sides):
        # A day with its hour is that day.
        sides = [[tuple(map(_day, days)) for days in side] for side in sides]
    first, second = sides
    if first == second[::-1] and first[0] != first[1] and all(first):
        return "date_order"
    days = [{*month_first, *day_first} for month_first, day_first in (first, second)]
    if days[0].isdisjoint(days[1]):
        swapped = {(year, day, month) for year, month, day, *_ in days[0]} & days[1]
        return "date_order" if swapped else None
    # Where the month is a word, no mark between numbers says which of them it is.
    same = _separators(gold) == _separators(pred) or not letters(gold).isdigit()
    return "punctuation" if same and letters(gold) == letters(pred) else "date_format"


def _same_letters(gold: str, pred: str) -> str | None:
    """The cause where letters and digits are the same."""
    if letters(gold) != letters(pred) or not letters(gold):
        return None if letters(gold) or letters(pred) else "punctuation"
    first, second = _separators(gold), _separators(pred)
    lost, added = first.keys() - second.keys(), second.keys() - first.keys()
    if added and not lost and text.date(pred) and not text.date(gold):
        # Of the two only the answer is a date: a separator is lost in the gold.
        return "label_error"
    if bool(lost) != bool(added):
        marks = first if lost else second
        # A dot with three digits behind it is decimal, unless more follow.
        dots = [mark for mark, _ in marks.values()].count(".")
        grouping = {(mark, 3) for mark in (",", "'", *("." if dots > 1 else ""))}
        if grouping.issuperset(marks[place] for place in lost | added):
            return "number_format"
        if lost:
            return "lost_separator"
    if first != second and _scaled(gold, pred):
        return "scale"
    signs = _symbols(gold), _symbols(pred)
    unit = signs[0] != signs[1] and "" in signs and _DIGIT.search(gold)
    return "unit" if unit else "punctuation"


def _separators(value: str) -> dict[int, tuple[str, int]]:
    """What stands between two digits, by the letters and digits before it.

    With each mark goes the number of digits behind it. A comma with a space behind it is of the
    sentence and separates no digits: `27/03 a-1` has `{2: ("/", 2)}`, `1 200` nothing.
    """
    closed = "".join(_PROSE.sub("", value).split())
    found, skipped = {}, 0
    for gap in _GAP.finditer(closed):
        if gap["figures"]:
            found[gap.start() - skipped] = gap[0], len(gap["figures"])
        skipped += len(gap[0])
    return found


def _other_writing(gold: str, pred: str) -> str | None:
    if (gold + pred).isascii() and "&" not in gold + pred:
        return None
    # Letters are without marks that are written apart.
    if len({letters(unicodedata.normalize("NFD", value)) for value in (gold, pred)}) == 1:
        return "diacritic"
    forms = (unicodedata.normalize("NFKC", value) for value in (gold, pred))
    plain = {letters(form.replace("&", " and ")) for form in forms}
    return "notation" if len(plain) == 1 and plain != {""} else None


def _misread(gold: str, pred: str) -> str:
    if _scaled(gold, pred):
        return "scale"
    first, second = squashed(gold), squashed(pred)
    figures = _DIGIT.search(first) and _DIGITS.sub("0", first) == _DIGITS.sub("0", second)
    in_one = (first, second) if figures else _alike_written(gold, pred)
    is_digit = in_one and _few_changes(*in_one)
    partial = not figures or first in second or second in first
    if partial and (contained := _contained(gold, pred)):
        return contained
    if is_digit:
        return "digit"
    dates = text.date(gold), text.date(gold) and text.date(pred)
    if None not in dates:
        months = {_NOT_LETTER.sub("", value) for value in (first, second)} - {""}
        return "digit" if len(months) < 2 and _few_changes(*map(str, dates)) else "other_value"
    if _look_alike(first, second):
        return "lookalike"
    if figures or _numbers(gold, pred):
        count = len(_DIGIT.findall(first))
        kept = count - Levenshtein.distance(letters(first), letters(second))
        return "characters" if figures and 2 * kept >= count else "other_value"
    found = "other_value" if _unlike(gold, pred) else _roughly_contained(first, second)
    return found or "characters"


def _alike_written(gold: str, pred: str) -> tuple[str, str] | None:
    """Two numbers of one sign, unit and size in one notation; None if they are no such numbers."""
    sides = _numbers(gold, pred)
    units = [{*side.currency.split("/")} for side in sides if side.currency]
    if not sides or (units and not set.intersection(*units)):
        return None
    exponents = [side.amount.as_tuple().exponent for side in sides]
    texts = tuple(f"{side.amount:.{max(0, -min(exponents))}f}" for side in sides)
    # Without a point, a number has lost the other's decimals, unless these are zeros.
    lost = min(exponents) < 0 <= max(exponents) and {t.rstrip("0")[-1] for t in texts} != {"."}
    return texts if len({_DIGIT.sub("0", t) for t in texts}) == 1 and not lost else None


def _few_changes(gold: str, pred: str) -> bool:
    """Whether one or two digits are changed; one more may be added or lost where most stay."""
    changed, longer = Levenshtein.distance(gold, pred), abs(len(gold) - len(pred))
    return changed <= 2 or (changed - longer <= 2 and 2 * changed <= len(_DIGIT.findall(gold)))


def _unlike(gold: str, pred: str) -> bool:
    """Whether most of the gold, words of both aside, has hardly a letter of the answer's rest."""
    own, said = (_NOT_WORD.split(value.casefold()) for value in (gold, pred))
    first = "".join(word for word in own if word not in said)
    second = "".join(word for word in said if word not in own)
    least, both, likeness = _ANY if _DIGIT.search(second) else _WORDS
    is_short = min(len(first), len(second)) < least or len(first + second) < both
    if is_short or 3 * len(first) < len(letters(gold)) or _in_order(second, first):
        return False
    alike = Levenshtein.normalized_similarity(first, second)
    return alike < likeness and not _roughly_contained(first, second)


def _scaled(gold: str, pred: str) -> bool:
    """Whether the numbers differ by a power of ten; one digit at the end of a code is none."""
    amounts = {number.amount for number in _numbers(gold, pred)}
    if len(amounts) < 2 or 0 in amounts or not all(map(_DIGIT.search, (gold, pred))):
        return False
    figures = {"".join(map(str, of.as_tuple().digits)).strip("0") for of in amounts}
    codes = squashed(gold).isdigit() and squashed(pred).isdigit()
    return len(figures) == 1 and not (codes and max(amounts) / min(amounts) == 10)


def _contained(gold: str, pred: str) -> str | None:
    """Whether one text holds the other: whole words in their order, or one run of characters."""
    less, more = sorted((gold, pred), key=lambda value: len(squashed(value)))
    if len(squashed(less)) == len(squashed(more)):
        return None
    whole, fragment, long, short = tokens(more), tokens(less), letters(more), letters(less)
    is_part = 0 < len(fragment) < len(whole) and _in_order(fragment, whole)
    # `13.0 %` is no part of `13.0.8`: the sign was read as something else.
    if not is_part and {*_symbols(less)} <= {*more}:
        # One letter stands in most texts by chance.
        is_part = short not in ("", long) and short in long and (len(short) > 1 or len(long) <= 3)
    return ("clipped" if more is gold else "merged") if is_part else None


def _roughly_contained(gold: str, pred: str) -> str | None:
    long, short = max(gold, pred, key=len), min(gold, pred, key=len)
    if len(short) <= 2:
        # A sign alone, read into the text beside it.
        is_part = len(long) >= len(short) + 3 and not letters(gold)
        is_part = is_part and all(any(_alike(char, other) for other in long) for char in short)
    else:
        is_part = len(short) >= 4 and len(long) - len(short) >= max(3, len(long) // 8)
        is_part = is_part and fuzz.partial_ratio_alignment(short, long, score_cutoff=_PART)
    return ("clipped" if long is gold else "merged") if is_part else None


def _in_order(fragment: Iterable[str], whole: Iterable[str]) -> bool:
    left = iter(whole)
    return all(part in left for part in fragment)


def _look_alike(gold: str, pred: str) -> bool:
    """Whether each run of characters that differs may be read as the other."""
    blocks = (0, 0, 0), *Levenshtein.opcodes(gold, pred).as_matching_blocks()
    return all(
        _alike(gold[at + size : end], pred[place + size : stop])
        for (at, place, size), (end, stop, _) in pairwise(blocks)
    )


def _alike(first: str, second: str) -> bool:
    """Whether a run of characters may be read as another; punctuation does not count."""
    first, second = (_NOT_WORD.sub("", side) or side for side in (first, second))
    if not letters(first) and not letters(second):
        return first == second or not set(first + second) & set("$&|")
    parts = zip(first, second, strict=True) if len(first) == len(second) else [(first, second)]
    return all(one == other or frozenset((one, other)) in _PAIRS for one, other in parts)


@lru_cache(maxsize=1 << 16)
def letters(value: str) -> str:
    """The letters and digits of `value`, case folded.

    >>> letters("No. 7-B")
    'no7b'
    """
    return _NOT_WORD.sub("", value.casefold())


@lru_cache(maxsize=16)
def squashed(value: str) -> str:
    """`value` without white space, case folded."""
    return "".join(value.casefold().split())


def tokens(value: str) -> list[str]:
    """The words of `value`, case folded and without punctuation.

    >>> tokens("(D). Dep't")
    ['d', 'dept']
    """
    return [word for word in map(letters, value.split()) if word]
