"""Rays through meshes of trimesh, and distances to them, by Heapwood's trees.

>>> import trimesh
>>> from heapwood.trimesh import RayMeshIntersector
>>> box = trimesh.creation.box()
>>> box.ray = RayMeshIntersector(box)
>>> box.ray.intersects_any([[0, 0, 5], [3, 3, 5]], [[0, 0, -1], [0, 0, -1]]).tolist()
[True, False]
"""

import numpy as np
import trimesh
import trimesh.proximity
from trimesh.ray.ray_util import contains_points

from heapwood._build import build


class _OfMesh:
    """What has a mesh of trimesh, and a tree of it, which is built anew when the mesh changes."""

    def __init__(self, mesh, **build_options):
        self.mesh = mesh
        self._build_options = build_options
        self._cache = trimesh.caching.Cache(mesh.__hash__)

    def __getstate__(self):
        return self.mesh, self._build_options  # a copy builds a tree of its own

    def __setstate__(self, state):
        self.__init__(state[0], **state[1])

    @trimesh.caching.cache_decorator
    def _tree(self):
        return build(self.mesh.vertices, self.mesh.faces, center=True, **self._build_options)


class RayMeshIntersector(_OfMesh):
    """Takes the place of ``trimesh.ray.ray_pyembree.RayMeshIntersector``, and of ``ray_triangle``'s.

    Args:
        mesh (trimesh.Trimesh): a mesh with triangles. When it changes, its tree is built anew.
        scale_to_box: as theirs, of no effect: meshes of any size have the same precision here.
        **build_options: as of ``heapwood.build``: ``device="cuda"``, ``preset="pbrt"``, ...

    Rays are traced in single precision, around the middle of the mesh, so that a mesh far from the origin
    loses nothing. Locations are then computed in double precision, from the planes of the triangles that
    were hit. Hits of a ray come front to back.
    """

    def __init__(self, mesh, scale_to_box=True, **build_options):  # noqa: ARG002
        super().__init__(mesh, **build_options)

    def intersects_id(self, ray_origins, ray_directions, return_locations=False, multiple_hits=True,
                      max_hits=None, **_):
        """The triangles that rays hit.

        Args:
            ray_origins, ray_directions: (m, 3) float.
            return_locations: also where.
            multiple_hits: all hits of each ray, rather than the first; a point where triangles touch counts
                once for each ray.
            max_hits: at most so many of each ray; None: all.

        Returns:
            ``(index_tri, index_ray)``, int64 of (h,), and with ``return_locations`` also ``locations``,
            float64 of (h, 3).
        """
        origins, directions = _rays(ray_origins, ray_directions)
        if multiple_hits:
            offsets, t, index_tri, uv = self._tree.all_hits(origins, directions)
            index_ray = np.repeat(np.arange(len(origins)), np.diff(offsets))
            if max_hits is not None:
                kept = np.arange(len(t)) - offsets[index_ray] < max_hits
                t, index_tri, index_ray, uv = t[kept], index_tri[kept], index_ray[kept], uv[kept]
        else:
            t, index_tri, uv = self._tree.closest_hit(origins, directions)
            index_ray = np.flatnonzero(index_tri >= 0)
            t, index_tri, uv = t[index_ray], index_tri[index_ray], uv[index_ray]
        index_tri = index_tri.astype(np.int64)
        if not multiple_hits and not return_locations:
            return index_tri, index_ray
        locations = self._locations(origins[index_ray], directions[index_ray], index_tri, uv)
        rows = np.column_stack((locations, index_ray))
        unique = np.sort(trimesh.grouping.unique_rows(rows)[0])
        found = index_tri[unique], index_ray[unique]
        return (*found, locations[unique]) if return_locations else found

    def intersects_location(self, ray_origins, ray_directions, **options):
        """Where rays hit the mesh: ``(locations, index_ray, index_tri)``; options as of
        ``intersects_id``."""
        index_tri, index_ray, locations = self.intersects_id(
            ray_origins, ray_directions, return_locations=True, **options)
        return locations, index_ray, index_tri

    def intersects_first(self, ray_origins, ray_directions, **_):
        """The first triangle that each ray hits: int64 of (m,), -1 for none."""
        origins, directions = _rays(ray_origins, ray_directions)
        return self._tree.closest_hit(origins, directions)[1].astype(np.int64)

    def intersects_any(self, ray_origins, ray_directions, **_):
        """Whether each ray hits the mesh: bool of (m,)."""
        origins, directions = _rays(ray_origins, ray_directions)
        return self._tree.any_hit(origins, directions)

    def contains_points(self, points):
        """Whether each point is inside the mesh, which must be closed: bool of (n,)."""
        return contains_points(self, points)

    def _locations(self, origins, directions, index_tri, uv):
        """Points of hits in double precision: on the rays, where these are not along the triangle."""
        corners = self.mesh.triangles[index_tri]
        normals = self.mesh.face_normals[index_tri]
        slope = np.einsum("ij,ij->i", normals, directions)
        ahead = np.einsum("ij,ij->i", normals, corners[:, 0] - origins)
        flat = np.abs(slope) < 1e-6 * np.linalg.norm(directions, axis=1)
        t = ahead / np.where(flat, 1, slope)
        weights = np.column_stack((1 - uv.sum(axis=1), uv))
        on_triangle = np.einsum("ij,ijk->ik", weights, corners)
        return np.where(flat[:, None], on_triangle, origins + t[:, None] * directions)


