"""Trees that stay where they were built, of arrays that lie there, on the CPU; cuda_in_place_test.py has GPUs."""

import copy
import io
import pickle
import threading
import warnings

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE
from heapwood import _build, _precision
from heapwood._tree import Tree


def build_in_place(vertices, triangles, allocator="cambium", pool=None, grow=False, threads=0, options=None, preset="default",
                   **parameters):
    """What ``heapwood.build`` does with arrays on a GPU, on the CPU with arrays there. None: they go by a scene."""
    made = _build._in_place(vertices, triangles, "cpu", _build.builder_arguments(allocator, pool, grow, threads, options),
                            _build.tree_arguments(preset, parameters))
    return None if made is None else Tree._of(made)


@pytest.fixture
def pair(sphere):
    """The sphere's tree by a scene, and where it was built."""
    return heapwood.build(sphere.vertices, sphere.triangles), build_in_place(sphere.vertices, sphere.triangles)


@pytest.mark.parametrize("how", [{}, {"allocator": "halloc", "threads": 1, "pool": "64MiB"},
                                 {"preset": "paper", "leaf_limit": 4}], ids=["default", "halloc", "paper"])
def test_all_is_as_by_a_scene(sphere, rng, rays, how):
    vertices = sphere.vertices * rng.uniform(0.5, 2, 3).astype(np.float32)
    there = build_in_place(vertices, sphere.triangles, **how)
    tree = heapwood.build(vertices, sphere.triangles, **how)
    for method in ("closest_hit", "any_hit", "count", "all_hits"):
        mine, same = getattr(there, method)(*rays), getattr(tree, method)(*rays)
        for one, other in zip(mine, same) if isinstance(mine, tuple) else [(mine, same)]:
            np.testing.assert_array_equal(one, other)
    times = there.times
    assert times["build_ms"] > 0 and times["pool_ms"] >= 0 and times["upload_ms"] >= 0
    assert there.digest == tree.digest and there.scene.digest == tree.scene.digest
    for name in ("nodes", "references", "vertices", "triangles", "origin"):
        np.testing.assert_array_equal(getattr(there, name), getattr(tree, name))
    np.testing.assert_array_equal(there.scene.bounds, tree.scene.bounds)
    assert repr(there) == repr(tree) and repr(there.quality) == repr(tree.quality)
    there.verify()
    assert there.report["tree"] == tree.report["tree"] and there.statistics is None
    assert there.report.keys() == tree.report.keys()
    assert there.report["build"]["ms"]["median"] == times["build_ms"]
    assert there.report["build"]["pool_bytes"] == tree.report["build"]["pool_bytes"]
    hits, same = there.hits(*rays), tree.hits(*rays)
    np.testing.assert_array_equal(hits.points, same.points)
    along = rays[0] + hits.t[..., None] * rays[1]
    np.testing.assert_allclose(hits.points[hits.mask], along[hits.mask], atol=1e-5)
    values = rng.normal(size=(len(vertices), 2)).astype(np.float32)
    np.testing.assert_array_equal(heapwood.interpolate(hits, values), heapwood.interpolate(same, values))
    np.testing.assert_array_equal(hits.geometry, same.geometry)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(hits)).normals, same.normals)
    for name, *more in (("closest_point",), ("signed_distance",), ("contains",), ("within", 0.5)):
        mine, same = getattr(there, name)(rays[0], *more), getattr(tree, name)(rays[0], *more)
        for one, other in zip(mine, same) if isinstance(mine, tuple) else [(mine, same)]:
            np.testing.assert_array_equal(one, other)
    assert there.open_edges == tree.open_edges


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree)),
                                   lambda tree: tree.to("cpu")])
def test_copies(pair, rays, again):
    tree, there = pair
    other = again(there)
    for one, same in zip(other.closest_hit(*rays), tree.closest_hit(*rays)):
        np.testing.assert_array_equal(one, same)
    assert (other.digest, other.device, other.scene.path) == (tree.digest, "cpu", "arrays")


