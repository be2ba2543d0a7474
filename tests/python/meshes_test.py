"""Meshes of other libraries, files of other formats, and several meshes at once."""

import builtins
import copy
import pathlib
import pickle
import types

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE

MODELS = pathlib.Path(__file__).parents[2] / "scenes/models"


@pytest.fixture
def trio(rng):
    """Three closed meshes, and a random transform of each: turned, stretched, moved."""
    names = ["gen:sphere:300", MODELS / "gem.obj", "gen:sphere:80"]
    scenes = [heapwood.load(name) for name in names]
    transforms = np.tile(np.eye(4), (3, 1, 1))
    transforms[:, :3, :3] += rng.uniform(-0.4, 0.4, (3, 3, 3))
    transforms[:, :3, 3] = rng.uniform(-9, 9, (3, 3))
    return scenes, transforms


def mesh(**attributes):
    return types.SimpleNamespace(**attributes)


def boxed(triangles):
    """Faces as VTK has them."""
    return np.column_stack((np.full(len(triangles), 3), triangles)).ravel()


def test_objects_with_vertices_and_faces(tree):
    v, f = tree.vertices, tree.triangles
    for thing in (mesh(vertices=v, faces=f), mesh(vertices=v.tolist(), triangles=f.astype(np.int32)),
                  mesh(vertices=v, faces=f, triangles=np.zeros((3, 3, 3))), mesh(points=v, faces=boxed(f)),
                  (v, f), [(v, f)], [mesh(vertices=v, faces=f)]):
        assert heapwood.build(thing).digest == tree.digest
    assert heapwood.Scene.of(mesh(vertices=v, faces=f)).digest == tree.scene.digest


def test_meshes_of_trimesh():
    trimesh = pytest.importorskip("trimesh")
    torus = trimesh.creation.torus(2, 0.7)
    tree = heapwood.build(torus)
    assert len(tree.triangles) == len(torus.faces)
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.creation.box(), transform=trimesh.transformations.translation_matrix([9, 0, 0]))
    scene.add_geometry(torus)
    hits = heapwood.build(scene).hits([[9, 0, 5], [2, 0, 5], [5, 0, 5]], [0, 0, -1])
    assert hits.geometry.tolist() == [0, 1, -1]
    np.testing.assert_allclose(hits.points[0], [9, 0, 0.5])
    again = heapwood.build([torus, scene, torus]).hits([9, 0, 5], [0, 0, -1])
    assert int(again.geometry) == 1


def test_meshes_of_open3d():
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    torus = open3d.geometry.TriangleMesh.create_torus()
    tree = heapwood.build(torus)
    np.testing.assert_array_equal(tree.triangles, np.asarray(torus.triangles))
    np.testing.assert_array_equal(tree.vertices, np.asarray(torus.vertices, np.float32))


def test_meshes_of_pyvista():
    pyvista = pytest.importorskip("pyvista")
    sphere = pyvista.Sphere()
    tree = heapwood.build(sphere)
    np.testing.assert_array_equal(tree.triangles, sphere.faces.reshape(-1, 4)[:, 1:])
    with pytest.raises(ValueError, match=r"not all triangles: PyVista's mesh.triangulate\(\)"):
        heapwood.build(pyvista.Cube())
    assert len(heapwood.build(pyvista.Cube().triangulate()).triangles) == 12


def test_names_of_files(tmp_path):
    assert heapwood.build(MODELS / "trefoil.obj").digest == "71cc49326e25d93f"
    assert heapwood.build(str(MODELS / "trefoil.obj")).scene.path == str(MODELS / "trefoil.obj")
    with pytest.raises(heapwood.SceneError, match="missing.obj"):
        heapwood.build(tmp_path / "missing.obj")


def test_several_meshes_are_hit_as_each_alone(trio, rng):
    scenes, transforms = trio
    tree = heapwood.build(scenes, transforms=transforms)
    low, high = tree.scene.bounds
    origins, targets = rng.uniform(low - 1, high + 1, (2, 2000, 3)).astype(np.float32)
    hits = tree.hits(origins, targets - origins)
    alone = [heapwood.build(scene, transforms=matrix).hits(origins, targets - origins)
             for scene, matrix in zip(scenes, transforms)]
    first = np.argmin([one.t for one in alone], axis=0)
    found = np.any([one.mask for one in alone], axis=0)
    np.testing.assert_array_equal(hits.mask, found)
    np.testing.assert_array_equal(hits.geometry, np.where(found, first, -1))
    faces = np.array([one.primitive for one in alone])[first, np.arange(2000)]
    np.testing.assert_array_equal(hits.face, np.where(found, faces, -1))
    assert hits.geometry.dtype == hits.face.dtype == np.int32
    assert set(hits.geometry) == {-1, 0, 1, 2}
    starts = tree.scene.first_triangles
    assert starts.tolist() == [0, *np.cumsum([len(scene) for scene in scenes])]
    np.testing.assert_array_equal(hits.primitive[found], (starts[hits.geometry] + hits.face)[found])


