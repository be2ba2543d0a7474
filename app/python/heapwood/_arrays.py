"""Arrays of any library as the compiled module takes them, and its results as that library's."""

import operator
import sys

import numpy as np

CPU = (1, 3)  # DLPack's types of devices whose memory the host reads: CPU, pinned by CUDA


def on_host(array):
    """Whether the host can read what lies in an array, or in nested sequences."""
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return True
    return int(array.__dlpack_device__()[0]) in CPU


def detached(array):
    """A tensor of Torch without the record of its gradients; any other array as it is."""
    return array.detach() if hasattr(array, "detach") else array


def ready(array):
    """An array as ``detached`` has it, whose numbers are there: JAX computes on streams of its own."""
    array = detached(array)
    if hasattr(array, "block_until_ready"):
        array.block_until_ready()
    return array


def to_numpy(array, what):
    """An array on any device as NumPy's: a view where it lies on the host."""
    if type(array) is np.ndarray and array.dtype != object:
        return array
    array = detached(array)
    if not on_host(array):
        for name in ("get", "cpu"):  # of CuPy, of Torch; JAX copies by itself
            if hasattr(array, name):
                array = getattr(array, name)()
                break
    if str(getattr(array, "dtype", None)) == "torch.bfloat16":  # a number that NumPy lacks
        array = array.float()
    try:
        found = np.asarray(array)
        if found.dtype == object:  # as pandas has numbers that may be missing
            if hasattr(array, "isna"):
                found = np.where(array.isna(), np.nan, found)
            found = np.array(found.tolist())
        return found
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} is no array of numbers: {error}") from None


def real_numpy(array, what):
    """An array of real numbers as NumPy's."""
    array = to_numpy(array, what)
    # The second: numbers that other packages add to NumPy, as bfloat16.
    if array.dtype.kind not in "fiub" and not np.can_cast(array.dtype, np.float32):
        raise TypeError(f"{what} must be real numbers, not {array.dtype}")
    return array


def real(array, what, origin=None):
    """An array of single precision, converted where it is another kind of number.

    Args:
        origin: what is taken off before that, in double precision; None: nothing.
    """
    if type(array) is np.ndarray and array.dtype == np.float32 and origin is None:
        return array
    if on_host(array):
        array = real_numpy(array, what)
        if origin is not None:
            array = array - origin
        return array.astype(np.float32, copy=False)
    array = ready(array)
    if origin is None:
        return single(array)
    exact = double(array)
    if kind(exact) != "float64":
        raise TypeError(f"{what}: a tree with an origin needs numbers of double precision, which JAX has "
                        'after jax.config.update("jax_enable_x64", True)')
    where = {"device": array.device} if _library(array) == "torch" else {}
    return single(exact - module(array).asarray(origin.tolist(), dtype=exact.dtype, **where))


def kind(array):
    """The name of the kind of an array's numbers, as "float32"; "" of what has none."""
    return str(getattr(array, "dtype", "")).split(".")[-1]  # "torch.float32"


def single(array):
    """An array in single precision."""
    if kind(array) == "float32":
        return array
    return array.float() if hasattr(array, "float") else array.astype("float32")


def double(array):
    """An array in double precision; of JAX in the precision that it has been told to have."""
    if hasattr(array, "block_until_ready"):
        return array.astype(float)
    return array.double() if hasattr(array, "double") else array.astype("float64")


def is_single(array):
    """Whether single precision has all of an array's numbers, which are floating-point ones."""
    return kind(array) in ("float16", "bfloat16", "float32")


def vertices(array):
    """The positions of vertices: (V, 3) real numbers, on the host."""
    array = real_numpy(array, "vertices")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"vertices must have the shape (V, 3), not {array.shape}")
    return array


def triangles(array, vertex_count):
    """The numbers of vertices: (T, 3) int64, contiguous, on the host."""
    array = to_numpy(array, "triangles")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"triangles must have the shape (T, 3), not {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"triangles must be whole numbers, not {array.dtype}")
    beyond = np.argwhere(array > np.iinfo(np.int64).max)
    if len(beyond):
        raise ValueError(f"triangle {beyond[0][0]} refers to vertex {array[tuple(beyond[0])]}, but there "
                         f"are {vertex_count} vertices, counted from 0")
    return np.ascontiguousarray(array, np.int64)


def end(value, what):
    """An end of all rays as a number, or those of each as an array of single precision."""
    if type(value) is float:
        return value
    if not hasattr(value, "shape") and not isinstance(value, (list, tuple)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"{what} must be a number, or an array of numbers, not {value!r}") from None
    array = real(value, what)
    return array if tuple(array.shape) else float(array)


