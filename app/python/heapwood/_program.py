"""The program `heapwood` as functions: its measurements as tables of pandas."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
from os import PathLike
from typing import TYPE_CHECKING, Any, Dict, Iterable, Union

from heapwood._progress import shown
from heapwood._scene import Scene
from heapwood._types import Progress
from heapwood.errors import NoDevice, ProgramError, SceneError, TraceError, warn

if TYPE_CHECKING:
    import pandas as pd

PROGRAM = pathlib.Path(__file__).parent / "bin" / "heapwood"

_SAYS = "heapwood: "
_PROGRESS = _SAYS + "progress: "  # and JSON (app/base/console.h)
_END = 0.15  # seconds that a program has to end by itself

# Programs that run, by what their callers call them.
_running: Dict[int, "subprocess.Popen[str]"] = {}
# Options with which the program prints something else than results, or prints them another way.
_PRINTS = ("help", "version", "manual", "schema")
_FORMATS = ("json", "csv", "markdown", "latex")


def _words(options):
    """Keywords as options of the command line: time_limit=5 is --time-limit=5, quick=True is --quick."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words.append(f"{flag}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def _error(verb, code, said):
    """The exception for a call of the program that brought no results."""
    errors = [line[len(_SAYS + "error: "):] for line in said if line.startswith(_SAYS + "error: ")]
    message = "; ".join(errors) or f"heapwood {verb} ended with {code}: {' '.join(said) or 'no word'}"
    if code == 2:
        return ValueError(message)
    if code == 3:
        return (TraceError if verb == "replay" else SceneError)(message)
    if code == 4:
        return MemoryError(message)
    if code == 77:
        return NoDevice(message)
    return ProgramError(message, code)


def end(name):
    """Ends the program that runs under this name, if there is one. Its journal has all turns that were done."""
    process = _running.get(name)
    if process is None:
        return
    process.terminate()
    try:
        process.wait(_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(command, show, name):
    """Runs the program, and shows how far it is. Returns its exit code, standard output and other lines.

    Whatever ends the call ends the program, as Ctrl-C and what ``show`` raises. A program of a process that
    dies gets SIGTERM from the system.
    """
    said, done, total = [], 0, 0
    environment = {**os.environ, "HEAPWOOD_PROGRESS": "json"}
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment,
                                       encoding="utf-8", errors="replace")
        except OSError as error:
            raise ProgramError(f"{PROGRAM}: {error.strerror}; install heapwood again", 127) from error
        name = id(process) if name is None else name
        _running[name] = process
        try:
            for line in process.stderr:
                if not line.startswith(_PROGRESS):
                    said.append(line.rstrip("\n"))
                elif show is not None:
                    step = json.loads(line[len(_PROGRESS):])
                    done, total = step.get("done", done), step.get("total", total)
                    show(*((done, total) if total else (0, 1)), step["what"])
            code = process.wait()
        finally:
            end(name)
            del _running[name]
            process.stderr.close()
        output.seek(0)
        found = output.read()
    if show is not None and found:
        show(*((total, total) if total else (1, 1)), "done")
    return code, found, said


def _measure(verb, subjects, options, progress=False, name=None):
    """What the program has measured, as its JSON; its warnings become Python's."""
    if importlib.util.find_spec("pandas") is None:  # said before the time is spent
        raise ImportError(f"heapwood.{verb} returns a table of pandas: pip install pandas",
                          name="pandas")
    for keyword in options:
        option = keyword.replace("_", "-")
        if option in _FORMATS:
            raise TypeError(f"{verb}() returns a table: write that instead of asking for {keyword}")
        if option in _PRINTS:
            raise TypeError(f"{verb}() measures, and takes no {keyword}: call the program for that, "
                            f"as python -m heapwood {verb} --help")
    command = [os.fspath(PROGRAM), verb, *_words(options), "--json", "-", "--", *subjects]
    with shown(progress, verb) as show:
        code, found, said = _run(command, show, name)
    if not found:
        raise _error(verb, code, said)
    for line in said:
        if line.startswith(_SAYS + "warning: "):
            warn(line[len(_SAYS + "warning: "):])
    return json.loads(found)


def _bench_rows(document):
    rows = []
    for cell in document["cells"]:
        point = {key: cell[key] for key in ("series", "allocator", "x", "outcome", "message")}
        figures = [
            {**point, "metric": metric, "phase": phase, **spread}
            for metric, phases in cell["metrics"].items()
            for phase, spread in phases.items()
            if spread is not None
        ]
        rows += figures or [{**point, "metric": None, "phase": None}]
    return rows


_ROWS = {
    "compare": lambda document: document["cells"],
    "bench": _bench_rows,
    "replay": lambda document: document["results"],
}


def _frame(document):
    import pandas as pd  # not needed for trees and rays, and slow to import

    frame = pd.json_normalize(_ROWS[document["kind"]](document))
    frame.attrs["provenance"] = document["provenance"]
    return frame


