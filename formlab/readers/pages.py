"""The pages of a user's own documents: images, PDFs and texts that are called like them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from formlab import files, pictures
from formlab.errors import DataBroken, DataMissing
from formlab.readers.rows import Row

IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif", ".pdf")
# `form_2`, `form-p2`, `form.page 2`: the second page of `form`.
_PAGE = re.compile(r"(.+?)[ _.-]+(?:p(?:age)?[ _.-]?)?([0-9]{1,4})", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]+)")


def find(
    folder: str | Path,
    documents: Sequence[str],
    flaws: Counter[str],
    endings: Sequence[str] = IMAGES,
) -> dict[str, list[str]]:
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
        if path.suffix.lower() not in endings or path.name[0] == "." or not file.is_file():
            continue
        for key in map(composed, {path.stem, str(path.with_suffix(""))}):
            named[key].append(path)
            if key not in known and (match := _PAGE.fullmatch(key)):
                numbered[match[1]].append(path)
        for key in map(composed, {path.parent.name, str(path.parent)} - {"", "."}):
            inside[key].append(path)

    def order(path: PurePosixPath) -> list[tuple[int, int | str]]:
        steps = [step for step in _NUMBER.split(str(path.with_suffix(""))) if step]
        ending = endings.index(path.suffix.lower())
        return [(1, int(s)) if s.isdecimal() else (0, s) for s in steps] + [(2, ending)]

    found, claimed = {}, set(map(composed, documents))
    for name in documents:
        for key in names(name):
            alike, further, below = (sorted(i[key], key=order) for i in (named, numbered, inside))
            # In a folder called like this document may be a file of another one.
            below = [path for path in below if str(path.with_suffix("")) not in claimed]
            if pages := [*alike[:1], *further] or below:
                beside = [page for page in pages if page.parent == pages[0].parent]
                first = {page.stem: page for page in reversed(beside)}
                copies = len(first) < len(pages) + len(alike[1:])
                flaws["documents with several files of one name: the first is read"] += copies
                found[name] = list(map(str, reversed(first.values())))
                break
    flaws["documents without an image"] += len(documents) - len(found)
    return found


def names(document: str) -> tuple[str, str]:
    """What files of a document may be called: its name without ending, and its last step."""
    name, point, ending = document.rpartition(".")
    is_ending = name and not name.endswith("/") and f"{point}{ending}".lower() in IMAGES
    name = composed(name if is_ending else document)
    return name, name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def composed(name: str) -> str:
    """A name in the one form of its accents that file systems write in two."""
    return unicodedata.normalize("NFC", name)


def columns(root: Path, pages: list[str], stated: Row, flaws: Counter[str]) -> Row:
    """The columns `image`, `width` and `height` of a document; what `stated` has stays."""
    if not pages:
        return {"image": None}
    file = root / pages[0]
    if "\0" in pages[0] or not file.resolve().is_relative_to(root):
        # A path that leaves the folder is not followed.
        flaws["images outside of their folder"] += 1
        return {"image": None}
    try:
        # A PDF has a size for each page.
        is_sized = file.suffix.lower() != ".pdf" or not file.is_file()
        width, height = pictures.image_size(file) if is_sized else (None, None)
    except (DataBroken, DataMissing) as error:
        # The reader of the page gets to say why; the document stays.
        flaws[f"images {'missing' if isinstance(error, DataMissing) else 'unreadable'}"] += 1
        width = height = None
    size = {"width": stated.get("width") or width, "height": stated.get("height") or height}
    return {"image": pages[0], **size}
