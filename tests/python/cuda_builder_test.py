"""Builders on a GPU, by arrays of CuPy, Torch and JAX. They skip where there is no GPU."""

import numpy as np
import pytest

import heapwood
from cuda_test import library, pytestmark  # noqa: F401
from heapwood import _arrays


@pytest.fixture
def frames(sphere, rng):
    return [sphere.vertices * rng.uniform(0.5, 2, 3).astype(np.float32) for _ in range(4)]


def test_frames_have_the_trees_and_hits_of_build(library, sphere, frames, rays, monkeypatch):  # noqa: F811
    triangles = library.put(sphere.triangles.astype(np.int32))
    builder = heapwood.Builder(triangles)
    assert builder.device == "cuda"
    origins, directions = map(library.put, rays)
    builder.rebuild(library.put(frames[0]))  # the triangles are copied now
    for frame in frames:
        vertices = library.put(frame)
        with monkeypatch.context() as patch:
            patch.setattr(_arrays, "to_numpy", lambda *_: pytest.fail("an array passes the host"))
            builder.rebuild(vertices)
            hits = builder.closest_hit(origins, directions)
        tree = heapwood.build(frame, sphere.triangles)
        for mine, same in zip(hits, tree.closest_hit(*rays)):
            np.testing.assert_array_equal(library.get(mine), same)
        assert builder.tree().digest == tree.digest
        np.testing.assert_array_equal(builder.scene.vertices, frame)
        assert builder.build_ms > 0


def test_vertices_of_the_host_go_to_the_gpu(sphere, frames, rays):
    builder = heapwood.Builder(sphere.triangles, device="cuda")
    for frame in frames:
        builder.rebuild(frame)
        tree = heapwood.build(frame, sphere.triangles)
        for mine, same in zip(builder.closest_hit(*rays), tree.closest_hit(*rays)):
            np.testing.assert_array_equal(mine, same)


def test_other_numbers_and_strides_are_converted(library, sphere, rays):  # noqa: F811
    builder = heapwood.Builder(sphere.triangles, device="cuda")
    wide = library.put(np.repeat(sphere.vertices, 2, axis=1))[:, ::2]
    for vertices in (wide, library.put(sphere.vertices.astype(np.float16))):
        builder.rebuild(vertices)
        exact = _arrays.to_numpy(vertices, "vertices").astype(np.float32)
        assert builder.tree().digest == heapwood.build(exact, sphere.triangles).digest


def test_faulty_frames_are_refused_and_the_next_is_built(library, sphere):  # noqa: F811
    builder = heapwood.Builder(sphere.triangles, device="cuda")
    wrong = sphere.vertices.copy()
    wrong[sphere.triangles[7, 1]] = np.nan
    for vertices in (wrong, sphere.vertices[:100], sphere.vertices[:, :2]):
        with pytest.raises(ValueError):
            builder.rebuild(library.put(vertices))
        with pytest.raises(ValueError, match="no tree yet"):
            builder.tree()
    builder.rebuild(library.put(sphere.vertices))
    assert builder.tree().digest == heapwood.build(sphere).digest


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_a_tree_is_ready_on_its_stream(name, sphere, frames, rays):
    module = pytest.importorskip(name)
    if name == "torch":
        stream, put = module.cuda.Stream(), lambda x: module.from_numpy(x).cuda()
        on = module.cuda.stream(stream)
    else:
        stream = on = module.cuda.Stream(non_blocking=True)
        put = module.asarray
    origins, directions = map(put, rays)
    builder = heapwood.Builder(sphere.triangles, device="cuda")
    got = []
    for explicit in (True, False):
        with on:
            for frame in frames:
                vertices = put(frame) * 1  # computed on the stream
                builder.rebuild(vertices, stream=stream if explicit else None)
                got.append(builder.closest_hit(origins, directions, stream=stream)[0])
    stream.synchronize()
    for i, t in enumerate(got):
        expected = heapwood.build(frames[i % 4], sphere.triangles).closest_hit(*rays)[0]
        np.testing.assert_array_equal(_arrays.to_numpy(t, "t"), expected)
