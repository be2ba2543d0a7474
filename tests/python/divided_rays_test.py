"""Rays through a tree in parts on Dask: the hits of one tree, and workers that die."""

import os
import signal

import numpy as np
import pytest

import heapwood
from heapwood import _core, _divided_rays, forest


@pytest.fixture
def saved(tree, tmp_path):
    tree.save(tmp_path / "sphere.kdt")
    return tmp_path / "sphere.kdt"


def check(found, wanted):
    assert [(array.shape, array.dtype) for array in found] == [
        (array.shape, array.dtype) for array in wanted]
    for array, other in zip(found, wanted):
        assert array.tobytes() == other.tobytes()


@pytest.mark.parametrize("parts, batch", [(1, 10000), (2, 50), (3, 1000), (8, 20)])
def test_hits_are_those_of_one_tree(dask, tree, saved, rays, monkeypatch, parts, batch):
    monkeypatch.setattr(_divided_rays, "_BATCH", batch)
    origins, directions = rays
    near = np.linspace(0, 1, len(origins), dtype=np.float32)
    wanted = tree.closest_hit(origins, directions, near, 1.5)
    assert 0 < (wanted[1] >= 0).sum() < len(origins)
    check(forest.closest_hit(saved, origins, directions, dask, near, 1.5, parts=parts), wanted)
    check([forest.any_hit(saved, origins, directions, dask, near, 1.5, parts=parts)],
          [tree.any_hit(origins, directions, near, 1.5)])


def test_shapes(dask, tree, saved, rays):
    origins, directions = rays
    for some in ((origins[:20].reshape(4, 5, 3), directions[:20].reshape(4, 5, 3)),
                 (origins[0], directions[:20]), (origins[:20], directions[0]),
                 (origins[0], directions[0]), (origins[:0], directions[:0])):
        check(forest.closest_hit(saved, *some, dask, parts=2), tree.closest_hit(*some))


def test_rays_go_on_from_part_to_part(dask, tree, saved, rays):
    parts = _divided_rays.Parts(dask, sorted(dask.nthreads()), str(saved), 3)
    rows = parts.trace(False, [*rays, 0.0, np.inf], len(rays[0]))
    assert (rows["triangle"].astype(np.int32) == tree.closest_hit(*rays)[1]).all()
    assert 0 < parts.hops < 4 * len(rows)
    assert rows["passed"].max() > 1


def test_a_part_keeps_its_share(tree):
    whole = _core.RayPart(tree._tree, 1, 0).bytes
    shares = [_core.RayPart(tree._tree, 4, part).bytes for part in range(4)]
    assert max(shares) < whole / 2
    with pytest.raises(ValueError, match="there is no part 4 of 4"):
        _core.RayPart(tree._tree, 4, 4)


def test_a_worker_that_is_killed_loses_nothing(dask, tree, saved, rays, monkeypatch):
    monkeypatch.setattr(_divided_rays, "_BATCH", 20)
    went = []

    def submit(function, *arguments, **named):
        if function is _divided_rays._PartFile.go_on:
            went.append(None)
            if len(went) == 20:
                worker, process = next(iter(dask.run(os.getpid).items()))
                os.kill(process, signal.SIGKILL)
        return type(dask).submit(dask, function, *arguments, **named)

    monkeypatch.setattr(dask, "submit", submit)
    check(forest.closest_hit(saved, *rays, dask, parts=3), tree.closest_hit(*rays))
    assert len(went) > 20


def test_files_that_are_not_the_same(saved):
    with pytest.raises(RuntimeError, match="sphere.kdt: is not the same file on all workers"):
        _divided_rays._PartFile(str(saved), 2, 0).go_on([], False, ("another", "one"))


def test_mistakes(dask, saved, rays, tmp_path):
    for parts in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"parts={parts}: from 1 to 1024"):
            forest.closest_hit(saved, *rays, dask, parts=parts)
    with pytest.raises(ValueError, match="a tree in parts is traced on CPUs"):
        forest.any_hit(saved, *rays, dask, parts=2, device="cuda")
    with pytest.raises(heapwood.TreeFileError, match="missing.kdt"):
        forest.any_hit(tmp_path / "missing.kdt", *rays, dask, parts=2)
