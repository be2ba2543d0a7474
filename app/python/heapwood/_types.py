"""Types of arguments and results, for type checkers."""

from typing import Any, Literal, Optional, Protocol, Sequence, TypedDict, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike


class DLPackArray(Protocol):
    """An array of CuPy, Torch, JAX, or another library that speaks DLPack."""

    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...


Array = TypeVar("Array", bound=DLPackArray)
AnyArray = Union[ArrayLike, DLPackArray]
HostArray = Union[np.ndarray, Sequence[Any]]


class RayOptions(TypedDict, total=False):
    """How rays are traced: see ``heapwood.Tree``."""

    coherent: bool
    fast: bool
    threads: int
    stream: Any


class Times(TypedDict):
    """Milliseconds of a build: see ``heapwood.Tree.times``."""

    build_ms: float
    upload_ms: Optional[float]
    pool_ms: float


class TreeParameters(TypedDict, total=False):
    """Parameters of a tree; kdtree/config.h says what each is, and where it comes from."""

    traversal_cost: float
    intersection_cost: float
    empty_bonus: float
    empty_rule: Literal["pays", "tests", "whole"]
    leaf_limit: int
    leaf_area: float
    depth_base: float
    depth_factor: float
    bad_split_ratio: float
    bad_splits: float
    bad_splits_per_level: float
    hopeless_ratio: float
    exact_limit: int
    planes: int
    tight_cuts: bool
    snap_limit: int
    large_limit: int
    chunk: int
    clip: bool
    max_duplication: int
    small_arrays: bool
    max_nodes: int
    max_references: int
