"""All values of a source as one table, as gold has them."""

import tempfile
from collections import Counter
from pathlib import Path

from formlab.readers.values import Stored, pieces


def read_values(source, *, columns=None, flaws=None):
    """The values, with several at a path as a list."""
    flaws = Counter() if flaws is None else flaws
    with tempfile.TemporaryDirectory() as folder:
        stored = Stored(pieces(source, columns or {}, flaws), Path(folder))
        stored.cut(stored.documents.select("doc_id", name="doc_id", batch=0))
        return stored.rows(0, stored.lists)
