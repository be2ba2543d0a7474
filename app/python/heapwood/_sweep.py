"""Sweeps: many measurements, by any executor, as one table."""

import contextlib
import importlib.util
import itertools
import os
import queue
import socket
import time
from concurrent.futures import BrokenExecutor, Executor
from os import PathLike
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence, Union

from heapwood import _arrays, _program
from heapwood._program import _measure, _scene_name
from heapwood._progress import shown
from heapwood._sweep_notes import Notes
from heapwood._types import Progress
from heapwood.errors import NoDevice, ProgramError, SceneError

if TYPE_CHECKING:
    import pandas as pd

Cell = Dict[str, Any]
_POLL = 0.05  # seconds between two looks at futures that call nobody back


def cells(**axes: Any) -> List[Cell]:
    """The product of all values: what ``sweep`` measures.

    Args:
        **axes: ``scene`` and any option of ``heapwood compare --help``, with underscores. A list or
            tuple has a value for each cell, anything else is the same in all cells.

    Returns:
        list of dict: the last axis changes fastest. They are plain, so take some out, or add some.

    Example:
        >>> heapwood.cells(scene=["gen:city:500", "gen:soup:500"], allocator="halloc", repeat=3)
        [{'scene': 'gen:city:500', 'allocator': 'halloc', 'repeat': 3},
         {'scene': 'gen:soup:500', 'allocator': 'halloc', 'repeat': 3}]
    """
    values = [value if isinstance(value, (list, tuple)) else [value] for value in axes.values()]
    return [dict(zip(axes, choice)) for choice in itertools.product(*values)]


def sweep(
    cells: Sequence[Mapping[str, Any]],
    executor: Union[Executor, Callable[[], Executor], None] = None,
    *,
    retries: int = 2,
    resume: Union[str, PathLike, None] = None,
    progress: Progress = None,
) -> "pd.DataFrame":
    """Measures every cell by ``heapwood compare``, wherever the executor runs it.

    Args:
        cells: each has a ``scene`` and options of ``heapwood compare --help``: see ``heapwood.cells``.
        executor: runs the cells: Dask's ``client.get_executor()``, a process or thread pool, mpi4py's,
            submitit's. None: this process, one after another. A function makes an executor, and another
            one when its workers have died, which a process pool does not outlive; these are shut down
            at the end. A pool that is broken, and that no function replaces, ends the sweep's other cells. A worker should take one cell at a time, for cells disturb each other's times.
        retries: how often a cell is tried again whose worker died; from the second time on alone, so
            that it cannot take others with it.
        resume: a file to note results in, and to go on from. Cells whose worker died, or for which the
            program measured nothing, are tried again.
        progress: as of ``compare``; done and total are cells. What a function raises ends the sweep, and
            so does Ctrl-C: at once. ``resume`` has the cells that were done. Workers of an executor that a function
            made are ended; others, but for threads of this process, finish their cells.

    Returns:
        pandas.DataFrame: a row for each sample, in the order of the cells. A cell that failed has one
        row, with its ``outcome`` and ``message``. Columns are those of ``heapwood.compare``, but for
        ``build.ms.samples``, and before them

        - ``cell`` (int64): the cell's place in ``cells``; and its own keys,
        - ``outcome``, ``message`` (str): as in ``heapwood compare``; ``failed``: the program measured
          nothing; ``crashed``: the worker, or the program, died,
        - ``sample`` (Int64), ``ms`` (float64): the sample's number and time; unknown if it failed,
        - ``attempts`` (int64), ``seconds`` (float64): how often the cell was given to a worker, also by
          Dask itself, and how long the last time took, with the time to start the program and to
          load the scene,

        and behind them ``provenance.*``: device, program, ``host`` (str), ``date``
        (datetime64[ns, UTC]), ...

    Raises:
        ValueError, TypeError: cells with options that the program does not take, before any is measured,
        or a file to resume that is none. What goes wrong in a cell is a row.

    Example:
        >>> table = heapwood.sweep(heapwood.cells(
        ...     scene=["gen:city:500", "gen:soup:500"], allocator=["atomicmalloc", "halloc"], repeat=3,
        ...     device="cpu"))
        >>> len(table), set(table.outcome), table.cell.nunique(), table.ms.dtype
        (12, {'done'}, 4, dtype('float64'))
    """
    if importlib.util.find_spec("pandas") is None:  # said before the time is spent
        raise ImportError("heapwood.sweep returns a table of pandas: pip install pandas", name="pandas")
    if _arrays.whole(retries, "retries") < 0:
        raise ValueError(f"retries={retries}: from 0 on")
    plain = [_plain(cell) for cell in cells]
    notes = Notes(resume, plain)
    _check_options(plain)
    with notes, shown(progress, "sweep") as show:
        _Run(plain, executor, retries, notes, show).run()
        return _frame(plain, notes.results)


