"""heapwood.trimesh against trimesh's own intersector."""

import copy
import pickle

import numpy as np
import pytest

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("rtree")

from heapwood.trimesh import ProximityQuery, RayMeshIntersector  # noqa: E402


def meshes():
    sphere = trimesh.creation.icosphere(subdivisions=3)
    yield sphere
    yield trimesh.creation.torus(2, 0.7)
    far = sphere.copy()
    far.apply_scale(0.01)
    far.apply_translation([5e5, -2e6, 3e4])
    yield far
    turned = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3])
    yield trimesh.util.concatenate([
        trimesh.creation.box(transform=turned),
        trimesh.creation.cone(0.4, 1).apply_translation([2, 0, 0]),
    ])


def clear(mesh, origins, directions):
    """Which rays neither pass an edge so near that rounding decides what they hit, nor begin at a triangle.

    Trimesh's coordinates are far from zero, and it takes hits behind the origin that are as near as 1e-6.
    """
    middle = mesh.bounds.mean(axis=0)
    a, b, c = np.moveaxis(mesh.triangles - middle, 1, 0)
    from_a = (origins - middle)[:, None] - a
    across = np.cross(directions[:, None], c - a)
    around = np.cross(from_a, b - a)
    scale = np.einsum("...i,...i", across, b - a)
    u = np.einsum("...i,...i", from_a, across) / scale
    v = np.einsum("ri,rti->rt", directions, around) / scale
    t = np.einsum("ti,rti->rt", c - a, around) / scale
    inside = np.minimum(np.minimum(u, v), 1 - u - v)
    unsure = (np.abs(inside) < 1e-3) | ((inside > 0) & (np.abs(t) < 1e-3 * mesh.extents.max()))
    return ~unsure.any(axis=1)


@pytest.fixture(params=range(4), ids=["sphere", "torus", "far away", "box and cone"])
def case(request, rng):
    """A mesh, both intersectors, and rays near it."""
    mesh = list(meshes())[request.param]
    middle, size = mesh.bounds.mean(axis=0), mesh.extents.max()
    origins = middle + rng.uniform(-1, 1, (60, 3)) * size
    directions = middle + rng.uniform(-0.5, 0.5, (60, 3)) * mesh.extents - origins
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    sure = clear(mesh, origins, directions)
    assert sure.sum() > 40
    origins, directions = origins[sure], directions[sure]
    own = trimesh.ray.ray_triangle.RayMeshIntersector(mesh)
    return mesh, own, RayMeshIntersector(mesh), origins, directions


def pairs(index_tri, index_ray):
    return sorted(zip(index_ray.tolist(), index_tri.tolist()))


def test_triangles(case):
    _, own, ours, origins, directions = case
    assert pairs(*ours.intersects_id(origins, directions)) == pairs(
        *own.intersects_id(origins, directions))
    assert pairs(*ours.intersects_id(origins, directions, multiple_hits=False)) == pairs(
        *own.intersects_id(origins, directions, multiple_hits=False))
    first = ours.intersects_first(origins, directions)
    assert first.dtype == np.int64
    np.testing.assert_array_equal(first, own.intersects_first(origins, directions))
    np.testing.assert_array_equal(ours.intersects_any(origins, directions),
                                  own.intersects_any(origins, directions))


def test_locations(case):
    mesh, own, ours, origins, directions = case
    for multiple_hits in (True, False):
        expected, rays, triangles = own.intersects_location(
            origins, directions, multiple_hits=multiple_hits)
        locations, index_ray, index_tri = ours.intersects_location(
            origins, directions, multiple_hits=multiple_hits)
        assert (locations.dtype, locations.shape) == (np.float64, (len(index_ray), 3))
        mine, theirs = np.lexsort((index_tri, index_ray)), np.lexsort((triangles, rays))
        np.testing.assert_array_equal(index_ray[mine], rays[theirs])
        np.testing.assert_array_equal(index_tri[mine], triangles[theirs])
        np.testing.assert_allclose(locations[mine], expected[theirs], rtol=1e-12,
                                   atol=1e-6 * mesh.extents.max())
    along = np.einsum("ij,ij->i", locations - origins[index_ray], directions[index_ray])
    assert (along >= 0).all()


