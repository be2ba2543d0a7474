"""Scenes and trees: what goes in, what comes out, and what is refused."""

import gc
import pathlib
import re
import threading
import time

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE
from heapwood._parameters import TreeParameters

MODELS = pathlib.Path(__file__).parents[2] / "scenes/models"


def test_trees_are_equal_whatever_builds_them(sphere, tree):
    tree.verify()
    assert re.fullmatch("[0-9a-f]{16}", tree.digest)
    for allocator in heapwood.allocators():
        other = heapwood.build(sphere, allocator=allocator, threads=1, verify=True)
        assert other.digest == tree.digest, allocator
        assert other.report["build"]["allocator"] == allocator
    levels = heapwood.build(sphere, method="levels")
    np.testing.assert_array_equal(levels.nodes["tagged"], tree.nodes["tagged"])
    np.testing.assert_array_equal(levels.references, tree.references)
    # Another set of parameters is another tree.
    assert heapwood.build(sphere, preset="paper").digest != tree.digest
    other = heapwood.build(sphere, clip=False, leaf_limit=4)
    assert other.digest != tree.digest
    assert heapwood.build(
        sphere, clip=np.bool_(False), leaf_limit=np.int64(4)).digest == other.digest


def test_arrays_build_the_tree_of_the_file():
    scene = heapwood.load(MODELS / "trefoil.obj")
    assert heapwood.build(scene).digest == "71cc49326e25d93f"  # as README has it
    tree = heapwood.build(scene.vertices, scene.triangles)
    assert tree.digest == "71cc49326e25d93f"
    for vertices, triangles in (
        (scene.vertices.astype(np.float64), scene.triangles.astype(np.int32)),
        (np.asfortranarray(scene.vertices), np.asfortranarray(scene.triangles.astype(np.int64))),
        (scene.vertices[::-1], len(scene.vertices) - 1 - scene.triangles.astype(np.int16)),
        (scene.vertices.tolist(), scene.triangles.tolist()),
    ):
        assert heapwood.build(vertices, triangles).digest == "71cc49326e25d93f"


def test_what_a_tree_says(sphere):
    tree = heapwood.build(sphere, statistics=True)
    nodes, quality = tree.nodes, tree.quality
    leaf = nodes["tagged"] & 3 == 3
    counts = nodes["tagged"][leaf] >> 2
    assert (quality.nodes, quality.leaves) == (len(nodes), leaf.sum())
    assert quality.references == counts.sum() == len(tree.references)
    assert quality.largest_leaf == counts.max()
    # Leaves follow one another in their references, and children come in pairs.
    filled = np.sort(nodes[leaf][counts > 0][["first", "tagged"]], order="first")
    ends = np.cumsum(filled["tagged"] >> 2)
    assert filled["first"].tolist() == [0, *ends[:-1]]
    assert sorted(nodes["tagged"][~leaf] >> 2) == list(range(1, len(nodes), 2))
    assert set(np.unique(tree.references)) == set(range(3000))
    low, high = sphere.bounds
    axis = nodes["tagged"][~leaf] & 3
    assert (nodes["plane"][~leaf] >= low[axis]).all() and (nodes["plane"][~leaf] <= high[axis]).all()
    assert quality.sah(1, 1.5) == pytest.approx(quality.I + 1.5 * quality.P)
    assert tree.times["build_ms"] > 0
    assert tree.statistics["requests"] > 100
    assert heapwood.build(sphere).statistics is None
    assert tree.report["tree"]["digest"] == tree.digest
    assert "3,000 triangles" in repr(tree) and "3,000 triangles" in repr(sphere)
    assert len(sphere) == 3000 and sphere.degenerate == 0


def test_views_are_read_only_and_keep_what_they_show(sphere):
    tree = heapwood.build(sphere)
    views = [tree.nodes, tree.references, tree.vertices, tree.triangles]
    copies = [view.copy() for view in views]
    for view in views:
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
    del tree
    gc.collect()
    heapwood.build(sphere)  # takes memory that was freed, had it been
    for view, copy in zip(views, copies):
        np.testing.assert_array_equal(view, copy)


