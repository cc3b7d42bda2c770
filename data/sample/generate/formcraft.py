"""Draw the FORMCRAFT sample and write it in the layout of `formlab.benchmarks.formcraft`.

Run from the project's root: ``python -m data.sample.generate.formcraft --out DIR [--seed N]``.
"""

import sys

from data.sample.generate.command import run
from formlab_experiments.forms.formcraft import SEED, write

if __name__ == "__main__":
    sys.exit(run(write, __doc__, seed=SEED))