def rays(origins, directions, t_min, t_max, origin=None):
    """Rays as they are traced, less an origin as of ``real``.

    Returns:
        Origins and directions of the shape (N, 3), or (1, 3) for one of all rays, and their ends, each a
        number or of the shape (N,); and the shape that the rays have, by NumPy's rules of broadcasting.
    """
    starts, ways = real(origins, "origins", origin), real(directions, "directions")
    for array, what in ((starts, "origins"), (ways, "directions")):
        if not array.shape or array.shape[-1] != 3:
            raise ValueError(f"{what} must have the shape (..., 3), not {tuple(array.shape)}")
    if len(starts.shape) == 2 and starts.shape == ways.shape and type(t_min) is type(t_max) is float:
        return (starts, ways, t_min, t_max), tuple(starts.shape[:1])  # the same, sooner: for few rays
    shape = _broadcast(starts.shape[:-1], ways.shape[:-1])
    if shape is None:
        raise ValueError(f"origins have the shape {tuple(starts.shape)}, but directions "
                         f"{tuple(ways.shape)}: they must be the same, or broadcast as NumPy's")
    ends = [end(t_min, "t_min"), end(t_max, "t_max")]
    for value, what in zip(ends, ("t_min", "t_max")):
        if isinstance(value, float):
            continue
        wider = _broadcast(shape, value.shape)
        if wider is None:
            raise ValueError(f"{what} must be a number, or have the shape {shape} of the rays, or "
                             f"broadcast with it as NumPy's, not {tuple(value.shape)}")
        shape = wider
    if _one(starts.shape[:-1]) and _one(ways.shape[:-1]):  # all of them by the ends alone
        ways = _spread(ways, (*shape, 3))
    rows = [array.reshape(1, 3) if _one(array.shape[:-1]) else
            _spread(array, (*shape, 3)).reshape(-1, 3) for array in (starts, ways)]
    ends = [value if isinstance(value, float) else _spread(value, shape).reshape(-1) for value in ends]
    return (*rows, *ends), shape


def points(array, number, what, origin=None):
    """Points as they are asked about, less an origin as of ``real``, and a number for all of them, or each.

    Returns:
        The points of the shape (N, 3); the number, or numbers of the shape (N,); and the shape that the points
        have by NumPy's rules of broadcasting.
    """
    rows, numbers = real(array, "points", origin), end(number, what)
    if not rows.shape or rows.shape[-1] != 3:
        raise ValueError(f"points must have the shape (..., 3), not {tuple(rows.shape)}")
    shape = tuple(rows.shape[:-1])
    if isinstance(numbers, float):
        return rows.reshape(-1, 3), numbers, shape
    wider = _broadcast(shape, numbers.shape)
    if wider is None:
        raise ValueError(f"{what} must be a number, or have the shape {shape} of the points, or broadcast with "
                         f"it as NumPy's, not {tuple(numbers.shape)}")
    return _spread(rows, (*wider, 3)).reshape(-1, 3), _spread(numbers, wider).reshape(-1), wider


def out(array, what, number, shape, *inputs):
    """An array that results go to, as the compiled module takes it: in one row.

    Args:
        number: the name of its numbers' type.
        inputs: arrays as of ``rays``. Those that share memory with it, as NumPy's may, are replaced by copies.

    Returns:
        The array's row, and the inputs.
    """
    has, contiguous = tuple(getattr(array, "shape", ())), False
    if hasattr(array, "is_contiguous"):
        contiguous = array.is_contiguous()
    elif hasattr(array, "flags"):
        contiguous = array.flags.c_contiguous and getattr(array.flags, "writeable", True)
    if not hasattr(array, "dtype") or kind(array) != number or has != shape or not contiguous:
        given = f"{array.dtype} of the shape {has}" if hasattr(array, "dtype") else repr(array)
        raise ValueError(f"out: {what} must be {number} of the shape {shape}, contiguous and writeable, not {given}"
                         f"{'' if contiguous else ', which is not'}")
    if isinstance(array, np.ndarray):
        inputs = [x.copy() if isinstance(x, np.ndarray) and np.may_share_memory(x, array) else x for x in inputs]
    return array.reshape(-1), inputs


def outs(arrays, kinds, shape, inputs):
    """Arrays that results go to, as ``out`` takes each.

    Args:
        kinds: the name of each, the type of its numbers, and its last axes after those of ``shape``.

    Returns:
        Their rows, and the inputs.
    """
    if not isinstance(arrays, tuple) or len(arrays) != len(kinds):
        raise TypeError(f"out must be a tuple of {', '.join(kind[0] for kind in kinds)}, not {arrays!r}")
    rows = []
    for array, (what, number, rest) in zip(arrays, kinds):
        row, inputs = out(array, what, number, shape + rest, *inputs)
        rows.append(row)
    return rows, inputs