def _results(path):
    """The JSON document of a file that compare, bench or replay wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON ({error}): write it with --json") from None
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in _ROWS:
        raise ValueError(f"{path}: has no results of {', '.join(_ROWS)}: write it with --json")
    return document


def read_results(paths: Iterable[Union[str, PathLike]]) -> "pd.DataFrame":
    """Reads result files as one table, for example those of the tasks of a job array.

    Args:
        paths: files that ``heapwood compare``, ``bench`` or ``replay`` wrote with ``--json``, all by the same
            verb.

    Returns:
        pandas.DataFrame: the rows of the files one after another, with the columns of ``compare``, ``bench`` or
        ``replay``, and ``file``, the path. ``frame.attrs["provenance"]`` maps each path to what was
        measured with what: figures of different machines are not comparable.

    Raises:
        OSError: a file that cannot be read.
        ValueError: no files, a file without such results, or files of two verbs.

    Example:
        >>> parts = [folder / "part_1.json", folder / "part_2.json"]
        >>> for part, scene in zip(parts, ["gen:city:500", "gen:soup:500"]):
        ...     words = ["compare", scene, "-a", "halloc", "--device", "cpu", "--repeat", "1", "--json", part]
        ...     _ = subprocess.run([PROGRAM, *words], check=True)
        >>> heapwood.read_results(parts)["scene"].tolist()
        ['gen:city:500', 'gen:soup:500']
    """
    import pandas as pd

    documents = {os.fspath(path): _results(path) for path in paths}
    kinds = sorted({document["kind"] for document in documents.values()})
    if len(kinds) != 1:
        found = " and ".join(kinds) or "no file"
        raise ValueError(f"one table has the results of one verb, but there are those of {found}")
    frame = pd.concat([_frame(document).assign(file=path) for path, document in documents.items()],
                      ignore_index=True)
    frame.attrs["provenance"] = {path: document["provenance"] for path, document in documents.items()}
    return frame


def _scene_name(scene):
    if isinstance(scene, Scene):
        if scene.path == "arrays":
            raise ValueError("this scene is made of arrays: write it to an OBJ file, and pass its path")
        return scene.path
    return os.fspath(scene)


def compare(*scenes: Union[str, PathLike, Scene], progress: Progress = None,
            **options: Any) -> "pd.DataFrame":
    """Builds trees with all allocators, in turns, and compares times, memory and fragmentation.

    Args:
        *scenes: paths of OBJ files, ``gen:NAME:TRIANGLES[:SEED]``, or scenes that were loaded.
        progress: ``True``: a bar by rich, on standard error or in a notebook. ``None``: the same on a terminal
            and in a notebook that can show it, once the work has taken half a second. ``False``: nothing. Or
            a function of ``(done, total, what)``: how much of the work is done, in any unit and at least
            once before each turn of an allocator, and what is done now, as text. What it raises ends the
            call, and so does Ctrl-C: at once, and ``resume=FILE`` has the turns that were done.
        **options: as of ``heapwood compare --help``, with underscores: ``allocator=["halloc", "hybrid"]``,
            ``pool="20x"``, ``repeat=3``, ``device="cpu"``.

    Returns:
        pandas.DataFrame: one row for each scene, pool and allocator. Columns are the fields of the
        program's JSON, with points: ``scene``, ``pool``, ``build.allocator``, ``outcome``,
        ``build.ms.median``, ``build.ms.samples`` (a list), ``build.slowdown``,
        ``allocations.requests``, ``tree.digest``, ... A build that failed has its ``outcome`` and
        ``message``. ``frame.attrs["provenance"]`` says what was measured with what.

    Raises:
        ValueError, SceneError, NoDevice, MemoryError: with the program's sentence.
        ProgramError: the program failed otherwise.

    Example:
        >>> table = heapwood.compare("gen:sphere:1000", allocator=["atomicmalloc", "halloc"],
        ...                          repeat=3, device="cpu")
        >>> table[["build.allocator", "outcome"]].values.tolist()
        [['atomicmalloc', 'done'], ['halloc', 'done']]
        >>> len(table.explode("build.ms.samples"))  # a row a sample
        6
    """
    return _frame(_measure("compare", map(_scene_name, scenes), options, progress))


def bench(*tests: str, progress: Progress = None, **options: Any) -> "pd.DataFrame":
    """Runs the papers' synthetic tests of allocators.

    Args:
        *tests: names, as ``"acd"``, or ``"all"``: see ``heapwood bench --help``.
        progress: as of ``compare``.
        **options: as of ``heapwood bench --help``: ``quick=True``, ``allocator="halloc"``, ...

    Returns:
        pandas.DataFrame: one row for each allocator at each point of each series, and metric and phase of
        it: columns ``series``, ``allocator``, ``x``, ``outcome``, ``message``, ``metric``, ``phase``
        (``cold``, ``warm``, or ``value`` for what is no time), ``median``, ``min``, ``max``,
        ``samples`` (a list). A point without figures has one row, with neither metric nor phase.

    Raises:
        as ``compare``.

    Example:
        >>> table = heapwood.bench("acd", quick=True, allocator="halloc", device="cpu", repeat=1,
        ...                        time_limit=1)
        >>> sorted(set(table.allocator)), sorted(set(table.phase.dropna()))
        (['halloc'], ['cold', 'warm'])
    """
    return _frame(_measure("bench", tests, options, progress))


def replay(trace: Union[str, PathLike], *, progress: Progress = None, **options: Any) -> "pd.DataFrame":
    """Makes allocators answer the requests of a build that ``heapwood build --trace`` has recorded.

    Args:
        trace: the path of the trace.
        progress: as of ``compare``.
        **options: as of ``heapwood replay --help``: ``allocator=["halloc"]``, ``pool="20x"``, ...

    Returns:
        pandas.DataFrame: one row for each allocator. Columns are the fields of the program's JSON, with
        points: ``allocator``, ``outcome``, ``ms.median``, ``ms.samples`` (a list), ``slowdown``, ...

    Raises:
        TraceError: a file that is no trace; else as ``compare``.
    """
    return _frame(_measure("replay", [os.fspath(trace)], options, progress))
