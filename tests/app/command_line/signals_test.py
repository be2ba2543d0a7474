"""Signals at random moments of every verb: nothing is left running, no file is half written, and
what a journal has is gone on with."""

import pathlib
import signal
import subprocess
import time
import unittest

from command_line import DONE, EXECUTABLE, dice, environment, folder, run, thorough
from every_output import JOURNALED, NAMES, VERBS, arguments, is_whole, record_inputs

ROUNDS = 100 if thorough() else 3
PATIENCE = 60  # seconds: a program that takes longer to end hangs
OLD = b"what was there before"


def processes(word):
    """The command lines of all processes that have the word in them."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue  # it has ended
        if word in line:
            found.append(line)
    return found


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dice = dice()
        context = folder()
        cls.inputs = record_inputs(context.__enter__())
        cls.addClassCleanup(context.__exit__, None, None, None)

    def command(self, verb, place):
        outputs = [(option, place / NAMES[option]) for option in VERBS[verb][1]]
        return outputs, [*arguments(verb, self.inputs),
                         *(word for output in outputs for word in output)]

    def struck(self, command, number, delay):
        """The exit code of a program that gets a signal after so many seconds."""
        def hear():  # a shell lets what runs in its background ignore SIGINT
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen([EXECUTABLE, *map(str, command)], env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=hear) as process:
            time.sleep(delay)
            process.send_signal(number)
            try:
                return process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                self.fail(f"HANG after {signal.Signals(number).name} at {delay} s: {command}")

    def expect_nothing_runs(self, place, what):
        deadline = time.monotonic() + PATIENCE
        while left := processes(str(place).encode()):
            self.assertLess(time.monotonic(), deadline, f"{what}: still there: {left}")
            time.sleep(0.01)

    def expect_whole_files(self, verb, outputs, old, number, what):
        for option, path in outputs:
            if path.exists():
                data = path.read_bytes()
                self.assertTrue(data == OLD and old or is_whole(verb, option, data),
                                f"{what}: {path.name} has {len(data)} bytes: {data[:80]}")
            else:
                self.assertFalse(old, f"{what}: {path.name} is lost")
        for path in outputs[0][1].parent.iterdir():
            if path.suffix == ".new":  # nobody hears of SIGKILL
                self.assertEqual(number, signal.SIGKILL, f"{what}: {path.name} is left")
            elif path.suffix != ".partial":
                self.assertIn(path.name, NAMES.values(), what)

    def expect_usable_journal(self, verb, outputs, command, what):
        journal = outputs[0][1].with_name(outputs[0][1].name + ".partial")
        if not journal.exists():
            return
        self.assertIn(verb, JOURNALED, what)
        again = run(*command, "--resume", journal)
        self.assertEqual(again.returncode, DONE, f"{what}: {again.stderr}")
        self.assertFalse(journal.exists(), what)
        for option, path in outputs:
            self.assertTrue(is_whole(verb, option, path.read_bytes()), f"{what}: {path.name}")

    def check(self, verb):
        with folder() as place:
            _, command = self.command(verb, place)
            start = time.monotonic()
            self.assertEqual(run(*command).returncode, DONE)
            duration = time.monotonic() - start
        ended = 0
        for turn in range(ROUNDS):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                delay = self.dice.uniform(0, 1.2 * duration)
                what = f"{verb}, {signal.Signals(number).name} at {delay:.4f} s"
                with folder() as place:
                    outputs, command = self.command(verb, place)
                    old = turn % 2 == 1
                    if old:
                        for _, path in outputs:
                            path.write_bytes(OLD)
                    code = self.struck(command, number, delay)
                    # As the system ends a program, or as one ends that has saved what it has.
                    self.assertIn(code, (DONE, -number, 128 + number), what)
                    ended += code != DONE
                    # The machine may have become faster, or slower.
                    duration *= 0.9 if code == DONE else 1.05
                    self.expect_nothing_runs(place, what)
                    self.expect_whole_files(verb, outputs, old, number, what)
                    self.expect_usable_journal(verb, outputs, command, what)
        print(f"{verb}: {3 * ROUNDS} signals, {ended} of them before its end, no hang")


for one in VERBS:
    setattr(Signals, f"test_{one}", lambda self, verb=one: self.check(verb))

if __name__ == "__main__":
    unittest.main()
