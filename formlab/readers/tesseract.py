"""Tesseract's TSV: a row for each page, block, paragraph, line and word."""

from __future__ import annotations

from pathlib import Path

from formlab.errors import DataBroken
from formlab.readers import door, engine
from formlab.readers.engine import Found, Page, Reading, number, whole

_START = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf"
_PAGE, _LINE, _WORD = 1, 4, 5


def _read(path: Path) -> Reading:
    reading, lines = Reading(), dict[tuple, tuple[Found, list[Found]]]()
    text = door.read_bytes(path).decode("utf-8-sig", "replace")
    # Quotation marks are text here, so this is no table of the door's.
    for count, row in enumerate(text.split("\n"), start=1):
        cells = row.rstrip("\r").split("\t", 11)
        if count == 1 or not row.strip():
            continue
        numbers = [number(cell) for cell in cells[:11]]
        if len(numbers) < 11 or None in numbers:
            raise DataBroken("a row without 11 numbers", where=f"{path}:{count}")
        place, key = whole(numbers[1]), tuple(numbers[1:5])
        found = Found("".join(cells[11:]), engine.sized(*numbers[6:10]), numbers[10] / 100, place)
        page = reading.pages.setdefault(place, Page((None, None), True, [], []))
        if numbers[0] == _PAGE:
            reading.pages[place] = page._replace(size=(numbers[8], numbers[9]))
        elif numbers[0] == _LINE:
            lines[key] = found._replace(confidence=None), []
        elif numbers[0] == _WORD and found.text.strip():
            lines.setdefault(key, (Found(None, page=place), []))[1].append(found)
    for line, words in lines.values():
        text = " ".join(word.text or "" for word in words)
        if words:
            reading.pages[line.page].lines.append(line._replace(text=text, words=tuple(words)))
    return reading


TESSERACT = engine.reader(
    "tesseract", "Tesseract's TSV", (".tsv",), lambda head: head.startswith(_START.encode()), _read
)