def _plain(cell):
    """The cell as it can be sent and noted."""
    if "scene" not in cell:
        raise ValueError(f"a cell without a scene: {dict(cell)!r}")
    return {**cell, "scene": _scene_name(cell["scene"])}


def _options(cell):
    return {key: value for key, value in cell.items() if key != "scene"}


def _words(cell):
    """What a cell is called."""
    return [str(cell[key]) for key in ("allocator", "scene", "pool") if cell.get(key)]


def _check_options(cells):
    """Lets the program read every option that a cell has as the first one, and raises what it says."""
    seen = []
    for number, cell in enumerate(cells):
        options = _options(cell)
        new = [item for item in options.items() if item not in seen]
        if not new:
            continue
        seen += new
        if options.get("device") in ("gpu", "cuda"):  # which workers may have
            options["device"] = "cpu"
        try:
            _measure("compare", ["gen:"], options)
        except SceneError:  # the options are right: it comes to the scene, which is none
            pass
        except (ValueError, TypeError) as error:
            raise type(error)(f"cell {number}: {error}") from None


def measure(cell: Cell) -> Dict[str, Any]:
    """What a worker does for a cell. Raises nothing: what goes wrong is in the answer."""
    start = time.monotonic()
    answer = {"document": None, "outcome": "failed", "message": ""}
    try:
        answer["document"] = _measure("compare", [cell["scene"]], _options(cell), name=id(cell))
    except ProgramError as error:
        answer.update(outcome="crashed" if error.code < 0 else "failed", message=str(error))
    except (ValueError, TypeError, MemoryError, NoDevice, OSError) as error:
        answer["message"] = str(error)
    return {**answer, "seconds": time.monotonic() - start, "host": socket.gethostname(),
            "process": os.getpid()}


def _measure_by_dask(cell, topic):
    """The same as a task of Dask, which may begin it again on another worker without a word."""
    import distributed

    distributed.get_worker().log_event(topic, "begun")
    return measure(cell)


