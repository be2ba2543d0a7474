"""Writes the types of the tree's parameters, from the fields that the compiled module knows.

write_parameters.py FILE, with the module's folder in PYTHONPATH. The build runs it.
"""

import json
import pathlib
import re
import sys

import _core

HEAD = '''"""Parameters of a tree, for type checkers. The build writes this file from kdtree/config_fields.h."""

from typing import Literal, TypedDict


class TreeParameters(TypedDict, total=False):
    """Keywords of ``heapwood.build``; kdtree/config.h says where each comes from."""
'''


def described(name, kind, sentence):
    """A parameter and what is said of it, in which other parameters have their names in Python."""
    words = re.sub(r"--([a-z-]+)", lambda option: f"``{option[1].replace('-', '_')}``", sentence)
    return f"\n    {name}: {kind}\n    {json.dumps(words)}\n"


def main():
    fields = "".join(described(*parameter) for parameter in _core.tree_parameters())
    pathlib.Path(sys.argv[1]).write_text(HEAD + fields, encoding="utf-8")


if __name__ == "__main__":
    main()
