"""The OCR that VRDU supplies beside its annotations, read for one document at a time."""

from __future__ import annotations

import atexit
import gzip
import threading
from collections import Counter
from pathlib import Path
from typing import IO, Any

from formlab import files
from formlab.benchmarks.meta import meta_of
from formlab.benchmarks.vrdu import _dataset
from formlab.benchmarks.vrdu._dataset import Row, fractions, member, whole
from formlab.errors import DataBroken

# One file at most, left open: to seek forwards in a packed file costs what lies between.
_STREAMS: dict[tuple, IO[bytes]] = {}
_LOCK = threading.Lock()


def words(document: Row, root: Path | None, flaws: Counter[str] | None = None) -> list[Row] | None:
    """The words of the OCR that VRDU supplies for a document; None where it supplies none.

    They are records of task ``layout``, in the order of the OCR, with page (from 1) and box: in
    the units of the document's gold, and in fractions of the page in `meta`. Documents are read
    fastest in the order of the corpus: a packed file is read forwards once.

    Parameters
    ----------
    document
        A row of the documents of a corpus.
    root
        The root of that corpus.
    flaws
        Where to count words without a text or a box, which are left out.

    Raises
    ------
    DataBroken
        If the data set is no longer there, or is another one.

    Examples
    --------
    >>> from formlab import benchmarks
    >>> corpus = benchmarks.load("vrdu")
    >>> rows = words(corpus.documents.row(0, named=True), corpus.root)
    >>> rows[0]["value"], rows[0]["page"]
    ('Ashmouth', 1)
    """
    home = meta_of(document).get("ocr")
    if home is None or root is None:
        return None
    file, counts = _dataset.find(Path(root) / home), Counter() if flaws is None else flaws
    annotated = _dataset.documents(file)[0].get(document["doc_id"]) if file else None
    if file is None or annotated is None:
        what, where = f"{document['doc_id']} is no longer in the data set", Path(root) / home
        raise DataBroken(what, where=where, remedy="load the corpus anew")
    ocr = files.parse_json(_line(file, annotated.offset), where=annotated.where).get("ocr")
    rows: list[Row] = []
    for number, page in enumerate(member(ocr, "pages", list) or ()):
        width, height = annotated.sizes[number] or (None, None)
        for token in member(page, "tokens", list) or ():
            value, corners = _value(token, ocr.get("text")), member(token, "bbox", list) or []
            if not value or fractions([number, *corners]) is None:
                counts["words of the OCR without a text or a box"] += 1
                continue
            row = {"task": "layout", "kind": "word", "path": f"/ocr/words/{len(rows)}"}
            row |= {"value": whole(value, counts), "page": number + 1}
            # Checked to be plain numbers: their list is written as in JSON.
            row["meta"] = f'{{"box": {[number, *corners]}}}'
            if width is not None:
                x0, y0, x1, y1 = corners
                row |= {"x0": x0 * width, "y0": y0 * height, "x1": x1 * width, "y1": y1 * height}
            rows.append(row)
    return rows


def _value(token: Any, text: Any) -> str:
    """The text of a token: its own, else what its segments cut from the document's text."""
    if not isinstance(token, dict):
        return ""
    if isinstance(token.get("text"), str):
        return token["text"].strip()
    segments = token.get("segments") or [token.get("segment")]
    try:
        return "".join(text[start:end] for start, end in segments).strip()
    except (TypeError, ValueError):
        return ""


def _line(file: Path, offset: int) -> str:
    stat = file.stat()
    key = (file, stat.st_mtime_ns, stat.st_size)
    with _LOCK:
        if key not in _STREAMS:
            _close()
            _STREAMS[key] = (gzip.open if file.suffix == ".gz" else open)(file, "rb")
        _STREAMS[key].seek(offset)
        return _STREAMS[key].readline().decode()


@atexit.register
def _close() -> None:
    while _STREAMS:
        _STREAMS.popitem()[1].close()
