"""Rays by batches, through a tree that each worker of a Dask cluster has, or a part of it."""

import collections
import os
from os import PathLike
from typing import TYPE_CHECKING, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from heapwood import _arrays, _cluster, _divided_rays
from heapwood._build import load_tree
from heapwood._progress import shown
from heapwood._types import Progress

if TYPE_CHECKING:
    import distributed

_BATCH = 1 << 16  # rays: 1.5 MB, which the scheduler takes without a warning
_AHEAD = 4  # batches for each worker that are under way


def closest_hit(path: Union[str, PathLike], origins: ArrayLike, directions: ArrayLike,
                client: "distributed.Client", t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf, *,
                device: str = "cpu", parts: Optional[int] = None,
                progress: Progress = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first hit of each ray, by the workers of a Dask cluster.

    Each worker has the whole tree, and rays and hits pass through the scheduler, in batches of 65,536 rays,
    which pays where a ray takes longer than its 40 bytes. With ``parts`` each worker keeps a part of the
    tree, and rays go on from worker to worker along their way, until no cell in front of their hit is left.
    A worker that dies costs its batches, which others trace again, and its parts, which others make again.

    Args:
        path: of a ``.kdt`` file, under which the client's workers all find the same. A relative one is of the
            client's folder.
        origins, directions, t_min, t_max: as of ``heapwood.Tree``; arrays of any library.
        client: of the cluster.
        device: ``"cpu"`` or ``"cuda"`` (``"gpu"``): where a worker traces; with parts ``"cpu"``.
        parts: that the tree is divided into, 1 to 1024, for trees that are too large for a worker's memory
            when they are laid out for rays. None: each worker has all of it. A worker reads the whole file
            to make a part, and then gives up what is not of the part.
        progress: as of ``heapwood.compare``; done and total are rays. What a function raises ends the call, and
            so does Ctrl-C.

    Returns:
        ``(t, primitive, barycentrics)`` as of ``heapwood.Tree.closest_hit``, the same bits, as NumPy's
        arrays.

    Raises:
        TreeFileError: a file that a worker cannot read. RuntimeError: a cluster without workers, or files
            that are not the same on all. ValueError, TypeError: a wrong argument. NoDevice: a worker without
            a GPU.

    Example:
        >>> import distributed
        >>> tree = heapwood.build(heapwood.load("gen:sphere:1000"))
        >>> tree.save(folder / "sphere.kdt")
        >>> with distributed.Client(processes=False, dashboard_address=None) as client:
        ...     t, primitive, uv = heapwood.forest.closest_hit(
        ...         folder / "sphere.kdt", [[0, 0, 0], [9, 9, 9]], [1, 2, 3], client)
        >>> primitive.tolist() == tree.closest_hit([[0, 0, 0], [9, 9, 9]], [1, 2, 3])[1].tolist()
        True
    """
    (t, primitive, barycentrics), shape = _trace("closest_hit", path, origins, directions, client,
                                                 t_min, t_max, device, parts, progress)
    return t.reshape(shape), primitive.reshape(shape), barycentrics.reshape((*shape, 2))


def any_hit(path: Union[str, PathLike], origins: ArrayLike, directions: ArrayLike,
            client: "distributed.Client", t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf, *,
            device: str = "cpu", parts: Optional[int] = None, progress: Progress = None) -> np.ndarray:
    """Whether each ray meets anything: bool, of the rays' shape; otherwise as ``closest_hit``."""
    (found,), shape = _trace("any_hit", path, origins, directions, client, t_min, t_max, device,
                             parts, progress)
    return found.reshape(shape)


class _TreeFile:
    """A tree that a worker has read. What is sent to another one is the path, from which that reads it."""

    def __init__(self, path, device):
        self._path = path
        self._device = device
        self._tree = None
        self._identity = None

    def __reduce__(self):
        return _TreeFile, (self._path, self._device)

    def __sizeof__(self):
        return 1000 + os.path.getsize(self._path)

    def load(self):
        """The tree, and what tells it from others."""
        if self._tree is None:
            tree = load_tree(self._path, self._device)
            self._identity = tree.digest, tree.scene.digest
            self._tree = tree
        return self._tree, self._identity

    def trace(self, method, rays, identity):
        tree, own = self.load()
        if own != identity:
            raise RuntimeError(f"{self._path}: is not the same file on all workers")
        results = getattr(tree, method)(*rays, threads=1)  # a task for each thread of a worker
        return results if isinstance(results, tuple) else (results,)


def _read(path, device):
    file = _TreeFile(path, device)
    file.load()
    return file


def _identity(file):
    return file.load()[1]


def _batch(value, first, count):
    """Those of a batch: of a number or a vector of all rays, the same."""
    if isinstance(value, float):
        return value
    return value[0] if len(value) == 1 and count != 1 else value[first:first + _BATCH]


def _trace(method, path, origins, directions, client, t_min, t_max, device, parts, progress):
    """The results of all rays, one after another, and the shape of the rays."""
    _cluster.check(client)
    rays, shape = _arrays.rays(origins, directions, t_min, t_max)
    rays = [value if isinstance(value, float) else _arrays.to_numpy(value, "rays") for value in rays]
    path = os.path.abspath(os.fsdecode(path))
    device = _arrays.device(device)
    workers = _cluster.workers(client)
    count = int(np.prod(shape, dtype=np.int64))
    if parts is not None:
        parts = _cluster.part_count(parts)
        if device != "cpu":
            raise ValueError(f"device={device!r}: a tree in parts is traced on CPUs")
    with shown(progress, "rays") as show:
        def tell(done):
            if show is not None:
                show(done, max(count, 1), method)

        if parts is None:
            return _by_whole_trees(method, path, rays, count, client, workers, device, tell), shape
        return _divided_rays.trace(method, path, rays, count, client, workers, parts, tell), shape


def _by_whole_trees(method, path, rays, count, client, workers, device, tell):
    def submit(function, *arguments, worker):
        return client.submit(function, *arguments, workers=[worker], allow_other_workers=True,
                             pure=False)

    files = [submit(_read, path, device, worker=worker) for worker in workers]
    identity = _cluster.gathered(client, submit(_identity, files[0], worker=workers[0]))
    results, waiting = [], collections.deque()

    def take():
        results.append(_cluster.gathered(client, waiting.popleft()))
        tell(min(len(results) * _BATCH, count))

    try:
        for batch, first in enumerate(range(0, max(count, 1), _BATCH)):
            some = [_batch(value, first, count) for value in rays]
            place = batch % len(workers)
            waiting.append(submit(_TreeFile.trace, files[place], method, some, identity,
                                  worker=workers[place]))
            if len(waiting) > _AHEAD * len(workers):
                take()
        while waiting:
            take()
    except BaseException:
        client.cancel(list(waiting))
        raise
    return [np.concatenate(column) for column in zip(*results)]
