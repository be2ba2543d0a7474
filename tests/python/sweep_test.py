"""Sweeps by several executors, with workers that die and files to go on from."""

import json
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import heapwood
from heapwood._sweep import measure

pytest.importorskip("pandas")

REPEAT = 2
CELLS = heapwood.cells(scene=["gen:city:300", "gen:soup:300"], allocator=["atomicmalloc", "halloc"],
                       pool=["200x", "400x"], repeat=REPEAT, warm_up=0, device="cpu")


def new_pool():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def check_whole(table, cells=CELLS):
    """Nothing is lost, nothing is there twice, and cells come in their order."""
    assert table.outcome.tolist() == ["done"] * REPEAT * len(cells), table.message.tolist()
    assert table.cell.tolist() == [number for number in range(len(cells)) for _ in range(REPEAT)]
    assert table["sample"].tolist() == list(range(REPEAT)) * len(cells)
    for key in cells[0]:
        assert table[key].tolist() == [cell[key] for cell in cells for _ in range(REPEAT)]
    assert (table.ms > 0).all()
    assert table.groupby("scene")["tree.digest"].nunique().tolist() == [1, 1]


class Inline(Executor):
    """Runs calls at once; `fates` are errors that come first, by the place of a cell."""

    def __init__(self, fates=()):
        self.fates = dict(fates)
        self.calls = []

    def submit(self, fn, cell):
        number = CELLS.index(cell)
        self.calls.append(number)
        future = Future()
        if self.fates.get(number):
            future.set_exception(self.fates[number].pop())
        else:
            future.set_result(fn(cell))
        return future


class Job:
    """A future as submitit has: it calls nobody back."""

    def __init__(self, fn, cell):
        self._result, self._looks = fn(cell), 2

    def done(self):
        self._looks -= 1
        return self._looks < 0

    def result(self):
        assert self.done()
        return self._result


def test_cells_are_a_product():
    assert len(CELLS) == 8 and CELLS[0]["pool"] == "200x" and CELLS[1]["pool"] == "400x"
    assert heapwood.cells(scene=("a", "b"), repeat=[1, 2]) == [
        {"scene": "a", "repeat": 1}, {"scene": "a", "repeat": 2},
        {"scene": "b", "repeat": 1}, {"scene": "b", "repeat": 2}]


def test_in_this_process():
    table = heapwood.sweep(CELLS)
    check_whole(table)
    assert {name: str(table[name].dtype) for name in (
        "cell", "sample", "ms", "attempts", "seconds", "provenance.date")} == {
            "cell": "int64", "sample": "Int64", "ms": "float64", "attempts": "int64",
            "seconds": "float64", "provenance.date": "datetime64[ns, UTC]"}
    assert (table.seconds > 0).all() and table["provenance.host"].notna().all()
    assert set(table["provenance.version"]) == {heapwood.__version__}
    median = table.groupby("cell").ms.median()
    assert median.tolist() == pytest.approx(table.groupby("cell")["build.ms.median"].first().tolist())


@pytest.mark.parametrize("executor", [lambda: ThreadPoolExecutor(2), new_pool])
def test_pools(executor):
    table = heapwood.sweep(CELLS, executor)
    check_whole(table)
    if executor is new_pool:
        assert os.getpid() not in set(table["provenance.process"])
    with executor() as mine:
        check_whole(heapwood.sweep(CELLS[:4] + CELLS[4:], mine))


def test_futures_that_call_nobody_back():
    class Cluster:
        def submit(self, fn, cell):
            return Job(fn, cell)

    check_whole(heapwood.sweep(CELLS, Cluster()))


def test_failures_are_rows():
    cells = [CELLS[0], {**CELLS[0], "scene": "missing.obj"}, {**CELLS[0], "pool": "1x"}]
    table = heapwood.sweep(cells).set_index("cell")
    assert table.outcome.tolist() == ["done"] * REPEAT + ["failed", "pool_exhausted"]
    assert table.ms.isna().tolist() == [False] * REPEAT + [True] * 2
    for number, word in ((1, "missing.obj"), (2, "no room")):
        assert word in table.message[number]