def test_transforms_move_points(trio):
    scenes, transforms = trio
    tree = heapwood.build(scenes, transforms=transforms)
    starts = tree.scene.first_vertices
    for i, (scene, matrix) in enumerate(zip(scenes, transforms)):
        points = np.column_stack((np.float64(scene.vertices), np.ones(len(scene.vertices))))
        expected = np.array([matrix @ point for point in points])[:, :3]
        np.testing.assert_allclose(tree.vertices[starts[i]:starts[i + 1]], expected, atol=1e-5)
    same = heapwood.build(scenes[0].vertices, scenes[0].triangles, transforms=transforms[0])
    np.testing.assert_array_equal(same.vertices, tree.vertices[:starts[1]])


def test_a_distant_scene_is_centred(trio):
    scenes, transforms = trio
    near = heapwood.build(scenes, transforms=transforms, center=True)
    transforms[:, :3, 3] += [4.5e5, 5.4e6, 100]
    with pytest.warns(heapwood.PrecisionWarning):
        heapwood.build(scenes, transforms=transforms)
    far = heapwood.build(scenes, transforms=transforms, center=True)
    np.testing.assert_allclose(far.origin - near.origin, [4.5e5, 5.4e6, 100], atol=1e-3)
    np.testing.assert_allclose(far.vertices, near.vertices, atol=1e-4)
    named = heapwood.load(MODELS / "gem.obj", center=True)
    np.testing.assert_allclose(named.vertices + named.origin, heapwood.load(MODELS / "gem.obj").vertices, atol=1e-6)
    assert named.origin.any() and named.path == str(MODELS / "gem.obj")
    assert len(heapwood.Scene.of([named, named]).vertices) == 2 * len(named.vertices)
    np.testing.assert_allclose(heapwood.Scene.of([named]).bounds, heapwood.load(MODELS / "gem.obj").bounds, atol=1e-6)


def test_values_of_each_mesh(trio, rng):
    scenes, transforms = trio
    tree = heapwood.build(scenes, transforms=transforms)
    values = [rng.uniform(size=(len(scene.vertices), 2)) for scene in scenes]
    low, high = tree.scene.bounds
    origins, targets = rng.uniform(low, high, (2, 500, 3))
    hits = tree.hits(origins, targets - origins)
    np.testing.assert_array_equal(heapwood.interpolate(hits, values),
                                  heapwood.interpolate(hits, np.concatenate(values)))
    alone = heapwood.build([scenes[0]]).hits([0, 0, 0], [1, 0, 0])
    assert heapwood.interpolate(alone, [values[0]]).shape == (2,)
    values[1] = values[1][:-1]
    with pytest.raises(ValueError, match=r"per_vertex\[1\] must have the shape"):
        heapwood.interpolate(hits, values)


def test_copies_keep_their_meshes(trio, tmp_path):
    tree = heapwood.build(trio[0])
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), tree.to("cpu")):
        np.testing.assert_array_equal(again.scene.first_triangles, tree.scene.first_triangles)
    again = pickle.loads(pickle.dumps(tree.scene))
    np.testing.assert_array_equal(again.first_vertices, tree.scene.first_vertices)
    assert heapwood.Scene.of([again, again]).first_triangles.tolist() == [
        *tree.scene.first_triangles[:-1], *(tree.scene.first_triangles + len(again))]
    tree.save(tmp_path / "trio.kdt")
    assert heapwood.load_tree(tmp_path / "trio.kdt").scene.first_triangles.tolist() == [0, len(tree.triangles)]


