"""Trees, rays and builders on a GPU, by arrays of CuPy, Torch and JAX. They skip where there is no GPU."""

import gc
import threading

import numpy as np
import pytest

import heapwood
from conftest import CUDA, Library
from heapwood import _arrays

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not heapwood.cuda_available(),
                       reason="no GPU, or the package was built without CUDA"),
]


@pytest.fixture(scope="module")
def gpu_tree(sphere):
    return heapwood.build(sphere, device="cuda")


def test_trees_are_equal_whatever_builds_them(sphere, tree):
    for allocator in heapwood.allocators("cuda"):
        other = heapwood.build(sphere, device="cuda", allocator=allocator, statistics=True)
        assert (other.digest, other.device) == (tree.digest, "cuda"), allocator
    levels = heapwood.build(sphere, device="cuda", method="levels")
    np.testing.assert_array_equal(levels.references, tree.references)
    assert tree.to("cuda").device == "cuda" and tree.to("cuda").to("cpu").device == "cpu"


def test_arrays_build_where_they_lie(library, sphere, tree):
    vertices = library.put(sphere.vertices)
    triangles = library.put(sphere.triangles.astype(np.int32))
    built = heapwood.build(vertices, triangles)
    assert (built.device, built.digest) == ("cuda", tree.digest)
    assert heapwood.build(vertices, triangles, device="cpu").digest == tree.digest


def test_points_of_a_library(library, tree, gpu_tree, rays):
    points = rays[0]
    boxes = np.stack((points - 0.5, points + np.float32(0.5)), axis=1)
    calls = [("closest_point", points), ("distance", points), ("signed_distance", points), ("contains", points),
             ("within", points, 0.5), ("within", points, 0.5, "count"), ("within", points, 0.5, "any"),
             ("overlaps", boxes), ("overlaps", boxes, "count"), ("overlaps", boxes, "any")]
    for name, first, *more in calls:
        expected = getattr(tree, name)(first, *more)
        results = getattr(gpu_tree, name)(library.put(first), *more)
        copied = getattr(gpu_tree, name)(first, *more)  # of the host, through the same tree
        if not isinstance(results, tuple):
            expected, results, copied = (expected,), (results,), (copied,)
        for result, copy, same in zip(results, copied, expected):
            np.testing.assert_array_equal(library.get(result), same)
            np.testing.assert_array_equal(copy, same)
        if name in ("within", "overlaps") and len(results) == 2:
            continue  # lists have no out
        for put in (np.array,) if library.name == "jax" else (np.array, library.put):
            there = tuple(put(np.ones_like(array)) for array in expected)
            out = there if len(there) > 1 else there[0]
            assert getattr(gpu_tree, name)(put(first), *more, out=out) is out
            for result, same in zip(there, expected):
                np.testing.assert_array_equal(result if put is np.array else library.get(result), same)


def test_memory_of_results_that_were_given_up_is_used_again(library, gpu_tree, rays):
    if library.name == "jax":
        pytest.skip("JAX tells no address")
    there = [library.put(array) for array in rays]
    first = gpu_tree.closest_hit(*there)
    expected = [library.get(array).copy() for array in first]
    other = gpu_tree.closest_hit(there[0], -there[1])
    assert library.address(other[0]) != library.address(first[0])
    for array, same in zip(first, expected):
        np.testing.assert_array_equal(library.get(array), same)
    address = library.address(other[0])
    del other, array
    for _ in range(3):
        again = gpu_tree.closest_hit(*there)
        assert library.address(again[0]) == address
        for array, same in zip(again, expected):
            np.testing.assert_array_equal(library.get(array), same)
        del again, array


@pytest.mark.parametrize("options", [{}, {"coherent": True}])
def test_rays_of_a_library(library, tree, gpu_tree, rays, options):
    there = [library.put(array) for array in rays]
    for name in ("closest_hit", "any_hit", "count", "all_hits"):
        expected = getattr(tree, name)(*rays)
        results = getattr(gpu_tree, name)(*there, **options)
        if not isinstance(results, tuple):
            expected, results = (expected,), (results,)
        for result, same in zip(results, expected):
            result = library.get(result)
            assert result.shape == same.shape
            if library.name == "jax":  # has 32 bits for 64, unless it is told otherwise
                assert result.dtype.kind == same.dtype.kind, name
            else:
                assert result.dtype == same.dtype, name
            np.testing.assert_array_equal(result, same, err_msg=name)


