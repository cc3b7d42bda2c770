"""What rows hold beside their columns: the JSON of `meta`, read in one place."""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, Any]


def meta_of(row: Any) -> Row:
    """The `meta` of a row, or a text of it, as an object; empty where there is none.

    >>> meta_of({"meta": '{"pages": ["a.png"]}'}), meta_of({"meta": None}), meta_of("[1]")
    ({'pages': ['a.png']}, {}, {})
    """
    text = row if isinstance(row, str) or row is None else row.get("meta")
    meta = json.loads(text or "{}")
    return meta if isinstance(meta, dict) else {}


def page_images(document: Row) -> list[str]:
    """The images of a document in order: those that its meta lists, else the one it has.

    >>> page_images({"image": "a.png", "meta": '{"images": ["a.png", "a_2.png"]}'})
    ['a.png', 'a_2.png']
    >>> page_images({"image": "a.png"}), page_images({"image": None})
    (['a.png'], [])
    """
    meta = meta_of(document)
    listed = meta.get("pages") or meta.get("images")
    return listed or ([document["image"]] if document.get("image") else [])
