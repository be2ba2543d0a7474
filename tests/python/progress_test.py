"""Long work shows how far it is, and Ctrl-C or an error of the caller's ends it and loses nothing."""

import asyncio
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import heapwood
from heapwood._program import PROGRAM, _run
from heapwood._progress import shown

PATIENCE = 60  # seconds: what takes longer hangs
ENDLESS = 1_000_000  # turns
SCENE = f"gen:city:2000:{os.getpid()}"  # by which processes of these tests are known
BOTH = {"allocator": ["atomicmalloc", "halloc"], "device": "cpu"}


class Ended(Exception):
    pass


class Watch:
    """What is told of progress. After ``after`` calls it ends the work, by a signal or an error."""

    def __init__(self, how=None, after=3, delay=0.05):
        self.steps, self._how, self._after, self._delay = [], how, after, delay

    def __call__(self, done, total, what):
        assert 0 <= done <= total and total > 0 and isinstance(what, str) and what
        assert not self.steps or done >= self.steps[-1][0] or self.steps[-1][1] == 1
        self.steps.append((done, total, what))
        if len(self.steps) != self._after:
            return
        if self._how == "error":
            raise Ended
        if self._how == "signal":  # in the wait for the next step
            threading.Timer(self._delay, os.kill, (os.getpid(), signal.SIGINT)).start()

    def ends(self, work):
        with pytest.raises(Ended if self._how == "error" else KeyboardInterrupt):
            work(self)
        assert not list(own_programs())
        assert len(self.steps) >= self._after
        expect_no_program()


def expect_no_program():
    def left():
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if SCENE.encode() in path.read_bytes():
                    yield path
            except OSError:
                pass  # it has ended

    deadline = time.monotonic() + PATIENCE
    while list(left()):
        assert time.monotonic() < deadline, "a program goes on"
        time.sleep(0.01)


