"""Write a sample of a benchmark: ``python -m data.sample.generate NAME --out DIR [--seed N]``.

Run it from the project's root. The samples of FORMCRAFT and FUNSD are drawn by the engine of forms.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from formlab.errors import FormlabError

PLACES = dict.fromkeys(("arena", "fincriticaled", "formfactory", "vrdu"), "data.sample.generate")
PLACES |= dict.fromkeys(("formcraft", "funsd"), "formlab_experiments.forms")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("name", choices=sorted(PLACES))
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, help="of those that are drawn from one")
    given = parser.parse_args()
    seed = {} if given.seed is None else {"seed": given.seed}
    try:
        import_module(f"{PLACES[given.name]}.{given.name}").write(given.out, **seed)
    except FormlabError as error:
        sys.exit(f"error: {error}")
