"""Rays through a tree, against every ray tested with every triangle."""

import threading

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE


def sure(inside):
    """The rays whose hits no rounding decides."""
    return (np.abs(np.nan_to_num(inside, nan=1)) > 1e-4).all(axis=1)


def test_closest_hits_are_those_of_brute_force(sphere, tree, rays, brute_force):
    expected, inside = brute_force(sphere, *rays)
    t, primitive, uv = tree.closest_hit(*rays)
    assert (t.dtype, primitive.dtype, uv.dtype) == (np.float32, np.int32, np.float32)
    assert (t.shape, primitive.shape, uv.shape) == ((500,), (500,), (500, 2))
    hit = ~np.isnan(expected).all(axis=1)
    rows = sure(inside)
    assert rows.sum() > 250 and hit[rows].sum() > 100 and (~hit[rows]).sum() > 20
    np.testing.assert_array_equal(primitive[rows] >= 0, hit[rows])
    rows &= hit
    np.testing.assert_array_equal(primitive[rows], np.nanargmin(expected[rows], axis=1))
    np.testing.assert_allclose(t[rows], np.nanmin(expected[rows], axis=1), rtol=1e-4)
    corners = sphere.vertices[sphere.triangles[primitive[rows]]]
    weights = np.column_stack((1 - uv[rows].sum(axis=1), uv[rows]))
    points = np.einsum("ij,ijk->ik", weights, corners)
    np.testing.assert_allclose(points, rays[0][rows] + t[rows, None] * rays[1][rows], atol=1e-4)


def test_all_hits_any_hit_and_count_are_those_of_brute_force(sphere, tree, rays, brute_force):
    expected, inside = brute_force(sphere, *rays)
    offsets, t, primitive, uv = tree.all_hits(*rays)
    assert offsets.dtype == np.int64 and len(offsets) == 501 and offsets[0] == 0
    assert offsets[-1] == len(t) == len(primitive) == len(uv)
    counts = tree.count(*rays)
    np.testing.assert_array_equal(counts, np.diff(offsets))
    np.testing.assert_array_equal(tree.any_hit(*rays), counts > 0)
    for i in np.flatnonzero(sure(inside)):
        mine = slice(offsets[i], offsets[i + 1])
        hit = np.flatnonzero(~np.isnan(expected[i]))
        np.testing.assert_array_equal(np.sort(primitive[mine]), hit)
        assert (np.diff(t[mine]) >= 0).all()


def test_a_miss():
    tree = heapwood.build(*TRIANGLE)
    t, primitive, uv = tree.closest_hit([9, 9, 5], [0, 0, -1])
    assert (t, primitive, uv.tolist()) == (np.inf, -1, [0, 0])


def test_ends_of_rays(tree, rays):
    t, primitive, _ = tree.closest_hit(*rays)
    hit = primitive >= 0
    # A hit at an end counts; before it or behind it there is none.
    at_end = tree.closest_hit(*rays, t_max=t)[1]
    np.testing.assert_array_equal(at_end, primitive)
    before = tree.any_hit(*rays, t_max=np.where(hit, np.nextafter(t, np.float32(0)), 1))
    assert not before[hit].any()
    behind = tree.count(*rays, t_min=np.where(hit, np.nextafter(t, np.float32(np.inf)), 0))
    np.testing.assert_array_equal(behind[hit], tree.count(*rays)[hit] - 1)
    # Ends that single precision rounds are numbers as well.
    np.testing.assert_array_equal(tree.any_hit(*rays, t_min=1e-9, t_max=1e9), hit)
    with pytest.raises(ValueError, match="t_min must be a number, or have the shape"):
        tree.any_hit(*rays, t_min=np.zeros(3))


@pytest.mark.parametrize("change", [
    np.asfortranarray,
    np.float64,
    lambda x: np.repeat(x, 2, axis=0)[::2],
    lambda x: np.ascontiguousarray(x[::-1])[::-1],
    lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    lambda x: np.hstack((x, x))[:, 3:],
    lambda x: x.tolist(),
    lambda x: np.ascontiguousarray(x, ">f4"),
], ids=["fortran", "float64", "every second", "reversed", "axes reversed", "columns", "list",
        "big endian"])
def test_layouts_of_rays(tree, rays, change):
    expected = tree.closest_hit(*rays)
    for result, same in zip(tree.closest_hit(*map(change, rays)), expected):
        np.testing.assert_array_equal(result, same)


def test_read_only_rays_are_read(tree, rays):
    expected = tree.count(*rays)
    for array in rays:
        array.flags.writeable = False
    np.testing.assert_array_equal(tree.count(*rays), expected)


