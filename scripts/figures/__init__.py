"""What scripts/plot.py and scripts/compare.py are made of."""

import sys


def say_missing(program, error):
    """Ends the program with where to get the package that could not be imported."""
    print(
        f"{program}: no Python package {error.name} for {sys.executable}. On Debian and Ubuntu:\n"
        "    sudo apt-get install python3-numpy python3-pandas python3-matplotlib python3-rich "
        f"python3-typer\nand call /usr/bin/python3 scripts/{program}.py; elsewhere:\n"
        "    pip install numpy pandas matplotlib rich typer",
        file=sys.stderr,
    )
    sys.exit(2)