@pytest.mark.parametrize("vertices, triangles, error, sentence", [
    ([[0, 0, np.nan]] * 3, [[0, 1, 2]], ValueError, "vertex 0 has the coordinate nan"),
    ([[0, 0, 0]] * 2 + [[0, 1e39, 0]], [[0, 1, 2]], ValueError, "vertex 2 has the coordinate inf"),
    (TRIANGLE[0], [[0, 1, 3]], ValueError, "triangle 0 refers to vertex 3, but there are 3"),
    (TRIANGLE[0], [[0, 1, 2], [0, -1, 2]], ValueError, "triangle 1 refers to vertex -1"),
    (TRIANGLE[0], np.array([[0, 1, 2**32]]), ValueError, "refers to vertex 4294967296"),
    (TRIANGLE[0], np.array([[0, 1, 2], [0, 2**64 - 1, 2]], np.uint64), ValueError,
     "triangle 1 refers to vertex 18446744073709551615, but there are 3"),
    ([[0, 0, None]] * 3, [[0, 1, 2]], TypeError, "vertices must be real numbers, not object"),
    (np.zeros((0, 3)), np.zeros((0, 3), int), ValueError, "between 1 and 2.30 - 1 triangles, not 0"),
    (TRIANGLE[0], np.zeros((0, 3), int), ValueError, "between 1 and 2.30 - 1 triangles, not 0"),
    (np.zeros((3, 2)), [[0, 1, 2]], ValueError, r"vertices must have the shape \(V, 3\)"),
    (np.zeros(9), [[0, 1, 2]], ValueError, r"vertices must have the shape \(V, 3\)"),
    (TRIANGLE[0], [0, 1, 2], ValueError, r"triangles must have the shape \(T, 3\)"),
    (TRIANGLE[0], [[0.0, 1.0, 2.0]], TypeError, "triangles must be whole numbers, not float64"),
    (TRIANGLE[0], None, TypeError, "takes a Scene, or vertices and triangles"),
    (np.zeros((3, 3), complex), [[0, 1, 2]], TypeError, "vertices must be real numbers"),
])
@pytest.mark.filterwarnings("ignore:overflow")
def test_wrong_arrays(vertices, triangles, error, sentence):
    with pytest.raises(error, match=sentence):
        heapwood.build(vertices, triangles)


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"allocator": "haloc"}, ValueError, "no allocator 'haloc'; .*did you mean 'halloc'"),
    ({"allocator": "all"}, ValueError, "one tree needs one allocator"),
    ({"device": "tpu"}, ValueError, "device 'tpu' is neither cpu nor cuda"),
    ({"center": True}, TypeError, "center=True is for vertices"),
    ({"method": "both"}, ValueError, "neither single nor levels"),
    ({"preset": "papers"}, ValueError, "preset 'papers' is none of .*did you mean 'paper'"),
    ({"leaflimit": 4}, TypeError, "unexpected keyword argument 'leaflimit'.*'leaf_limit'"),
    ({"leaf_limit": "x"}, ValueError, "leaf_limit: 'x' is not a whole number from 0 to 4294967295"),
    ({"leaf_limit": -1}, ValueError, "leaf_limit: -1 is not a whole number from 0 to 4294967295"),
    ({"clip": 2}, ValueError, "clip: 2 is not True or False"),
    ({"empty_rule": "some"}, ValueError, "empty_rule 'some' is none of pays, tests, whole"),
    ({"planes": 100}, ValueError, "planes must be at least 3 and at most 93"),
    ({"leaf_area": float("nan")}, ValueError, "leaf_area must be at least 0"),
    ({"pool": "5"}, ValueError, "'5' is no pool size: it has no unit"),
    ({"pool": "1B"}, heapwood.OutOfPool, "cambium: a pool of 1 B is below the .*pass a larger pool"),
    ({"allocator": "halloc", "options": {"page_bytes": 1}}, ValueError, "halloc has no option 'page_bytes'; it has"),
    ({"allocator": "halloc", "options": {"fallback": "no"}}, ValueError, "fallback: 'no' is none of"),
    ({"pool": 5}, TypeError, "pool must be a string, as '200x', not 5"),
    ({"allocator": ["halloc"]}, TypeError, "allocator must be a string, as 'cambium'"),
    ({"threads": -1}, ValueError, "threads must be 0, for one a core, or more, not -1"),
    ({"threads": np.uint64(2**64 - 1)}, ValueError, "threads must be fewer than 2.32, not 18446744073709551615"),
    ({"threads": 2.0}, TypeError, "threads must be a whole number, not 2.0"),
    ({"leaf_limit": np.uint64(2**64 - 1)}, ValueError, "leaf_limit: 18446744073709551615 is not a whole"),
    ({"max_nodes": 9}, MemoryError, "the node array holds"),
])
def test_wrong_arguments(sphere, arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        heapwood.build(sphere, **arguments)


def test_a_pool_that_grows(sphere, tree):
    for allocator in ("cambium", "atomicmalloc"):
        grown = heapwood.build(sphere, allocator=allocator, pool="2x", grow=True, statistics=True)
        assert grown.digest == tree.digest
        built = grown.report["build"]
        assert built["pool_growths"] >= 1 and built["pool_bytes"] > 2 * 32 * 3000
        assert grown.statistics["requests"] > 100
    assert tree.report["build"]["pool_growths"] is None
    builder = heapwood.Builder(sphere.triangles, pool="2x", grow="100x", threads=2)
    small = builder.pool_bytes
    for _ in range(2):
        builder.rebuild(sphere.vertices)
        assert builder.tree().digest == tree.digest
    assert small <= 2 * 32 * 3000 < builder.pool_bytes <= 100 * 32 * 3000
    with pytest.raises(heapwood.OutOfPool, match="the pool may have 163200 bytes"):
        heapwood.build(sphere, pool="1.2x", grow="1.7x")
    for wrong, error, sentence in (("", ValueError, "empty string"), (3, TypeError, "grow must be True, False"),
                                   ("1x", ValueError, "cannot grow to 1x"), ("3", ValueError, "no pool size")):
        with pytest.raises(error, match=sentence):
            heapwood.build(sphere, pool="2x", grow=wrong)
    with pytest.raises(ValueError, match="no pool of halloc grows"):
        heapwood.build(sphere, allocator="halloc", grow=True)


def test_a_pool_that_runs_out(sphere):
    with pytest.raises(heapwood.OutOfPool, match='has no room for a request .*as pool="4x"') as caught:
        heapwood.build(sphere, allocator="atomicmalloc", pool="2x")
    assert isinstance(caught.value, MemoryError)


@pytest.mark.parametrize("name", ["cuda", "gpu"])
def test_a_gpu_that_there_is_not(sphere, tmp_path, name):
    assert heapwood.allocators(name) == heapwood.allocators("cuda")
    if heapwood.cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(heapwood.NoDevice, match="no GPU to build on"):
        heapwood.build(sphere, device=name)
    with pytest.raises(heapwood.NoDevice, match="no GPU to trace rays on"):
        heapwood.build(sphere).to(name)
    heapwood.build(sphere).save(tmp_path / "sphere.kdt")
    with pytest.raises(heapwood.NoDevice, match="no GPU to trace rays on"):
        heapwood.load_tree(tmp_path / "sphere.kdt", device=name)


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    scene = heapwood.load(MODELS / "trefoil.obj")
    for number, whole in (("float64", "int64"), ("Float64", "Int64"), ("Float32", "UInt32"), ("object", "object")):
        tree = heapwood.build(pandas.DataFrame(scene.vertices, columns=list("xyz")).astype(number),
                              pandas.DataFrame(scene.triangles.astype(np.int64)).astype(whole))
        assert tree.digest == "71cc49326e25d93f", number
    missing = pandas.DataFrame(TRIANGLE[0], dtype="Float64")
    missing.loc[1, 2] = pandas.NA
    with pytest.raises(ValueError, match="vertex 1 has the coordinate nan"):
        heapwood.build(missing, TRIANGLE[1])
    with pytest.raises(TypeError, match="triangles must be whole numbers"):
        heapwood.build(TRIANGLE[0], missing)


def test_parameters_have_types():
    with pytest.raises(TypeError) as caught:
        heapwood.build(*TRIANGLE, no_parameter=1)
    names = str(caught.value).split("parameters of the tree are ")[1].split(";")[0].split(", ")
    assert names == list(TreeParameters.__annotations__)


@pytest.mark.parametrize("name, sentence", [
    ("missing.obj", "missing.obj"),
    ("gen:spheer:10", "no generator 'spheer'"),
    ("gen:sphere:x", "is no number of triangles"),
    ("", "a scene needs a name"),
])
def test_wrong_scenes(name, sentence):
    with pytest.raises(heapwood.SceneError, match=sentence):
        heapwood.load(name)


def test_a_broken_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "broken.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n")
    with pytest.raises(heapwood.SceneError, match="broken.obj:4: face index 4 is out of range"):
        heapwood.load(path)


