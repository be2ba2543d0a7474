"""Distances to a tree, against every triangle in double precision."""

import numpy as np
import pytest

import heapwood

TETRAHEDRON = (np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
               np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))


def segment_distances(a, b, points):
    """(N, T) of the distances of N points to T segments."""
    way = b - a
    along = np.einsum("ntk,tk->nt", points[:, None] - a, way) / np.maximum((way * way).sum(-1), 1e-300)
    nearest = a + np.clip(along, 0, 1)[..., None] * way
    return np.linalg.norm(points[:, None] - nearest, axis=-1)


def distances(scene, points):
    """(N, T) by the edges of each triangle, and by its plane where a point is over it."""
    a, b, c = scene.vertices.astype(np.float64)[scene.triangles].transpose(1, 0, 2)
    points = points.astype(np.float64)
    least = np.minimum.reduce([segment_distances(*edge, points) for edge in ((a, b), (b, c), (c, a))])
    normal = np.cross(b - a, c - a)
    over = np.ones(least.shape, bool)
    for start, end in ((a, b), (b, c), (c, a)):
        over &= np.einsum("tk,ntk->nt", np.cross(normal, end - start), points[:, None] - start) > 0
    height = np.einsum("tk,ntk->nt", normal, points[:, None] - a) / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    return np.where(over, np.minimum(least, np.abs(height)), least)


@pytest.fixture(scope="module")
def points(sphere):
    rng = np.random.default_rng(5)
    lo, hi = sphere.bounds
    around = rng.uniform(lo - 1, hi + 1, (200, 3))
    a, b, c = sphere.vertices[sphere.triangles[rng.integers(len(sphere.triangles), size=100)]].transpose(1, 0, 2)
    near = (a + b + c) / 3 + rng.normal(size=a.shape) * 1e-3
    return np.vstack((around, near, sphere.vertices[:50])).astype(np.float32)


@pytest.fixture(scope="module")
def expected(sphere, points):
    return distances(sphere, points)


