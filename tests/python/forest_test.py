"""Builds in parts on Dask: the file of an ordinary build, and workers that die."""

import os
import pathlib
import signal
import time

import pytest

import heapwood
from heapwood import forest

distributed = pytest.importorskip("distributed")

MODELS = pathlib.Path(__file__).parents[2] / "scenes" / "models"
SCENE = "gen:city:4000"
SMALL_CELLS = {"snap_limit": 16, "exact_limit": 16}  # hence several levels


def ordinary(scene, place, **parameters):
    heapwood.build(heapwood.load(scene), **parameters).save(place / "whole.kdt")
    return (place / "whole.kdt").read_bytes()


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_file_is_that_of_an_ordinary_build(dask, tmp_path, parts):
    whole = ordinary(SCENE, tmp_path, **SMALL_CELLS)
    report = forest.build(SCENE, dask, parts, out=tmp_path / "parts.kdt", **SMALL_CELLS)
    assert (tmp_path / "parts.kdt").read_bytes() == whole
    assert report["build"]["digest"] == heapwood.load_tree(tmp_path / "whole.kdt").digest
    assert report["build"]["processes"] == parts and report["build"]["lost"] == 0
    assert report["build"]["levels"] > 1 or parts == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.kdt", "whole.kdt"]


def test_workers_keep_nothing(dask, tmp_path):
    forest.build(SCENE, dask, out=tmp_path / "a.kdt")

    def left(dask_worker):
        return [str(path) for path in pathlib.Path(dask_worker.local_directory).rglob("heapwood-*")]

    assert not any(dask.run(left).values())
    deadline = time.monotonic() + 60  # Dask forgets in the background
    while any(dask.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(dask.has_what().values())


def test_several_rounds_and_a_preset(dask, tmp_path):
    parameters = {"preset": "paper", "max_duplication": 2, **SMALL_CELLS}
    whole = ordinary("gen:sphere:500", tmp_path, **parameters)
    report = forest.build("gen:sphere:500", dask, 2, out=tmp_path / "parts.kdt", **parameters)
    assert (tmp_path / "parts.kdt").read_bytes() == whole
    assert report["build"]["builds"] > 1


def test_several_files_and_a_relative_path(dask, tmp_path, monkeypatch):
    (tmp_path / "all.list").write_text("\n".join(
        str(MODELS / f"{name}.obj") for name in ("trefoil", "cottage", "gem")))
    monkeypatch.chdir(tmp_path)
    whole = ordinary("all.list", tmp_path)
    forest.build("all.list", dask, out="parts.kdt")
    assert (tmp_path / "parts.kdt").read_bytes() == whole
    forest.build(heapwood.load("all.list"), dask, 2, out="parts.kdt")
    assert (tmp_path / "parts.kdt").read_bytes() == whole


class Meanwhile:
    """Does something once so many answers have come."""

    def __init__(self, monkeypatch, at, act):
        self.answers = 0
        receive = forest._Peer.receive

        def counting(peer, seconds):
            if self.answers == at:
                act(peer)
            self.answers += 1
            return receive(peer, seconds)

        monkeypatch.setattr(forest._Peer, "receive", counting)


def signal_holder(client, number):
    """A function that sends a signal to a worker that holds a peer's share, and returns its number."""
    def act(peer):
        holder = client.who_has(peer._share)[peer._share.key][0]  # Dask may have given it to two
        process = client.run(os.getpid, workers=[holder])[holder]
        os.kill(process, number)
        return process

    return act


def test_a_worker_that_is_killed_costs_its_share(dask, tmp_path, monkeypatch):
    whole = ordinary(SCENE, tmp_path, **SMALL_CELLS)
    with monkeypatch.context() as patch:
        counted = Meanwhile(patch, -1, None)
        report = forest.build(SCENE, dask, 2, out=tmp_path / "parts.kdt", **SMALL_CELLS)
    cells = report["build"]["cells"]
    before_cells = counted.answers - cells
    assert cells > 4 and before_cells > 6
    # The share of the part that is asked next, when both are loaded; when they are divided; and when all
    # their references are with the workers.
    for at in (2, 5, before_cells + 1):
        dask.wait_for_workers(2, timeout=120)
        with monkeypatch.context() as patch:
            counted = Meanwhile(patch, at, signal_holder(dask, signal.SIGKILL))
            forest.build(SCENE, dask, 2, out=tmp_path / "killed.kdt", **SMALL_CELLS)
        assert counted.answers > at, "nobody was killed"
        assert (tmp_path / "killed.kdt").read_bytes() == whole, at


def test_a_worker_that_hangs_is_replaced(dask_cluster, tmp_path, monkeypatch):
    whole = ordinary(SCENE, tmp_path, **SMALL_CELLS)
    stopped = []

    with dask_cluster(2) as workers, distributed.Client(workers) as client:
        stop = signal_holder(client, signal.SIGSTOP)
        Meanwhile(monkeypatch, 2, lambda peer: stopped.append(stop(peer)))
        try:
            report = forest.build(SCENE, client, out=tmp_path / "parts.kdt", time_limit=5,
                                  **SMALL_CELLS)
        finally:
            os.kill(stopped[0], signal.SIGCONT)
    assert (tmp_path / "parts.kdt").read_bytes() == whole
    assert report["build"]["lost"] >= 1


def test_a_scene_that_changes_ends_the_build(dask, tmp_path, monkeypatch):
    scene = tmp_path / "a.obj"
    text = (MODELS / "gem.obj").read_text()
    scene.write_text(text)

    def act(peer):
        lines = text.splitlines()
        faces = [i for i, line in enumerate(lines) if line.startswith("f ")]
        lines[faces[0]], lines[faces[1]] = lines[faces[1]], lines[faces[0]]
        scene.write_text("\n".join(lines))
        signal_holder(dask, signal.SIGKILL)(peer)

    Meanwhile(monkeypatch, 2, act)
    with pytest.raises(RuntimeError, match="a.obj: has changed since it was first read"):
        forest.build(scene, dask, 2, out=tmp_path / "a.kdt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.obj"]


def test_scenes_that_cannot_be_read(dask, tmp_path):
    (tmp_path / "bad.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n")
    for scene, words in ((tmp_path / "bad.obj", "bad.obj:4: face index 4"),
                         (tmp_path / "missing.obj", "missing.obj"), ("gen:nothing:5", "nothing")):
        with pytest.raises(heapwood.SceneError, match=words):
            forest.build(scene, dask, 2, out=tmp_path / "a.kdt")
    (tmp_path / "all.list").write_text(f"{MODELS / 'gem.obj'}\nlost.obj\n")
    with pytest.raises(heapwood.SceneError, match="all.list:2: .*lost.obj"):
        forest.build(tmp_path / "all.list", dask, 2, out=tmp_path / "a.kdt")
    assert not (tmp_path / "a.kdt").exists()


def test_workers_of_another_version(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(forest._core, "version", "0.0.1")
    with pytest.raises(RuntimeError, match="has heapwood .*, but the client 0.0.1: install"):
        forest.build(SCENE, dask, 2, out=tmp_path / "a.kdt")


def test_a_cluster_without_workers(dask_cluster, tmp_path):
    with dask_cluster(0) as workers, distributed.Client(workers) as client:
        for parts in (None, 2):
            with pytest.raises(RuntimeError, match="the cluster has no workers"):
                forest.build(SCENE, client, parts, out=tmp_path / "a.kdt")
    assert list(tmp_path.iterdir()) == []


def test_mistakes(dask, tmp_path):
    out = tmp_path / "a.kdt"
    for parts in (0, -1, 1025):
        with pytest.raises(ValueError, match=f"parts={parts}: from 1 to 1024"):
            forest.build(SCENE, dask, parts, out=out)
    with pytest.raises(ValueError, match="time_limit=0"):
        forest.build(SCENE, dask, out=out, time_limit=0)
    with pytest.raises(TypeError, match="None is no distributed.Client"):
        forest.build(SCENE, None, out=out)
    with pytest.raises(TypeError, match="leaf_limits"):
        forest.build(SCENE, dask, out=out, leaf_limits=4)
    with pytest.raises(ValueError, match="preset 'papers'"):
        forest.build(SCENE, dask, out=out, preset="papers")
    with pytest.raises(ValueError, match="device 'tpu' is neither cpu nor cuda"):
        forest.build(SCENE, dask, out=out, device="tpu")
    with pytest.raises(ValueError, match="made of arrays"):
        forest.build(heapwood.Scene([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), dask, out=out)
    with pytest.raises(heapwood.TreeFileError, match="nowhere"):
        forest.build(SCENE, dask, out=tmp_path / "nowhere" / "a.kdt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(heapwood.cuda_available(), reason="there is a GPU")
def test_workers_without_a_gpu(dask, tmp_path):
    with pytest.raises(heapwood.NoDevice, match="no GPU to build on"):
        forest.build(SCENE, dask, 2, out=tmp_path / "a.kdt", device="cuda")
