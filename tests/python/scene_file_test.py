"""Scenes as files that the package writes."""

import os
import pathlib

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE

MODELS = pathlib.Path(__file__).parents[2] / "scenes/models"


@pytest.mark.parametrize("suffix", [".obj", ".obj.gz", ".obj.xz", ".OBJ"])
def test_what_is_saved_is_loaded(sphere, tmp_path, suffix):
    path = tmp_path / f"sphere{suffix}"
    for scene in (heapwood.load("gen:soup:200"), sphere):  # the second replaces the first
        scene.save(path)
        read = heapwood.load(path)
        assert (read.digest, read.path) == (scene.digest, str(path))
    assert os.listdir(tmp_path) == [path.name]
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_every_number_comes_back(rng, tmp_path):
    bits = rng.integers(0, 2**32, (70_000, 3), dtype=np.uint32)  # more rows than are written at once
    vertices = bits.view(np.float32)
    vertices[~(np.abs(vertices) < 1e30)] = 1.5
    scene = heapwood.Scene(vertices, rng.integers(0, len(vertices), (66_000, 3)))
    scene.save(tmp_path / "all.obj")
    read = heapwood.load(tmp_path / "all.obj")
    np.testing.assert_array_equal(read.vertices, scene.vertices)
    np.testing.assert_array_equal(read.triangles, scene.triangles)


def test_a_scene_with_an_origin_is_written_where_it_is(tmp_path):
    vertices = np.array(TRIANGLE[0]) + [4.5e5, 5.4e6, 0.1]
    heapwood.Scene(vertices, TRIANGLE[1], center=True).save(tmp_path / "far.obj")
    lines = [line.split()[1:] for line in (tmp_path / "far.obj").read_text().splitlines() if line[0] == "v"]
    np.testing.assert_allclose(np.float64(lines), vertices, rtol=0, atol=1e-6)


def test_permissions_and_links_stay(sphere, tmp_path):
    path, link = tmp_path / "a.obj", tmp_path / "link.obj"
    sphere.save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    heapwood.load("gen:soup:200").save(link)
    assert link.is_symlink() and len(heapwood.load(path)) == 200
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_written(sphere, tmp_path):
    for name in ("a.ply", "a", "a.kdt"):
        with pytest.raises(ValueError, match=f"{name}: a scene is saved as .obj, .obj.gz or .obj.xz"):
            sphere.save(tmp_path / name)
    with pytest.raises(heapwood.SceneError, match="none/a.obj: cannot be written: No such file"):
        sphere.save(tmp_path / "none/a.obj")
    assert not os.listdir(tmp_path)
    copy = tmp_path / "gem.obj"
    copy.write_bytes((MODELS / "gem.obj").read_bytes())
    with pytest.raises(ValueError, match="are the same file"):
        heapwood.load(copy).save(copy)
    assert copy.read_bytes() == (MODELS / "gem.obj").read_bytes()
    # What fails half way leaves the former file.
    folder = tmp_path / "b.obj"
    folder.mkdir()
    with pytest.raises(heapwood.SceneError, match="b.obj: cannot be written"):
        sphere.save(folder)
    assert sorted(os.listdir(tmp_path)) == ["b.obj", "gem.obj"]