def test_shapes_of_rays(tree, rays):
    origins, directions = rays
    t, primitive, uv = tree.closest_hit(origins, directions)
    image = tree.closest_hit(origins.reshape(20, 25, 3), directions.reshape(20, 25, 3),
                             t_max=np.full((20, 25), np.inf))
    assert [x.shape for x in image] == [(20, 25), (20, 25), (20, 25, 2)]
    np.testing.assert_array_equal(image[2].reshape(-1, 2), uv)
    one = tree.closest_hit(origins[0], directions[0])
    assert [x.shape for x in one] == [(), (), (2,)]
    assert (one[0], one[1]) == (t[0], primitive[0])
    np.testing.assert_array_equal(
        tree.count(origins[7], directions),
        tree.count(np.broadcast_to(origins[7], directions.shape), directions))
    np.testing.assert_array_equal(
        tree.count(origins, directions[7]),
        tree.count(origins, np.broadcast_to(directions[7], origins.shape)))


@pytest.mark.parametrize("origins, directions, ends", [
    ((7, 1), (7, 5), ()), ((1,), (6,), ()), ((4, 1), (3,), ()), ((), (2, 3), (3,)), ((5, 1, 1), (1, 4, 1), (2,)),
    ((), (), (4,)), ((1, 1), (), (3, 2)), ((2, 1), (0,), ()), ((1,), (), ()), ((3,), (3,), (2, 1))])
def test_rays_broadcast_as_numpys(tree, rng, origins, directions, ends):
    starts = rng.uniform(-1, 1, (*origins, 3)).astype(np.float32)
    ways = rng.normal(size=(*directions, 3)).astype(np.float32)
    t_max = rng.uniform(0, 4, ends).astype(np.float32)
    shape = np.broadcast_shapes(origins, directions, ends)
    whole = [np.broadcast_to(array, (*shape, 3)).reshape(-1, 3) for array in (starts, ways)]
    expected = tree.closest_hit(*whole, t_max=np.broadcast_to(t_max, shape).reshape(-1))
    results = tree.closest_hit(starts, ways, t_max=t_max)
    assert [x.shape for x in results] == [shape, shape, (*shape, 2)]
    for result, same in zip(results, expected):
        np.testing.assert_array_equal(result.reshape(same.shape), same)
    assert tree.count(starts, ways, t_max=t_max).shape == tree.any_hit(starts, ways, t_max=t_max).shape == shape


def test_numbers_of_other_packages(tree, rays):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    rounded = [array.astype(bfloat16) for array in rays]
    expected = tree.closest_hit(*(array.astype(np.float32) for array in rounded))
    for result, same in zip(tree.closest_hit(*rounded), expected):
        np.testing.assert_array_equal(result, same)


def test_no_rays(tree):
    none = np.zeros((0, 3), np.float32)
    assert [x.shape for x in tree.closest_hit(none, none)] == [(0,), (0,), (0, 2)]
    assert tree.any_hit(none, none).shape == tree.count(none, none).shape == (0,)
    offsets, *hits = tree.all_hits(none, none)
    assert offsets.tolist() == [0] and [x.shape for x in hits] == [(0,), (0,), (0, 2)]


def test_rays_that_are_none_meet_nothing(tree):
    bad = [[np.nan, 0, 0], [np.inf, 0, 0], [0, 0, 0], [0, 0, 0]]
    directions = [[1, 0, 0], [1, 0, 0], [0, 0, 0], [1e300, 0, 0]]
    with np.errstate(over="ignore"):
        assert tree.count(bad, directions).tolist() == [0, 0, 0, 0]
    assert tree.count([0, 0, 0], [1, 2, 3], t_min=2, t_max=1) == 0
    assert tree.count([0, 0, 0], [1, 2, 3], t_max=np.nan) == 0


@pytest.mark.parametrize("origins, directions, error, sentence", [
    (np.zeros((4, 2)), np.zeros((4, 3)), ValueError, r"origins must have the shape \(..., 3\)"),
    (np.zeros((4, 3)), np.zeros(4), ValueError, r"directions must have the shape \(..., 3\)"),
    (np.zeros((4, 3)), np.zeros((5, 3)), ValueError, "they must be the same"),
    (np.zeros((4, 3), complex), np.zeros((4, 3)), TypeError, "must be real numbers"),
    ([["a", "b", "c"]], np.zeros((1, 3)), TypeError, "must be real numbers"),
    ([[1, 2, 3], [1, 2]], np.zeros((2, 3)), ValueError, "origins is no array of numbers"),
    (5, np.zeros(3), ValueError, "origins must have the shape"),
])
def test_wrong_rays(tree, origins, directions, error, sentence):
    for function in (tree.closest_hit, tree.any_hit, tree.count, tree.all_hits):
        with pytest.raises(error, match=sentence):
            function(origins, directions)


