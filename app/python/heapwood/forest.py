"""Trees that are built in parts by several machines, and are those of an ordinary build, bit for bit.

Workers of `Dask <https://distributed.dask.org>`_ have a share of the triangles each, choose the planes at the
top together, and build the cells below; the client joins these in a tree file. ``kdtree/README.md`` says how.
Rays go through such a tree in batches, by workers that have the whole of it, or a part each.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import tempfile
from os import PathLike
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

import numpy as np

from heapwood import _arrays, _cluster, _core, _forest_tasks as tasks
from heapwood._forest_rays import any_hit, closest_hit
from heapwood._program import _scene_name
from heapwood._progress import shown
from heapwood._scene import Scene
from heapwood._types import Progress

if TYPE_CHECKING:
    import distributed
    from typing_extensions import Unpack

    from heapwood._parameters import TreeParameters

__all__ = ["any_hit", "build", "closest_hit"]


def build(scene: Union[str, PathLike, Scene], client: "distributed.Client",
          parts: Optional[int] = None, *, out: Union[str, PathLike], device: str = "cpu",
          preset: str = "default", time_limit: float = 60, progress: Progress = None,
          **parameters: "Unpack[TreeParameters]") -> Dict[str, Any]:
    """Builds a scene's tree by the workers of a Dask cluster, into a file.

    The file is the one that ``heapwood.build(scene).save(out)`` writes, for any number of parts and workers.
    Neither the client nor any worker has all triangles in memory. Each worker makes, or reads, its own share
    of the scene, by its name; what is left of it passes from worker to worker. The client adds up bins, gets
    the cells' trees, and makes or reads the scene once more, piece by piece, for the file.

    A worker that dies costs its share and its cells: others make them again.

    Args:
        scene: as ``heapwood.load`` takes it, a name under which the client and all workers find the same;
            or a scene that was loaded by such a name. A relative path is one of the client's folder.
            An OBJ file is read as a whole by each worker; of a ``.list`` each reads the files of its share.
        client: of the cluster, whose workers have this version of heapwood.
        parts: of the scene, 1 to 1024; None: as many as there are workers.
        out: the tree file, ``.kdt``. It appears, or changes, when it is complete.
        device: ``"cpu"`` or ``"cuda"`` (``"gpu"``): where a worker builds cells. One worker a GPU is a matter of the
            cluster.
        preset: ``"default"``, ``"paper"`` or ``"pbrt"``, as for ``heapwood.build``.
        time_limit: seconds that a worker has for an answer, beside 0.1 ms for each triangle of its work.
        progress: as of ``heapwood.compare``; done and total are of the tree's cells, 0 of 1 until they are
            known. What a function raises ends the build, and so does Ctrl-C: ``out`` stays as it was.
        **parameters: of the tree, which override the preset's, as for ``heapwood.build``.

    Returns:
        dict: the report of ``heapwood build --parts N --json``. Its ``provenance`` is of the client.

    Raises:
        SceneError: a scene that a worker, or the client, cannot read. TreeFileError: a file that cannot be
            written. NoDevice, MemoryError: a worker without a GPU, or with too little memory. ValueError,
            TypeError: a wrong argument. RuntimeError: a cluster without workers, a worker of another version,
            workers that gave no answer, or a scene that is not the same for all.
            distributed.KilledWorker: workers died of a request one after another.

    Example:
        >>> import distributed
        >>> with distributed.Client(processes=False, dashboard_address=None) as client:
        ...     report = heapwood.forest.build("gen:sphere:3000", client, parts=2,
        ...                                    out=folder / "sphere.kdt")
        >>> tree = heapwood.load_tree(folder / "sphere.kdt")
        >>> tree.digest == report["build"]["digest"] == heapwood.build(tree.scene).digest
        True
    """
    _cluster.check(client)
    name = _scene_name(scene)
    if not name.startswith("gen:"):
        name = os.path.abspath(name)
    if parts is None:
        parts = len(_cluster.workers(client))
    parts = _cluster.part_count(parts)
    if not time_limit > 0:
        raise ValueError(f"time_limit={time_limit}: more than 0 seconds")
    text = _arrays.text
    settings = {"version": _core.version, "device": _arrays.device(device),
                "preset": text(preset, "preset", "paper"),
                "fields": {name: value.item() if isinstance(value, np.generic) else value
                           for name, value in parameters.items()}}
    out = os.path.abspath(os.fsdecode(out))
    with tempfile.TemporaryDirectory(prefix="heapwood-") as folder, shown(progress, "build") as show:
        def tell(done, total, what):
            if show is not None:
                show(*((done, total) if total else (0, 1)), what)

        run = _Run(client, pathlib.Path(folder), settings)
        tell(0, 0, f"loading {name}")
        return json.loads(_core.build_forest(name, parts, out, folder, time_limit, settings["preset"],
                                             settings["fields"], run.make_peer, tell))


class _Run:
    """A build under way."""

    def __init__(self, client, folder, settings):
        self.client = client
        self.folder = folder  # of the coordinator's files
        self.settings = settings
        self.facts = {}  # by part: the file of the share that was loaded first
        self.kept = {}  # futures of files that stay with the workers, by their names
        self.hanging = set()  # workers that gave no answer
        self.round = None  # another one is a build to another depth

    def make_peer(self, part):
        return _Peer(self, part)

    def awake(self):
        workers = _cluster.workers(self.client)
        return [worker for worker in workers if worker not in self.hanging] or workers

    def submit(self, function, *arguments, workers=None):
        """A task of one of these workers, or of any that answers. When it dies, Dask gives the task to
        another."""
        if workers is None and self.hanging:
            workers = self.awake()
        return self.client.submit(function, *arguments, workers=workers,
                                  allow_other_workers=workers is not None, pure=False)


class _Peer:
    """Answers the coordinator's requests of a part, by tasks."""

    def __init__(self, run, part):
        self._run = run
        self._part = part
        self._share = None
        self._sent = collections.deque()

    def send(self, request):
        """Begins with a request, which is JSON."""
        run, what = self._run, json.loads(request)
        needed, made = _core.request_files(request)
        if run.round != what["round"]:
            run.round = what["round"]
            run.kept.clear()
        if "load" in what:
            awake = run.awake()
            worker = awake[self._part % len(awake)]
            work = run.submit(tasks.make_share, run.settings, request, workers=[worker])
            self._share = work
            task = run.submit(tasks.loaded, work)
        else:
            files = {name: (run.folder / name).read_bytes() for name in needed
                     if name not in run.kept}
            if "build" in what:
                kept = {name: run.kept[name] for name in needed if name in run.kept}
                work = run.submit(tasks.build_cell, run.settings, request, files, kept)
            else:
                work = run.submit(tasks.answer, self._share, request, files, run.facts[self._part])
            task = work
        if "cells" in what:  # references, which are large, and pass from worker to worker
            run.kept.update({name: run.submit(tasks.file, work, name) for name in made})
            task = run.submit(tasks.answer_alone, work)
        self._sent.append((what, needed, task, {work.key, task.key}))

    def receive(self, seconds):
        """The next answer, as JSON, or {"lost": how}. Raises what the task has raised."""
        what, needed, task, keys = self._sent.popleft()
        try:
            made = _cluster.gathered(self._run.client, task, seconds)
        except concurrent.futures.TimeoutError:
            self._suspect(keys)
            return json.dumps({"lost": f"gave no answer within {seconds:g} s (time_limit)"})
        for name, contents in made.files.items():
            (self._run.folder / name).write_bytes(contents)
        if "load" in what:
            self._run.facts.setdefault(self._part, *made.files.values())
        if "build" in what:
            for name in needed:
                self._run.kept.pop(name, None)
        return made.answer

    def _suspect(self, keys):
        """Leaves aside the workers that are at these tasks, or have not handed over what came of them."""
        client = self._run.client
        for tasks_of_workers in (client.processing(), client.has_what()):
            self._run.hanging.update(worker for worker, own in tasks_of_workers.items()
                                     if keys & set(own))