def test_files(pair, tmp_path):
    tree, there = pair
    there.save(tmp_path / "there.kdt")
    tree.save(tmp_path / "tree.kdt")
    assert (tmp_path / "there.kdt").read_bytes() == (tmp_path / "tree.kdt").read_bytes()
    file = io.BytesIO()
    there.save(file)
    assert file.getvalue() == (tmp_path / "tree.kdt").read_bytes()


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_triangles_of_every_kind_of_whole_numbers(rng, kind):
    vertices = rng.normal(size=(100, 3)).astype(np.float32)
    triangles = rng.integers(0, 100, (300, 3))
    there = build_in_place(vertices, triangles.astype(kind))
    assert there.digest == heapwood.build(vertices, triangles).digest
    np.testing.assert_array_equal(there.triangles, triangles)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2],
                                    lambda x: np.ascontiguousarray(x[::-1])[::-1]])
def test_arrays_are_read_as_they_lie(sphere, tree, change):
    vertices, triangles = change(sphere.vertices), change(sphere.triangles.astype(np.int64))
    assert build_in_place(vertices, triangles).digest == tree.digest


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_vertices_of_other_precision(sphere, kind):
    vertices = sphere.vertices.astype(kind)
    assert build_in_place(vertices, sphere.triangles).digest == heapwood.build(vertices, sphere.triangles).digest


def test_arrays_may_change_and_go_afterwards(sphere, tree, rays):
    vertices, triangles = sphere.vertices.copy(), sphere.triangles.copy()
    there = build_in_place(vertices, triangles)
    vertices[:], triangles[:] = 7, 0
    del vertices, triangles
    np.testing.assert_array_equal(there.closest_hit(*rays)[1], tree.closest_hit(*rays)[1])
    np.testing.assert_array_equal(there.vertices, sphere.vertices)
    np.testing.assert_array_equal(there.triangles, sphere.triangles)
    there.verify()


def test_views_keep_what_they_show(sphere):
    there = build_in_place(sphere.vertices, sphere.triangles)
    nodes, references, vertices = there.nodes, there.references, there.vertices
    expected = nodes.copy(), references.copy()
    del there
    build_in_place(sphere.vertices * np.float32(2), sphere.triangles)
    np.testing.assert_array_equal(nodes, expected[0])
    np.testing.assert_array_equal(references, expected[1])
    np.testing.assert_array_equal(vertices, sphere.vertices)


def test_threads_ask_at_once(sphere, tree):
    expected = tree.digest, tree.nodes.tobytes(), tree.scene.digest, tree.quality.sah()
    for _ in range(5):
        there = build_in_place(sphere.vertices, sphere.triangles)
        start, found = threading.Barrier(6), []

        def ask(number, there=there, start=start, found=found):
            questions = [lambda: there._tree.digest, lambda: there.nodes.tobytes(), lambda: there._tree.scene.digest,
                         lambda: there._tree.quality.sah()]
            start.wait()
            found.append([(i % 4, questions[i % 4]()) for i in range(number, number + 4)])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        for answers in found:
            for which, answer in answers:
                assert answer == expected[which]