def test_shapes_and_ends(library, tree, gpu_tree, rays):
    image = [library.put(array.reshape(20, 25, 3)) for array in rays]
    ends = np.linspace(0.1, 3, 500, dtype=np.float32)
    t, primitive, uv = gpu_tree.closest_hit(*image, t_max=library.put(ends.reshape(20, 25)))
    assert (t.shape, primitive.shape, uv.shape) == ((20, 25), (20, 25), (20, 25, 2))
    expected = tree.closest_hit(*rays, t_max=ends)
    np.testing.assert_array_equal(library.get(primitive).reshape(-1), expected[1])
    single = gpu_tree.count(library.put(rays[0][3]), library.put(rays[1]))
    np.testing.assert_array_equal(library.get(single), tree.count(rays[0][3], rays[1]))
    double = gpu_tree.count(library.put(rays[0].astype(np.float64)), library.put(rays[1]))
    np.testing.assert_array_equal(library.get(double), tree.count(*rays))


def test_rays_broadcast(library, tree, gpu_tree, rays):
    origins, directions = rays[0][:20, None], rays[1].reshape(20, 25, 3)
    expected = tree.count(origins, directions)
    found = gpu_tree.count(library.put(origins), library.put(directions))
    np.testing.assert_array_equal(library.get(found), expected)
    ends = np.linspace(0.1, 3, 4, dtype=np.float32)
    found = gpu_tree.count(library.put(rays[0][3]), library.put(rays[1][3]), t_max=library.put(ends))
    np.testing.assert_array_equal(library.get(found), tree.count(rays[0][3], rays[1][3], t_max=ends))


@pytest.mark.parametrize("library", ["cupy", "torch"], indirect=True)
def test_a_tree_far_from_the_origin(library, sphere, rays):
    far = np.array([450_000.0, 5_500_000.0, 200.0])
    vertices = library.put(sphere.vertices + far)
    with pytest.warns(heapwood.PrecisionWarning):
        heapwood.Scene(vertices, sphere.triangles)
    centred = heapwood.build(vertices, sphere.triangles, center=True, device="gpu")
    expected = centred.to("cpu").count(rays[0] + far, rays[1])
    for number in (np.float64, np.float32):
        found = centred.count(library.put((rays[0] + far).astype(number)), library.put(rays[1]))
        if number is np.float64:
            np.testing.assert_array_equal(library.get(found), expected)
    assert expected.sum() > 100


def test_single_precision_of_jax_has_no_place_for_an_origin(sphere):
    library = Library("jax")
    centred = heapwood.build(sphere.vertices + 1e6, sphere.triangles, center=True, device="cuda")
    rays = library.put(np.ones((2, 3), np.float32))
    if rays.__dlpack_device__()[0] != CUDA:
        pytest.skip("jax has no GPU")
    with pytest.raises(TypeError, match="jax_enable_x64"):
        centred.count(rays, rays)


def test_bfloat16_of_torch(tree, gpu_tree, rays):
    library = Library("torch")
    there = [library.put(array).bfloat16() for array in rays]
    expected = tree.count(*(array.float().cpu().numpy() for array in there))
    np.testing.assert_array_equal(library.get(gpu_tree.count(*there)), expected)
    np.testing.assert_array_equal(tree.count(*(array.cpu() for array in there)).numpy(), expected)


@pytest.mark.parametrize("library", ["cupy", "torch"], indirect=True)
def test_rays_are_read_where_they_lie(library, tree, gpu_tree, rays):
    both = library.put(np.hstack(rays))
    origins, directions = both[:, :3], both[:, 3:]
    (*rows, _, _), _ = _arrays.rays(origins, directions, 0.0, np.inf)
    for row, array in zip(rows, (origins, directions)):
        assert library.address(row) == library.address(array)
    np.testing.assert_array_equal(library.get(gpu_tree.count(origins, directions)),
                                  tree.count(*rays))
    # Each third ray, in any order of axes: strides do not matter.
    np.testing.assert_array_equal(
        library.get(gpu_tree.count(origins[::3], directions[::3])), tree.count(*rays)[::3])


def test_rays_on_the_host_through_a_tree_on_a_gpu(tree, gpu_tree, rays):
    for name in ("closest_hit", "all_hits"):
        for result, same in zip(getattr(gpu_tree, name)(*rays), getattr(tree, name)(*rays)):
            assert isinstance(result, np.ndarray)
            np.testing.assert_array_equal(result, same)
    np.testing.assert_array_equal(gpu_tree.any_hit(*rays), tree.any_hit(*rays))
    np.testing.assert_array_equal(gpu_tree.count(*rays), tree.count(*rays))
    none = np.zeros((0, 3))
    assert gpu_tree.closest_hit(none, none)[0].shape == (0,)