def test_trees_are_not_made_by_hand(sphere):
    with pytest.raises(TypeError, match="heapwood.build or heapwood.load_tree"):
        heapwood.Tree()
    with pytest.raises(TypeError, match="not both"):
        heapwood.build(sphere, [[0, 1, 2]])


def test_other_threads_run_during_a_build():
    scene = heapwood.load("gen:sphere:50000")
    ticks = 0
    ended = threading.Event()

    def tick():
        nonlocal ticks
        while not ended.is_set():
            time.sleep(0.001)
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    heapwood.build(scene, threads=1)
    during = ticks - before
    ended.set()
    thread.join()
    assert during > 3


def test_a_tree_is_not_saved_over_its_scene(tmp_path):
    scene, some, link = tmp_path / "a.obj", tmp_path / "some.list", tmp_path / "link"
    scene.write_bytes((MODELS / "gem.obj").read_bytes())
    some.write_text("a.obj\n")
    link.symlink_to(scene)
    for name in (scene, some):
        tree = heapwood.build(heapwood.load(name))
        for path in (name, scene, link):
            with pytest.raises(ValueError, match="are the same file"):
                tree.save(path)
        tree.save(tmp_path / "a.kdt")
    assert scene.read_bytes() == (MODELS / "gem.obj").read_bytes()
    with pytest.raises(ValueError, match="are the same file"):
        heapwood.load_tree(tmp_path / "a.kdt").save(tmp_path / "a.kdt")
