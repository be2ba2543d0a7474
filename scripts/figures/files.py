"""Reads result files: JSON, plain or compressed by xz. Needs the standard library only."""

import json
import lzma
import pathlib
import re

SCHEMA = 1
KINDS = ("compare", "bench", "replay")
MOST_BYTES = 512 << 20  # of text; the results of all tests take 3 MiB


class ResultError(Exception):
    """A file that cannot be used; the text says which, why, and what to do."""


def stem_of(path):
    """The file's name without its endings."""
    return re.sub(r"(\.json)?(\.xz)?$", "", pathlib.Path(path).name)


def read_document(path):
    """The JSON object in a result file of a known kind and schema. @raise ResultError."""
    path = pathlib.Path(path)
    document = _parsed(path, _text(path))
    wanted = "give a file written by 'heapwood compare|bench|replay --json'"
    if not isinstance(document, dict) or "schema" not in document:
        raise ResultError(f"{path}: is no result of heapwood; {wanted}")
    if document.get("kind") not in KINDS:
        what = "a report of 'heapwood build'" if "results" in document else "of an unknown kind"
        raise ResultError(f"{path}: is {what}; {wanted}")
    if document["schema"] != SCHEMA:
        raise ResultError(
            f"{path}: has schema {document['schema']!r:.40}, and this script reads {SCHEMA}: "
            "measure again, or use the script of the version that wrote it"
        )
    return document


def _text(path):
    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise ResultError(f"{path}: is no whole .xz file: {error}") from error
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise ResultError(f"{path}: does not fit into memory") from error
    if len(text) > MOST_BYTES:
        raise ResultError(f"{path}: is no result: it has more than {MOST_BYTES >> 20} MiB of text")
    return text


def _parsed(path, text):
    try:
        document = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse)
        if b"\\ud" in text.lower():
            # Half of a pair of surrogates can be read, and not be printed.
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except json.JSONDecodeError as error:
        raise ResultError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from error
    except UnicodeError as error:
        raise ResultError(f"{path}: is not text") from error
    except RecursionError as error:
        raise ResultError(f"{path}: is no result: its JSON is nested too deeply") from error
    except ValueError as error:
        raise ResultError(f"{path}: is not JSON: {error}") from error
    except MemoryError as error:
        raise ResultError(f"{path}: does not fit into memory") from error


def _refuse(constant):
    raise ValueError(f"{constant} is no number of JSON")
