"""What a form is: data that the blocks know how to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

from data.sample.generate.paper import Pen
from data.sample.generate.scan import Scan
from data.sample.generate.sheet import Block

TRAIN, TEST = "training_data", "testing_data"


@dataclass(frozen=True)
class Form:
    """One page: its blocks from top to bottom, its pens, and how it was scanned.

    `pens` needs `print` (questions), `head` (headings), `fill` (answers); `stray_link` plants a
    link to an entity that does not exist, a flaw that real annotations have.
    """

    name: str
    folder: str
    pens: dict[str, Pen]
    scan: Scan
    blocks: tuple[Block, ...]
    margin: float = 62.0
    top: float = 52.0
    gap: float = 3.0
    stray_link: bool = False


def pens(face: str, fill: Pen, *, size: float = 12, bold: str | None = None) -> dict[str, Pen]:
    """The usual pens: print and headings in `face`, answers in `fill`, a stamp."""
    plain = Pen(face, size)
    return {
        "print": plain,
        "head": replace(plain, face=bold or face, weight=700),
        "fill": fill,
        "stamp": Pen("narrow", 17, weight=700, shade=105, leading=1.2),
    }
