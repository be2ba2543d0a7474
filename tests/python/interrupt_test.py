"""Ctrl-C during builds and batches of rays."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import heapwood


class Signals:
    """Sends signals, each when the one before has been seen, until the third one raises."""

    def __init__(self):
        self.seen = 0
        self._sent = 0
        self._over = threading.Event()

    def __enter__(self):
        self._before = signal.signal(signal.SIGINT, self._handle)
        self._thread = threading.Thread(target=self._send)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        time.sleep(0)  # a last signal is seen here
        signal.signal(signal.SIGINT, self._before)

    def _handle(self, *_):
        self.seen += 1
        if self.seen == 3:
            self._over.set()
            raise KeyboardInterrupt

    def _send(self):
        while not self._over.wait(0.01):
            if self._sent == self.seen < 3:  # the third one may be seen after the wait
                self._sent += 1
                os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("how", [
    {}, {"method": "levels"}, {"allocator": "atomicmalloc"}], ids=["build", "levels", "atomicmalloc"])
def test_a_build_sees_signals(how):
    scene = heapwood.load("gen:soup:100000")
    with Signals() as signals, pytest.raises(KeyboardInterrupt):
        heapwood.build(scene, threads=1, **how)
    assert signals.seen == 3
    assert heapwood.build(heapwood.load("gen:sphere:100"), **how).any_hit([0, 0, 0], [1, 2, 3])


def test_a_builder_sees_signals_and_goes_on():
    scene = heapwood.load("gen:soup:100000")
    builder = heapwood.Builder(scene.triangles, threads=1)
    with Signals() as signals, pytest.raises(KeyboardInterrupt):
        builder.rebuild(scene.vertices)
    assert signals.seen == 3
    with pytest.raises(ValueError, match="no tree yet"):
        builder.any_hit([0, 0, 0], [1, 2, 3])
    builder.rebuild(np.zeros_like(scene.vertices))
    assert len(builder.tree().nodes) == 1


@pytest.mark.parametrize("method", ["closest_hit", "any_hit", "count", "all_hits"])
def test_a_batch_sees_signals(tree, rng, method):
    origins, directions = rng.uniform(-1, 1, (2, 3_000_000, 3)).astype(np.float32)
    trace = getattr(tree, method)
    with Signals() as signals, pytest.raises(KeyboardInterrupt):
        trace(origins, directions, threads=1)
    assert signals.seen == 3
    assert tree.any_hit([0, 0, 0], [1, 2, 3])


def test_a_handler_that_raises_nothing_ends_nothing(sphere, tree):
    with Signals() as signals:
        signals.seen = signals._sent = 3  # all of them
        assert heapwood.build(sphere, threads=1).digest == tree.digest
