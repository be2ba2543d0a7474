"""JSON against the schema that the program prints for it."""

import functools
import json
import unittest

from command_line import run

try:
    import jsonschema
except ImportError:
    jsonschema = None


@functools.cache
def _validator(kind):
    if jsonschema is None:
        raise unittest.SkipTest("needs the Python package jsonschema")
    result = run("list", "--schema", kind)
    assert result.returncode == 0, result.stderr
    schema = json.loads(result.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def violations(value, kind):
    """What is against the schema of that document (`heapwood list --schema KIND`), as sentences."""
    return [f"{error.json_path}: {error.message}" for error in _validator(kind).iter_errors(value)]


def document(result, kind, code=0):
    """The JSON that a verb has printed, which is valid and came with that exit code."""
    assert result.returncode == code, result.stderr
    found = json.loads(result.stdout)
    assert violations(found, kind) == [], violations(found, kind)
    return found
