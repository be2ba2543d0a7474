"""The program: `heapwood ...` or `python -m heapwood ...`."""

import os
import sys

from heapwood._program import PROGRAM


def main():
    """Becomes the program that the package carries."""
    os.execv(PROGRAM, ["heapwood", *sys.argv[1:]])


if __name__ == "__main__":
    main()
