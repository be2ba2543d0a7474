"""The first hits of rays, and what their triangles have there."""

from functools import cached_property
from typing import Any, Generic, Sequence, TypeVar, Union

import numpy as np

from heapwood import _arrays
from heapwood._scene import Scene
from heapwood._types import AnyArray

Kind = TypeVar("Kind")


class Hits(Generic[Kind]):
    """The first hits of rays, of any shape: what ``heapwood.Tree.hits`` returns.

    ``t``, ``primitive`` and ``barycentrics`` are those of ``heapwood.Tree.closest_hit``. The others are
    computed when they are first asked for, where the rays lie, in double precision except by JAX. A ray
    without a hit is False in ``mask``, and has NaN, or -1, everywhere else but in ``t`` and
    ``barycentrics``, which are infinity and 0. After a call with a stream they are for that stream.

    Example:
        >>> import numpy as np
        >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
        >>> hits = tree.hits([[1, 2, 5], [9, 9, 5]], [0, 0, -1])
        >>> hits
        Hits(2 rays, 1 of them hit)
        >>> hits.mask.tolist(), hits.points.tolist()
        ([True, False], [[1.0, 2.0, 0.0], [nan, nan, nan]])
        >>> hits.normals[hits.mask].tolist()
        [[0.0, 0.0, 1.0]]
        >>> heapwood.interpolate(hits, np.array([0, 100, 200], np.float32)).tolist()
        [125.0, nan]
    """

    t: Kind
    """float32, of the rays' shape: the hit is at ``origin + t * direction``. Infinity: there is none."""
    primitive: Kind
    """int32, of the rays' shape: the triangle's row in ``tree.triangles``. -1: there is none."""
    barycentrics: Kind
    """float32, of the rays' shape and 2: the hit is at ``(1 - u - v) a + u b + v c`` of the corners."""

    def __init__(self, source: Any, t: Kind, primitive: Kind, barycentrics: Kind):
        self._source = source  # a scene, or a tree, whose scene is copied to the host when it is needed
        self.t, self.primitive, self.barycentrics = t, primitive, barycentrics

    def __getstate__(self):
        return {**self.__dict__, "_source": self.scene}

    @property
    def scene(self) -> Scene:
        """The scene of the tree."""
        return self._source if isinstance(self._source, Scene) else self._source.scene

    @property
    def shape(self) -> "tuple[int, ...]":
        """The rays' shape."""
        return tuple(self._any.t.shape)

    @cached_property
    def mask(self) -> Kind:
        """bool, of the rays' shape: whether each ray hits anything."""
        return self._any.primitive >= 0

    @cached_property
    def geometry(self) -> Kind:
        """int32, of the rays' shape: which mesh was hit, of those that the tree was built of. -1: none."""
        return self._known(self._geometries, -1)

    @cached_property
    def face(self) -> Kind:
        """int32, of the rays' shape: the triangle's number in its mesh; ``primitive`` is that in the tree. -1:
        none."""
        firsts = _arrays.beside(self.scene.first_triangles.astype(np.int32), self.t)
        return self._known(self._any.primitive - firsts[self._geometries], -1)

    @cached_property
    def points(self) -> Kind:
        """Where the hits are, on the triangles: the rays' shape and 3. float32; float64 of a tree with an
        ``origin``, of which it is a part. NaN without a hit."""
        corners = self._corners
        u, v = _columns(_arrays.double(self._any.barycentrics))
        points = (1 - u - v) * corners[..., 0, :] + u * corners[..., 1, :] + v * corners[..., 2, :]
        origin = self._source.origin
        if not origin.any():
            return self._known(_arrays.single(points))
        return self._known(points + _arrays.beside(origin, self.t))

    @cached_property
    def normals(self) -> Kind:
        """Unit vectors that stand on the triangles: float32, the rays' shape and 3. They point to where the
        corners are seen counterclockwise, wherever the ray comes from. NaN without a hit."""
        corners = self._corners
        ab, ac = corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :]
        x, y, z = 0, 1, 2
        normals = _arrays.module(self.t).stack(
            [ab[..., i] * ac[..., k] - ab[..., k] * ac[..., i] for i, k in ((y, z), (z, x), (x, y))], -1)
        lengths = (normals * normals).sum(-1)[..., None] ** 0.5
        return self._known(_arrays.single(normals / (lengths + (lengths == 0))))

    @property
    def _any(self) -> Any:
        """These hits, of which type checkers ask nothing."""
        return self

    @cached_property
    def _rows(self):
        """The triangles' rows, 0 where there is no hit."""
        return _arrays.module(self.t).where(self.mask, self.primitive, 0)

    @cached_property
    def _geometries(self):
        """The meshes of these rows."""
        sizes = np.diff(self.scene.first_triangles)
        geometries = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return _arrays.beside(geometries, self.t)[self._rows]

    @cached_property
    def _mesh(self):
        """Vertices and triangles where the hits lie, of their library."""
        there = None if isinstance(self._source, Scene) else self._source._tree.mesh_there
        if there is not None:
            vertices, triangles, on_host = there
            if on_host == _arrays.on_host(self.t):
                return _arrays.like(self.t, vertices), _arrays.like(self.t, triangles)
        return tuple(_arrays.beside(array, self.t) for array in (self.scene.vertices, self.scene.triangles))

    @property
    def _counts(self):
        """How many vertices each mesh has."""
        return [len(self._mesh[0])] if not isinstance(self._source, Scene) else np.diff(self.scene.first_vertices)

    @cached_property
    def _vertices(self):
        """The rows of each triangle's three vertices."""
        return self._mesh[1][self._rows]

    @cached_property
    def _corners(self):
        """The three corners of each triangle, as vectors of double precision."""
        return _arrays.double(self._mesh[0][self._vertices])

    def _known(self, values, instead=np.nan):
        """The values of hits, and others instead where there is none."""
        mask = self._any.mask
        mask = mask.reshape(mask.shape + (1,) * (len(values.shape) - len(mask.shape)))
        return _arrays.module(self.t).where(mask, values, instead)

    def __repr__(self):
        return f"Hits({int(np.prod(self.shape)):,} rays, {int(self._any.mask.sum()):,} of them hit)"


