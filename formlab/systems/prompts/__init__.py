"""Instructions for models: formlab's own by name, one file each here, or any file of the user's.

A comment at the head of one of formlab's says what it is for and, where a paper prints a prompt for
the same thing, what it changes; the comment is not sent. A user's file is sent as it is.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.errors import DataBroken, UnknownName

FOLDER = Path(__file__).parent
_HEAD = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)


class Instructions(NamedTuple):
    """Instructions for a model: the text, and the name or whole path it was read by."""

    source: str
    text: str

    @property
    def version(self) -> str:
        """The name with a short hash of the text, for the settings of a run."""
        return f"{Path(self.source).stem} {version_of(self.text.strip())}"


def read(source: str | Path) -> Instructions:
    """The prompt of a name, one of the files here, or that in a file, word for word.

    `UnknownName` if it is neither a name nor a file, `DataBroken` if the file is empty.

    >>> read("formcraft_listing3").text.startswith("You are given a taxonomy")
    True
    """
    own, file = {file.stem: file for file in sorted(FOLDER.glob("*.md"))}, Path(source)
    if str(source) in own:
        return Instructions(str(source), _HEAD.sub("", files.read_text(own[str(source)])))
    if not file.is_file():
        raise UnknownName.of("prompt, nor a file", str(source), own)
    text = files.read_text(file)
    if not text.strip():
        raise DataBroken("an empty prompt", where=file, remedy="instructions for the model")
    return Instructions(str(file.resolve()), text)


def version_of(text: str) -> str:
    """A short name for the text of a prompt: ``version_of("Read this form.")`` is 2a52a322."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