class ProximityQuery(_OfMesh, trimesh.proximity.ProximityQuery):
    """Takes the place of ``trimesh.proximity.ProximityQuery``: ``mesh.nearest = ProximityQuery(mesh)``.

    Args:
        mesh (trimesh.Trimesh): a mesh with triangles. When it changes, its tree is built anew.
        **build_options: as of ``heapwood.build``.

    The nearest triangle is found in single precision, around the middle of the mesh; the point on it, and
    the distance, are then computed in double precision. ``vertex`` is trimesh's own, by SciPy.

    >>> box = trimesh.creation.box()
    >>> box.nearest = ProximityQuery(box)
    >>> closest, distance, triangle = box.nearest.on_surface([[0, 0.1, 2]])
    >>> closest.round(9).tolist(), distance.tolist(), box.nearest.signed_distance([[0, 0, 0.25], [0, 0, 2]]).tolist()
    ([[0.0, 0.1, 0.5]], [1.5], [0.25, -1.5])
    """

    @property
    def _mesh(self):
        return self.mesh  # as trimesh's methods call it

    def on_surface(self, points):
        """The nearest point of the mesh to each point.

        Args:
            points: (m, 3) float.

        Returns:
            ``(closest, distance, triangle_id)``: float64 of (m, 3) and (m,), and int64. Of a point that is not
            finite NaN, infinity and -1.
        """
        points = _points(points)
        distance, triangle_id, _, closest = self._tree.closest_point(points)
        distance, closest = distance.astype(np.float64), closest.astype(np.float64)
        triangle_id = triangle_id.astype(np.int64)
        # Of a triangle without area they have no point.
        exact, exact_distance = _closest(self.mesh.triangles[triangle_id], points)
        found = (triangle_id >= 0) & np.isfinite(exact).all(axis=1)
        closest[found] = exact[found]
        distance[found] = exact_distance[found]
        return closest, distance, triangle_id

    def signed_distance(self, points):
        """The distance of each point of (m, 3), positive inside the mesh and on it: float64 of (m,).

        The mesh must be closed; ``heapwood.Tree.signed_distance`` says what is told of others.
        """
        points = _points(points)
        inside = self._tree.contains(points)
        distance = self.on_surface(points)[1]
        return np.where(inside | (distance <= trimesh.constants.tol.merge), distance, -distance)


def _closest(triangles, points):
    """The nearest point of a triangle to each point, and how far it is.

    In units of the triangle, from its first corner on: trimesh's tolerances are absolute, and coordinates far
    from zero round.
    """
    corner = triangles[:, 0]
    size = np.ptp(triangles, axis=1).max(axis=1, keepdims=True)
    size[size == 0] = 1
    beside = (points - corner) / size
    closest = trimesh.triangles.closest_point((triangles - corner[:, None]) / size[:, None], beside)
    return closest * size + corner, np.linalg.norm(closest - beside, axis=1) * size[:, 0]


def _points(points):
    points = np.asanyarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"points must have the shape (m, 3), not {points.shape}")
    return points


def _rays(origins, directions):
    origins = np.asanyarray(origins, dtype=np.float64)
    directions = np.asanyarray(directions, dtype=np.float64)
    if origins.ndim != 2 or origins.shape[1] != 3 or origins.shape != directions.shape:
        raise ValueError(f"origins and directions must have one shape (m, 3), not {origins.shape} "
                         f"and {directions.shape}")
    return origins, directions
