"""Instructions for models: formlab's own by name, one file each here, or any file of the user's.

A comment at the head of one of formlab's says what it is for and, where a paper prints a prompt for
the same thing, what it changes; the comment is not sent. A user's file is sent as it is.
"""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from formlab import files
from formlab.errors import DataBroken, UnknownName

FOLDER = Path(__file__).parent
_HEAD = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)


class Instructions(NamedTuple):
    """Instructions for a model: their text, and their name with a short hash of it."""

    text: str
    version: str


def read(source: str | Path) -> Instructions:
    """The prompt of a name, one of the files here, or that in a file, word for word.

    `UnknownName` if it is neither a name nor a file, `DataBroken` if the file is empty.
    """
    known = {file.stem: file for file in sorted(FOLDER.glob("*.md"))}
    file = known.get(str(source), Path(source))
    if not file.is_file():
        raise UnknownName.of("prompt, nor a file", str(source), known)
    text = files.read_text(file)
    text = _HEAD.sub("", text) if str(source) in known else text
    if not text.strip():
        raise DataBroken("an empty prompt", where=file, remedy="instructions for the model")
    return Instructions(text, f"{file.stem} {version_of(text.strip())}")


def version_of(text: str) -> str:
    """A short name for the text of a prompt: ``version_of("Read this form.")`` is 2a52a322."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
