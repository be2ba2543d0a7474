"""`heapwood render`: pictures, their JSON, and mistakes."""

import csv
import io
import struct
import unittest

from command_line import BAD_INPUT, DONE, MODELS, OUT_OF_MEMORY, USAGE, build, folder, run
from schemas import document

SCENE = MODELS / "cottage.obj"
MODES = ["shaded", "normal", "depth", "ambient-occlusion", "path", "cost", "leaf-size",
         "depth-of-tree", "distance"]
KINDS = {"shaded": ["primary", "shadow"], "ambient-occlusion": ["primary", "ambient-occlusion"],
         "path": ["primary", "bounce", "shadow"], "distance": ["distance"]}


def render(*arguments, **options):
    return run("render", "--device", "cpu", "--size", "48x27", *arguments, **options)


def rendered(*arguments):
    return document(render(*arguments, "--json", "-"), "render")


def size_of(png):
    """Of a PNG file's bytes, by its first chunk."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


class Render(unittest.TestCase):
    def setUp(self):
        place = folder()
        self.place = place.__enter__()
        self.addCleanup(place.__exit__, None, None, None)
        self.out = self.place / "a.png"

    def test_every_mode_of_every_model(self):
        for mode in MODES:
            pictures = set()
            for scene in sorted(MODELS.glob("*.obj")):
                found = rendered(scene, "-o", self.out, "--mode", mode, "--spp", 2)
                pictures.add(self.out.read_bytes())
                self.assertEqual(size_of(self.out.read_bytes()), (48, 27))
                kinds = [rays["kind"] for rays in found["rays"]]
                self.assertEqual(kinds, KINDS.get(mode, ["primary"]), scene)
                self.assertEqual(found["rays"][0]["rays"], 48 * 27 * 2)
                self.assertEqual(found["picture"]["mode"], mode)
                self.assertEqual(found["picture"]["effort"] is not None, mode == "cost")
            self.assertEqual(len(pictures), len(list(MODELS.glob("*.obj"))))

    def test_numbers_are_as_they_were_given(self):
        found = rendered(SCENE, "-o", self.out, "--mode", "ambient-occlusion", "--spp", 1, "--fov", 40.1,
                         "--reach", 0.1)
        self.assertEqual(found["camera"]["field_of_view"], 40.1)
        self.assertEqual(found["picture"]["reach"], 0.1)

    def test_the_picture_depends_on_nothing_else(self):
        pictures = set()
        for threads, method in ((1, "single"), (3, "levels")):
            rendered(SCENE, "-o", self.out, "--mode", "path", "--spp", 4, "--threads", threads,
                     "--method", method)
            pictures.add(self.out.read_bytes())
        self.assertEqual(len(pictures), 1)
        rendered(SCENE, "-o", self.out, "--mode", "path", "--spp", 4, "--seed", 7)
        self.assertNotIn(self.out.read_bytes(), pictures)

    def test_no_picture_depends_on_the_name_of_a_file(self):
        pictures = set()
        for name in ("gem", "bunny", "buddha_100k", "sponza"):
            scene = self.place / f"{name}.obj"
            scene.write_bytes((MODELS / "gem.obj").read_bytes())
            rendered(scene, "-o", self.out, "--mode", "normal")
            pictures.add(self.out.read_bytes())
        self.assertEqual(len(pictures), 1)

    def test_scenes_that_hide_are_seen(self):
        """A flat one from its edge, and one whose parts are small and far from each other."""
        flat = "v 0 0 0\nv -3 4 10\nv 0 1 0\nv -3 5 10\nf 1 2 3\nf 2 4 3\n"
        far = ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1e6 1e6 1e6\nv 1e6 1000001 1e6\n"
               "v 1000002 1e6 1e6\nf 1 2 3\nf 4 5 6\n")
        for text in (flat, far):
            scene = self.place / "scene.obj"
            scene.write_text(text, encoding="utf-8")
            camera = rendered(scene, "-o", self.out, "--mode", "shaded")
            self.assertIn("shadow", [rays["kind"] for rays in camera["rays"]], text)
        scene.write_text("v 7 7 7\nv 7 7 7\nv 7 7 7\nf 1 2 3\n", encoding="utf-8")
        rendered(scene, "-o", self.out)

    def test_a_tree_file_has_the_same_picture(self):
        tree = self.place / "a.kdt"
        self.assertEqual(build(SCENE, "--repeat", 1, "--out", tree).returncode, DONE)
        camera = ("--camera", "9,7,12", "--look-at", "0,1,0")
        from_scene = rendered(SCENE, "-o", self.out, *camera)
        picture = self.out.read_bytes()
        from_tree = rendered(tree, "-o", self.out, *camera)
        self.assertEqual(self.out.read_bytes(), picture)
        self.assertEqual(from_tree["digest"], from_scene["digest"])
        tree.write_bytes(tree.read_bytes()[:-64])
        self.assertEqual(render(tree, "-o", self.out).returncode, BAD_INPUT)
        self.assertEqual(self.out.read_bytes(), picture)

    def test_the_camera_that_is_told_is_the_camera(self):
        found = rendered(SCENE, "-o", self.out)
        picture = self.out.read_bytes()
        text = render(SCENE, "-o", self.out).stdout
        line = next(line for line in text.splitlines() if line.startswith("camera"))
        words = text[text.index("--camera"):].split()[:8]
        self.assertEqual(words[0::2], ["--camera", "--look-at", "--up", "--fov"], line)
        again = rendered(SCENE, "-o", self.out, *words)
        self.assertEqual(again["camera"], found["camera"])
        self.assertEqual(self.out.read_bytes(), picture)

    def test_negative_coordinates(self):
        found = rendered(SCENE, "-o", self.out, "--camera", "-9,-7.5,-1e1", "--up", "0,0,-1")
        self.assertEqual(found["camera"]["eye"], [-9, -7.5, -10])

    def test_exr(self):
        out = self.place / "a.exr"
        result = render(SCENE, "-o", out, "--mode", "depth")
        if "without OpenEXR" in result.stderr:
            self.assertEqual(result.returncode, USAGE)
            self.skipTest("this program was built without OpenEXR")
        self.assertEqual(out.read_bytes()[:4], b"\x76\x2f\x31\x01")

    def test_other_formats(self):
        text = render(SCENE, "-o", self.out, "--mode", "cost").stdout
        for words in ("millions a second", "nodes + 1.5 tests", "leaves"):
            self.assertIn(words, text)
        text = " ".join(render(SCENE, "-o", self.out, "--mode", "distance").stdout.split())
        for words in ("distance, from 0 to", "points in the plane of --look-at"):
            self.assertIn(words, text)
        rows = list(csv.DictReader(io.StringIO(render(SCENE, "-o", self.out, "--csv").stdout)))
        self.assertEqual([row["kind"] for row in rows], ["primary", "shadow"])
        page = self.place / "a.html"
        self.assertEqual(render(SCENE, "-o", self.out, "--html", page).returncode, DONE)
        self.assertIn("heapwood render", page.read_text())

    def test_frames_are_numbered_pictures(self):
        """Those of the frames' scenes, each by itself, from the first one's camera."""
        for mode in ("shaded", "cost"):
            scenes = []
            for number in (1, 2, 3):
                scenes.append(self.place / f"f{number}.obj")
                scenes[-1].write_text("".join(
                    f"v {0.1 * number * (i % 2)} {number * i % 5} {i * i % 7}\n" for i in range(9))
                    + "".join(f"f {i} {i + 1} {i + 2}\n" for i in range(1, 8)))
            found = rendered(scenes[0], "-o", self.place / "p%02d.png", "--mode", mode, "--frames",
                             self.place / "f%d.obj")
            self.assertEqual([frame["file"] for frame in found["frames"]],
                             [str(self.place / f"p{number:02d}.png") for number in (1, 2, 3)])
            camera = [text for name, value in (("--camera", "eye"), ("--look-at", "target"),
                                               ("--up", "up"))
                      for text in (name, ",".join(map(repr, found["camera"][value])))]
            camera += ["--fov", found["camera"]["field_of_view"]]
            rays = 0
            for number, scene in enumerate(scenes, 1):
                alone = rendered(scene, "-o", self.out, "--mode", mode, *camera)
                rays += alone["rays"][0]["rays"]
                self.assertEqual((self.place / f"p{number:02d}.png").read_bytes(),
                                 self.out.read_bytes(), (mode, number))
                self.assertEqual(alone["frames"], [])
                if number == 1:
                    self.assertEqual(alone["digest"], found["digest"])
            self.assertEqual(found["rays"][0]["rays"], rays)

    def test_a_wave_is_numbered_from_0(self):
        former = self.place / "w1.png"
        former.write_text("former")
        found = rendered(SCENE, "-o", self.place / "w%d.png", "--frames", 4)
        pictures = {(self.place / f"w{number}.png").read_bytes() for number in range(4)}
        self.assertEqual(len(pictures), 4)
        self.assertEqual(len(found["frames"]), 4)
        self.assertIn("4 frames", render(SCENE, "-o", self.place / "w%d.png", "--frames",
                                         4).stdout)

    def test_mistakes_with_frames(self):
        numbered = self.place / "w%d.png"
        tree = self.place / "a.kdt"
        build(SCENE, "--repeat", 1, "--out", tree)
        before = sorted(self.place.iterdir())
        for arguments, code, words in (
            ((SCENE, "-o", self.out, "--frames", 2), USAGE, "frame_%03d.png"),
            ((SCENE, "-o", self.place / "%d%d.png", "--frames", 2), USAGE, "frame_%03d.png"),
            ((SCENE, "-o", self.place / "none" / "%d.png", "--frames", 2), USAGE, "No such file"),
            ((SCENE, "-o", numbered, "--frames", 0), USAGE, "number of frames"),
            ((SCENE, "-o", numbered, "--frames", 2, "--method", "levels"), USAGE, "levels"),
            ((tree, "-o", numbered, "--frames", 2), USAGE, "tree file"),
            ((SCENE, "-o", numbered, "--frames", self.place / "f%d.obj"), BAD_INPUT, "f0.obj"),
            ((SCENE, "-o", numbered, "--frames", 2, "--json", self.place / "w1.png"), USAGE,
             "are the same file"),
            (("missing.obj", "-o", numbered, "--frames", 2), BAD_INPUT, "missing.obj"),
            ((SCENE, "-o", numbered, "--frames", 2, "--max-nodes", 10), OUT_OF_MEMORY, "node"),
        ):
            result = render(*arguments)
            self.assertEqual(result.returncode, code, (arguments, result.stderr))
            self.assertIn(words, result.stderr)
            self.assertEqual(sorted(self.place.iterdir()), before, arguments)

    def test_no_frame_is_overwritten_by_its_picture(self):
        (self.place / "f0.png").write_bytes(SCENE.read_bytes())
        result = render(SCENE, "-o", self.place / "f%d.png", "--frames", self.place / "f%d.png")
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertIn("same file", result.stderr)
        self.assertEqual((self.place / "f0.png").read_bytes(), SCENE.read_bytes())

    def test_mistakes(self):
        for options, word in (
            (["--size", "0x5"], "'0' is not"), (["--size", "5x0"], "'0' is not"), (["--size", "9"], "9"),
            (["--size", "99999x2"], "99999"), (["--size", "4x-4"], "-4"),
            (["--spp", 0], "--spp"), (["--spp", -1], "--spp"), (["--mode", "shadde"], "shaded"),
            (["--camera", "1,2"], "1,2"), (["--camera", "1,2,x"], "x"),
            (["--camera", "1,2,3,4"], "1,2,3,4"), (["--fov", 0], "--fov"),
            (["--fov", 180], "--fov"), (["--bounces", 99], "--bounces"),
            (["--reach", 0], "--reach"), (["--repeat", 3], "--repeat"),
            (["--camera", "1,2,3", "--look-at", "1,2,3"], "--look-at"),
            (["--camera", "0,0,0", "--look-at", "0,1,0"], "--up"),
            (["--allocator", "halloc,hybrid"], "--allocator halloc"),
        ):
            result = run("render", "--device", "cpu", SCENE, "-o", self.out, *options)
            self.assertEqual(result.returncode, USAGE, options)
            self.assertIn(word, result.stderr)
            self.assertFalse(self.out.exists(), options)
        self.assertEqual(render(SCENE).returncode, USAGE)
        self.assertEqual(render("-o", self.out).returncode, USAGE)
        self.assertEqual(render("missing.obj", "-o", self.out).returncode, BAD_INPUT)
        self.assertEqual(render("missing.kdt", "-o", self.out).returncode, BAD_INPUT)
        self.assertFalse(self.out.exists())

    def test_places_that_cannot_be_written(self):
        for out, words in (("a.jpg", ".png or .exr"), ("a", ".png or .exr"), ("-", "standard output"),
                           (self.place / "none" / "a.png", "No such file")):
            result = render(SCENE, "-o", out)
            self.assertEqual(result.returncode, USAGE, out)
            self.assertIn(words, result.stderr)
        self.assertIn("are the same file",
                      render(SCENE, "-o", self.out, "--json", self.out).stderr)

    def test_a_former_picture_stays_if_there_is_no_new_one(self):
        self.out.write_text("former")
        self.assertEqual(render("missing.obj", "-o", self.out).returncode, BAD_INPUT)
        self.assertEqual(render(SCENE, "-o", self.out, "--max-nodes", 10).returncode,
                         OUT_OF_MEMORY)
        self.assertEqual(self.out.read_text(), "former")


if __name__ == "__main__":
    unittest.main()