def winding_numbers(mesh, points):
    """How often a closed mesh goes around each point: the sum of its triangles' solid angles."""
    a, b, c = np.moveaxis(mesh.triangles[None] - points[:, None, None], 2, 0)
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    volume = np.einsum("...i,...i", a, np.cross(b, c))
    angle = (la * lb * lc + np.einsum("...i,...i", a, b) * lc + np.einsum("...i,...i", b, c) * la
             + np.einsum("...i,...i", c, a) * lb)
    return np.arctan2(volume, angle).sum(axis=1) / (2 * np.pi)


def test_points_inside(case, rng):
    mesh, own, ours, *_ = case
    points = mesh.bounds.mean(axis=0) + rng.uniform(-0.5, 0.5, (200, 3)) * mesh.extents
    inside = ours.contains_points(points)
    assert inside.dtype == bool and 0 < inside.sum() < 200
    np.testing.assert_array_equal(inside, winding_numbers(mesh, points) > 0.5)
    # Trimesh's own is wrong for one in fifty thousand, of a mesh that is far away.
    assert (inside == own.contains_points(points)).sum() >= 198


def test_an_edge_counts_once():
    box = trimesh.creation.box()
    ours = RayMeshIntersector(box)
    # Through the diagonal of two faces, which two triangles of each share.
    origin, direction = [[0.0, 0.0, 5.0]], [[0.0, 0.0, -1.0]]
    assert len(ours.intersects_id(origin, direction)[0]) == 2
    locations = ours.intersects_location(origin, direction)[0]
    np.testing.assert_allclose(locations, [[0, 0, 0.5], [0, 0, -0.5]])
    assert ours.contains_points([[0, 0, 0.1]]).tolist() == [True]


def test_at_most_so_many_hits():
    torus = trimesh.creation.torus(2, 0.7)
    ours = RayMeshIntersector(torus)
    origins = np.array([[-5.0, 0.01, 0.02], [-5, 0.03, 0.1]])
    directions = np.array([[1.0, 0, 0]] * 2)
    _, index_ray = ours.intersects_id(origins, directions)
    assert np.bincount(index_ray).tolist() == [4, 4]
    index_tri, index_ray, locations = ours.intersects_id(
        origins, directions, max_hits=1, return_locations=True)
    np.testing.assert_array_equal(index_tri, ours.intersects_first(origins, directions))
    assert (locations[:, 0] < -2.5).all() and index_ray.tolist() == [0, 1]


def test_a_mesh_that_changes():
    box = trimesh.creation.box()
    box.ray = RayMeshIntersector(box)
    ray = [[0, 0, 5]], [[0, 0, -1]]
    assert box.ray.intersects_any(*ray).tolist() == [True]
    box.apply_translation([3, 0, 0])
    assert box.ray.intersects_any(*ray).tolist() == [False]
    assert box.contains([[3, 0, 0], [0, 0, 0]]).tolist() == [True, False]


def test_copies():
    ray = [[0, 0, 5]], [[0, 0, -1]]
    ours = RayMeshIntersector(trimesh.creation.box(), leaf_limit=2)
    assert ours.intersects_any(*ray).tolist() == [True]
    for same in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        ours.mesh.apply_translation([9, 0, 0])
        assert same.intersects_any(*ray).tolist() == [True]


def test_no_hits_and_wrong_rays():
    ours = RayMeshIntersector(trimesh.creation.box(), threads=1, preset="pbrt")
    nothing = ours.intersects_location([[9.0, 9, 9]], [[0.0, 0, 1]])
    assert [x.shape for x in nothing] == [(0, 3), (0,), (0,)]
    assert ours.intersects_first([[9.0, 9, 9]], [[0.0, 0, 1]]).tolist() == [-1]
    with pytest.raises(ValueError, match="must have one shape"):
        ours.intersects_any([[0, 0, 0]], [0, 0, 1])


