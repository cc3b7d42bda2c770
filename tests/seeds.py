"""How much is tested: `make test` takes what is quick, `make test-all` everything."""

import os

ALL = os.environ.get("FORMLAB_TESTS") == "all"


def seeds(count):
    """That many seeds, in `make test` at most ten."""
    return range(count if ALL else min(count, 10))
