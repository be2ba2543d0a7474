"""Builders: the trees and hits of frame after frame, on the CPU; cuda_test.py has GPUs."""

import copy
import pickle
import threading

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE


@pytest.fixture
def waving(sphere, rng):
    """A function that moves the sphere's vertices at random."""
    return lambda: sphere.vertices * rng.uniform(0.5, 2, 3).astype(np.float32) + rng.normal(size=3).astype(np.float32)


@pytest.mark.parametrize("how", [{}, {"allocator": "halloc", "threads": 1, "pool": "64MiB"},
                                 {"preset": "paper", "leaf_limit": 4}], ids=["default", "halloc", "paper"])
def test_frames_have_the_trees_and_hits_of_build(sphere, waving, rays, how):
    builder = heapwood.Builder(sphere.triangles, **how)
    assert builder.device == "cpu" and repr(builder) == f"Builder({len(sphere.triangles):,} triangles, on cpu)"
    for _ in range(4):
        vertices = waving()
        builder.rebuild(vertices)
        tree = heapwood.build(vertices, sphere.triangles, **how)
        assert builder.tree().digest == tree.digest
        assert builder.tree().quality.sah() == tree.quality.sah()
        np.testing.assert_array_equal(builder.scene.vertices, vertices)
        for method in ("closest_hit", "any_hit", "count", "all_hits"):
            mine, same = getattr(builder, method)(*rays), getattr(tree, method)(*rays)
            for one, other in zip(mine, same) if isinstance(mine, tuple) else [(mine, same)]:
                np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(builder.hits(*rays).points, tree.hits(*rays).points)
        assert builder.hits(*rays).mask.any()
        for method, more in (("closest_point", ()), ("distance", (0.5,)), ("within", (0.3,)), ("within", (0.3, "count"))):
            mine, same = getattr(builder, method)(rays[0], *more), getattr(tree, method)(rays[0], *more)
            for one, other in zip(mine, same) if isinstance(mine, tuple) else [(mine, same)]:
                np.testing.assert_array_equal(one, other)
        boxes = np.stack((rays[0], rays[0] + 1), axis=-2)
        np.testing.assert_array_equal(builder.overlaps(boxes, "count"), tree.overlaps(boxes, "count"))
        assert builder.build_ms > 0
    if "pool" in how:
        assert builder.pool_bytes == 64 << 20


def test_a_tree_stays_when_the_builder_goes_on(sphere, waving, rays):
    builder = heapwood.Builder(sphere.triangles)
    builder.rebuild(sphere.vertices)
    tree = builder.tree()
    before = tree.closest_hit(*rays)
    builder.rebuild(waving())
    assert tree.digest == heapwood.build(sphere).digest != builder.tree().digest
    for one, other in zip(tree.closest_hit(*rays), before):
        np.testing.assert_array_equal(one, other)
    tree.verify()


def test_triangles_are_copied():
    triangles = np.array(TRIANGLE[1])
    builder = heapwood.Builder(triangles)
    triangles[:] = 0
    builder.rebuild(TRIANGLE[0])
    assert builder.any_hit([1, 2, 5], [0, 0, -1])


def test_without_a_tree_there_are_no_hits():
    builder = heapwood.Builder(TRIANGLE[1])
    for use in (lambda: builder.any_hit([1, 2, 5], [0, 0, -1]), builder.tree, lambda: builder.scene,
                lambda: builder.build_ms, lambda: builder.hits([1, 2, 5], [0, 0, -1]),
                lambda: builder.closest_point([1, 2, 5]), lambda: builder.within([1, 2, 5], 9)):
        with pytest.raises(ValueError, match=r"the builder has no tree yet: rebuild\(\) makes it"):
            use()


