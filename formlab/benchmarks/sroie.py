"""SROIE: scanned receipts with text lines and four key values.

Layout: ``key/<id>.json`` (company, date, address, total), ``box/<id>.csv`` (a line of text with
the four corners of its box a row) and ``img/<id>.jpg`` where the image is at hand.
"""

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from rapidfuzz import fuzz

from formlab import files
from formlab.benchmarks import corpus
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.tables import BOX

KEYS = ("company", "date", "address", "total")
# A key value is looked for in at most this many lines that follow each other.
LINES_PER_KEY = 6
# Below this similarity (0 to 100) the lines do not hold the value.
SAME = 85.0
SIDES = itemgetter(*BOX)


def reader(split: str, root: Path) -> SplitReader:
    """The receipts: a record per key, one per text line, and one for the page's text.

    Keys are at ``/<name>``, lines at ``/lines/<n>`` (kind `line`). Published keys have no box: here
    it is the box of the lines that hold the value, found by similarity; null, and counted, where no
    lines are similar enough. The page's text joins the lines by one space.
    """
    folder = files.folder(root / "key", remedy="a folder that holds key, box and img")

    def read(file: Path, flaws: Counter[str]) -> Iterator[Part]:
        keys, lines = receipt(file, root, flaws)
        text = " ".join(filter(None, (line["value"].strip() for line in lines)))
        page = {"kind": "page", "value": text, "modality": None, "origin": f"{file.stem}.csv"}
        counts = counts_of(row for row in keys if row.get("status") != "unscored")
        image = image_columns(root, root / "img" / f"{file.stem}.jpg", flaws)
        yield {"doc_id": file.stem} | counts | image, [page, *keys, *lines]

    keys = sorted(folder.glob("*.json"))
    same = {"task": "text", "modality": "textual", "page": 1}
    return SplitReader("sroie", split, root, keys, read, same, empty="key files")


def receipt(file: Path, root: Path, flaws: Counter[str]) -> tuple[list[Row], list[Row]]:
    """The records of one receipt: its keys, from `file`, and its lines."""
    lines = _lines(root / "box" / f"{file.stem}.csv", flaws)
    boxed = [line for line in lines if "x0" in line]
    texts = [line["value"].casefold().strip() for line in boxed]
    # Numbers as they are written: the total is 9.00, not 9.0.
    keys = files.read_json(file, dict[str, str | None], as_written=True)
    rows = []
    for name in dict.fromkeys((*KEYS, *keys)):
        row: Row = {"path": f"/{name}", "kind": name, "origin": f"{file.name}#/{name}"}
        # Not annotated is not the same as annotated as empty: nothing can be scored here.
        row |= {"status": "unscored"} if (value := keys.get(name)) is None else {"value": value}
        target = (value or "").casefold().strip()
        box = _find(target, boxed, texts)
        flaws[f"keys absent: {name}"] += value is None
        flaws[f"keys empty: {name}"] += not (target or value is None)
        flaws["key values not found in the lines"] += bool(target) and not box
        rows.append(row | dict(zip(BOX, box, strict=False)))
    return rows, lines


def _lines(file: Path, flaws: Counter[str]) -> list[Row]:
    """One record per line of text; a line that cannot be read as one keeps its raw text."""
    if not files.is_file(file):
        flaws["box files missing"] += 1
        return []
    lines: list[Row] = []
    for place, line in enumerate(files.read_text(file).split("\n"), start=1):
        if not (written := line.rstrip("\r")).strip():
            continue
        row: Row = {"kind": "line", "path": f"/lines/{len(lines)}", "value": written}
        # The text may hold commas; the eight numbers before it may not.
        *corners, text = written.split(",", 8)
        sides = list(map(corpus.number, corners))
        if len(sides) == 8 and None not in sides:
            x, y = sides[::2], sides[1::2]
            row |= {"value": text, "x0": min(x), "y0": min(y), "x1": max(x), "y1": max(y)}
        flaws["box lines malformed"] += "x0" not in row
        lines.append(row | {"origin": f"{file.name}:{place}"})
    return lines


def _find(target: str, lines: list[Row], texts: list[str]) -> tuple[float, ...]:
    """The box of the lines whose `texts` hold what is looked for; empty if there are none."""
    best, found = SAME, ()
    for start, text in enumerate(texts if target else ()):
        is_longer = len(text) >= len(target)
        alignment = is_longer and fuzz.partial_ratio_alignment(target, text, score_cutoff=best)
        if alignment and alignment.score > best:
            before, after = text[: alignment.dest_start], text[alignment.dest_end :]
            # "9.00" does not stand in "59.00".
            if not (before[-1:].isalnum() or after[:1].isalnum()):
                span = (alignment.dest_start, alignment.dest_end, len(text))
                best, found = alignment.score, box_in(lines[start], *span)
        for end in range(start + 1, min(start + LINES_PER_KEY, len(texts)) + 1):
            joined = " ".join(texts[start:end])
            if len(joined) > 2 * len(target) + 8:
                break
            if (score := fuzz.ratio(target, joined, score_cutoff=best)) > best:
                best, found = score, corpus.around(list(map(SIDES, lines[start:end])))
    return found


def box_in(line: Row, start: int, end: int, length: int = 0) -> tuple[float, ...]:
    """The box of some characters of a line, by default of as many as it has, taken as even."""
    width = (line["x1"] - line["x0"]) / (length or len(line["value"]))
    return line["x0"] + start * width, line["y0"], line["x0"] + end * width, line["y1"]
