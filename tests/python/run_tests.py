"""Runs a file of tests by pytest: run_tests.py FILE. Exit code 77: all of its tests were skipped."""

import importlib.util
import sys


def lacking():
    """Why nothing can be tested, or None."""
    if importlib.util.find_spec("heapwood") is None:
        return "the Python package is not built (-DHEAPWOOD_BUILD_PYTHON=ON)"
    for package in ("numpy", "pytest"):
        if importlib.util.find_spec(package) is None:
            return f"{sys.executable} has no {package}: pip install {package}"
    return None


class Outcomes:
    """Counts what was not skipped."""

    def __init__(self):
        self.ran = 0

    def pytest_runtest_logreport(self, report):
        self.ran += not report.skipped and (report.when == "call" or report.failed)

    def pytest_collectreport(self, report):
        self.ran += report.failed


def main():
    why = lacking()
    if why is not None:
        print(f"skipped: {why}")
        return 77

    import pytest  # now that it is known to be there

    outcomes = Outcomes()
    code = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[outcomes])
    return 77 if code in (0, 5) and outcomes.ran == 0 else code


if __name__ == "__main__":  # workers of the tests import this file
    sys.exit(main())
