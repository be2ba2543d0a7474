"""Colour and progress: on a terminal only, and no colour where NO_COLOR asks for none."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

from command_line import EXECUTABLE, environment

COLOUR = "\x1b[1m"
ERASE = "\x1b[K"


def on_terminal(*arguments, columns=0, **env):
    """What a terminal receives from heapwood, both streams together."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [EXECUTABLE, *arguments], stdout=slave, stderr=slave, stdin=subprocess.DEVNULL,
        env=environment(**env),
    )
    os.close(slave)
    received = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that the other side has closed
            break
        if not chunk:
            break
        received += chunk
    os.close(master)
    process.wait()
    return received.decode()


class Terminal(unittest.TestCase):
    BUILD = ("build", "gen:sphere:500", "--device", "cpu", "--repeat", "1")

    def test_colour_and_progress(self):
        text = on_terminal(*self.BUILD, TERM="xterm")
        self.assertIn(COLOUR, text)
        self.assertIn("building with cambium (1 of 1)", text)
        self.assertGreater(text.index("T_build"), text.rindex(ERASE), "progress ends erased")

    def test_progress_of_a_comparison(self):
        compare = ("compare", "gen:sphere:500", "gen:soup:50", "--device", "cpu", "--repeat", "2",
                   "-a", "atomicmalloc,cmalloc", "--minimal-pool")
        text = on_terminal(*compare, TERM="xterm")
        self.assertIn("\x1b[Katomicmalloc, turn 1 of 2, pool default, gen:sphere:500 (1 of 2) ...",
                      text)
        self.assertRegex(text, r"\x1b\[K\d+ %, \d+ s left: cmalloc, turn 2 of 2, pool default, ")
        self.assertIn("pool default, gen:soup:50 (2 of 2) ...", text)
        self.assertIn("atomicmalloc, smallest pool: ", text)
        self.assertGreater(text.index("T_build"), text.rindex(ERASE), "progress ends erased")
        self.assertNotIn("turn", on_terminal(*compare, "-q", TERM="xterm").split("Comparison")[0])

    def test_progress_fits_into_a_line(self):
        text = on_terminal(*self.BUILD, TERM="xterm", columns=20)
        self.assertIn("\x1b[Kbuilding with cambi\r", text)

    def test_no_color(self):
        text = on_terminal(*self.BUILD, TERM="xterm", NO_COLOR="1")
        self.assertNotRegex(text, "\x1b\\[[0-9;]*m")
        self.assertIn(COLOUR, on_terminal(*self.BUILD, TERM="xterm", NO_COLOR=""))

    def test_errors_follow_no_color(self):
        broken = ("build", "missing.obj")
        self.assertRegex(on_terminal(*broken, TERM="xterm"), "\x1b\\[[0-9;]*m")
        self.assertNotRegex(on_terminal(*broken, TERM="xterm", NO_COLOR="1"), "\x1b\\[[0-9;]*m")

    def test_dumb_terminal(self):
        self.assertNotIn("\x1b", on_terminal(*self.BUILD, TERM="dumb"))
        self.assertNotIn("\x1b", on_terminal(*self.BUILD))

    def test_quiet(self):
        self.assertNotIn("building", on_terminal(*self.BUILD, "-q", TERM="xterm"))


if __name__ == "__main__":
    unittest.main()