def test_a_stream_needs_a_gpu(tree, rays):
    with pytest.raises(ValueError, match="stream is for rays on a GPU"):
        tree.closest_hit(*rays, stream=0)
    with pytest.raises(TypeError, match="stream must be a stream of CuPy or Torch"):
        tree.closest_hit(*rays, stream="fast")


def test_wrong_ways_to_trace(tree, rays):
    with pytest.raises(ValueError, match="threads must be 0, for one a core, or more, not -1"):
        tree.closest_hit(*rays, threads=-1)
    with pytest.raises(TypeError, match="threads must be a whole number, not 2.0"):
        tree.closest_hit(*rays, threads=2.0)
    for wrong in (None, "far", 10**400, 1j):
        with pytest.raises(TypeError, match="t_max must be a number, or an array of numbers, not"):
            tree.closest_hit(*rays, t_max=wrong)
    assert tree.any_hit(*rays, t_max=np.uint64(2**64 - 1)).any()
    with pytest.raises(ValueError, match="neither cpu nor cuda"):
        tree.to("tpu")


def test_ways_to_trace_agree(tree, rays):
    expected = tree.closest_hit(*rays)
    for options in ({"coherent": True}, {"threads": 1}, {"threads": 3}):
        for result, same in zip(tree.closest_hit(*rays, **options), expected):
            np.testing.assert_array_equal(result, same)
    fast = tree.closest_hit(*rays, fast=True, coherent=True)[1]
    assert (fast == expected[1]).mean() > 0.99


def test_rays_of_a_camera_have_the_hits_of_rays_in_any_order(tree, rng):
    # Those of a camera go through the tree together, and others one by one.
    low, high = tree.scene.bounds
    eye = (rng.uniform(low, high) + 3 * (high - low)).astype(np.float32)
    x, y = np.meshgrid(*[np.linspace(-0.5, 0.5, 192)] * 2)
    middle = (low + high) / 2 + rng.uniform(-0.1, 0.1, 3) * (high - low)
    target = middle + np.stack((x, y, x - y), -1).reshape(-1, 3) * (high - low)
    directions = (target - eye).astype(np.float32)
    order = rng.permutation(len(directions))
    found = tree.any_hit(eye, directions)
    assert 0.02 < found.mean() < 0.98
    np.testing.assert_array_equal(found[order], tree.any_hit(eye, directions[order]))
    for mine, its in zip(tree.closest_hit(eye, directions), tree.closest_hit(eye, directions[order])):
        np.testing.assert_array_equal(mine[order], its)


def test_threads_of_python_share_a_tree(sphere, rays):
    tree = heapwood.build(sphere)  # not laid out for rays yet
    counts = [None] * 4

    def trace(i):
        counts[i] = tree.count(*rays)

    threads = [threading.Thread(target=trace, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in counts:
        np.testing.assert_array_equal(result, tree.count(*rays))


def test_results_outlive_the_tree(sphere, rays):
    tree = heapwood.build(sphere)
    expected = [np.array(x) for x in tree.closest_hit(*rays)]
    results = tree.closest_hit(*rays)
    del tree
    for result, same in zip(results, expected):
        np.testing.assert_array_equal(result, same)
        assert result.flags.writeable


def test_results_stay_while_others_come_and_go(tree, rays):
    t, primitive, uv = tree.closest_hit(*rays)
    kept, found = t.copy(), (primitive >= 0).sum()
    del primitive, uv
    origins, directions = rays
    for way in range(4):
        other = tree.closest_hit(origins, -directions)[way % 3]
        assert not np.shares_memory(other, t)
        assert tree.any_hit(origins, directions).sum() == found
    np.testing.assert_array_equal(t, kept)


@pytest.mark.parametrize("name", ["torch", "jax.numpy"])
def test_rays_of_other_libraries(tree, rays, name):
    library = pytest.importorskip(name)
    there = [library.asarray(array) for array in rays]
    if there[0].__dlpack_device__()[0] != 1:
        pytest.skip(f"arrays of {name} lie on a GPU: cuda_test.py has that")
    for result, same in zip(tree.all_hits(*there), tree.all_hits(*rays)):
        assert isinstance(result, type(there[0]))
        np.testing.assert_array_equal(np.asarray(result), same)
    assert isinstance(tree.any_hit(*there), type(there[0]))
    scene = tree.scene
    built = heapwood.build(library.asarray(scene.vertices.copy()),
                           library.asarray(scene.triangles.astype(np.int32)))
    assert (built.device, built.digest) == ("cpu", tree.digest)
