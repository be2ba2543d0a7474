"""What the tests of the Python scripts share."""

import importlib.util
import os
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def test_seed():
    """HEAPWOOD_TEST_SEED, or a seed of the system's."""
    return int(os.environ.get("HEAPWOOD_TEST_SEED") or random.SystemRandom().getrandbits(32))


def skip(reason):
    """Ends the whole test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def needs(*modules):
    """Skips the whole test unless these Python packages are there."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        skip(f"no {', '.join(missing)} for {sys.executable}")
