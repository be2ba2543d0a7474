"""Trees, scenes and exceptions in other processes, and copies of them."""

import copy
import inspect
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import heapwood
import heapwood.errors


def same_tree(one, other, rays):
    assert (one.digest, one.device, one.report) == (other.digest, other.device, other.report)
    assert (one.scene.digest, one.scene.path) == (other.scene.digest, other.scene.path)
    np.testing.assert_array_equal(one.origin, other.origin)
    for mine, its in zip(one.all_hits(*rays), other.all_hits(*rays)):
        np.testing.assert_array_equal(mine, its)
    return True


@pytest.mark.parametrize("of", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy],
                         ids=["pickle", "copy", "deepcopy"])
def test_trees_and_scenes(of, tree, rays):
    assert same_tree(of(tree), tree, rays)
    scene = of(tree.scene)
    assert (scene.path, scene.digest) == (tree.scene.path, tree.scene.digest)
    assert heapwood.build(scene).digest == tree.digest
    far = heapwood.build(tree.vertices + np.array([5e6, 0, 1e5]), tree.triangles, center=True, leaf_limit=3)
    assert far.origin.any()
    assert same_tree(of(far), far, (rays[0] + far.origin, rays[1]))
    np.testing.assert_array_equal(of(far.scene).origin, far.origin)


def test_trees_from_files_have_no_report(tree, tmp_path):
    tree.save(tmp_path / "sphere.kdt")
    read = heapwood.load_tree(tmp_path / "sphere.kdt")
    again = pickle.loads(pickle.dumps(read))
    assert again.report is None and again.scene.path == str(tmp_path / "sphere.kdt")


def count(tree, rays):
    return tree.count(*rays)


def test_other_processes_trace(tree, rays):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(pool.submit(count, tree, rays).result(), tree.count(*rays))


def test_tasks_of_dask_trace(tree, rays, dask):
    np.testing.assert_array_equal(dask.submit(count, tree, rays).result(), tree.count(*rays))


def fail(error):
    raise error


EXCEPTIONS = [kind for _, kind in inspect.getmembers(heapwood.errors, inspect.isclass)]


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_exceptions(kind):
    error = kind("why", -9) if kind is heapwood.ProgramError else kind("why")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind and str(again) == "why"
        assert getattr(again, "code", None) == getattr(error, "code", None)


def test_exceptions_leave_other_processes():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(heapwood.ProgramError, match="why") as caught:
            pool.submit(fail, heapwood.ProgramError("why", -9)).result()
        assert caught.value.code == -9
        assert pool.submit(abs, -1).result() == 1, "the pool goes on"
