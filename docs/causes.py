"""Write `docs/causes.md`: causes by stage from the code, and how far people agree, as measured.

Run from the project's folder, with the real data in `../shared`: `python docs/causes.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "scoring")]

import test_labelled_causes as measured  # noqa: E402

from formlab.scoring.causes import STAGES  # noqa: E402

STAGE = {
    "answer": "The answer as a whole cannot be used.",
    "find": "The value was not read at all, or another one was.",
    "place": "The value was read, but given to another field.",
    "extent": "Too little or too much of the text was taken.",
    "characters": "The right text was read, with errors in its characters.",
    "form": "The text is the same but for how it is written.",
    "extra": "A value was given that the gold does not ask for.",
    "relation": "A consistency check fails, though its value was read as it stands on the page.",
    "gold": "The gold is at fault.",
    "reader": "The error may be formlab's own.",
}
MEANS = {
    "bad_json": "The answer is not the JSON that was asked for.",
    "refused": "The model declined to answer.",
    "truncated": "The answer was cut off, or the form was left unfinished.",
    "api_error": "The call failed.",
    "missing_document": "There is no answer for the document.",
    "missed": "The value stands nowhere in the output.",
    "other_value": "Another value was given, no misreading and no other field's.",
    "other_document": "The value is that of the same field in another document.",
    "wrong_field": "The value belongs to another field, or stands in the output outside its field.",
    "wrong_row": "The value belongs to the same field of another row.",
    "misclick_near": "The right value was typed just outside of its control.",
    "misclick_other_field": "The right value was typed into another field's control.",
    "clipped": "Part of the text is missing, or stuck to a neighbour's.",
    "merged": "A neighbour's text was read into the field.",
    "lookalike": "Characters were taken for others of like shape.",
    "space": "Only white space differs, if not case as well.",
    "lost_separator": "A separator between digits is lost: point, slash, hyphen, colon.",
    "digit": "One or two digits differ.",
    "diacritic": "Only accents differ.",
    "characters": "Characters differ in another way.",
    "case": "Only upper and lower case differ.",
    "punctuation": "Only punctuation differs, if not space and case as well.",
    "date_format": "The same date, written otherwise.",
    "number_format": "The same number, written otherwise.",
    "unit": "The same number with another unit or currency, or without.",
    "sign": "The same number with the other sign; brackets negate.",
    "scale": "The same figures at another power of ten.",
    "notation": "The same mark, option, abbreviation or symbol, written otherwise.",
    "date_order": "The same date if day and month are read in the other order.",
    "offset": "Dates or numbers are off by one amount, in half or more of those that are wrong.",
    "spurious": "The gold is blank or has no such field, but the text stands on the page.",
    "hallucinated": "The value stands nowhere in the page's gold text.",
    "wrong_source": "A field that the value follows from was read wrong.",
    "wrong_relation": "All fields were read as they stand; the value does not follow from them.",
    "label_error": "The page or the corpus's words support the answer.",
    "reader": "Whether the field is right depends on the rule by which words belong to boxes.",
}

# What was read for what, where the two texts alone tell.
EXAMPLES = {
    "other_value": ("Ada Berg", "Ada Voss"),
    "clipped": ("Total due", "Total"),
    "merged": ("October 27", "DATE October 27"),
    "lookalike": ("Illinois", "lllin0is"),
    "space": ("201, 500", "201,500"),
    "lost_separator": ("12.50", "1250"),
    "digit": ("1,200", "1,201"),
    "diacritic": ("café", "cafe"),
    "characters": ("13.0 %", "13.0.8"),
    "case": ("Peter Mckenna", "Peter McKenna"),
    "punctuation": ("ADDRESS:", "ADDRESS"),
    "date_format": ("4/14/99", "4-14-99"),
    "number_format": ("1,200", "1200"),
    "unit": ("$5.00", "€5.00"),
    "sign": ("(1,200)", "1,200"),
    "scale": ("1,279", "12.79"),
    "notation": ("½", "1/2"),
    "date_order": ("05/07/2020", "07/05/2020"),
}

HEAD = """# Causes of error

Every value that differs from the gold has one cause, and the cause a stage. The two texts are
compared first: what fills the whole text (a number, an amount, a date) before its characters, the
narrower cause before the wider. Then document and corpus are asked: other fields' gold, boxes, the
page's text, words of the gold. Findings and galleries say what to try.

| **stage**, cause | meaning |
|---|---|
"""
RULES = """
## Where two causes fit

- Differences in space, punctuation or case alone keep that cause, even where the page supports the
  answer. Case is folded first: the cause is what remains.
- `1,279` read as `12.79` has as many separators as before and is `scale`. `1,200` and `1200` are
  one number (`number_format`), `27/03/2018` and `2703/2018` are not one date (`lost_separator`).
- Of a code such as `8622042`, one digit more or less at the end is `merged` or `clipped`; one
  changed or lost inside is `digit`.
- Day and month exchanged is `date_order`, though only digits differ. Two values exchanged between
  rows are `wrong_row`, however alike they are.
- Numbers are compared in one notation: `$1,200.00` read as `1201` is `digit`. If its sign, unit
  or point is lost too, or more than two digits change, as in a date or code, it is `other_value`.
- Of JSON that breaks off the last value may be `clipped`, what it lacks is `missed`. `truncated` is
  what its service or log says, or reasoning alone.
- A mark that is missing beside text read rightly is `notation`.
- Where nothing is left because the text is stuck to a neighbour's, the field is `clipped`, the
  neighbour `merged`.
- Words too many in the field's own box are `label_error`, if no field beside it has them and no
  other field lacks them; else `merged`.
- A word of the gold that stands nowhere else in the corpus, read as one that does, is
  `label_error`. Of a blank gold, so is a word of the corpus, a figure, a date or a code read in its
  own box; a scribble read as something is `spurious`.
"""
AGREEMENT = """
## Agreement with people

75 real errors of an OCR engine on FUNSD and SROIE were judged page by page by one person, who was
sure of 62. The second column has the gold of the whole corpus and takes what was read to lie in
the field's box. The rules were written with these errors in view.

"""
# Judged on the pages in November 2026; the texts are others' and stay out of the repository.
ELSEWHERE = """
Of 30 other errors of the same engine, drawn at random, one of a document, somebody who had not seen
the rules gave 26 the same cause, and 29 where two fitted; without space, punctuation, case and
reader 10 and 13 of 14.
"""


def page(judgements: list[dict]) -> str:
    """The whole page, from errors as `judged_by_eye` gives them."""
    parts = [HEAD]
    for stage, names in STAGES.items():
        parts.append(f"| **{stage}** | {STAGE[stage]} |\n")
        parts += [f"| `{name}` | {MEANS[name]}{_example(name)} |\n" for name in names]
    return "".join([*parts, RULES, AGREEMENT, measured.figures(judgements), "\n", ELSEWHERE])


def _example(name: str) -> str:
    return " `{}` → `{}`".format(*EXAMPLES[name]) if name in EXAMPLES else ""


if __name__ == "__main__":
    (ROOT / "docs" / "causes.md").write_text(page(measured.judged_by_eye()), encoding="utf-8")
