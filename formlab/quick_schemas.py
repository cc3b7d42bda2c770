"""jsonschema, with which altair and nbformat read schemas, without the grammar of addresses.

No chart or notebook has that format, and its parsing takes each process 1.3 s.
"""

import sys

_GRAMMAR = "rfc3987_syntax"

if not {"jsonschema", _GRAMMAR} & sys.modules.keys():
    sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        import jsonschema  # noqa: F401
    finally:
        del sys.modules[_GRAMMAR]
