"""Rays by batches on Dask: the hits of one tree, and workers that die."""

import os
import signal

import numpy as np
import pytest

import heapwood
from heapwood import _forest_rays, forest


@pytest.fixture
def saved(tree, tmp_path):
    tree.save(tmp_path / "sphere.kdt")
    return tmp_path / "sphere.kdt"


def check(found, wanted):
    assert [(array.shape, array.dtype) for array in found] == [
        (array.shape, array.dtype) for array in wanted]
    for array, other in zip(found, wanted):
        assert array.tobytes() == other.tobytes()


@pytest.mark.parametrize("batch", [1, 7, 250, 10000])
def test_hits_are_those_of_one_tree(dask, tree, saved, rays, monkeypatch, batch):
    monkeypatch.setattr(_forest_rays, "_BATCH", batch)
    origins, directions = (array[:120] if batch == 1 else array for array in rays)
    near = np.linspace(0, 1, len(origins), dtype=np.float32)
    wanted = tree.closest_hit(origins, directions, near, 1.5)
    assert 0 < (wanted[1] >= 0).sum() < len(origins)
    check(forest.closest_hit(saved, origins, directions, dask, near, 1.5), wanted)
    check([forest.any_hit(saved, origins, directions, dask, near, 1.5)],
          [tree.any_hit(origins, directions, near, 1.5)])


def test_shapes(dask, tree, saved, rays, monkeypatch):
    monkeypatch.setattr(_forest_rays, "_BATCH", 8)
    origins, directions = rays
    for some in ((origins[:20].reshape(4, 5, 3), directions[:20].reshape(4, 5, 3)),
                 (origins[0], directions[:20]), (origins[:20], directions[0]),
                 (origins[0], directions[0]), (origins[:1], directions[:1]),
                 (origins[:1], directions[0]), (origins[:0], directions[:0]),
                 (origins[:0], directions[0]), (origins[:20].tolist(), directions[0].tolist())):
        check(forest.closest_hit(saved, *some, dask), tree.closest_hit(*some))


def test_a_worker_that_is_killed_costs_its_batches(dask, tree, saved, rays, monkeypatch):
    monkeypatch.setattr(_forest_rays, "_BATCH", 10)
    killed = []

    def submit(function, *arguments, **named):
        if function is _forest_rays._TreeFile.trace and len(killed) < 20:
            killed.append(None)
            if len(killed) == 20:
                worker, process = next(iter(dask.run(os.getpid).items()))
                os.kill(process, signal.SIGKILL)
        return type(dask).submit(dask, function, *arguments, **named)

    monkeypatch.setattr(dask, "submit", submit)
    check(forest.closest_hit(saved, *rays, dask), tree.closest_hit(*rays))
    assert len(killed) == 20


def test_files_that_are_not_the_same(saved):
    with pytest.raises(RuntimeError, match="sphere.kdt: is not the same file on all workers"):
        _forest_rays._TreeFile(str(saved), "cpu").trace("any_hit", (), ("another", "one"))


def test_mistakes(dask, dask_cluster, saved, rays, tmp_path):
    distributed = pytest.importorskip("distributed")
    origins, directions = rays
    with pytest.raises(ValueError, match="must be the same"):
        forest.closest_hit(saved, origins[:3], directions[:4], dask)
    with pytest.raises(ValueError, match="t_min must be a number"):
        forest.any_hit(saved, origins, directions, dask, [1, 2])
    with pytest.raises(TypeError, match="no distributed.Client"):
        forest.any_hit(saved, origins, directions, saved)
    with pytest.raises(heapwood.TreeFileError, match="missing.kdt"):
        forest.any_hit(tmp_path / "missing.kdt", origins, directions, dask)
    saved.write_bytes(saved.read_bytes()[:-5])
    with pytest.raises(heapwood.TreeFileError, match="sphere.kdt"):
        forest.any_hit(saved, origins, directions, dask)
    with dask_cluster(0) as workers, distributed.Client(workers) as client:
        with pytest.raises(RuntimeError, match="the cluster has no workers"):
            forest.any_hit(saved, origins, directions, client)