class _Run:
    """Cells under way."""

    def __init__(self, cells, executor, retries, notes, show):
        self._cells = cells
        self._make = None if executor is None or hasattr(executor, "submit") else executor
        self._executor = None if self._make else executor
        self._retries = retries
        self._notes = notes
        self._show = show
        self._attempts = dict.fromkeys(range(len(cells)), 0)
        self._done = queue.SimpleQueue()  # futures that called back

    def run(self):
        self._tell("cells noted before")
        waiting = [number for number in range(len(self._cells)) if number not in self._notes.results]
        if self._executor is None and self._make is None:
            for number in waiting:
                self._attempts[number] = 1
                self._add(number, measure(self._cells[number]))
            return
        try:
            while waiting:
                # From a second death on a cell is tried alone: it may be what workers die of.
                together = [number for number in waiting if self._attempts[number] < 2]
                batch = together or waiting[:1]
                died = self._take(batch)
                waiting = [number for number in waiting if number not in batch] + died
        except BaseException:
            if self._make and self._executor:
                _end_workers(self._executor)
            raise
        if self._make and self._executor:
            self._executor.shutdown(wait=True)

    def _take(self, numbers):
        """Measures these cells. Returns those whose worker died and that have retries left."""
        replaceable = self._executor is not None and self._make
        if self._executor is None:
            self._executor = self._make()
        futures, died = {}, []
        try:
            for number in numbers:
                try:
                    future = self._submit(number)
                except BrokenExecutor as error:
                    if futures or replaceable:  # others have died of what broke it
                        died.append(number)
                    else:
                        self._crash(number, f"the executor takes no cells: {type(error).__name__}: {error}; "
                                            "a function that makes executors can replace it")
                else:
                    futures[future] = number
                    self._attempts[number] += 1
            for future in self._as_completed(futures):
                number = futures[future]
                try:
                    answer = future.result()
                except Exception as error:  # of the executor: measure() raises nothing
                    died += self._death(number, error)
                else:
                    self._add(number, answer)
        except BaseException:
            for future in futures:
                future.cancel()
            for number in futures.values():
                _program.end(id(self._cells[number]))  # of a thread of this process
            raise
        if died and self._make:
            self._executor.shutdown(wait=True)
            self._executor = None
        return died

    def _submit(self, number):
        cell = self._cells[number]
        if self._on_dask():
            # The dashboard groups tasks by what stands before the first "-".
            key = "-".join([*_words(cell), self._topic(number), str(self._attempts[number])])
            future = self._executor.submit(_measure_by_dask, cell, self._topic(number), key=key)
        else:
            future = self._executor.submit(measure, cell)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(self._done.put)
        return future

    def _on_dask(self):
        return type(self._executor).__module__.startswith("distributed.")

    def _topic(self, number):
        """Under which Dask's scheduler notes when the cell begins."""
        return f"{id(self):x}.{number}"

    def _as_completed(self, futures):
        """The futures as they end, also those of libraries that call nobody back."""
        silent = [future for future in futures if not hasattr(future, "add_done_callback")]
        left = len(futures)
        while left:
            ended = [future for future in silent if future.done()]
            silent = [future for future in silent if future not in ended]
            with contextlib.suppress(queue.Empty):
                ended.append(self._done.get(timeout=_POLL if silent or ended else 1))
            left -= len(ended)
            yield from ended

    def _death(self, number, error):
        if self._attempts[number] <= self._retries:
            return [number]
        self._crash(number, f"the worker died {self._attempts[number]} times: {type(error).__name__}: "
                            f"{error}")
        return []

    def _crash(self, number, why):
        self._add(number, {"document": None, "outcome": "crashed", "message": why, "seconds": None,
                           "host": None, "process": None})

    def _add(self, number, answer):
        attempts = self._attempts[number]
        if self._executor and self._on_dask():
            attempts = max(attempts, len(self._executor._client.get_events(self._topic(number))))
        self._notes.add(number, {**answer, "attempts": attempts})
        self._tell(", ".join(_words(self._cells[number])))

    def _tell(self, what):
        if self._show is not None:
            self._show(len(self._notes.results), max(len(self._cells), 1), what)


def _end_workers(executor):
    """Shuts an executor down without its tasks: workers that are processes of this one are killed."""
    workers = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False)
    for worker in workers:
        worker.terminate()


def _rows(number, cell, answer):
    """A row for each sample, or one for what failed."""
    begin = {"cell": number, **cell, "outcome": answer["outcome"], "message": answer["message"],
             "sample": None, "ms": None, "attempts": answer["attempts"], "seconds": answer["seconds"]}
    document = answer["document"]
    end = {"provenance": {**(document or {}).get("provenance", {}), "host": answer["host"],
                          "process": answer["process"]}}
    if document is None:
        return [{**begin, **end}]
    rows = []
    scene = {key: value for key, value in document["scenes"][0].items() if key != "path"}
    for found in document["cells"]:
        build = dict(found["build"])
        ms = dict(build.get("ms") or {})
        samples = ms.pop("samples", [])
        found = {**found, "message": found["message"] or "", "build": {**build, "ms": ms},
                 "scene_facts": scene}
        row = {**begin, **found, **end}
        rows += [{**row, "sample": i, "ms": sample} for i, sample in enumerate(samples)] or [row]
    return rows


def _frame(cells, results):
    import pandas as pd  # not needed for trees and rays, and slow to import

    rows = [row for number, cell in enumerate(cells) for row in _rows(number, cell, results[number])]
    frame = pd.json_normalize(rows)
    types = {"cell": "int64", "sample": "Int64", "ms": "float64", "attempts": "int64",
             "seconds": "float64"}
    if not rows:
        frame = pd.DataFrame(columns=[*types, "outcome", "message"])
    frame = frame.astype(types)
    if "provenance.date" in frame:
        dates = pd.to_datetime(frame["provenance.date"], utc=True)
        frame["provenance.date"] = dates.astype("datetime64[ns, UTC]")
    return frame
