"""The pages of a user's own documents: images, PDFs and texts that are called like them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from formlab import files, pictures
from formlab.errors import DataBroken, DataMissing
from formlab.readers.rows import Row

IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif", ".pdf")
# `form_2`, `form-p2`, `form.page 2`: the second page of `form`.
_PAGE = re.compile(r"(.+?)[ _.-]+(?:p(?:age)?[ _.-]?)?([0-9]{1,4})", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]+)")


def find(folder: str | Path, documents: Sequence[str], flaws: Counter[str]) -> dict[str, list[str]]:
    """The files of each document's pages in order, relative to `folder`, in any depth of it.

    A document's pages are the file that is called like it (``a.png``; ``a.pdf`` and a TIFF may
    have several pages), those that are called like it with a number (``a.png``, ``a_2.png``;
    ``a-p1.png``, ``a-p2.png``), or the files of a folder that is called like it. A document is
    named with or without the file's ending, and with or without its folders. Documents without a
    page, and those of which several files have the name (the first by folder and ending is read),
    are counted in `flaws`. `DataMissing` if there is no such folder.
    """
    root = files.folder(folder, remedy="--images with the folder of the scans or PDFs")
    known = {key for name in documents for key in names(name)}
    # Files called like a document, like one with a number, and in a folder called like one.
    named, numbered, inside = (defaultdict[str, list[PurePosixPath]](list) for _ in range(3))
    for file in sorted(root.rglob("*")):
        path = PurePosixPath(file.relative_to(root).as_posix())
        if path.suffix.lower() not in IMAGES or path.name[0] == "." or not file.is_file():
            continue
        for key in map(composed, {path.stem, str(path.with_suffix(""))}):
            named[key].append(path)
            if key not in known and (match := _PAGE.fullmatch(key)):
                numbered[match[1]].append(path)
        for key in map(composed, {path.parent.name, str(path.parent)} - {"", "."}):
            inside[key].append(path)
    found = {}
    for name in documents:
        for key in names(name):
            own, further, below = (sorted(i[key], key=_order) for i in (named, numbered, inside))
            if pages := [*own[:1], *further] or below:
                beside = [page for page in pages if page.parent == pages[0].parent]
                first = {page.stem: page for page in reversed(beside)}
                copies = len(first) < len(pages) + len(own[1:])
                flaws["documents with several files of one name: the first is read"] += copies
                found[name] = list(map(str, reversed(first.values())))
                break
    flaws["documents without an image"] += len(documents) - len(found)
    return found


def text_files(root: Path, documents: Iterable[str]) -> dict[str, Path]:
    """For each document that has one, the file of text, such as ``a.txt``, called like it."""
    named: dict[str, Path] = {}
    for file in sorted(root.rglob("*.txt")):
        path = PurePosixPath(file.relative_to(root).as_posix())
        for key in (path.name, path.stem, str(path), str(path.with_suffix(""))):
            named.setdefault(composed(key), file)
    matches = ((name, next(filter(None, map(named.get, names(name))), None)) for name in documents)
    return {name: file for name, file in matches if file}


def stem(name: str) -> str:
    """A document's name without the ending of an image or PDF, in the form that names match in."""
    head, point, ending = name.rpartition(".")
    is_ending = head and not head.endswith("/") and f"{point}{ending}".lower() in IMAGES
    return composed(head if is_ending else name)


def names(document: str) -> tuple[str, str]:
    """What files of a document may be called: its name, and the last step of it if it is a path."""
    name = stem(document)
    return name, name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def composed(name: str) -> str:
    """A name in the one form of its accents that file systems write in two."""
    return unicodedata.normalize("NFC", name)


def _order(path: PurePosixPath) -> list[tuple[int, int | str]]:
    steps = [step for step in _NUMBER.split(str(path.with_suffix(""))) if step]
    ending = IMAGES.index(path.suffix.lower())
    return [(1, int(s)) if s.isdecimal() else (0, s) for s in steps] + [(2, ending)]


def columns(root: Path, pages: list[str], stated: Row, flaws: Counter[str]) -> Row:
    """The columns `image`, `width` and `height` of a document; what `stated` has stays."""
    if not pages:
        return {"image": None}
    file = root / pages[0]
    if "\0" in pages[0] or not file.resolve().is_relative_to(root):
        # A path that leaves the folder is not followed.
        flaws["images outside of their folder"] += 1
        return {"image": None}
    size: Row = {}
    try:
        # A PDF has a size for each page.
        if file.suffix.lower() != ".pdf" or not file.is_file():
            size = dict(zip(("width", "height"), pictures.image_size(file), strict=True))
    except (DataBroken, DataMissing) as error:
        # The reader of the page gets to say why; the document stays.
        flaws[f"images {'missing' if isinstance(error, DataMissing) else 'unreadable'}"] += 1
    return {"image": pages[0]} | {name: stated.get(name) or side for name, side in size.items()}