def test_no_rays_on_a_gpu(library, gpu_tree):
    none = library.put(np.zeros((0, 3), np.float32))
    assert [x.shape for x in gpu_tree.closest_hit(none, none)] == [(0,), (0,), (0, 2)]
    assert library.get(gpu_tree.all_hits(none, none)[0]).tolist() == [0]


def test_results_outlive_the_tree(library, sphere, rays):
    tree = heapwood.build(sphere, device="cuda")
    there = [library.put(array) for array in rays]
    expected = library.get(tree.closest_hit(*there)[1])
    primitive = tree.closest_hit(*there)[1]
    del tree
    gc.collect()
    np.testing.assert_array_equal(library.get(primitive), expected)


def test_what_lies_in_different_places(library, tree, gpu_tree, rays):
    origins, directions = rays
    with pytest.raises(ValueError, match="the rays lie on a GPU, but the tree on the CPU"):
        tree.count(library.put(origins), library.put(directions))
    with pytest.raises(ValueError, match="directions lies on another device than the origins"):
        gpu_tree.count(library.put(origins), directions)
    with pytest.raises(ValueError, match="t_max lies on another device"):
        gpu_tree.count(library.put(origins), library.put(directions), t_max=np.ones(500))


def test_a_call_with_a_stream_does_not_wait(tree, gpu_tree, rays):
    cupy = pytest.importorskip("cupy")
    there = [cupy.asarray(array) for array in rays]
    gpu_tree.closest_hit(*there)  # laid out, and the kernel loaded
    cupy.cuda.Device().synchronize()
    returned = threading.Event()
    in_time = []
    stream = cupy.cuda.Stream(non_blocking=True)
    # The stream stands until the call has returned, or for ten seconds.
    stream.launch_host_func(lambda _: in_time.append(returned.wait(10)), None)
    results = gpu_tree.closest_hit(*there, stream=stream)
    returned.set()
    stream.synchronize()
    assert in_time == [True]
    for result, same in zip(results, tree.closest_hit(*rays)):
        np.testing.assert_array_equal(cupy.asnumpy(result), same)


def test_streams_of_torch_and_addresses(tree, gpu_tree, rays):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    there = [torch.from_numpy(array).cuda() for array in rays]
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for way in (stream, stream.cuda_stream):
        found = gpu_tree.any_hit(*there, stream=way)
        stream.synchronize()
        np.testing.assert_array_equal(found.cpu().numpy(), tree.any_hit(*rays))


def test_tensors_with_gradients(tree, gpu_tree, rays):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    there = [torch.from_numpy(array).cuda().requires_grad_() for array in rays]
    np.testing.assert_array_equal(gpu_tree.count(*there).cpu().numpy(), tree.count(*rays))


def test_more_rays_than_a_batch(gpu_tree, tree, sphere, rng):
    """More rays than are gathered at a time."""
    cupy = pytest.importorskip("cupy")
    n = (1 << 22) + 1000
    low, high = sphere.bounds
    origins = cupy.asarray(rng.uniform(low, high, (n, 3)).astype(np.float32))
    direction = cupy.asarray(np.float32([1, 2, 3]))
    t, primitive, _ = gpu_tree.closest_hit(origins, direction)
    for part in (slice(0, 1000), slice(n - 2000, n)):
        expected = tree.closest_hit(origins[part].get(), direction.get())
        np.testing.assert_array_equal(t[part].get(), expected[0])
        np.testing.assert_array_equal(primitive[part].get(), expected[1])
    assert int((gpu_tree.count(origins, direction) > 0).sum()) == int((primitive >= 0).sum())


@pytest.fixture
def frames(sphere, rng):
    return [sphere.vertices * rng.uniform(0.5, 2, 3).astype(np.float32) for _ in range(4)]


def test_frames_of_a_builder_have_the_trees_and_hits_of_build(library, sphere, frames, rays, monkeypatch):
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
            nearest = builder.closest_point(origins)
        tree = heapwood.build(frame, sphere.triangles)
        for mine, same in zip((*hits, *nearest), (*tree.closest_hit(*rays), *tree.closest_point(rays[0]))):
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


def test_other_numbers_and_strides_of_vertices_are_converted(library, sphere, rays):
    builder = heapwood.Builder(sphere.triangles, device="cuda")
    wide = library.put(np.repeat(sphere.vertices, 2, axis=1))[:, ::2]
    for vertices in (wide, library.put(sphere.vertices.astype(np.float16))):
        builder.rebuild(vertices)
        exact = _arrays.to_numpy(vertices, "vertices").astype(np.float32)
        assert builder.tree().digest == heapwood.build(exact, sphere.triangles).digest


def test_faulty_frames_of_a_builder_are_refused_and_the_next_is_built(library, sphere):
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
