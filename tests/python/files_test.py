"""Trees and scenes as files: written, read, damaged."""

import gzip
import io
import os
import pathlib
import re

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE

MODELS = pathlib.Path(__file__).parents[2] / "scenes/models"


@pytest.fixture
def file(tree, tmp_path):
    tree.save(tmp_path / "sphere.kdt")
    return tmp_path / "sphere.kdt"


def test_a_file_is_the_tree(tree, file, rays):
    read = heapwood.load_tree(file)
    assert (read.digest, read.scene.digest) == (tree.digest, tree.scene.digest)
    assert read.scene.path == str(file)
    np.testing.assert_array_equal(read.nodes, tree.nodes)
    np.testing.assert_array_equal(read.vertices, tree.vertices)
    assert read.report is read.times is read.statistics is None
    assert read.quality.sah() == tree.quality.sah()
    read.verify()
    for result, same in zip(read.all_hits(*rays), tree.all_hits(*rays)):
        np.testing.assert_array_equal(result, same)


def test_the_program_reads_and_writes_the_same(tree, file, tmp_path):
    import subprocess

    from heapwood._program import PROGRAM

    path = tmp_path / "other.kdt"
    subprocess.run([PROGRAM, "build", "gen:sphere:3000", "-q", "--device", "cpu", "--out", path],
                   check=True, stdout=subprocess.DEVNULL)
    assert path.read_bytes() == file.read_bytes()


def test_damage_is_found(file, rng):
    whole = file.read_bytes()
    for position in [*range(0, 192, 7), *rng.integers(192, len(whole), 40)]:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        with pytest.raises(heapwood.TreeFileError, match="sphere.kdt"):
            heapwood.load_tree(file)
    for size in (0, 7, 191, 192, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(heapwood.TreeFileError, match="sphere.kdt"):
            heapwood.load_tree(file)


def test_the_scene_of_a_tree(tree, file, tmp_path):
    for path in (file, tmp_path / "tree"):
        file.rename(path)
        file = path
        scene = heapwood.load(path)
        assert (scene.digest, scene.path) == (tree.scene.digest, str(path))
        assert heapwood.build(path).digest == tree.digest
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(heapwood.TreeFileError, match=re.escape(str(file))):
        heapwood.load(file)


def test_a_tree_through_a_pipe(file, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    os.write(held, file.read_bytes()[:4096])
    for load, error in ((heapwood.load, heapwood.SceneError), (heapwood.load_tree, heapwood.TreeFileError)):
        with pytest.raises(error, match="not through a pipe: write it to a file"):
            load(pipe)
    os.close(held)


def test_files_that_there_are_not(tree, tmp_path):
    with pytest.raises(heapwood.TreeFileError, match="missing.kdt"):
        heapwood.load_tree(tmp_path / "missing.kdt")
    with pytest.raises(heapwood.TreeFileError, match="no/folder.kdt"):
        tree.save(tmp_path / "no/folder.kdt")
    with pytest.raises(ValueError, match="neither cpu nor cuda"):
        heapwood.load_tree(tmp_path / "missing.kdt", device="tpu")


class Slow(io.RawIOBase):
    """A raw stream, which takes a part of what it is given."""

    def __init__(self):
        super().__init__()
        self.taken = b""

    def writable(self):
        return True

    def write(self, some):
        self.taken += bytes(some[:1000])
        return min(len(some), 1000)


def test_objects_that_are_files(tree, file, tmp_path):
    contents = file.read_bytes()
    memory, slow = io.BytesIO(), Slow()
    tree.save(memory)
    tree.save(slow)
    assert memory.getvalue() == slow.taken == contents
    with gzip.open(tmp_path / "tree.gz", "wb") as packed:
        tree.save(packed)
    with gzip.open(tmp_path / "tree.gz") as packed:
        assert heapwood.load_tree(packed).digest == tree.digest
    with open(file, "rb") as opened:
        read = heapwood.load_tree(opened)
    assert (read.digest, read.scene.path) == (tree.digest, str(file))
    far = heapwood.load_tree(io.BytesIO(contents), origin=(1, 2, 3))
    assert far.origin.tolist() == [1, 2, 3] and far.scene.path == "a file object"


def test_objects_that_are_no_files_of_trees(tree, file, tmp_path):
    with pytest.raises(TypeError, match='takes text: a tree is bytes, open it with mode "wb"'):
        tree.save(io.StringIO())
    with pytest.raises(TypeError, match='gives str: a tree is bytes, open it with mode "rb"'):
        heapwood.load_tree(io.StringIO("tree"))
    with pytest.raises(heapwood.TreeFileError, match="^a file object: "):
        heapwood.load_tree(io.BytesIO(file.read_bytes()[:-1]))
    with open(tmp_path / "no.kdt", "wb") as opened:
        pass
    with open(tmp_path / "no.kdt", "rb") as opened:
        with pytest.raises(heapwood.TreeFileError, match=re.escape(str(tmp_path / "no.kdt"))):
            heapwood.load_tree(opened)


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
