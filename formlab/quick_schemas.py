"""jsonschema, with which altair and nbformat read schemas, without the grammar of one format.

It would import the grammar of international addresses to check a format that no chart or notebook
has, and parse it at 1.3 s for each process. Who imported either before, or imports the grammar
afterwards, has it as always.
"""

import sys

_GRAMMAR = "rfc3987_syntax"

if not {"jsonschema", _GRAMMAR} & sys.modules.keys():
    sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        import jsonschema  # noqa: F401
    finally:
        del sys.modules[_GRAMMAR]
