"""The program: `heapwood ...` or `python -m heapwood ...`."""

import os
import sys

from heapwood._program import PROGRAM


def main():
    """Becomes the program that the package carries."""
    try:
        os.execv(PROGRAM, ["heapwood", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"heapwood: error: {PROGRAM}: {error.strerror}; install heapwood again")


if __name__ == "__main__":
    main()
