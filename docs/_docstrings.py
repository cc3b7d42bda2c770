"""Docstrings of the Python reference: an extension of griffe."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Doctests without the heading "Examples" get it, so that they are shown as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Griffe calls this for each module, class, function and attribute."""
        text = obj.docstring.value if obj.docstring else ""
        if "\n>>> " in text and "\nExamples\n" not in text:
            before, _, after = text.partition("\n>>> ")
            obj.docstring.value = f"{before.rstrip()}\n\nExamples\n--------\n>>> {after}"
