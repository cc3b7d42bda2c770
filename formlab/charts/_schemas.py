"""A quick start of altair: what it reads schemas with, without the grammar of one format of text.

jsonschema imports the grammar of international addresses to check one format that no chart has, and
parses it at 1.3 s for each process. Who imported either before, or imports the grammar afterwards,
has it as always.
"""

import sys

_GRAMMAR = "rfc3987_syntax"

if not {"jsonschema", _GRAMMAR} & sys.modules.keys():
    sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        import jsonschema  # noqa: F401
    finally:
        del sys.modules[_GRAMMAR]