@pytest.mark.parametrize("vertices, message", [
    ([[0, 0, 0], [1, 0, 0]], "triangle 0 refers to vertex 2, but there are 2 vertices"),
    ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], "vertex 2 has the coordinate nan"),
    ([0, 0, 0], r"vertices must have the shape \(V, 3\), not \(3,\)"),
])
def test_a_faulty_frame_leaves_the_former_tree(vertices, message):
    builder = heapwood.Builder(TRIANGLE[1])
    builder.rebuild(TRIANGLE[0])
    with pytest.raises(ValueError, match=message):
        builder.rebuild(vertices)
    assert builder.any_hit([1, 2, 5], [0, 0, -1]) and len(builder.scene) == 1  # the former tree
    builder.rebuild(np.add(TRIANGLE[0], [9, 0, 0]))
    assert builder.any_hit([10, 2, 5], [0, 0, -1]) and not builder.any_hit([1, 2, 5], [0, 0, -1])


def test_a_pool_that_is_too_small_says_so_and_nothing_is_hit(sphere):
    builder = heapwood.Builder(sphere.triangles, pool="2x", allocator="atomicmalloc")
    with pytest.raises(heapwood.OutOfPool, match='atomicmalloc: .* pass a larger pool, as pool="4x"'):
        builder.rebuild(sphere.vertices)
    with pytest.raises(ValueError, match="no tree yet"):
        builder.any_hit([0, 0, 0], [1, 0, 0])
    # All at one point: a tree of one leaf, for which the pool is large enough.
    builder.rebuild(np.zeros_like(sphere.vertices))
    assert len(builder.tree().nodes) == 1


@pytest.mark.parametrize("arguments, error, message", [
    (dict(pool="1B"), heapwood.OutOfPool, 'below the 16.0 KiB .* pass a larger pool, as pool="16KiB"'),
    (dict(triangles=np.zeros((0, 3), int)), ValueError, "between 1 and 2.30 - 1 triangles, not 0"),
    (dict(triangles=[[0, 1, -2]]), ValueError, "triangle 0 refers to vertex -2: vertices of a builder"),
    (dict(triangles=[[0, 1, 2**31]]), ValueError, "triangle 0 refers to vertex 2147483648"),
    (dict(triangles=[[0, 1, 2.5]]), TypeError, "triangles must be whole numbers"),
    (dict(triangles=[0, 1, 2]), ValueError, r"must have the shape \(T, 3\)"),
    (dict(device="tpu"), ValueError, "device 'tpu' is neither"),
    (dict(allocator="hallloc"), ValueError, "halloc"),
    (dict(allocator="all"), ValueError, "one tree needs one allocator"),
    (dict(pool="20y"), ValueError, "20y"),
    (dict(threads=-1), ValueError, "threads must be 0"),
    (dict(options={"colour": "red"}), ValueError, "has no option 'colour'"),
    (dict(preset="fast"), ValueError, "fast"),
    (dict(leaf_limt=3), TypeError, "leaf_limt"),
])
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        heapwood.Builder(**{"triangles": TRIANGLE[1], **arguments})


def test_a_stream_is_for_gpus():
    builder = heapwood.Builder(TRIANGLE[1])
    with pytest.raises(ValueError, match="stream is for a builder on a GPU"):
        builder.rebuild(TRIANGLE[0], stream=1)


@pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy])
def test_builders_are_not_copied(make):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        make(heapwood.Builder(TRIANGLE[1]))


def test_threads_share_a_builder(sphere, rays):
    """Each batch of hits is that of one whole frame, whichever was built last."""
    frames = [sphere.vertices, sphere.vertices * np.float32(2)]
    expected = [heapwood.build(frame, sphere.triangles).closest_hit(*rays)[0] for frame in frames]
    assert not np.array_equal(*expected)
    builder = heapwood.Builder(sphere.triangles, threads=1)
    builder.rebuild(frames[0])
    ended = threading.Event()

    def rebuild():
        for i in range(30):
            builder.rebuild(frames[i % 2])
        ended.set()

    thread = threading.Thread(target=rebuild)
    thread.start()
    try:
        batches = [builder.closest_hit(*rays)[0]]
        while not ended.is_set():
            batches.append(builder.closest_hit(*rays)[0])
    finally:
        thread.join()
    assert ended.is_set()
    for t in batches:
        assert any(np.array_equal(t, one) for one in expected)
