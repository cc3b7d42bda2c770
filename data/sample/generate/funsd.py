"""Draw the sample forms and write them as FUNSD's own files.

Run from the project's root: ``python -m data.sample.generate.funsd --out DIR [--seed N]``.
"""

import sys

from data.sample.generate.command import run
from formlab_experiments.forms.funsd import SEED, write

if __name__ == "__main__":
    sys.exit(run(write, __doc__, seed=SEED))
