"""`heapwood compare` reads a scene once, for all its processes."""

import ctypes
import os
import shutil
import struct
import unittest

from command_line import BAD_INPUT, MODELS, compare, compared, folder

IN_CLOSE, IN_OPEN = 0x18, 0x20
EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name


class Openings:
    """Counts how often a file is opened from now on. Those at the same time may count once."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.events = libc.inotify_init1(os.O_NONBLOCK)
        if self.events < 0 or libc.inotify_add_watch(self.events, os.fsencode(path),
                                                               IN_OPEN | IN_CLOSE) < 0:
            raise unittest.SkipTest("no inotify: " + os.strerror(ctypes.get_errno()))

    def count(self):
        data = os.read(self.events, 65536)
        os.close(self.events)
        # Equal events that follow one another are one, so closings are watched, too.
        return sum(mask & IN_OPEN != 0 for _, mask, _, _ in EVENT.iter_unpack(data))


class Scene(unittest.TestCase):
    def test_is_opened_once(self):
        with folder() as place:
            scene = place / "cottage.obj"
            shutil.copy(MODELS / "cottage.obj", scene)
            openings = Openings(scene)
            # Two processes build both scenes in turn, several times each.
            found = compared(scene, "gen:soup:20", "-a", "atomicmalloc,halloc", "--repeat", 2,
                             "--pool", "200x", "--pool", "100x")
            self.assertEqual(openings.count(), 1)
        self.assertEqual([cell["outcome"] for cell in found["cells"]], ["done"] * 8)

    def test_that_is_wrong_is_refused_before_the_work(self):
        with folder() as place:
            broken = place / "broken.obj"
            broken.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n")
            for scene, why in ((broken, ":4: face index 4 is out of range; the file has 3 vertices"),
                               (place / "none.obj", ": cannot be opened: No such file or directory")):
                result = compare(scene, "-a", "atomicmalloc")
                self.assertEqual(result.returncode, BAD_INPUT)
                self.assertIn(f"{scene}{why}", result.stderr)


if __name__ == "__main__":
    unittest.main()
