"""Meshes of double precision that lie far from the origin."""

import warnings

import numpy as np
import pytest

import heapwood

FAR = np.array([450_000.0, 5_500_000.0, 200.0])


@pytest.fixture
def mesh(sphere):
    """A sphere of 0.4 m: vertices of double precision, and triangles."""
    return 0.4 * sphere.vertices.astype(np.float64), sphere.triangles


def collapsed(scene):
    a, b, c = np.float64(scene.vertices[scene.triangles]).transpose(1, 0, 2)
    return (np.linalg.norm(np.cross(b - a, c - a), axis=1) == 0).sum()


def test_a_loss_is_told(mesh):
    vertices, triangles = mesh
    for make in (heapwood.Scene, heapwood.build):
        with pytest.warns(heapwood.PrecisionWarning, match="center=True") as caught:
            made = make(vertices + FAR, triangles)
        assert caught[0].filename == __file__, "the line of the caller"
        assert f"{collapsed(made)} of 3,000 lose their area" in str(caught[0].message)
        assert "move by up to 0.25" in str(caught[0].message)


def test_a_loss_is_told_once(mesh, tmp_path, capfd):
    vertices, triangles = mesh
    with pytest.warns(heapwood.PrecisionWarning) as caught:
        heapwood.build(vertices + FAR, triangles)
    assert len(caught) == 1
    path = tmp_path / "far.obj"
    path.write_text("v 1000000 0 0\nv 1000000.5 0 0\nv 1000000 1 0\nf 1 2 3\n")
    with pytest.warns(UserWarning, match="far from the origin") as caught:
        heapwood.build(heapwood.load(path))
    assert len(caught) == 1
    assert capfd.readouterr().err == "", "no second time by the program's log"


def test_a_vertex_without_a_triangle_changes_nothing(mesh):
    vertices, triangles = mesh
    vertices = np.vstack((vertices + FAR, [[0, 0, 0]]))
    with pytest.warns(heapwood.PrecisionWarning):
        heapwood.Scene(vertices, triangles)
    assert np.abs(heapwood.Scene(vertices, triangles, center=True).origin - FAR).max() < 1


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_larger_triangles_far_away(mesh, kind):
    vertices, triangles = mesh
    vertices = (vertices * 1000 + FAR * 1000).astype(kind)
    with pytest.warns(heapwood.PrecisionWarning):
        heapwood.Scene(vertices, triangles)


@pytest.mark.parametrize("shift, scale, kind", [
    (0, 1, np.float64),  # where it is modelled
    (10, 1, np.float64),  # a little off
    (FAR, 1e8, np.float64),  # as large as far away
    (FAR, 1, np.float32),  # that was the caller's
    (1000, 100, np.int16),
    (0, 0, np.float64),  # a point
])
def test_what_loses_nothing_warns_of_nothing(mesh, shift, scale, kind):
    vertices, triangles = mesh
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heapwood.Scene((vertices * scale + shift).astype(kind), triangles)
        heapwood.Scene(vertices + FAR, triangles, center=True)


def test_a_centred_tree_is_that_of_the_mesh_at_the_origin(mesh, rng):
    vertices, triangles = mesh
    near = heapwood.build(vertices, triangles)
    far = heapwood.build(vertices + FAR, triangles, center=True)
    assert collapsed(far.scene) == 0
    np.testing.assert_allclose(far.origin, FAR, atol=0.4)
    np.testing.assert_allclose(far.vertices + far.origin, vertices + FAR, atol=1e-7)
    origins = rng.uniform(-1, 1, (500, 3))
    directions = rng.uniform(-0.3, 0.3, (500, 3)) - origins
    t, primitive, _ = near.closest_hit(origins, directions)
    for tree in (far, far.to("cpu")):
        far_t, far_primitive, _ = tree.closest_hit(origins + FAR, directions)
        assert (far_primitive == primitive).mean() > 0.99  # near edges the triangles' rounding decides
        same = (far_primitive == primitive) & (primitive >= 0)
        assert same.sum() > 100
        np.testing.assert_allclose(far_t[same], t[same], rtol=1e-4)
    # One origin of all rays, and none of rays.
    one = far.count(FAR, directions)
    np.testing.assert_array_equal(one, far.count(np.tile(FAR, (500, 1)), directions))
    assert (one == 1).mean() > 0.9
    assert far.count(np.zeros((0, 3)), directions[0]).shape == (0,)


def test_single_precision_rays_through_a_centred_tree(mesh):
    vertices, triangles = mesh
    tree = heapwood.build(vertices + 1024.25, triangles, center=True)
    inside = np.full((4, 3), 1024.25, np.float32)
    assert tree.count(inside, np.eye(4, 3) + 0.01).tolist() == [1] * 4


def test_a_file_has_no_origin(mesh, tmp_path):
    vertices, triangles = mesh
    tree = heapwood.build(vertices + FAR, triangles, center=True)
    with pytest.warns(UserWarning, match=r"keep tree.origin, and pass it to load_tree"):
        tree.save(tmp_path / "far.kdt")
    read = heapwood.load_tree(tmp_path / "far.kdt", origin=tree.origin)
    np.testing.assert_array_equal(read.origin, tree.origin)
    assert read.count(FAR, [1, 2, 3]) == tree.count(FAR, [1, 2, 3]) == 1
    for wrong in (None, [1, 2], [np.nan, 0, 0], [[0, 0, 0]]):
        with pytest.raises(ValueError, match="three finite numbers"):
            heapwood.load_tree(tmp_path / "far.kdt", origin=wrong)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("center", [False, True])
def test_vertices_that_are_none(wrong, center):
    with pytest.raises(ValueError, match="vertex 1 has the coordinate"):
        heapwood.Scene(np.array([[0, 0, 0], [wrong, -wrong, 0], [0, 1, 0]]), [[0, 1, 2]], center=center)
    with pytest.raises(ValueError, match="triangle 0 refers to vertex 3"):
        heapwood.Scene([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 3]], center=center)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("any_number", [np.nan, -np.inf, 1e300])
@pytest.mark.parametrize("center", [False, True])
def test_a_vertex_without_a_triangle_may_have_any_coordinates(any_number, center):
    corners = [[1.0, 1, 1], [2, 1, 1], [1, 2, 1]]
    plain = heapwood.Scene(corners, [[0, 1, 2]], center=center)
    scene = heapwood.Scene([[7, any_number, 7], *corners], [[1, 2, 3]], center=center)
    np.testing.assert_array_equal(scene.bounds, plain.bounds)
    np.testing.assert_array_equal(scene.vertices, [[0, 0, 0], *plain.vertices])
    assert len(heapwood.build(scene).nodes) == len(heapwood.build(plain).nodes)
