"""Builds of trees, and trees from files."""

import os
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from heapwood import _arrays, _core, _files, _precision
from heapwood._scene import Scene
from heapwood._tree import Tree, ray_device
from heapwood._types import AnyArray

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from heapwood._parameters import TreeParameters


def build(scene: Any, triangles: Optional[AnyArray] = None, *,
          device: Optional[str] = None, allocator: str = "cambium", pool: Optional[str] = None,
          grow: Union[bool, str] = False, method: str = "single", threads: int = 0, options: Optional[dict] = None,
          statistics: bool = False, verify: bool = False, preset: str = "default", center: bool = False,
          transforms: Optional[AnyArray] = None, **parameters: "Unpack[TreeParameters]") -> Tree:
    """Builds the kd-tree of a scene. Python's lock is released meanwhile.

    Args:
        scene: a ``Scene``, or vertices: (V, 3) real numbers, of any library and on any device. Or what
            ``Scene.of`` takes: a mesh of trimesh, Open3D or PyVista, the name of a file, or a list of
            meshes. The triangles of a list are numbered through; ``Hits.geometry`` and ``Hits.face``
            tell them apart.
        triangles: with vertices: (T, 3) whole numbers, counted from 0.
        device: ``"cpu"`` or ``"cuda"`` (``"gpu"`` is the same), for the build and for rays; the default is
            where the vertices lie. The tree is the same. Of floating-point vertices on a GPU, built there, nothing
            passes the host until it is asked for.
        allocator: of the nodes' arrays; ``heapwood.allocators()`` has the names. The tree is the same.
        pool: its memory, ``"200x"`` (times the root node's array) or ``"512MiB"``. The default is 200x,
            but at most a third of the machine's memory and at least what the allocator needs.
        grow: whether the pool, by default of 20x, grows while the build runs, rather than end it; or the size that
            it grows to at most, which is 200x by default. Not all allocators can.
        method: ``"single"``, one kernel that allocates, or ``"levels"``, level by level without one.
        threads: of a build on the CPU; 0: one a core.
        options: the allocator's own, as ``{"page_bytes": 8192}``; ``heapwood list`` has them.
        statistics: build again to count requests: see ``Tree.statistics``.
        verify: check the tree against the scene.
        preset: ``"default"``, ``"paper"`` or ``"pbrt"``: all parameters of the tree at once.
        transforms: (N, 4, 4) real numbers, where N meshes are; (4, 4) for one: see ``Scene.of``.
        center: with vertices, meshes or a file: shift them as ``Scene`` does, for meshes of double precision that lie far
            from the origin. Rays and hits are where they were.
        **parameters: of the tree, which override the preset's: ``leaf_limit=4``, ``clip=False``, ...;
            kdtree/config.h has them all, with their sources.

    Raises:
        ValueError: a wrong argument. OutOfPool: the pool was too small. MemoryError: the machine's memory
            was. NoDevice: there is no GPU. VerificationError: please report it.

    Warns:
        PrecisionWarning: as ``Scene``.

    Example:
        >>> tree = heapwood.build([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ...                       [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
        >>> tree
        Tree('arrays': 4 triangles, 1 nodes, on cpu)
        >>> plate = [[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]
        >>> both = heapwood.build([plate, (tree.vertices, tree.triangles)])
        >>> hits = both.hits([[1, 2, 5], [0.1, 0.2, 5]], [0, 0, -1])
        >>> hits.geometry.tolist(), hits.face.tolist(), hits.primitive.tolist()
        ([0, 1], [0, 3], [0, 4])

        A pool that is too small grows:

        >>> sphere = heapwood.load("gen:sphere:5000")
        >>> grown = heapwood.build(sphere, pool="2x", grow=True)
        >>> grown.digest == heapwood.build(sphere).digest, grown.report["build"]["pool_growths"] > 0
        (True, True)
    """
    if device is None:
        device = "cpu" if _arrays.on_host(getattr(scene, "vertices", scene)) else "cuda"
    device = _arrays.device(device)
    if (triangles is not None and device == "cuda" and method == "single" and transforms is None
            and not (center or statistics or verify or isinstance(scene, Scene))):
        there = _in_place(scene, triangles, device, builder_arguments(allocator, pool, grow, threads, options),
                          tree_arguments(preset, parameters))
        if there is not None:
            return Tree._of(there)
    if triangles is None:
        if isinstance(scene, Scene) and transforms is None:
            if center:
                raise TypeError("center=True is for vertices: heapwood.Scene takes it, too")
        else:
            scene = Scene.of(scene, transforms=transforms, center=center)
    elif isinstance(scene, Scene):
        raise TypeError("build() takes a Scene, or vertices and triangles, not both")
    elif transforms is not None:
        scene = Scene.of((scene, triangles), transforms=transforms, center=center)
    else:
        scene = Scene(scene, triangles, center=center)
    return Tree._of(_core.build(
        scene._scene, device, _arrays.text(method, "method", "levels"),
        *builder_arguments(allocator, pool, grow, threads, options), bool(statistics), bool(verify),
        *tree_arguments(preset, parameters)), scene._origin, scene._starts)


