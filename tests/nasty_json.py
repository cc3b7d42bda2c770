"""JSON bodies that a reader may stumble over, made by us: some right and odd, most broken.

A test puts each into a place where a source has JSON: a file, a line, a value, a model's answer.
The file beside this one has the short ones, each byte as the character of its number.
"""

import json
from pathlib import Path

SHORT = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
LONG = {
    "a name of 5000 characters": b'{"' + b"n" * 5000 + b'": 1}',
    "a text of 100000 characters": b'"' + b"t" * 100_000 + b'"',
    "a thousand names": b"{" + b", ".join(b'"%d": %d' % (n, n) for n in range(1000)) + b"}",
    "100 deep": b"[" * 100 + b"]" * 100,
    "an integer of 300 digits": b"1" + b"0" * 299,
    "a tower of marks": ('"a' + "\u0301" * 500 + '"').encode(),
    "an integer of 5000 digits": b"9" * 5000,
    "an integer of 5000 digits within": b'{"a": [{"b": ' + b"7" * 5000 + b"}]}",
    "300 deep": b"[" * 300 + b"]" * 300,
    "100000 open lists": b"[" * 100_000,
    "20000 open objects": b'{"a":' * 20_000,
    "a thousand closed": b"]" * 1000,
}
BODIES: dict[str, bytes] = {name: text.encode("latin-1") for name, text in SHORT.items()} | LONG
