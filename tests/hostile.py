"""Hostile strings: whatever a value, a name, a note or an answer of a model may hold.

What would run sets ``globalThis.__hit``, what would load asks ``beacon.invalid``, what would be
laid over a page fills its window, what would write says ``TERMINAL`` or calls a formula. The file
beside this one has those of each kind.
"""

import json
from pathlib import Path

GROUPS = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
LONG = [text * 3_000 for text in ("<b>", "[", "(", "\\", "a\u0301", "_")]
LONG += ["W" * 20_000, "\u6587" * 5_000, "a " * 20_000, "<" * 5_000, "&" * 5_000, "\n" * 2_000]
STRINGS = list(dict.fromkeys([*(text for group in GROUPS.values() for text in group), *LONG]))