def near(mesh, rng):
    """Points in and around a mesh, beside its triangles, and on its corners."""
    middle, size = mesh.bounds.mean(axis=0), mesh.extents.max()
    samples = mesh.triangles_center[:40] + mesh.face_normals[:40] * rng.uniform(-1e-3, 1e-3, (40, 1)) * size
    return np.vstack((middle + rng.uniform(-1, 1, (80, 3)) * size, samples, mesh.vertices[:20]))


def distances(triangles, points):
    """From each point to each triangle: to its edges, or to its plane where the point is over the inside.

    Not trimesh's, whose tolerances are as large as a part of the mesh that is small.
    """
    def dot(one, other):
        return np.einsum("...i,...i", one, other)

    a, b, c = (corners - points[:, None] for corners in np.moveaxis(triangles, 1, 0))
    normal = np.cross(b - a, c - a)
    square = dot(normal, normal)
    inside = np.ones(square.shape, bool)
    least = np.full(square.shape, np.inf)
    for one, other in ((a, b), (b, c), (c, a)):
        way = other - one
        part = np.clip(-dot(one, way) / dot(way, way), 0, 1)
        least = np.minimum(least, np.linalg.norm(one + part[..., None] * way, axis=2))
        inside &= dot(np.cross(one, other), normal) > 0
    return np.where(inside, np.abs(dot(a, normal)) / np.sqrt(square), least)


def test_closest_points_are_those_of_all_triangles(case, rng):
    mesh = case[0]
    points = near(mesh, rng)
    wanted = distances(mesh.triangles, points).min(axis=1)
    closest, distance, triangle = ProximityQuery(mesh).on_surface(points)
    assert (closest.dtype, distance.dtype, triangle.dtype) == (np.float64, np.float64, np.int64)
    # The triangle is found in single precision, and may be as far as that tells.
    size, rounding = mesh.extents.max(), 2.0**-50 * np.abs(points).max()
    np.testing.assert_allclose(distance, wanted, rtol=1e-6, atol=1e-7 * size)
    of_triangle = distances(mesh.triangles[triangle], points).diagonal()
    np.testing.assert_allclose(distance, of_triangle, rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(np.linalg.norm(closest - points, axis=1), distance, rtol=1e-12, atol=rounding)
    assert distances(mesh.triangles[triangle], closest).diagonal().max() <= rounding


def test_signed_distances_are_those_of_all_triangles(case, rng):
    mesh = case[0]
    points = near(mesh, rng)
    distance = distances(mesh.triangles, points).min(axis=1)
    signed = ProximityQuery(mesh).signed_distance(points)
    sure = distance > 1e-6 * mesh.extents.max()
    # Not trimesh's contains_points, which is wrong for a few points of a mesh that is far away.
    np.testing.assert_array_equal(signed[sure] > 0, winding_numbers(mesh, points)[sure] > 0.5)
    np.testing.assert_allclose(np.abs(signed), distance, rtol=1e-6, atol=1e-7 * mesh.extents.max())


def test_a_mesh_has_it_as_its_own(rng):
    mesh = trimesh.creation.icosphere()
    points = rng.uniform(-2, 2, (30, 3))
    mesh.nearest = ProximityQuery(mesh)
    before = mesh.nearest.on_surface(points)[1]
    mesh.apply_scale(2)  # the tree follows
    assert (mesh.nearest.on_surface(points)[1] != before).all()
    again = pickle.loads(pickle.dumps(mesh.nearest))
    np.testing.assert_array_equal(again.on_surface(points)[1], mesh.nearest.on_surface(points)[1])
    closest, distance, triangle = mesh.nearest.on_surface([[np.nan, 0, 0]])
    assert np.isnan(closest).all() and np.isinf(distance).all() and triangle.tolist() == [-1]
    with pytest.raises(ValueError, match=r"points must have the shape \(m, 3\)"):
        mesh.nearest.on_surface([1, 2, 3])