@pytest.mark.parametrize("wrong, error, sentence", [
    ({"device": "gpuu"}, ValueError, "cell 2: .*'gpuu' is none of auto, cpu, cuda, gpu"),
    ({"allocator": "nobody"}, ValueError, "cell 2: no allocator 'nobody'"),
    ({"pool": "5"}, ValueError, "cell 2: .*'5' is no pool size"),
    ({"no_such_option": 1}, ValueError, "cell 2: .*no-such-option"),
    ({"json": "file.json"}, TypeError, "cell 2: .*returns a table"),
])
def test_wrong_options_end_a_sweep_before_it_begins(tmp_path, wrong, error, sentence):
    notes, executor = tmp_path / "notes", Inline()
    with pytest.raises(error, match=sentence):
        heapwood.sweep([CELLS[0], CELLS[1], {**CELLS[0], **wrong}], executor, resume=notes)
    assert executor.calls == [] and not notes.exists()


@pytest.mark.parametrize("device", ["gpu", "cuda"])
def test_a_gpu_has_two_names(device):
    table = heapwood.sweep([{**CELLS[0], "device": device}])
    if not heapwood.cuda_available():  # which is the worker's to say
        assert table.outcome.tolist() == ["failed"] and "no GPU" in table.message[0]


def test_of_no_cells_there_is_an_empty_table():
    table = heapwood.sweep([])
    assert len(table) == 0 and {"cell", "ms", "outcome"} <= set(table.columns)


def test_a_cell_whose_worker_dies_is_tried_again_in_the_end_alone():
    dies = [BrokenExecutor("no worker") for _ in range(5)]
    executor = Inline({1: dies[:2], 3: dies, 6: dies[:1]})
    table = heapwood.sweep(CELLS, executor, retries=2)
    assert executor.calls == [*range(8), 1, 3, 6, 1, 3]
    assert table.groupby("cell").attempts.first().tolist() == [1, 3, 1, 3, 1, 1, 2, 1]
    crashed = table[table.outcome == "crashed"]
    assert crashed.cell.tolist() == [3] and crashed.ms.isna().all()
    assert crashed.message.tolist() == ["the worker died 3 times: BrokenExecutor: no worker"]
    assert len(table) == 7 * REPEAT + 1
    once = heapwood.sweep(CELLS, Inline({3: dies[:1]}), retries=0)
    assert once.outcome.tolist().count("crashed") == 1


def test_a_pool_that_is_dead_has_begun_no_cell():
    with new_pool() as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(os._exit, 1).result()
        table = heapwood.sweep(CELLS[:3], pool)
    assert table.outcome.tolist() == ["crashed"] * 3 and table.attempts.tolist() == [0] * 3
    assert "the executor takes no cells: BrokenProcessPool" in table.message[0]

    class Dead(Executor):
        def submit(self, fn, cell):
            raise BrokenExecutor("dead")

    assert heapwood.sweep(CELLS[:2], lambda: Dead()).attempts.tolist() == [0, 0]


