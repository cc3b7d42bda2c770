"""The same numbers to the last digit, whatever instructions the processor has."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

# Libraries of matrices choose their code by the processor, or by this; NumPy chooses, too.
CHOICES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
OTHERS = {
    "2013": {"OPENBLAS_CORETYPE": "Haswell"},
    "2004": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
}


def said(**chosen):
    own = {name: value for name, value in os.environ.items() if name not in CHOICES}
    run = subprocess.run(
        [sys.executable, "-m", "tests.analysis.processors"],
        env=own | chosen, cwd=Path(__file__).parents[2], capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="for x86 processors")
def test_numbers_are_the_same_on_processors_of_other_years():
    expected = said()
    assert len(expected) == 6
    for year, chosen in OTHERS.items():
        assert (year, said(**chosen)) == (year, expected)