def _broadcast(*shapes):
    """The shape that NumPy makes of these, or None."""
    if all(shape == shapes[0] for shape in shapes):
        return tuple(shapes[0])
    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        return None


def _one(shape):
    return all(size == 1 for size in shape)


def _spread(array, shape):
    """The array itself if it has this shape, else broadcast to it."""
    return array if tuple(array.shape) == shape else module(array).broadcast_to(array, shape)


def whole(value, what):
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, not {value!r}") from None


def thread_count(threads):
    """A number of threads; 0 stands for one a core."""
    count = whole(threads, "threads")
    if count < 0:
        raise ValueError(f"threads must be 0, for one a core, or more, not {count}")
    if count >= 2**32:
        raise ValueError(f"threads must be fewer than 2^32, not {count}")
    return count


def text(value, what, example):
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, as {example!r}, not {value!r}")
    return value


def device(value):
    """``"cpu"`` or ``"cuda"``, which has the name ``"gpu"``, too."""
    word = text(value, "device", "cuda")
    if word not in ("cpu", "cuda", "gpu"):
        raise ValueError(f"device {word!r} is neither cpu nor cuda, which gpu stands for, too")
    return "cpu" if word == "cpu" else "cuda"


def stream_handle(stream):
    """The address of a stream of CUDA's, given as such or as CuPy's or Torch's object."""
    if stream is None:
        return None
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr"):  # of Torch, of CuPy
        if hasattr(stream, name):
            return int(getattr(stream, name))
    try:
        return operator.index(stream)
    except TypeError:
        raise TypeError(f"stream must be a stream of CuPy or Torch, or its address, not "
                        f"{stream!r}") from None


def current_stream(array):
    """The address of the stream that the library of an array on a GPU computes on; JAX has none to choose."""
    library = _library(array)
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    return sys.modules["cupy"].cuda.get_current_stream().ptr if library == "cupy" else 0


def contiguous(array):
    """An array whose numbers lie one after another: itself, or a copy."""
    if hasattr(array, "contiguous"):  # of Torch
        return array.contiguous()
    library = module(array)
    return library.ascontiguousarray(array) if hasattr(library, "ascontiguousarray") else array


class Exported:
    """A DLPack capsule as JAX wants it: an object that hands it out, and says where it lies."""

    def __init__(self, capsule, device):
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return self._device


def _library(array):
    return type(array).__module__.split(".")[0]


def module(array):
    """The module with the functions of the array's library; None of what is no array."""
    library = _library(array)
    return sys.modules.get("jax.numpy" if library in ("jax", "jaxlib") else library)


def beside(array, other):
    """An array of NumPy as one of the library of another, where that lies."""
    library = _library(other)
    if library == "numpy":
        return array
    if array.dtype == np.uint32:
        array = array.astype(np.int64)  # Torch has no others to index by
    where = {"device": other.device} if library == "torch" else {}
    return module(other).asarray(array.copy(), **where)  # what is read-only is refused, or brings a warning


def per_vertex(array, counts, other):
    """Numbers of vertices, (V, ...), as floating-point ones of the library of another array.

    Args:
        counts: of the vertices of each mesh; V is their sum. A list of as many arrays has those of each.
    """
    if isinstance(array, (list, tuple)) and len(array) == len(counts) != sum(counts):
        rows = [_rows(one, count, other, f"per_vertex[{i}]") for i, (one, count) in enumerate(zip(array, counts))]
        return rows[0] if len(rows) == 1 else module(other).concatenate(rows)
    return _rows(array, sum(counts), other, "per_vertex")


def _rows(array, count, other, what):
    if _library(array) != _library(other) or isinstance(array, np.ndarray):
        array = real_numpy(array, what)
        array = beside(array if is_single(array) else array.astype(np.float64), other)
    elif not is_single(array):
        array = double(array)
    if not array.shape or array.shape[0] != count:
        raise ValueError(f"{what} must have the shape ({count}, ...), a row for each vertex, not "
                         f"{tuple(array.shape)}")
    return array


def like(original, result):
    """A result of the compiled module as an array of the library that `original` is of."""
    if isinstance(original, np.ndarray):
        return result
    if _library(original) in ("jax", "jaxlib") and not hasattr(result, "__dlpack__"):
        result = Exported(result, original.__dlpack_device__())
    library = module(original)
    return library.from_dlpack(result) if hasattr(library, "from_dlpack") else result