def kill_one(workers, notes, gone):
    """Kills a worker once a result is noted, long before the last."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (notes.exists() and notes.read_bytes()):
        time.sleep(0.005)
    for worker in workers():
        os.kill(worker, signal.SIGKILL)
        gone.append(worker)
        return


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    pools = []

    def executor():
        pools.append(new_pool())
        return pools[-1]

    notes, gone = tmp_path / "notes", []
    killer = threading.Thread(target=kill_one, args=(lambda: list(pools[0]._processes), notes, gone))
    killer.start()
    table = heapwood.sweep(CELLS, executor, resume=notes)
    killer.join()
    check_whole(table)
    assert gone and len(pools) > 1 and table.attempts.max() > 1
    assert not set(gone) & set(table["provenance.process"][table.attempts > 1])


def test_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            workers = client.run(os.getpid)
            notes, gone, keys = tmp_path / "notes", [], []
            submit = client.submit
            client.submit = lambda *args, **named: keys.append(named["key"]) or submit(*args, **named)
            killer = threading.Thread(target=kill_one, args=(workers.values, notes, gone))
            killer.start()
            table = heapwood.sweep(CELLS, client.get_executor(), resume=notes)
            killer.join()
    check_whole(table)
    assert gone, "no worker was killed"
    assert table.attempts.max() == 2, "Dask began the killed worker's cell again"
    assert len(notes.read_text().splitlines()) == len(CELLS)
    # What the dashboard shows.
    assert len(set(keys)) == len(keys) >= len(CELLS)
    assert {distributed.utils.key_split(key) for key in keys} == {"atomicmalloc", "halloc"}
    assert keys[0].startswith("atomicmalloc-gen:city:300-200x-")


def test_a_sweep_that_was_interrupted_goes_on(tmp_path):
    class Interrupted(Inline):
        def submit(self, fn, cell):
            if len(self.calls) == 3:
                raise KeyboardInterrupt
            return super().submit(fn, cell)

    notes, measured = tmp_path / "notes", []
    for number in range(3):  # as an interrupted run leaves them
        heapwood.sweep(CELLS[number:number + 1], resume=notes)
    with pytest.raises(KeyboardInterrupt):
        heapwood.sweep(CELLS, Interrupted(), resume=notes)
    noted = [json.loads(line)["result"] for line in notes.read_text().splitlines()]
    assert len(noted) == 3

    rest = Inline()
    notes.write_bytes(notes.read_bytes() + b'{"cell": "cut off')
    table = heapwood.sweep(CELLS, rest, resume=notes)
    check_whole(table)
    assert rest.calls == [3, 4, 5, 6, 7]
    measured = [sample for result in noted
                for sample in result["document"]["cells"][0]["build"]["ms"]["samples"]]
    assert table.ms.tolist()[:3 * REPEAT] == measured
    # Another order, fewer cells, and one twice: what is noted is found, the second of two is measured.
    again = heapwood.sweep([CELLS[7], CELLS[2], CELLS[2]], executor := Inline(), resume=notes)
    assert executor.calls == [2] and len(again) == 3 * REPEAT


def test_what_was_not_measured_is_tried_again(tmp_path):
    notes, scene = tmp_path / "notes", tmp_path / "late.obj"
    cell = {**CELLS[0], "scene": scene}
    assert heapwood.sweep([cell], resume=notes).outcome.tolist() == ["failed"]
    scene.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert heapwood.sweep([cell], resume=notes).outcome.tolist() == ["done"] * REPEAT


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="a cell without a scene"):
        heapwood.sweep([{"allocator": "halloc"}])
    with pytest.raises(ValueError, match="retries=-1"):
        heapwood.sweep(CELLS, retries=-1)
    with pytest.raises(TypeError, match="retries must be a whole number, not 1.5"):
        heapwood.sweep(CELLS, retries=1.5)
    with pytest.raises(TypeError, match="numbers, texts and lists"):
        heapwood.sweep([{**CELLS[0], "pool": object()}])
    notes = tmp_path / "notes"
    for text in ("no JSON\n", '{"cell": "x"}\n', '{"cell": "x", "result": 3}\n', "[]\n", "letters"):
        notes.write_text(text)
        with pytest.raises(ValueError, match=f"{notes}:1: is no result of a sweep"):
            heapwood.sweep(CELLS, resume=notes)
        assert notes.read_text() == text
    with open(tmp_path / "used", "a+b") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="in use by another sweep"):
            heapwood.sweep(CELLS, resume=tmp_path / "used")


def test_a_bar_is_shown_where_it_is_wanted(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")  # one that can take a line back
    heapwood.sweep(CELLS[:1], progress=True)
    assert "sweep" in capsys.readouterr().err
    heapwood.sweep(CELLS[:1])
    assert capsys.readouterr().err == ""


def test_a_worker_raises_nothing():
    answer = measure({"scene": "missing.obj"})
    assert answer["outcome"] == "failed" and "missing.obj" in answer["message"]