@pytest.mark.parametrize("vertices, triangles, message", [
    ([[0, 0, 0], [1, 0, 0]], [[0, 1, 2]], "triangle 0 refers to vertex 2, but there are 2 vertices"),
    (TRIANGLE[0], [[0, 1, 2], [0, -1, 2]], "triangle 1 refers to vertex -1"),
    (TRIANGLE[0], [[0, 1, 2**32]], "triangle 0 refers to vertex 4294967296"),
    (TRIANGLE[0], [[0, 1, -2**32 + 2]], "triangle 0 refers to vertex -4294967294"),
    ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]], "vertex 2 has the coordinate nan"),
    ([[0, 0, 0], [1, 0, 0], [0, np.inf, 0]], [[0, 1, 2]], "vertex 2 has the coordinate inf"),
    (np.full((3, 3), np.nan), [[0, 1, 2]], "vertex 0 has the coordinate nan"),
    (TRIANGLE[0], np.zeros((0, 3), np.int32), "between 1 and"),
    (np.zeros((0, 3)), [[0, 1, 2]], "triangle 0 refers to vertex 0, but there are 0 vertices"),
    ([0, 0, 0], [[0, 1, 2]], r"vertices must have the shape \(V, 3\)"),
    (TRIANGLE[0], [0, 1, 2], r"triangles must have the shape \(T, 3\)"),
    (TRIANGLE[0], [[0, 1, 2.5]], "triangles must be whole numbers"),
    (TRIANGLE[0], [[True, True, False]], "triangles must be whole numbers"),
    (np.zeros((3, 3), np.complex64), [[0, 1, 2]], "vertices must be real numbers"),
])
def test_what_is_wrong_goes_by_a_scene_which_says_it(vertices, triangles, message):
    vertices, triangles = np.asarray(vertices), np.asarray(triangles)
    if vertices.dtype.kind == "f":
        vertices = vertices.astype(np.float32)
    assert build_in_place(vertices, triangles) is None
    with pytest.raises((ValueError, TypeError), match=message):
        heapwood.build(vertices, triangles)


def test_magnitudes_that_a_build_in_place_refuses_go_by_a_scene():
    vertices = np.float32([[0, 0, 0], [1e30, 0, 0], [0, 1e-44, 0]])
    assert build_in_place(vertices, np.array(TRIANGLE[1])) is None
    heapwood.build(vertices, TRIANGLE[1]).verify()


def test_vertices_without_a_triangle_may_be_anything(sphere):
    vertices = np.vstack((sphere.vertices, np.float32([[np.nan, 0, 0], [np.inf, -np.inf, 0], [1e30, 1, 2]])))
    there, tree = build_in_place(vertices, sphere.triangles), heapwood.build(vertices, sphere.triangles)
    assert there.digest == tree.digest
    np.testing.assert_array_equal(there.vertices, tree.vertices)
    np.testing.assert_array_equal(there.scene.bounds, sphere.bounds)


@pytest.mark.parametrize("how", [{"pool": "1B"}, {"pool": "2x", "allocator": "atomicmalloc"}, {"max_nodes": 9},
                                 {"max_references": 9}, {"allocator": "hallloc"}, {"options": {"colour": "red"}},
                                 {"preset": "fast"}, {"pool": "20y"}, {"leaf_limt": 3}])
def test_builds_that_fail_have_the_errors_of_build(sphere, how):
    # What would have been needed depends on the order of threads.
    with pytest.raises(Exception) as expected:
        heapwood.build(sphere.vertices, sphere.triangles, threads=1, **how)
    with pytest.raises(type(expected.value)) as found:
        build_in_place(sphere.vertices, sphere.triangles, threads=1, **how)
    assert str(found.value) == str(expected.value)


def test_a_loss_of_precision_is_found_where_the_arrays_lie(rng):
    """It is asked for before the warning is computed: no warning may be lost by that."""
    seen = set()
    for _ in range(40):
        place = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 9)
        vertices = rng.normal(size=(30, 3)) + place
        vertices[-1] *= rng.choice([1, 1e6])  # of no triangle
        triangles = rng.integers(0, 29, (40, 3))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            heapwood.Scene(vertices, triangles)
        warned = any(issubclass(one.category, heapwood.PrecisionWarning) for one in caught)
        loses = _precision.loses(vertices, triangles)
        assert loses or not warned
        seen.add((loses, warned))
    assert (True, True) in seen and (False, False) in seen


def test_a_loss_of_precision_brings_its_warning(sphere):
    far = sphere.vertices + np.array([450_000.0, 5_500_000.0, 200.0])
    with pytest.warns(heapwood.PrecisionWarning, match="pass center=True"):
        build_in_place(far, sphere.triangles)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_in_place(sphere.vertices.astype(np.float64), sphere.triangles)
