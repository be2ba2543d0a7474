"""Files of scenes and trees: OBJ files are written, and bytes become a file."""

import contextlib
import os

import numpy as np

from heapwood.errors import SceneError, TreeFileError

_ROWS = 1 << 16  # that become text at a time: a few MB


@contextlib.contextmanager
def in_memory(contents, label):
    """The name of a file in memory that has these bytes, while the context lasts.

    Errors of tree files that name it are raised with the label in its place.
    """
    with open(os.memfd_create("heapwood"), "wb") as file:
        file.write(contents)
        file.flush()
        name = f"/proc/self/fd/{file.fileno()}"
        try:
            yield name
        except TreeFileError as error:
            raise TreeFileError(str(error).replace(name, label)) from None


def write_bytes(file, contents):
    """Writes bytes to an object with a method ``write``, all of them."""
    left = memoryview(contents)
    while len(left):
        try:
            count = file.write(left)
        except TypeError:
            raise TypeError(f"{file!r} takes text: a tree is bytes, open it with mode \"wb\"") from None
        left = left[len(left) if count is None else count:]


def write_obj(path, vertices, triangles):
    """Writes an OBJ file, packed as its name says, which is whole or as it was before at any time.

    Args:
        path: ends with ``.obj``, ``.obj.gz`` or ``.obj.xz``.
        vertices: (V, 3) float32 or float64, written with as many digits as they need.
        triangles: (T, 3) whole numbers, counted from 0.

    Raises:
        ValueError: another suffix. SceneError: the file cannot be written.
    """
    opened = _opener(path)
    digits = 9 if vertices.dtype == np.float32 else 17
    number = f"%.{digits}g"
    try:
        with _replaced(path) as name, opened(name, "wt", encoding="ascii") as file:
            _write_rows(file, f"v {number} {number} {number}\n", vertices)
            _write_rows(file, "f %d %d %d\n", triangles, 1)
    except OSError as error:
        raise SceneError(f"{path}: cannot be written: {error.strerror or error}; "
                         "choose a folder that there is, with room, that you may write to") from None


def _opener(path):
    lower = path.lower()
    if lower.endswith(".obj"):
        return open
    if lower.endswith(".obj.gz"):
        import gzip

        return gzip.open
    if lower.endswith(".obj.xz"):
        import lzma

        return lzma.open
    raise ValueError(f"{path}: a scene is saved as .obj, .obj.gz or .obj.xz; choose one of these names")


@contextlib.contextmanager
def _replaced(path):
    """The name of a file beside ``path``, which takes its place when the context ends well."""
    import tempfile  # which few need, and which brings much

    path = os.path.realpath(path)
    handle, name = tempfile.mkstemp(prefix=".heapwood-", dir=os.path.dirname(path))
    try:
        os.close(handle)
        yield name
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _write_rows(file, line, rows, first=0):
    for begin in range(0, len(rows), _ROWS):
        some = rows[begin:begin + _ROWS]
        numbers = some.astype(np.int64) + first if first else some
        file.write(line * len(some) % tuple(numbers.ravel().tolist()))
