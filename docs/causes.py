"""Write `docs/causes.md`: causes by stage from the code, and how far people agree, as measured.

Run from the project's folder, with the real data in `../shared`: `python docs/causes.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "scoring")]

import test_labelled_causes as measured  # noqa: E402

from formlab.scoring.causes import STAGES, WHAT_TO_TRY  # noqa: E402

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
    "other_value": "Another value was given, no misreading of this one and no other field's.",
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

HEAD = """# Causes of error

Every value that differs from the gold has one cause; the stage follows from it. The two texts are
compared first. What fills the whole text (a number, an amount, a date) goes before its characters,
and the narrower cause before the wider. Then the document and its corpus are asked, where they can
tell: other fields' gold, boxes, the page's text, words of the gold.
`formlab.scoring.causes` is the code. This page is written by `docs/causes.py`; a test checks it.
"""
RULES = """
## Where two causes fit

- Differences in space, punctuation or case alone keep that cause, even where the page supports the
  answer. Case is folded first: the cause is what remains.
- `12.50` read as `1250` has lost its separator; that the number grew is what follows from it.
  `1,279` read as `12.79` has as many separators as before: the scale is another.
- `1,200` and `1200` are one number (`number_format`), `27/03/2018` and `2703/2018` are not one date
  (`lost_separator`).
- Of a code such as `8622042`, one digit more or less at the end is `merged` or `clipped`, not a
  change of scale; one changed or lost inside is `digit`.
- Day and month exchanged is `date_order`, though only digits differ, and however the date is
  written. Two values exchanged between rows are `wrong_row`, however alike they are.
- A date, a number or a code of which more than two digits differ is `other_value`; so is a text
  that has next to nothing in common with the gold.
- A mark that is missing beside text read rightly is `notation`.
- Where nothing is left because the text is stuck to a neighbour's, the field is `clipped`; the
  neighbour is `merged`. So it is where only another reading rule finds the text, if misread.
- Words too many that lie in the field's own box are `label_error`, if no field beside it has them
  and no other field lacks them; else `merged`.
- A word of the gold that stands nowhere else in the corpus, read as one that does, is
  `label_error`.
- Of a blank gold, a word of the corpus, a figure, a date or a code read in its own box is
  `label_error`; a scribble read as something is `spurious`.
- A right value differs in form alone: what no narrower cause tells is `notation`.
"""
AGREEMENT = """
## Agreement with people

75 real errors of an OCR engine on FUNSD and SROIE were judged page by page by one person, who was
sure of 62. The first column knows the two texts only; the second has the gold of the whole corpus
and takes what was read to lie in the field's box, as it does when read by the centres of words.
The rules were written with these errors in view, so the figures say how well they are kept, not how
they will do elsewhere.

"""
# Judged on the pages in November 2026; the texts are others' and stay out of the repository.
ELSEWHERE = """
How they do elsewhere was judged by eye on other errors of the same engine, drawn at random from
other documents, one of a document. The judge had not seen the rules' code and wrote down one cause,
and a second where two fit, before looking at the classifier's.

| errors | drawn | as the first or second | as the first |
|---|---|---|---|
| FUNSD test and SROIE train, 40 documents | 40 | 36 | 31 |
| without space, punctuation, case and reader | 15 | 13 | 8 |
| after mending what these showed: others, 30 documents | 30 | 29 | 26 |
| without space, punctuation, case and reader | 14 | 13 | 10 |

Of the four wrong ones two were lines whose words formlab itself had given to a key field in the
same box, one a date where the gold is blank and one a percent sign read as a digit. Of the thirty
the wrong one is a date with a mark too many whose last digit is lost. Where the gold's digits are
at fault the texts alone say `digit`. In nine of ten `space` drawn from FUNSD the gold has spaces
that the page has not. The thirty are other errors of the same documents as the forty.
"""


def page(judgements: list[dict]) -> str:
    """The whole page, from errors as `judged_by_eye` gives them."""
    parts = [HEAD, "\n## Stages and causes\n"]
    for stage, names in STAGES.items():
        parts.append(f"\n### {stage}\n\n{STAGE[stage]}\n\n| cause | meaning | what to try |\n")
        parts.append("|---|---|---|\n")
        parts += [f"| `{name}` | {MEANS[name]} | {WHAT_TO_TRY[name]} |\n" for name in names]
    return "".join([*parts, RULES, AGREEMENT, measured.figures(judgements), "\n", ELSEWHERE])


if __name__ == "__main__":
    (ROOT / "docs" / "causes.md").write_text(page(measured.judged_by_eye()), encoding="utf-8")