_READ_IN_PLACE = ("float16", "bfloat16", "float32", "float64")


def _in_place(vertices, triangles, device, builder, tree):
    """The compiled module's tree of arrays on the device, which is built there and stays there.

    Returns:
        None for other arrays, and for those with a fault: a scene takes them, or has a sentence for what is wrong.
    """
    if _arrays.on_host(vertices) == (device == "cuda"):
        return None
    shapes = [tuple(getattr(array, "shape", ())) for array in (vertices, triangles)]
    if any(len(shape) != 2 or shape[1] != 3 for shape in shapes) or _arrays.kind(vertices) not in _READ_IN_PLACE:
        return None
    positions = _arrays.real(vertices, "vertices")
    if device == "cuda" and _arrays.on_host(triangles):
        faces = _arrays.triangles(triangles, shapes[0][0])
        if not len(faces) or faces.min() < 0 or faces.max() >= min(shapes[0][0], 2**31):
            return None
        corners = _arrays.beside(faces.astype(np.int32), positions)
    else:
        corners = _arrays.ready(triangles)
    if _arrays.module(corners) is not _arrays.module(positions):  # perhaps ready on another stream
        return None
    made = _core.build_in_place(positions, corners, device, *builder, *tree, _arrays.current_stream(positions))
    if made is not None and _arrays.kind(vertices) == "float64" and _precision.loses(vertices, corners):
        # The warning has figures of each triangle.
        _precision.single(_arrays.vertices(vertices), _arrays.triangles(triangles, shapes[0][0]), False)
    return made


def builder_arguments(allocator: str, pool: Optional[str], grow: Union[bool, str], threads: int,
                      options: Optional[dict]) -> tuple[str, Optional[str], Optional[str], int,
                                                                dict[str, str]]:
    """The allocator and how it builds, as the compiled module takes them."""
    text = _arrays.text
    if isinstance(grow, str):
        grow_to: Optional[str] = grow
    elif isinstance(grow, (bool, np.bool_)):
        grow_to = "" if grow else None
    else:
        raise TypeError(f"grow must be True, False or a size, as '200x', not {grow!r}")
    if grow == "":
        raise ValueError("grow is an empty string: give True, False or a size, as '200x'")
    return (text(allocator, "allocator", "cambium"), None if pool is None else text(pool, "pool", "200x"), grow_to,
            _arrays.thread_count(threads), {str(key): str(value) for key, value in dict(options or {}).items()})


def tree_arguments(preset: str, parameters: Any) -> tuple[str, dict[str, Any]]:
    """The parameters of a tree, likewise."""
    return _arrays.text(preset, "preset", "paper"), {
        name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def load_tree(path: Union[str, PathLike, BinaryIO], device: str = "cpu", *,
              origin: ArrayLike = (0, 0, 0)) -> Tree:
    """Reads a tree from a ``.kdt`` file, which may come from anywhere: it is checked throughout.

    Args:
        path: of the file, as ``Tree.save`` or ``heapwood build --out`` has written it; or an object with a
            method ``read`` that gives its bytes, up to the end.
        device: ``"cpu"`` or ``"cuda"`` (``"gpu"``), for rays.
        origin: ``Tree.origin`` of the tree that was saved.

    Raises:
        TreeFileError: the file, the byte and the remedy. NoDevice: there is no GPU.

    Example:
        >>> tree = heapwood.build(heapwood.load("gen:sphere:1000"))
        >>> tree.save(folder / "sphere.kdt")
        >>> heapwood.load_tree(folder / "sphere.kdt").digest == tree.digest
        True
    """
    place = np.asarray(origin, np.float64)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ValueError(f"origin is {origin!r}; it has to be three finite numbers, as Tree.origin is")
    where = ray_device(device)
    if not hasattr(path, "read"):
        return Tree._of(_core.Tree.load(os.fsdecode(path), where), place)
    contents = path.read()
    if not isinstance(contents, bytes):
        raise TypeError(f'{path!r} gives {type(contents).__name__}: a tree is bytes, open it with mode "rb"')
    label = str(getattr(path, "name", "a file object"))
    with _files.in_memory(contents, label) as name:
        return Tree._of(_core.Tree.load(name, where, label), place)


def allocators(device: str = "cpu") -> list[str]:
    """The names of the allocators that this package can build with on a device.

    Example:
        >>> "halloc" in heapwood.allocators()
        True
    """
    return _core.allocator_names(_arrays.device(device))
