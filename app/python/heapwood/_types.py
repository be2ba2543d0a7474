"""Types of arguments and results, for type checkers."""

from typing import Any, Callable, Optional, Protocol, Sequence, TypedDict, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike


class DLPackArray(Protocol):
    """An array of CuPy, Torch, JAX, or another library that speaks DLPack."""

    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...


Array = TypeVar("Array", bound=DLPackArray)
AnyArray = Union[ArrayLike, DLPackArray]
HostArray = Union[np.ndarray, Sequence[Any]]
Progress = Union[None, bool, Callable[[float, float, str], Any]]


class RayOptions(TypedDict, total=False):
    """How rays are traced: see ``heapwood.Tree``."""

    coherent: bool
    fast: bool
    threads: int
    stream: Any
    progress: Progress


class RayOptionsAndOut(RayOptions, total=False):
    """The same, and where results go."""

    out: Any


class PointOptions(TypedDict, total=False):
    """How points and boxes are answered: see ``heapwood.Tree``."""

    threads: int
    stream: Any


class PointOptionsAndOut(PointOptions, total=False):
    """The same, and where results go."""

    out: Any


class Times(TypedDict):
    """Milliseconds of a build: see ``heapwood.Tree.times``."""

    build_ms: float
    upload_ms: Optional[float]
    pool_ms: float