def own_programs():
    """The programs that this process has started and that it has not seen end."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue  # it has ended
        if name == "heapwood" and rest.split()[1] == str(os.getpid()):
            yield path


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "a.trace"
    subprocess.run([PROGRAM, "build", SCENE, "-q", "-a", "halloc", "--device", "cpu", "--trace", path],
                   check=True, stdout=subprocess.DEVNULL)
    return path


def measurement(verb, trace, **options):
    if verb == "bench":
        return lambda progress: heapwood.bench("acd", quick=True, **options, progress=progress)
    subject = SCENE if verb == "compare" else trace
    return lambda progress: getattr(heapwood, verb)(subject, **options, progress=progress)


VERBS = pytest.mark.parametrize("verb", ["compare", "bench", "replay"])
ENDS = pytest.mark.parametrize("how", ["signal", "error"])


@VERBS
def test_measurements_say_how_far_they_are(verb, trace):
    pytest.importorskip("pandas")
    watch = Watch()
    assert len(measurement(verb, trace, repeat=2, **BOTH)(watch)) >= 2
    turns = [step for step in watch.steps if "turn" in step[2]]
    assert len(turns) == (24 if verb == "bench" else 4)
    assert "atomicmalloc, turn 1 of 2" in turns[0][2] and "halloc, turn 2 of 2" in turns[-1][2]
    assert watch.steps[-1][0] == watch.steps[-1][1] > turns[-1][0] > turns[0][0] == 0
    assert len({total for _, total, what in turns}) == 1


def test_a_line_without_figures_leaves_them():
    said = ('heapwood: progress: {"what": "first"}', 'heapwood: warning: of something',
            'heapwood: progress: {"done": 1.5, "total": 3.0, "what": "\\u00e4"}', 'heapwood: progress: {"what": "last"}')
    program = f"import sys; print(*{said}, sep='\\n', file=sys.stderr); print('[3]'); sys.exit(4)"
    watch = Watch()
    assert _run([sys.executable, "-c", program], watch, None) == (4, b"[3]\n", ["heapwood: warning: of something"])
    assert watch.steps == [(0, 1, "first"), (1.5, 3, "\u00e4"), (1.5, 3, "last"), (3, 3, "done")]


@ENDS
@VERBS
def test_a_measurement_that_is_ended_keeps_its_turns(verb, how, trace, tmp_path):
    pytest.importorskip("pandas")
    journal = tmp_path / "journal"
    limit = {"budget" if verb == "compare" else "time_limit": 3600}
    work = measurement(verb, trace, repeat=ENDLESS, resume=journal, **limit, **BOTH)
    watch = Watch(how, 20)
    watch.ends(work)
    turns = [json.loads(line) for line in journal.read_text().splitlines()][1:]
    assert len(turns) >= 15
    again = Watch("error", 3)
    again.ends(work)
    (before, now) = (next(step for step in steps if "turn" in step[2]) for steps in (watch.steps, again.steps))
    assert now[1] < before[1], "the turns of the journal are not left to do"


def executors():
    return {"none": None, "threads": ThreadPoolExecutor(2), "own threads": lambda: ThreadPoolExecutor(2),
            "processes": lambda: ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))}


@ENDS
@pytest.mark.parametrize("executor", executors())
def test_a_sweep_that_is_ended_keeps_its_cells(executor, how, tmp_path):
    pytest.importorskip("pandas")
    notes = tmp_path / "notes"
    cells = heapwood.cells(scene=SCENE, allocator="halloc", repeat=[1, ENDLESS, ENDLESS - 1], warm_up=0,
                           device="cpu", budget=3600)
    watch = Watch(how, 2)
    watch.ends(lambda show: heapwood.sweep(cells, executors()[executor], resume=notes, progress=show))
    assert watch.steps == [(0, 3, "cells noted before"), (1, 3, f"halloc, {SCENE}")]
    assert len(notes.read_text().splitlines()) == 1
    again = Watch()
    assert len(heapwood.sweep(cells[:1], resume=notes, progress=again)) == 1
    assert again.steps == [(1, 1, "cells noted before")]


@pytest.mark.parametrize("method", ["closest_hit", "any_hit", "count", "all_hits", "hits"])
def test_rays_in_batches_are_those_of_one_call(tree, rng, method, monkeypatch):
    count, batch = 50_000, 1 << 15
    monkeypatch.setattr("heapwood._ray_batches.BATCH", batch)
    origins, directions = rng.uniform(-1, 1, (2, count, 3)).astype(np.float32)
    ends = rng.uniform(0.5, 1, count).astype(np.float32)
    trace, watch = getattr(tree, method), Watch()

    def arrays(found):
        if isinstance(found, heapwood.Hits):
            found = found.t, found.primitive, found.barycentrics
        return found if isinstance(found, tuple) else (found,)

    whole, batches = (arrays(trace(origins, directions, 0, ends, progress=progress)) for progress in (False, watch))
    assert [step[:2] for step in watch.steps] == [(0, count), (batch, count), (count, count)]
    for one, other in zip(whole, batches):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    if method in ("any_hit", "count"):
        out = np.zeros_like(whole[0]).reshape(2, -1)
        parts = [array.reshape(2, -1, 3) for array in (origins, directions)]
        assert trace(*parts, 0, ends.reshape(2, -1), out=out, progress=Watch()) is out
        assert np.array_equal(out.ravel(), whole[0])
    for how in ("signal", "error"):
        Watch(how, 2, 0).ends(lambda show: trace(np.tile(origins, (40, 1)), [1, 2, 3], threads=1, progress=show))
    for few in (0, 1):
        assert len(arrays(trace(origins[:few], directions[:few], progress=Watch()))[-1]) <= few * 2


@ENDS
def test_a_build_on_dask_that_is_ended_leaves_nothing(dask, how, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    out = tmp_path / "a.kdt"
    out.write_text("what was there before")
    Watch(how, 1).ends(lambda show: heapwood.forest.build("gen:sphere:1000000", dask, out=out, progress=show))
    assert out.read_text() == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.kdt"]
    watch = Watch()
    report = heapwood.forest.build("gen:sphere:3000", dask, out=out, progress=watch)
    assert watch.steps[0] == (0, 1, "loading gen:sphere:3000") and "top" in watch.steps[1][2]
    cells = watch.steps[-1][1]
    assert watch.steps[-1] == (cells, cells, f"completing {out}") and cells > 1
    assert [step[0] for step in watch.steps if step[2].startswith("cell ")] == list(range(int(cells)))

    rays = np.random.default_rng(1).uniform(-1, 1, (2, 150_000, 3))
    for options in ({}, {"parts": 2}):
        watch = Watch()
        heapwood.forest.any_hit(out, *rays, dask, **options, progress=watch)
        assert watch.steps[-1][:2] == (150_000, 150_000) and len(watch.steps) >= 2
        many = np.tile(rays, (1, 10, 1))
        Watch(how, 1).ends(lambda show: heapwood.forest.closest_hit(out, *many, dask, **options, progress=show))
    assert report["build"]["digest"] == heapwood.load_tree(out).digest


def test_a_client_whose_call_was_ended_answers_the_next_one(dask, tmp_path, monkeypatch):
    out = tmp_path / "a.kdt"
    heapwood.build("gen:sphere:3000").save(out)
    request = type(dask)._gather_remote

    async def late(*arguments):
        await asyncio.sleep(0.5)
        return await request(*arguments)

    for options in ({}, {"parts": 2}):
        def ask():
            return heapwood.forest.any_hit(out, [0, 0, 0], [1, 2, 3], dask, **options)

        assert ask()
        with monkeypatch.context() as patch:
            patch.setattr(type(dask), "_gather_remote", late)  # so that Ctrl-C comes before it
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                ask()
        assert ask()


@pytest.mark.parametrize("progress", [3, "yes", [], np.zeros(2)])
def test_mistakes(tree, progress):
    for work in (lambda **how: heapwood.compare(SCENE, **how), lambda **how: heapwood.bench("acd", **how),
                 lambda **how: heapwood.replay("any.trace", **how), lambda **how: heapwood.sweep([], **how),
                 lambda **how: tree.closest_hit([0, 0, 0], [1, 2, 3], **how)):
        with pytest.raises(TypeError, match="progress must be True, False, None or a function"):
            work(progress=progress)
    with pytest.raises(ValueError, match="leave out stream, or progress"):
        tree.count([0, 0, 0], [1, 2, 3], stream=0, progress=True)


def test_a_bar_needs_rich(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="progress=True shows a bar by rich: pip install rich"):
        with shown(True, "work"):
            pass
    with shown(None, "work") as show:
        assert show is None


@pytest.mark.parametrize("seen", ["terminal", "notebook", "notebook without widgets", "file"])
def test_who_sees_a_bar_that_was_not_asked_for(monkeypatch, capsys, seen):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: seen == "terminal", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if seen.startswith("notebook"):
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("importlib.util.find_spec",
                        lambda name: name == "rich" or (name == "ipywidgets" and seen == "notebook") or None)
    with shown(None, "work") as show:
        assert (show is not None) == (seen in ("terminal", "notebook"))
        if show is None:
            return
        show(1, 4, "[first]")
        assert capsys.readouterr().err == "", "work that is soon done shows nothing"
        monkeypatch.setattr("heapwood._progress._SOON", 0)
        monkeypatch.setenv("COLUMNS", "120")
        show(2, 4, "[second]")
        show(3, 4, "[third]")
    if seen == "terminal":
        text = capsys.readouterr().err
        assert "work: [third]" in text and "75%" in text


def test_a_program_that_is_read_writes_lines(trace):
    environment = {**os.environ, "HEAPWOOD_PROGRESS": "json"}
    command = [PROGRAM, "replay", trace, "-a", "halloc", "--device", "cpu", "--repeat", "1"]
    result = subprocess.run(command, env=environment, capture_output=True, check=True, encoding="utf-8")
    lines = [line for line in result.stderr.splitlines() if "progress" in line]
    assert all(json.loads(line.removeprefix("heapwood: progress: "))["what"] for line in lines) and lines
    result = subprocess.run(command, env={**environment, "HEAPWOOD_PROGRESS": "xml"}, capture_output=True,
                            check=False, encoding="utf-8")
    assert result.returncode == 2 and "HEAPWOOD_PROGRESS='xml' is no form of progress" in result.stderr
