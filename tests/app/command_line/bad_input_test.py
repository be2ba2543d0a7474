"""Scenes that cannot be read, and pools that do not suffice: exit code and sentence of each."""

import gzip
import os
import unittest

from command_line import BAD_INPUT, DONE, OUT_OF_MEMORY, allocators, build, folder, report

CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


class Scenes(unittest.TestCase):
    def check(self, scene, *words):
        with self.subTest(scene=str(scene)):
            result = build(scene)
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertTrue(result.stderr.startswith(f"heapwood: error: {scene}"), result.stderr)
            for word in words:
                self.assertIn(word, result.stderr)

    def check_text(self, text, line, *words):
        """An OBJ of that text must be refused, naming the file and that line (0: no line)."""
        with folder() as place:
            path = place / "scene.obj"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            self.check(path, f"{path}:{line}: " if line else f"{path}: ", *words)

    def test_files_that_cannot_be_read(self):
        with folder() as place:
            self.check(place / "missing.obj", "No such file", "name a file that can be read")
            self.check(place, "directory")
            loop = place / "loop.obj"
            loop.symlink_to(loop)
            self.check(loop, "cannot be opened", "symbolic links", "name a file that can be read")
            # Reading it fails for everyone, root included.
            device = place / "device.obj"
            device.symlink_to("/proc/self/mem")
            self.check(device, "cannot be read")
        self.check_text("", 0, "empty")

    @unittest.skipIf(os.geteuid() == 0, "root may read every file")
    def test_file_without_permission(self):
        with folder() as place:
            path = place / "secret.obj"
            path.write_text(CORNERS + "f 1 2 3\n")
            path.chmod(0)
            self.check(path, "Permission denied")

    def test_binary_junk(self):
        self.check_text(bytes(range(256)) * 40, 1)
        self.check_text(b"\x7fELF" + bytes(5000), 1, "binary")
        with folder() as place:
            whole = gzip.compress((CORNERS + "f 1 2 3\n" * 5000).encode())
            cut = place / "cut.obj.gz"
            cut.write_bytes(whole[: len(whole) // 2])
            self.check(cut, "ends early")
            wrong = place / "wrong.obj.xz"
            wrong.write_text(CORNERS)
            self.check(wrong, "xz")

    def test_indices(self):
        self.check_text(CORNERS + "f 1 2 0\n", 4, "0")
        self.check_text(CORNERS + "\nf 1 2 4\n", 5, "4", "out of range", "3 vertices")
        self.check_text(CORNERS + "f 1 2 -4\n", 4, "-4", "out of range")
        # The second would be vertex 1 if it were cut to 32 bits, the last to 64.
        for index in ("2147483649", "4294967297", "-4294967295", "18446744073709551617"):
            self.check_text(CORNERS + f"f 1 2 {index}\n", 4, index, "out of range")

    def test_numbers(self):
        for number in ("nan", "-nan", "inf", "-inf"):
            self.check_text(CORNERS + f"v 0 {number} 0\nf 1 2 4\n", 4, "finite")
        self.check_text(CORNERS + "v 0 1e999 0\nf 1 2 4\n", 4, "too large")
        self.check_text(CORNERS + "v 0 1e39 0\nf 1 2 4\n", 4, "too large")

    def test_faces(self):
        self.check_text(CORNERS + "f 1 2\n", 4, "2 vertices")
        self.check_text(CORNERS, 0, "no triangle")

    def test_generators(self):
        for scene in ("gen:", "gen:nosuch:10", "gen:sphere", "gen:sphere:", "gen:sphere:0",
                      "gen:sphere:-1", "gen:sphere:1e3", "gen:sphere:ten", "gen:sphere:10:",
                      "gen:sphere:10:x", "gen:sphere:10:1:1"):
            self.check(scene)
        self.check("gen:sphere:4294967296", "4294967296", "triangles")
        self.check("gen:sphere:18446744073709551617", "triangles")


class Pools(unittest.TestCase):
    SCENE = "gen:city:3000"

    def check(self, pool, *words):
        """The build must run out of the pool, and the pool it then recommends must suffice."""
        for allocator in allocators():
            with self.subTest(pool=pool, allocator=allocator):
                result = build(self.SCENE, "--allocator", allocator, "--pool", pool)
                self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
                for word in words:
                    self.assertIn(word, result.stderr)
                self.assertIn("was enough in a trial: use --pool ", result.stderr)
                advice = result.stderr.split("use --pool ")[1].split()[0]
                if allocator == "awmalloc":
                    continue  # whether a ring comes round to live memory: a matter of schedules
                # One thread: how much is live at once depends on the schedule.
                again = build(self.SCENE, "--allocator", allocator, "--pool", advice, "--threads",
                              1, "--no-statistics")
                self.assertEqual(again.returncode, DONE, again.stderr)

    def test_smaller_than_the_root(self):
        self.check("0.5x", "heapwood: error: ")
        self.check("16B", "heapwood: error: ")

    def test_runs_out_half_way(self):
        self.check("2x", "heapwood: error: ")

    def test_others_still_report(self):
        # The bump pointer needs many times the root's array, the circular allocator few.
        found = report(self.SCENE, "--allocator", "atomicmalloc,cmalloc", "--pool", "6x",
                       code=OUT_OF_MEMORY)
        failed, done = found["results"]
        self.assertEqual(failed["outcome"], "pool_exhausted")
        self.assertIn("use --pool", failed["message"])
        self.assertIsNone(failed["tree"])
        self.assertIsNone(failed["build"]["ms"])
        self.assertEqual(done["outcome"], "done")
        self.assertIsNone(done["message"])
        self.assertGreater(done["tree"]["nodes"], 1)

    def test_arrays_of_the_builder(self):
        for option, outcome in (("--max-nodes", "nodes_exhausted"),
                                ("--max-references", "references_exhausted")):
            result = report(self.SCENE, option, 100, code=OUT_OF_MEMORY)["results"][0]
            self.assertEqual(result["outcome"], outcome)
            self.assertRegex(result["message"], "holds .*100.* would have been needed")

    def test_more_memory_than_there_is(self):
        result = build(self.SCENE, "--allocator", "cmalloc", "--pool", "100000GiB")
        self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
        self.assertIn("heapwood: error: cmalloc: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