def interpolate(hits: "Hits[Kind]", per_vertex: Union[AnyArray, Sequence[AnyArray]], *,
                fill: float = np.nan) -> Kind:
    """What vertices have, between the three of each triangle that was hit: colours, normals, texture
    coordinates, temperatures.

    Args:
        hits: as ``heapwood.Tree.hits`` returns them.
        per_vertex: (V, ...) numbers, a row for each of ``tree.vertices``, of NumPy or of the hits' library. Of
            a tree of several meshes also a list of such arrays, one for each mesh.
        fill: for rays without a hit.

    Returns:
        The rays' shape and the rest of a row's, of the hits' library: float32 for numbers that it holds,
        as float32 and uint8, else float64.

    Raises:
        ValueError: not as many rows as vertices. TypeError: no real numbers.

    Example:
        >>> tree = heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
        >>> hits = tree.hits([[0, 4, 5], [1, 1, 5], [9, 9, 5]], [0, 0, -1])
        >>> heapwood.interpolate(hits, [[255, 0, 0], [0, 255, 0], [0, 0, 255]], fill=0).tolist()
        [[0.0, 0.0, 255.0], [127.5, 63.75, 63.75], [0.0, 0.0, 0.0]]
    """
    values = _arrays.per_vertex(per_vertex, hits._counts, hits.t)[hits._vertices]
    rest = len(values.shape) - len(hits.shape) - 1
    u, v = (part.reshape(hits.shape + (1,) * rest)
            for part in _columns(_arrays.double(hits.barycentrics)))
    a, b, c = (values[(slice(None),) * len(hits.shape) + (corner,)] for corner in range(3))
    mixed = (1 - u - v) * a + u * b + v * c
    return hits._known(_arrays.single(mixed) if _arrays.is_single(values) else mixed, fill)


def _columns(pairs):
    """u and v of pairs, each with a last axis of 1."""
    return pairs[..., :1], pairs[..., 1:]
