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


def to_numpy(array, what):
    """An array on any device as NumPy's: a view where it lies on the host."""
    array = detached(array)
    if not on_host(array):
        for name in ("get", "cpu"):  # of CuPy, of Torch; JAX copies by itself
            if hasattr(array, name):
                array = getattr(array, name)()
                break
    try:
        return np.asarray(array)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} is no array of numbers: {error}") from None


def real(array, what):
    """An array of single precision, converted where it is another kind of number."""
    if on_host(array):
        array = to_numpy(array, what)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{what} must be real numbers, not {array.dtype}")
        return array.astype(np.float32, copy=False)
    array = detached(array)
    if hasattr(array, "block_until_ready"):  # JAX computes on streams of its own
        array.block_until_ready()
    if str(array.dtype).split(".")[-1] == "float32":  # "torch.float32"
        return array
    return array.float() if hasattr(array, "float") else array.astype("float32")


def vectors(array, what):
    """Vectors of single precision, one in each row.

    Returns:
        The array of shape (N, 3), and the shape that its vectors had: () for a single one.
    """
    array = real(array, what)
    shape = tuple(array.shape)
    if not shape or shape[-1] != 3:
        raise ValueError(f"{what} must have the shape (..., 3), not {shape}")
    return array.reshape(-1, 3), shape[:-1]


def vertices(array):
    """The positions of vertices: (V, 3) float32, contiguous, on the host."""
    array = real(to_numpy(array, "vertices"), "vertices")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"vertices must have the shape (V, 3), not {array.shape}")
    return np.ascontiguousarray(array)


def triangles(array):
    """The numbers of vertices: (T, 3) int64, contiguous, on the host."""
    array = to_numpy(array, "triangles")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"triangles must have the shape (T, 3), not {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"triangles must be whole numbers, not {array.dtype}")
    return np.ascontiguousarray(array, np.int64)


def end(value, shape, what):
    """An end of all rays as a number, or those of each as an array of shape (N,)."""
    if not hasattr(value, "shape") and not isinstance(value, (list, tuple)):
        return float(value)
    array = real(value, what)
    if tuple(array.shape) not in ((), shape):
        raise ValueError(f"{what} must be a number, or have the shape {shape} of the rays, not "
                         f"{tuple(array.shape)}")
    return array.reshape(-1) if array.shape else float(array)


def rays(origins, directions, t_min, t_max):
    """Rays as they are traced.

    Returns:
        Origins and directions of the shape (N, 3), or (1, 3) for one of all rays, and their ends, as
        ``end`` has them; and the shape that the rays had.
    """
    rows, shape = vectors(origins, "origins")
    direction_rows, direction_shape = vectors(directions, "directions")
    if shape and direction_shape and shape != direction_shape:
        raise ValueError(f"origins have the shape {(*shape, 3)}, but directions "
                         f"{(*direction_shape, 3)}: they must be the same, or one of them (3,)")
    shape = shape or direction_shape
    return (rows, direction_rows, end(t_min, shape, "t_min"), end(t_max, shape, "t_max")), shape


def thread_count(threads):
    """A number of threads; 0 stands for one a core."""
    count = operator.index(threads)
    if not 0 <= count < 2**32:
        raise ValueError(f"threads must be 0, for one a core, or more, not {count}")
    return count


def text(value, what, example):
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, as {example!r}, not {value!r}")
    return value


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


class Exported:
    """A DLPack capsule as JAX wants it: an object that hands it out, and says where it lies."""

    def __init__(self, capsule, device):
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return self._device


def like(original, result):
    """A result of the compiled module as an array of the library that `original` is of."""
    library = type(original).__module__.split(".")[0]
    if library in ("jax", "jaxlib"):
        library = "jax.numpy"
        if not hasattr(result, "__dlpack__"):
            result = Exported(result, original.__dlpack_device__())
    module = sys.modules.get(library)
    if isinstance(original, np.ndarray) or not hasattr(module, "from_dlpack"):
        return result
    return module.from_dlpack(result)
