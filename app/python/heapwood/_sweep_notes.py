"""The results of a sweep, and the file that keeps them."""

import fcntl
import json
import os


class Notes:
    """Results by the number of their cell; those that the program measured are in a file of JSON lines.

    A line has a cell and its result. A sweep that ends early loses no line that was written; a last line
    that is not whole is cut off. Cells are found again by what they say, however the list has changed.
    """

    def __init__(self, path, cells):
        self.results = {}
        self._keys = _keys(cells)
        self._path = None if path is None else os.fspath(path)
        self._file = None

    def __enter__(self):
        if self._path is None:
            return self
        self._file = open(self._path, "a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError as error:
            self._file.close()
            raise ValueError(f"'{self._path}' is in use by another sweep") from error
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_):
        if self._file is not None:
            self._file.close()

    def add(self, number, result):
        """Notes the result of a cell, which is in the file when this returns."""
        self.results[number] = result
        if self._file is None or result["document"] is None:
            return
        line = json.dumps({"cell": self._keys[number], "result": result}) + "\n"
        self._file.write(line.encode())
        self._file.flush()

    def _read(self):
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text) and not text[whole:].startswith(b"{"):
            raise self._none(text.count(b"\n") + 1)
        self._file.truncate(whole)
        numbers = {key: number for number, key in enumerate(self._keys)}
        for place, line in enumerate(text[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                key, result = entry["cell"], entry["result"]
                document = result["document"]
                if not (document["cells"] and document["scenes"] and result["attempts"] > 0):
                    raise ValueError("a result without cells")
                if key in numbers:
                    self.results[numbers[key]] = result
            except (ValueError, KeyError, TypeError) as error:
                raise self._none(place) from error

    def _none(self, place):
        return ValueError(f"{self._path}:{place}: is no result of a sweep: delete this line, or name "
                          "another file")


def _keys(cells):
    """A text for each cell; of equal cells each has its own."""
    seen, keys = {}, []
    for cell in cells:
        try:
            text = json.dumps(cell, sort_keys=True)
        except TypeError as error:
            raise TypeError(f"a cell has numbers, texts and lists of these alone: {error}") from error
        seen[text] = seen.get(text, 0) + 1
        keys.append(f"{text} #{seen[text]}")
    return keys
