"""Tesseract's TSV: a row for each page, block, paragraph, line and word."""

from __future__ import annotations

from pathlib import Path

from formlab.errors import DataBroken
from formlab.readers import door, engine
from formlab.readers.engine import Found, Page, Reading, number, whole

_START = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf"
_PAGE, _LINE, _WORD = 1, 4, 5


def _read(path: Path) -> Reading:
    reading, words, lines = Reading(), dict[tuple, list[Found]](), dict[tuple, Found]()
    text = door.read_bytes(path).decode("utf-8-sig", "replace")
    if not text.startswith(_START):
        raise DataBroken("not the header of Tesseract's TSV", where=path)
    # Quotation marks are text here.
    for count, row in enumerate(text.split("\n")[1:], start=2):
        cells = row.rstrip("\r").split("\t", 11)
        numbers = [number(cell) for cell in cells[:11]]
        if not row.strip():
            continue
        if len(numbers) < 11 or None in numbers:
            raise DataBroken("a row without 11 numbers", where=f"{path}:{count}")
        level, left, top, width, height, sure = numbers[0], *numbers[6:]
        place, box = whole(numbers[1], 1), (left, top, left + width, top + height)
        found = Found(cells[11] if len(cells) > 11 else "", box, sure / 100, place)
        if level == _PAGE:
            reading.pages[place] = Page(width, height, True, [])
        elif level == _LINE:
            lines[tuple(numbers[1:5])] = found._replace(confidence=None)
        elif level == _WORD and found.text.strip():
            words.setdefault(tuple(numbers[1:5]), []).append(found)
    for key, inside in words.items():
        line = lines.get(key) or Found(None, None, None, inside[0].page)
        text = " ".join(word.text for word in inside if word.text)
        page = reading.pages.setdefault(line.page, Page(None, None, True, []))
        page.lines.append(line._replace(text=text, words=tuple(inside)))
    return reading


TESSERACT = engine.reader(
    "tesseract", "Tesseract's TSV", (".tsv",), lambda head: head.startswith(_START.encode()), _read
)
