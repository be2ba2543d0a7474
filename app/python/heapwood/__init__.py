"""Heapwood: kd-trees for ray tracing, and the memory allocators that build them on a GPU.

>>> import numpy as np
>>> tree = heapwood.build(heapwood.load("gen:city:10000"))
>>> rng = np.random.default_rng(1)
>>> t, primitive, barycentrics = tree.closest_hit(rng.random((1000, 3)), rng.normal(size=(1000, 3)))
>>> t.shape, primitive.dtype, barycentrics.shape
((1000,), dtype('int32'), (1000, 2))

``compare``, ``bench`` and ``replay`` measure allocators by the program ``heapwood``, which the package
carries, and give tables of pandas; ``sweep`` does so for many cells, by any executor.
``Heap`` gives kernels of Numba or CuPy a malloc (``heapwood.numba``).
``heapwood.forest.build`` builds a tree by several machines. ``heapwood.trimesh`` has the interface of
trimesh's ray tests.
"""

from typing import TYPE_CHECKING

from heapwood import _core
from heapwood._build import allocators, build, load_tree
from heapwood._builder import Builder
from heapwood._heap import Heap, device_library
from heapwood._hits import Hits, interpolate
from heapwood._scene import Scene, load
from heapwood._tree import Tree, cuda_available, node_dtype
from heapwood.errors import (
    NoDevice,
    OutOfPool,
    PrecisionWarning,
    ProgramError,
    SceneError,
    TraceError,
    TreeFileError,
    VerificationError,
)

if TYPE_CHECKING:
    from heapwood import forest
    from heapwood._program import bench, compare, read_results, replay
    from heapwood._sweep import cells, sweep

__version__ = _core.version

__all__ = [
    "Builder",
    "Heap",
    "Hits",
    "NoDevice",
    "OutOfPool",
    "PrecisionWarning",
    "ProgramError",
    "Scene",
    "SceneError",
    "TraceError",
    "Tree",
    "TreeFileError",
    "VerificationError",
    "allocators",
    "bench",
    "build",
    "cells",
    "compare",
    "cuda_available",
    "device_library",
    "forest",
    "interpolate",
    "load",
    "load_tree",
    "node_dtype",
    "read_results",
    "replay",
    "sweep",
]

# What trees and rays do without is imported when it is first asked for: it takes longer than all the rest.
_LATER = {
    "bench": "_program", "compare": "_program", "read_results": "_program", "replay": "_program",
    "cells": "_sweep", "sweep": "_sweep", "forest": "forest",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'heapwood' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"heapwood.{_LATER[name]}")
    return globals().setdefault(name, module if name == _LATER[name] else getattr(module, name))


def __dir__():
    return sorted({*globals(), *_LATER})
