"""Rays through a tree that is divided among the workers of a Dask cluster.

Each worker has the top of the tree and some of its cells. A ray goes on from worker to worker along its way,
as a row of 64 bytes, until no cell before its hit is left. Rays travel in batches: all those of a batch that
go on from one worker to another are one array, which passes between these two.
"""

import numpy as np

from heapwood import _cluster, _core
from heapwood._build import load_tree

_BATCH = 1 << 16  # rays for each part: 4 MiB, which the scheduler takes without a warning
_END = np.uint32(0xFFFFFFFF)  # no triangle, and no part to go on to

_row = np.dtype([("origin", "3f4"), ("direction", "3f4"), ("t_min", "f4"), ("t_max", "f4"), ("t", "f4"),
                 ("triangle", "u4"), ("uv", "2f4"), ("number", "u4"), ("passed", "u4"),
                 ("unused", "u8")])  # kdtree/distributed/ray_top.h: PassingRay


class _PartFile:
    """A worker's part of a tree. What is sent to another one is the path, from which that makes it."""

    def __init__(self, path, parts, part):
        self._made_of = path, parts, part
        self._part = None
        self._identity = None

    def __reduce__(self):
        return _PartFile, self._made_of

    def __sizeof__(self):
        return 1000 + (self._part.bytes if self._part else 0)

    def load(self):
        """The part, and what tells its tree from others."""
        if self._part is None:
            path, parts, part = self._made_of
            tree = load_tree(path)  # the whole of it, given up when the part is made
            self._identity = tree.digest, tree.scene.digest
            self._part = _core.RayPart(tree._tree, parts, part)
        return self._part, self._identity

    def go_on(self, batches, any_hit, identity):
        """Rays that come here as they leave: by the part that they go on to, _END at their end."""
        part, own = self.load()
        if own != identity:
            raise RuntimeError(f"{self._made_of[0]}: is not the same file on all workers")
        rays = np.concatenate(batches)  # a copy: the batches may be wanted again
        to = np.empty(len(rays), np.uint32)
        part.go_on(rays.view(np.uint8).reshape(-1, _row.itemsize), to, any_hit, 1)
        return {int(place): rays[to == place] for place in np.unique(to)}


def _load(path, parts, part):
    file = _PartFile(path, parts, part)
    file.load()
    return file


def _identity(file):
    return file.load()[1]


def _counts(left):
    return {place: len(rays) for place, rays in left.items()}


def _those(left, place):
    return left[place]


def _rows(rays, first, count):
    """The rays from the first on, as they begin."""
    rows = np.zeros(count, _row)
    for name, values in zip(("origin", "direction", "t_min", "t_max"), rays):
        rows[name] = (values if isinstance(values, float) or len(values) == 1
                      else values[first:first + count])
    rows["triangle"] = _END
    rows["number"] = np.arange(count)
    return rows


class Parts:
    """The parts of a tree file, each on a worker."""

    def __init__(self, client, workers, path, parts):
        self._client = client
        self._workers = workers
        self._parts = parts
        self._files = [self._submit(part, _load, path, parts, part) for part in range(parts)]
        self._identity = _cluster.gathered(client, self._submit(0, _identity, self._files[0]))
        self.hops = 0  #: how many times a ray has gone on to another worker

    def _submit(self, part, function, *arguments):
        """A task where the part is. If that worker dies, another one makes the part again."""
        return self._client.submit(function, *arguments, allow_other_workers=True, pure=False,
                                   workers=[self._workers[part % len(self._workers)]])

    def trace(self, any_hit, rays, count, tell=lambda done: None):
        """Rows of all rays, with their hits. tell(done) is called when some are."""
        step, found = _BATCH * self._parts, []
        for first in range(0, max(count, 1), step):
            found.append(self._trace_some(any_hit, _rows(rays, first, min(step, count - first))))
            tell(min(first + step, count))
        return np.concatenate(found)

    def _trace_some(self, any_hit, rows):
        ended = []
        begin = np.array_split(rows, self._parts)  # anywhere: each part knows where rays go first
        waiting = {part: [some] for part, some in enumerate(begin) if len(some)}
        while waiting:
            left = {part: self._submit(part, _PartFile.go_on, self._files[part], batches, any_hit,
                                       self._identity)
                    for part, batches in waiting.items()}
            counts = {part: self._submit(part, _counts, task) for part, task in left.items()}
            waiting = {}
            for part, task in left.items():
                for place, count in _cluster.gathered(self._client, counts[part]).items():
                    some = self._submit(part, _those, task, place)
                    if place == _END:
                        ended.append(some)
                    else:
                        waiting.setdefault(place, []).append(some)
                        self.hops += count
        found = np.concatenate([rows[:0], *_cluster.gathered(self._client, ended)])
        rows[found["number"]] = found
        return rows


def trace(method, path, rays, count, client, workers, parts, tell):
    """The results of a method of ``heapwood.Tree`` for all rays, as that returns them."""
    rows = Parts(client, workers, path, parts).trace(method == "any_hit", rays, count, tell)
    met = rows["triangle"] != _END
    if method == "any_hit":
        return (met,)
    return (np.where(met, rows["t"], np.float32(np.inf)), rows["triangle"].astype(np.int32),
            rows["uv"].copy())
