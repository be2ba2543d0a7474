"""What the tests of the Python package share."""

import os
import pathlib
import random
import sys

import numpy as np
import pytest

import heapwood
from heapwood import _arrays

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "benchmarks/peers"))

from brute_force import hits_by_brute_force  # noqa: E402

CUDA = 2  # in DLPack
TRIANGLE = [[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]


@pytest.fixture(scope="session")
def sphere():
    return heapwood.load("gen:sphere:3000")


@pytest.fixture(scope="session")
def tree(sphere):
    return heapwood.build(sphere)


@pytest.fixture
def rng():
    """Random numbers, another seed in each run; pytest shows what is printed if a test fails."""
    seed = int(os.environ.get("HEAPWOOD_TEST_SEED") or random.randrange(2**32))
    print(f"HEAPWOOD_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def rays(sphere, rng):
    """Origins around the sphere's box and directions towards points in it, in single precision."""
    low, high = sphere.bounds
    origins = rng.uniform(low - 1, high + 1, (500, 3)).astype(np.float32)
    targets = rng.uniform(low, high, (500, 3)).astype(np.float32)
    return origins, targets - origins


@pytest.fixture(scope="session")
def dask_cluster():
    """A function that starts a Dask cluster of so many processes on this machine."""
    distributed = pytest.importorskip("distributed")
    return lambda workers: distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0")


@pytest.fixture(scope="module")
def dask_client(dask_cluster):
    distributed = pytest.importorskip("distributed")
    with dask_cluster(3) as workers, distributed.Client(workers) as client:
        yield client


@pytest.fixture
def dask(dask_client):
    """A client of three workers, of which two are there, also after a test has killed some."""
    dask_client.wait_for_workers(2, timeout=120)
    return dask_client


@pytest.fixture
def brute_force():
    return hits_by_brute_force


class Library:
    """A library of arrays: `put` copies to the GPU, `get` to the host."""

    def __init__(self, name):
        self.name = name
        self.module = pytest.importorskip("jax.numpy" if name == "jax" else name)

    def put(self, array):
        if self.name == "torch":
            return self.module.from_numpy(np.ascontiguousarray(array)).cuda()
        return self.module.asarray(array)

    def get(self, array):
        assert type(array) is type(self.put(np.zeros(1, np.float32)))
        assert array.__dlpack_device__()[0] == CUDA
        return _arrays.to_numpy(array, "result")

    def address(self, array):
        return array.data_ptr() if self.name == "torch" else array.data.ptr


@pytest.fixture(params=["cupy", "torch", "jax"])
def library(request):
    library = Library(request.param)
    if library.put(np.zeros(1, np.float32)).__dlpack_device__()[0] != CUDA:
        pytest.skip(f"{request.param} has no GPU")
    return library
