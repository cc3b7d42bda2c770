"""The real data beside the checkout, which is licensed to others and never committed."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("FORMLAB_SHARED") or Path(__file__).parents[1] / ".." / "shared")
# With FORMLAB_DATA=required, as in .ci/run, the tests do not start without all of it.
REQUIRED = os.environ.get("FORMLAB_DATA") == "required"
NEEDED = (
    "golden/vrdu/expected.json",
    "golden/fincriticaled/text_metrics.json",
    "golden/fincriticaled/judge_raw.json",
    "golden/extractbench/expected.json",
    "golden/causes.jsonl",
    "data/funsd",
    "data/sroie",
    "data/formfactory",
    "data/vrdu",
    "data/sec",
    "data/kleister-nda/expected.tsv",
    "data/extract-bench",
    "data/logs/inspect",
)
ABSENT = [name for name in NEEDED if not (SHARED / name).exists()]
REASON = "the real data is not at hand"