def test_closest_points_are_those_of_brute_force(sphere, tree, points, expected):
    distance, primitive, uv, closest = tree.closest_point(points)
    assert [x.dtype for x in (distance, primitive, uv, closest)] == [np.float32, np.int32, np.float32, np.float32]
    n = len(points)
    assert [x.shape for x in (distance, primitive, uv, closest)] == [(n,), (n,), (n, 2), (n, 3)]
    np.testing.assert_allclose(distance, expected.min(axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(expected[np.arange(n), primitive], expected.min(axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(closest - points.astype(float), axis=1), distance, atol=2e-6)
    corners = sphere.vertices[sphere.triangles[primitive]]
    weights = np.column_stack((1 - uv.sum(axis=1), uv))
    np.testing.assert_allclose(np.einsum("ij,ijk->ik", weights, corners), closest, atol=2e-6)
    np.testing.assert_array_equal(tree.distance(points), distance)


def test_largest_distances_include_their_ends(tree, points):
    distance = tree.distance(points)
    np.testing.assert_array_equal(tree.distance(points, distance), distance)
    nearer = np.nextafter(distance, np.float32(-1))
    found = tree.closest_point(points, nearer)
    assert np.isinf(found[0]).all() and (found[1] == -1).all() and np.isnan(found[3]).all()
    assert not found[2].any()
    assert tree.within(points, distance, "any").all() and not tree.within(points, nearer, "any").any()


def test_within_lists_what_brute_force_does(tree, points, expected):
    offsets, primitive = tree.within(points, 0.25)
    assert (offsets.dtype, primitive.dtype) == (np.int64, np.int32) and len(offsets) == len(points) + 1
    counts = tree.within(points, 0.25, "count")
    assert counts.dtype == np.int32 and counts.max() > 20
    np.testing.assert_array_equal(np.diff(offsets), counts)
    np.testing.assert_array_equal(tree.within(points, 0.25, result="any"), counts > 0)
    for i, row in enumerate(expected):
        mine = primitive[offsets[i]:offsets[i + 1]]
        assert (np.diff(mine) > 0).all()
        sure = np.abs(row - 0.25) > 1e-6
        np.testing.assert_array_equal(np.isin(np.arange(len(row)), mine)[sure], (row < 0.25)[sure])


def test_overlaps_of_boxes(tree, sphere):
    rng = np.random.default_rng(6)
    corners = rng.uniform(-1.5, 1.5, (100, 2, 3))
    boxes = np.sort(corners, axis=1)
    offsets, primitive = tree.overlaps(boxes)
    counts = tree.overlaps(boxes, "count")
    np.testing.assert_array_equal(np.diff(offsets), counts)
    np.testing.assert_array_equal(tree.overlaps(boxes, "any"), counts > 0)
    triangles = sphere.vertices[sphere.triangles].astype(np.float64)
    inside = ((triangles[None] >= boxes[:, None, None, 0]) & (triangles[None] <= boxes[:, None, None, 1])).all(-1)
    beside = ((triangles.max(1)[None] < boxes[:, None, 0]) | (triangles.min(1)[None] > boxes[:, None, 1])).any(-1)
    for i in range(len(boxes)):
        listed = np.isin(np.arange(len(triangles)), primitive[offsets[i]:offsets[i + 1]])
        assert listed[inside[i].any(-1)].all() and not listed[beside[i]].any()
    everything = [[[-np.inf] * 3, [np.inf] * 3]]
    assert tree.overlaps(everything, "count") == len(triangles)
    assert not tree.overlaps(boxes[:, ::-1], "any").any()


def test_sides_of_a_closed_mesh():
    tree = heapwood.build(*TETRAHEDRON)
    assert tree.open_edges == 0
    points = np.random.default_rng(7).uniform(-0.5, 1.5, (1000, 3)).astype(np.float32)
    inside = (points > 0).all(axis=1) & (points.sum(axis=1) < 1)
    assert 5 < inside.sum() < 500
    for sign in ("normals", "crossings"):
        np.testing.assert_array_equal(tree.contains(points, sign=sign), inside)
        signed = tree.signed_distance(points, sign=sign)
        np.testing.assert_array_equal(signed, np.where(inside, -1, 1) * tree.distance(points))
    assert tree.contains(TETRAHEDRON[0]).all() and not tree.signed_distance(TETRAHEDRON[0]).any()


def test_an_open_mesh_says_so():
    assert heapwood.build([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]).open_edges == 3


def test_points_that_are_not_finite(tree):
    points = np.float32([[np.nan, 0, 0], [0, np.inf, 0]])
    distance, primitive, uv, closest = tree.closest_point(points)
    assert np.isinf(distance).all() and (primitive == -1).all() and np.isnan(closest).all()
    assert np.isinf(tree.signed_distance(points)).all() and not tree.contains(points).any()
    assert not tree.within(points, 9, "any").any()
    assert tree.within([0, 0, 0], np.nan, "count") == 0


@pytest.mark.parametrize("change", [
    np.asfortranarray,
    np.float64,
    lambda x: np.ascontiguousarray(x[::-1])[::-1],
    lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    lambda x: np.hstack((x, x))[:, 3:],
    lambda x: x.tolist(),
], ids=["fortran", "float64", "reversed", "axes reversed", "columns", "list"])
def test_layouts_of_points(tree, points, change):
    for result, same in zip(tree.closest_point(change(points)), tree.closest_point(points)):
        np.testing.assert_array_equal(result, same)


def test_shapes(tree, points):
    grid = points[:60].reshape(3, 20, 3)
    np.testing.assert_array_equal(tree.distance(grid).reshape(-1), tree.distance(points[:60]))
    assert [x.shape for x in tree.closest_point(grid)] == [(3, 20), (3, 20), (3, 20, 2), (3, 20, 3)]
    assert tree.distance(points[0]).shape == () and tree.contains(grid).shape == (3, 20)
    assert tree.within(grid, np.float32([[0.1], [0.2], [0.3]]), "count").shape == (3, 20)
    np.testing.assert_array_equal(tree.within(points[0], [0.5, 1.0, 9.0], "any").shape, (3,))
    assert tree.distance(np.empty((0, 3), np.float32)).shape == (0,)
    assert tree.within(np.empty((0, 3)), 1)[0].tolist() == [0]
    assert tree.overlaps(np.zeros((4, 5, 2, 3)), "any").shape == (4, 5)


def test_threads_change_nothing(tree, points):
    many = np.tile(points, (60, 1))  # more than a thread of its own is worth
    for one, all_ in zip(tree.closest_point(many, threads=1), tree.closest_point(many, threads=3)):
        np.testing.assert_array_equal(one, all_)


def test_meshes_far_from_the_origin_lose_nothing():
    far = np.array([5e6, -3e6, 1e6])
    vertices = TETRAHEDRON[0].astype(np.float64) + far
    tree = heapwood.build(vertices, TETRAHEDRON[1], center=True)
    distance, _, _, closest = tree.closest_point(np.array([[-0.25, 0.25, 0.25]]) + far)
    assert closest.dtype == np.float64
    np.testing.assert_allclose(distance, 0.25, rtol=1e-6)
    np.testing.assert_allclose(closest - far, [[0, 0.25, 0.25]], atol=1e-6)
    assert tree.overlaps([[far, far + 0.1]], "count") == 3


def test_results_outlive_the_tree(sphere, points):
    closest = heapwood.build(sphere).closest_point(points)[3]
    copy = closest.copy()
    np.testing.assert_array_equal(closest, copy)


CALLS = {"closest_point": (), "distance": (), "signed_distance": (), "contains": (), "within any": (0.25, "any"),
         "within count": (0.25, "count"), "overlaps any": ("any",), "overlaps count": ("count",)}


@pytest.mark.parametrize("name", CALLS)
def test_results_go_where_they_are_told(tree, points, name):
    ask, more = getattr(tree, name.split()[0]), CALLS[name]
    first = points[:300].reshape(2, 150, 3)
    if name.startswith("overlaps"):
        first = np.stack((first - np.float32(0.1), first + np.float32(0.1)), axis=-2)
    expected = ask(first, *more)
    several = isinstance(expected, tuple)
    out = tuple(np.full_like(x, 1) for x in expected) if several else np.full_like(expected, 1)
    assert ask(first, *more, out=out) is out
    for mine, same in zip(out if several else (out,), expected if several else (expected,)):
        np.testing.assert_array_equal(mine, same)
    wrong = (*out[:-1], out[-1].astype(np.float64)) if several else out.astype(np.float64)
    with pytest.raises(ValueError, match=r"out: \w+ must be \w+ of the shape \(2, 150(, 3)?\), contiguous and write"):
        ask(first, *more, out=wrong)


def test_results_over_their_own_points(tree, points):
    # Arrays of points that results go to are read before.
    mine, expected = points.copy(), tree.closest_point(points, 0.5)
    out = mine.reshape(-1)[-len(points):]
    assert tree.distance(mine, 0.5, out=out) is out
    np.testing.assert_array_equal(out, expected[0])
    mine, limits = points.copy(), np.full(len(points), 0.5, np.float32)
    out = limits, np.empty(len(points), np.int32), np.empty((len(points), 2), np.float32), mine
    for array, same in zip(tree.closest_point(mine, limits, out=out), expected):
        np.testing.assert_array_equal(array, same)
    assert np.isnan(mine).any() and np.isfinite(mine).any()


def test_results_of_a_tree_with_an_origin_go_where_they_are_told():
    far = np.array([5e6, -3e6, 1e6])
    tree = heapwood.build(TETRAHEDRON[0].astype(np.float64) + far, TETRAHEDRON[1], center=True)
    points = np.random.default_rng(8).uniform(-1, 2, (20, 3)) + far
    expected = tree.closest_point(points, 0.5)
    out = tuple(np.full_like(x, 1) for x in expected)
    assert out[3].dtype == np.float64 and tree.closest_point(points, 0.5, out=out) is out
    for mine, same in zip(out, expected):
        np.testing.assert_array_equal(mine, same)
    with pytest.raises(ValueError, match=r"out: closest must be float64 of the shape \(20, 3\)"):
        tree.closest_point(points, out=(*out[:3], np.empty((20, 3), np.float32)))


def test_wrong_arguments(tree):
    with pytest.raises(TypeError, match="out must be a tuple of distance, primitive, barycentrics, closest"):
        tree.closest_point([1, 2, 3], out=np.empty(3, np.float32))
    for call, message in (
        (lambda: tree.distance([1, 2]), r"points must have the shape \(..., 3\), not \(2,\)"),
        (lambda: tree.distance([[1, 2, 3]] * 2, [1, 2, 3]), "max_distance must be a number, or have the shape"),
        (lambda: tree.within([[1, 2, 3]] * 2, [1, 2, 3]), "radius must be a number, or have the shape"),
        (lambda: tree.within([1, 2, 3], 1, "all"), "result must be 'any', 'count' or 'list', not 'all'"),
        (lambda: tree.overlaps([[1, 2, 3]]), r"boxes must have the shape \(..., 2, 3\)"),
        (lambda: tree.contains([1, 2, 3], sign="winding"), "sign must be 'normals' or 'crossings'"),
        (lambda: tree.distance([1, 2, 3], stream=1), "stream is for points on a GPU"),
        (lambda: tree.distance([1, 2, 3], threads=-1), "threads must be 0, for one a core, or more"),
        (lambda: tree.within([1, 2, 3], 1, out=np.empty(1, np.int32)), "out is for result='any' or 'count'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
