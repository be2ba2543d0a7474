"""Trees that stay on a GPU, where arrays of CuPy, Torch and JAX lie. They skip where there is no GPU."""

import json
import pickle
import threading

import numpy as np
import pytest

import heapwood
from conftest import Library

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not heapwood.cuda_available(),
                       reason="no GPU, or the package was built without CUDA"),
]


class Copies:
    """What has been copied between the GPU and the host in a block of code, by the trace of Torch's profiler."""

    def __init__(self, folder):
        self._torch = pytest.importorskip("torch")
        if not self._torch.cuda.is_available():
            pytest.skip("torch, whose profiler sees copies, has no GPU")
        self._file = folder / "trace.json"

    def __enter__(self):
        self._profile = self._torch.profiler.profile(activities=[self._torch.profiler.ProfilerActivity.CUDA])
        self._profile.__enter__()
        return self

    def __exit__(self, *exception):
        self._torch.cuda.synchronize()
        self._profile.__exit__(*exception)
        self._profile.export_chrome_trace(str(self._file))
        events = json.loads(self._file.read_text())["traceEvents"]
        self.to_host = [event["args"]["bytes"] for event in events
                        if event.get("cat") == "gpu_memcpy" and "DtoH" in event["name"]]
        self.to_device = [event["args"]["bytes"] for event in events
                          if event.get("cat") == "gpu_memcpy" and "HtoD" in event["name"]]


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_nothing_passes_the_host_before_it_is_asked_for(library, tmp_path, rng, name):
    """The host reads and writes counters of builds alone. (Allocators with tables write these, which atomicmalloc lacks.)"""
    ball = heapwood.load("gen:sphere:100000")
    vertices = library.put(ball.vertices)
    triangles = library.put(ball.triangles.astype(name))
    origins = library.put(rng.normal(size=(2000, 3)).astype(np.float32))

    def made():
        tree = heapwood.build(vertices, triangles, allocator="atomicmalloc")
        tree.closest_hit(origins, origins)
        tree.to("cuda").any_hit(origins, origins)
        tree.closest_point(origins)
        hits = tree.hits(origins, origins)
        assert tree.times["build_ms"] > 0 and tree.device == "cuda" and not tree.origin.any()
        return tree, hits.points, hits.normals

    made()  # kernels are loaded
    with Copies(tmp_path) as before:
        tree, *found = made()
    with Copies(tmp_path) as after:
        digest, scene = tree.digest, tree.scene
    if sum(after.to_host) < ball.vertices.nbytes + ball.triangles.nbytes:
        pytest.skip("the profiler sees no copies here")
    for copied in (before.to_host, before.to_device):
        assert max(copied, default=0) <= 8192 and sum(copied) <= 32768, copied
    with Copies(tmp_path) as again:  # all of it was made once
        assert tree.digest == digest and tree.nodes.size > len(ball) and tree.scene is scene
    assert not again.to_host
    assert digest == heapwood.build(ball).digest and scene.digest == ball.digest
    tree.verify()
    same = heapwood.build(ball).hits(library.get(origins), library.get(origins))
    for mine, expected in zip(found, (same.points, same.normals)):  # JAX computes them in single precision
        np.testing.assert_allclose(library.get(mine), expected, rtol=0, atol=1e-4 if library.name == "jax" else 1e-6)


def test_host_trees_of_arrays_on_a_gpu(library, sphere, tree, tmp_path):
    """All that a tree of the host has, by a tree whose arrays lie on a GPU, and from many threads at once."""
    vertices, triangles = library.put(sphere.vertices), library.put(sphere.triangles.astype(np.int32))
    there = heapwood.build(vertices, triangles, leaf_limit=4)
    same = heapwood.build(sphere, leaf_limit=4)
    found = []
    threads = [threading.Thread(target=lambda: found.append((there._tree.digest, there._tree.scene.digest)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(same.digest, sphere.digest)] * 4
    np.testing.assert_array_equal(there.nodes, same.nodes)
    np.testing.assert_array_equal(there.triangles, sphere.triangles)
    assert there.report["tree"] == same.report["tree"] and repr(there.quality) == repr(same.quality)
    there.save(tmp_path / "there.kdt")
    same.save(tmp_path / "same.kdt")
    assert (tmp_path / "there.kdt").read_bytes() == (tmp_path / "same.kdt").read_bytes()
    assert pickle.loads(pickle.dumps(there)).digest == same.digest
    there.verify()


def test_arrays_on_a_gpu_may_change_afterwards(library, sphere, tree, rays):
    if library.name == "jax":
        pytest.skip("arrays of JAX do not change")
    vertices, triangles = library.put(sphere.vertices), library.put(sphere.triangles.astype(np.int64))
    built = heapwood.build(vertices, triangles)
    vertices[:], triangles[:] = 7, 0
    there = [library.put(array) for array in rays]
    np.testing.assert_array_equal(library.get(built.closest_hit(*there)[1]), tree.closest_hit(*rays)[1])
    assert built.digest == tree.digest and built.scene.digest == sphere.digest


@pytest.mark.parametrize("vertices, triangles, message", [
    ([[0, 0, 0], [1, 0, 0]], [[0, 1, 2]], "triangle 0 refers to vertex 2, but there are 2 vertices"),
    ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, -1, 2]], "triangle 1 refers to vertex -1"),
    ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]], "vertex 2 has the coordinate nan"),
    ([[0, 0, 0], [np.inf, 0, 0], [0, 1, 0]], [[0, 1, 2]], "vertex 1 has the coordinate inf"),
    ([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], r"vertices must have the shape \(V, 3\)"),
    ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2.5]], "triangles must be whole numbers"),
])
def test_faulty_arrays_on_a_gpu_are_refused(library, vertices, triangles, message):
    triangles = np.asarray(triangles)
    triangles = triangles.astype(np.int32 if triangles.dtype.kind == "i" else np.float32)
    with pytest.raises((ValueError, TypeError), match=message):
        heapwood.build(library.put(np.float32(vertices)), library.put(triangles))


def test_triangles_of_the_host_with_vertices_on_a_gpu(library, sphere, tree):
    for triangles in (sphere.triangles, sphere.triangles.astype(np.int64), sphere.triangles.tolist()):
        assert heapwood.build(library.put(sphere.vertices), triangles).digest == tree.digest
    with pytest.raises(ValueError, match="triangle 0 refers to vertex -1"):
        heapwood.build(library.put(sphere.vertices), [[0, 1, -1]])


def test_arrays_of_two_libraries(library, sphere, tree):
    other = Library("torch" if library.name == "cupy" else "cupy")
    assert heapwood.build(library.put(sphere.vertices), other.put(sphere.triangles.astype(np.int32))).digest == tree.digest


@pytest.mark.parametrize("library", ["cupy", "torch"], indirect=True)
def test_double_precision_on_a_gpu(library, sphere, tree):
    assert heapwood.build(library.put(sphere.vertices.astype(np.float64)), sphere.triangles).digest == tree.digest
    far = sphere.vertices + np.array([450_000.0, 5_500_000.0, 200.0])
    with pytest.warns(heapwood.PrecisionWarning, match="pass center=True"):
        built = heapwood.build(library.put(far), library.put(sphere.triangles.astype(np.int64)))
    with pytest.warns(heapwood.PrecisionWarning):
        assert built.digest == heapwood.build(far, sphere.triangles).digest
