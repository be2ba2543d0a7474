"""Checks JSON against the part of JSON Schema that the schemas of app/report/schemas use."""

import json
import pathlib
import re

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "app/report/schemas"

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
KNOWN = {
    "$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "pattern",
    "minimum", "maximum", "properties", "required", "additionalProperties", "items", "minItems",
    "maxItems", "anyOf",
}


def _has_type(value, name):
    # Python takes True for 1; JSON does not.
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def violations(value, schema, root=None, where="$"):
    """What is wrong with the value, as a list of sentences."""
    root = root or schema
    unknown = set(schema) - KNOWN
    assert not unknown, f"the checker does not know {unknown}"
    if "$ref" in schema:
        file, pointer = schema["$ref"].split("#/")
        if file:
            root = json.loads((SCHEMAS / file).read_text())
        target = root
        for name in pointer.split("/"):
            target = target[name]
        return violations(value, target, root, where)
    if "anyOf" in schema:
        tries = [violations(value, option, root, where) for option in schema["anyOf"]]
        return [] if [] in tries else min(tries, key=len)

    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_has_type(value, name) for name in types):
        return [f"{where}: {value!r} is not {' or '.join(types)}"]
    found = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is none of {schema['enum']}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{where}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            found.append(f"{where}: {value} is out of range")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        missing = [key for key in schema.get("required", []) if key not in value]
        found += [f"{where}: no {key}" for key in missing]
        for key, member in value.items():
            if key in properties:
                found += violations(member, properties[key], root, f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                found.append(f"{where}: unexpected {key}")
            elif isinstance(schema.get("additionalProperties"), dict):
                extra = schema["additionalProperties"]
                found += violations(member, extra, root, f"{where}.{key}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for i, item in enumerate(value):
            found += violations(item, schema.get("items", {}), root, f"{where}[{i}]")
    return found


def document(result, verb, code=0):
    """The JSON that a verb has printed, which is valid and came with that exit code."""
    assert result.returncode == code, result.stderr
    found = json.loads(result.stdout)
    schema = json.loads((SCHEMAS / f"{verb}.schema.json").read_text())
    assert violations(found, schema) == [], violations(found, schema)
    return found