@pytest.mark.parametrize("things, options, error, sentence", [
    ([TRIANGLE, (TRIANGLE[0], [[0, 1, 3]])], {}, ValueError, "mesh 1: triangle 0 refers to vertex 3, but there are 3"),
    ([(TRIANGLE[0], [[0, 1, -1]]), TRIANGLE], {}, ValueError, "mesh 0: triangle 0 refers to vertex -1"),
    ([TRIANGLE, (np.zeros((3, 2)), [[0, 1, 2]])], {}, ValueError, r"mesh 1: vertices must have the shape \(V, 3\)"),
    ([TRIANGLE, (TRIANGLE[0], [[0.0, 1, 2]])], {}, TypeError, "mesh 1: triangles must be whole numbers"),
    ([TRIANGLE, 7], {}, TypeError, r"a list of these; not meshes\[1\] of <class 'int'>"),
    ([], {}, TypeError, "a list of these; not <class 'list'>"),
    (7, {}, TypeError, "a list of these; not <class 'int'>"),
    (np.zeros((3, 3)), {}, TypeError, "a list of these; not <class 'numpy.ndarray'>"),
    (mesh(vertices=TRIANGLE[0]), {}, TypeError, "a mesh that has both"),
    (mesh(points=TRIANGLE[0], faces=[4, 0, 1, 2, 0]), {}, ValueError, "not all triangles"),
    ([TRIANGLE] * 2, {"transforms": np.eye(4)}, ValueError,
     r"the shape \(2, 4, 4\), a matrix for each mesh, not \(4, 4\)"),
    ([TRIANGLE] * 2, {"transforms": [np.eye(4)] * 3}, ValueError, r"not \(3, 4, 4\)"),
    (TRIANGLE, {"transforms": np.ones((4, 4))}, ValueError,
     r"transforms\[0\] must be finite, with the last row 0 0 0 1"),
    (TRIANGLE, {"transforms": np.eye(4) * np.nan}, ValueError, "must be finite"),
])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_wrong_meshes(things, options, error, sentence):
    with pytest.raises(error, match=sentence):
        heapwood.build(things, **options)


@pytest.mark.parametrize("suffix", ["ply", "stl", "off", "glb"])
def test_files_that_trimesh_reads(tmp_path, suffix, rng):
    trimesh = pytest.importorskip("trimesh")
    torus = trimesh.creation.torus(2, 0.7)
    path = tmp_path / f"torus.{suffix}"
    torus.export(path)
    scene = heapwood.load(path)
    assert scene.path == str(path) and len(scene) == len(torus.faces)
    origins, directions = rng.normal(size=(2, 300, 3)) * 3
    expected = heapwood.build(torus.vertices, torus.faces).hits(origins, directions)
    hits = heapwood.build(path).hits(origins, directions)
    assert (hits.mask == expected.mask).mean() > 0.99
    both = hits.mask & expected.mask
    np.testing.assert_allclose(hits.points[both], expected.points[both], atol=1e-3)
    moved = heapwood.load(path, center=True)
    np.testing.assert_allclose(moved.bounds + moved.origin, scene.bounds, atol=1e-5)


def test_a_file_of_several_meshes(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    both = trimesh.Scene()
    both.add_geometry(trimesh.creation.box(), transform=trimesh.transformations.translation_matrix([9, 0, 0]))
    both.add_geometry(trimesh.creation.icosphere())
    both.export(tmp_path / "both.glb")
    scene = heapwood.load(tmp_path / "both.glb")
    assert sorted(np.diff(scene.first_triangles)) == [12, 1280]
    hits = heapwood.build(scene).hits([[9, 0, 5], [0.1, 0.1, 5]], [0, 0, -1])
    assert sorted(hits.geometry) == [0, 1]


def test_files_that_trimesh_cannot_read(tmp_path, monkeypatch):
    pytest.importorskip("trimesh")
    for contents, sentence in ((b"no ply", "trimesh cannot read it"),
                               (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                                b"property float z\nend_header\n0 0 0\n", "has no triangles")):
        (tmp_path / "a.ply").write_bytes(contents)
        with pytest.raises(heapwood.SceneError, match=f"a.ply: {sentence}"):
            heapwood.load(tmp_path / "a.ply")
    with pytest.raises(heapwood.SceneError, match="b.stl: is no file"):
        heapwood.load(tmp_path / "b.stl")
    real = builtins.__import__

    def without(name, *rest):
        if name == "trimesh":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(heapwood.SceneError, match="a.ply: trimesh reads such files, and is not installed: pip install"):
        heapwood.load(tmp_path / "a.ply")
