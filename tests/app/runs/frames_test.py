"""Animated scenes: frames that one builder builds after another."""

import json
import unittest

from command_line import BAD_INPUT, DONE, MODELS, OUT_OF_MEMORY, USAGE, build, folder, report
from schemas import violations

KIND = "build"
SCENE = MODELS / "trefoil.obj"


def write_frames(directory, numbers, name="frame_{:03d}.obj"):
    """Files of the model, each moved a little further along x."""
    lines = SCENE.read_text().splitlines()
    for number in numbers:
        moved = []
        for line in lines:
            words = line.split()
            if words and words[0] == "v":
                words[1] = repr(float(words[1]) * (1 + 0.1 * number))
            moved.append(" ".join(words))
        (directory / name.format(number)).write_text("\n".join(moved) + "\n")


class Frames(unittest.TestCase):
    def test_waves_have_the_same_trees_with_every_allocator(self):
        found = report(SCENE, "--frames", 4, "-a", "atomicmalloc,hybrid,halloc", "--threads", 2,
                       "--repeat", 2, "--warm-up", 1, "--verify", "--no-statistics")
        self.assertEqual(violations(found, KIND), [])
        frames = [result["frames"] for result in found["results"]]
        self.assertEqual(len(frames), 3)
        for one in frames:
            self.assertEqual(one["digests"], frames[0]["digests"])
            self.assertEqual(len(set(one["digests"])), 4)
            self.assertEqual(len(one["ms"]["samples"]), 8)
            self.assertGreater(one["first_ms"], 0)
            self.assertAlmostEqual(one["rebuilds_per_second"] * one["ms"]["median"], 1000, 3)

    def test_files_have_the_trees_of_ordinary_builds(self):
        with folder() as directory:
            for numbers, name in (((0, 1, 2), "frame_{:03d}.obj"), ((1, 2), "{}.obj")):
                write_frames(directory, numbers, name)
                pattern = directory / name.replace("{:03d}", "%03d").replace("{}", "%d")
                found = report(SCENE, "--frames", pattern, "--repeat", 1, "--no-statistics")
                wanted = [report(directory / name.format(number), "--repeat", 1,
                                 "--no-statistics")["results"][0]["tree"]["digest"]
                          for number in numbers]
                self.assertEqual(found["results"][0]["frames"]["digests"], wanted)

    def refused(self, directory, pattern, *words):
        result = build(SCENE, "--frames", directory / pattern)
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_a_gap_names_the_missing_file(self):
        for numbers, missing, later in (((1, 2, 4), 3, 4), ((0, 2), 1, 2), ((0, 1, 2, 900), 3, 900),
                                        ((1, 3, 5), 2, 3)):
            with folder() as directory:
                write_frames(directory, numbers)
                self.refused(directory, "frame_%03d.obj", f"frame_{missing:03d}.obj is missing",
                             f"there is {directory}/frame_{later:03d}.obj")

    def test_a_series_that_begins_later_names_its_first_file(self):
        with folder() as directory:
            write_frames(directory, (5, 6))
            self.refused(directory, "frame_%03d.obj", "frame_000.obj", "frame_001.obj",
                         "the first file is", "frame_005.obj")

    def test_numbers_with_other_digits_are_refused(self):
        for pattern, names in (("%03d.obj", ("001.obj", "002.obj", "3.obj")),
                               ("%03d.obj", ("001.obj", "0002.obj")),
                               ("%d.obj", ("1.obj", "2.obj", "03.obj")),
                               ("%d.obj", ("01.obj", "02.obj")),
                               ("%02d.obj", ("01.obj", "99999999999999999999999.obj"))):
            with folder() as directory:
                for name in names:
                    (directory / name).write_text(SCENE.read_text())
                wrong = names[0] if pattern == "%d.obj" and names[0] == "01.obj" else names[-1]
                self.refused(directory, pattern, f"the number of {directory}/{wrong} has other")

    def test_numbers_may_grow_beyond_the_width(self):
        with folder() as directory:
            write_frames(directory, range(12), "{:01d}.obj")
            for other in ("a1.obj", "1.obj.txt", "1_2.obj", ".obj", "-1.obj"):
                (directory / other).write_text("no frame")
            found = report(SCENE, "--frames", directory / "%01d.obj", "--repeat", 1)
            self.assertEqual(len(found["results"][0]["frames"]["digests"]), 12)

    def test_the_number_may_be_a_folders(self):
        with folder() as directory:
            for number in (1, 2, 4):
                (directory / f"t{number}").mkdir()
                write_frames(directory / f"t{number}", (number,), "x.obj")
            self.refused(directory, "t%d/x.obj", "t3/x.obj is missing")
            (directory / "t4").rename(directory / "t3")
            found = report(SCENE, "--frames", directory / "t%d/x.obj", "--repeat", 1)
            self.assertEqual(len(found["results"][0]["frames"]["digests"]), 3)

    def test_a_dangling_link_is_a_frame(self):
        with folder() as directory:
            write_frames(directory, (1, 2))
            (directory / "frame_003.obj").symlink_to(directory / "nowhere")
            self.refused(directory, "frame_%03d.obj", "frame_003.obj")

    def test_too_many_files_are_refused(self):
        with folder() as directory:
            write_frames(directory, (0,), "{}.obj")
            for number in range(1, 10_001):
                (directory / f"{number}.obj").symlink_to(directory / "0.obj")
            self.refused(directory, "%d.obj", "10001 files", "at most 10000")

    def test_a_pattern_may_be_of_the_current_folder(self):
        with folder() as directory:
            write_frames(directory, (1, 2))
            result = build(SCENE.resolve(), "--frames", "frame_%03d.obj", "--repeat", 1, "--json",
                           "-", cwd=directory)
            self.assertEqual(result.returncode, DONE, result.stderr)
            found = json.loads(result.stdout)
            self.assertEqual(len(found["results"][0]["frames"]["digests"]), 2)

    def test_tables_have_rebuilds(self):
        text = build(SCENE, "--frames", 3, "--repeat", 1, "-a", "atomicmalloc,halloc").stdout
        self.assertIn("rebuilds/s", text)
        rows = text.split("\nFrames\n")[1].splitlines()
        self.assertEqual([row.split()[:2] for row in rows[1:3]],
                         [["atomicmalloc*", "3"], ["halloc", "3"]])
        self.assertNotIn("rebuilds/s", build(SCENE, "--repeat", 1).stdout)

    def test_without_frames_there_are_none(self):
        found = report(SCENE, "--repeat", 1, "--no-statistics")
        self.assertIsNone(found["results"][0]["frames"])
        found = report(SCENE, "--frames", 2, "--method", "single,levels", "--repeat", 1)
        self.assertEqual([result["frames"] is None for result in found["results"]], [False, True])

    def test_mistakes_are_told(self):
        for text in ("0", "-1", "010", "1.5", "ten", "10001", "frame.obj", "a%d_%d.obj", "a%3d.obj",
                     "a%00d.obj", "a%0d.obj", "a%s.obj", "a%", "a%03", "100%d%", ""):
            result = build(SCENE, "--frames", text)
            self.assertEqual(result.returncode, USAGE, text)
            self.assertIn("frame", result.stderr, text)
            self.assertEqual(result.stdout, "")
        result = build(SCENE, "--frames", 2, "--method", "levels")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--frames is for the method single", result.stderr)

    def test_bad_files_are_named(self):
        with folder() as directory:
            result = build(SCENE, "--frames", directory / "no_%02d.obj")
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("there is neither", result.stderr)
            self.assertIn("no_00.obj", result.stderr)
            self.assertIn("no_01.obj", result.stderr)
            write_frames(directory, (0, 1))
            (directory / "frame_002.obj").write_text("v 0 0 0\nf 1 2 3\n")
            result = build(SCENE, "--frames", directory / "frame_%03d.obj")
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertIn("frame_002.obj:2: ", result.stderr)

    def test_a_frame_that_needs_a_larger_pool_is_told(self):
        with folder() as directory:
            (directory / "0.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
            (directory / "1.obj").write_text(SCENE.read_text())
            result = build(directory / "0.obj", "--frames", directory / "%d.obj", "-a",
                           "atomicmalloc", "--pool", "4KiB")
            self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
            self.assertIn("a frame: the pool of 4096 bytes has no room", result.stderr)

    def test_a_build_in_parts_has_no_frames(self):
        with folder() as directory:
            result = build(SCENE, "--memory", "1GiB", "--out", directory / "t.kdt", "--frames", 2)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertIn("no effect of --frames", result.stderr)


if __name__ == "__main__":
    unittest.main()
