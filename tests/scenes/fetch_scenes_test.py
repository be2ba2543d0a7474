"""Tests of scripts/fetch_scenes.py against a server on this machine."""

import gzip
import hashlib
import http.server
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "fetch_scenes.py"
OBJ = b"# a quad and a triangle\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\nf 1/1 2/2 3/3 # x\n"
PLY = (b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float confidence\nproperty float x\n"
       b"property float y\nproperty float z\nelement face 2\n"
       b"property list uchar int vertex_indices\nend_header\n"
       b"9 0 0 0\n9 1 0 0\n9 1 1 0\n9 0 1 0.5\n4 0 1 2 3\n3 0 2 3\n")
PLY_AS_OBJ = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.5\nf 1 2 3 4\nf 1 3 4\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves Server.files with ranges; may cut the next answer short or ignore ranges."""

    def do_GET(self):
        server = self.server
        server.ranges.append(self.headers.get("Range"))
        body = server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = 0
        if self.headers.get("Range") and not server.ignore_ranges:
            start = int(self.headers["Range"][len("bytes="):-1])
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", server.length or str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:] if server.cut is None else body[start:start + server.cut])
        server.cut = None

    def log_message(self, *_):
        pass


class FetchScenesTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.files = {"/a.obj": OBJ}
        self.server.ranges = []
        self.server.cut = None
        self.server.length = None
        self.server.ignore_ranges = False
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dest = self.folder / "new" / "dest"
        self.target = self.dest / "a.obj"
        self.part = self.dest / "a.part"

    def scene(self, **changes):
        url = f"http://127.0.0.1:{self.server.server_address[1]}/a.obj"
        scene = dict(name="a", title="Quad", kind="test", triangles=3, vertices=4, zero_area=0,
                     format="obj", url=url, sha256=hashlib.sha256(OBJ).hexdigest(),
                     author="Nobody", licence="CC0-test", note="made up")
        scene.update(changes)
        if "path" in changes:
            scene["url"] = url.replace("/a.obj", scene.pop("path"))
        return scene

    def run_script(self, *arguments, scenes=None, catalogue=None):
        path = self.folder / "catalogue.json"
        path.write_text(catalogue if catalogue is not None
                        else json.dumps({"scenes": scenes or [self.scene()]}))
        return subprocess.run(
            [sys.executable, str(SCRIPT), "--catalogue", str(path), "--dest", str(self.dest),
             *arguments], capture_output=True, text=True, timeout=60, check=False)

    def assert_nothing_left(self):
        self.assertEqual([p.name for p in self.dest.iterdir()] if self.dest.exists() else [], [])

    def test_fetches_checks_and_shows_the_licence(self):
        result = self.run_script("a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.target.read_bytes(), OBJ)
        self.assertIn("CC0-test", result.stdout)
        self.assertIn("Nobody", result.stdout)
        self.assertEqual([p.name for p in self.dest.iterdir()], ["a.obj"])

    def test_a_second_run_downloads_nothing(self):
        self.run_script("a")
        result = self.run_script("a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("is there already", result.stdout)
        self.assertEqual(len(self.server.ranges), 1)

    def test_refuses_another_file_of_that_name(self):
        self.dest.mkdir(parents=True)
        self.target.write_bytes(b"mine")
        result = self.run_script("a")
        self.assertEqual(result.returncode, 1)
        self.assertIn("move it away", result.stderr)
        self.assertEqual(self.target.read_bytes(), b"mine")

    def test_refuses_a_mismatch(self):
        self.server.files["/a.obj"] = OBJ.replace(b"v 1 1 0", b"v 1 1 1")
        result = self.run_script("a")
        self.assertEqual(result.returncode, 1)
        self.assertIn("sha256", result.stderr)
        self.assertIn(hashlib.sha256(OBJ).hexdigest(), result.stderr)
        self.assert_nothing_left()

    def test_reports_404(self):
        result = self.run_script("a", scenes=[self.scene(path="/missing.obj")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("404", result.stderr)
        self.assert_nothing_left()

    def test_reports_no_server(self):
        result = self.run_script("a", scenes=[self.scene(url="http://127.0.0.1:9/a.obj")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("127.0.0.1:9", result.stderr)

    def test_goes_on_after_a_broken_download(self):
        self.server.cut = 20
        result = self.run_script("a")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"20 of {len(OBJ)} bytes", result.stderr)
        self.assertFalse(self.target.exists())
        self.assertEqual(self.part.read_bytes(), OBJ[:20])
        result = self.run_script("a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.server.ranges, [None, "bytes=20-"])
        self.assertEqual(self.target.read_bytes(), OBJ)

    def test_refuses_a_length_that_is_no_number(self):
        self.dest.mkdir(parents=True)
        for length in ("many", "-5", "1e3", "1_0", "12, 12", "9" * 5000, "\u00b2"):
            self.server.length = length
            for part in (b"", OBJ[:20]):
                with self.subTest(length=length[:20], part=part):
                    self.part.write_bytes(part)
                    result = self.run_script("a")
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertRegex(result.stderr, r"^fetch_scenes: a: http.*Content-Length is '")
                    self.assertLess(len(result.stderr), 300)
                    self.assertEqual(self.part.read_bytes(), part)

    def test_starts_again_if_the_server_knows_no_ranges(self):
        self.dest.mkdir(parents=True)
        self.part.write_bytes(OBJ[:20])
        self.server.ignore_ranges = True
        self.assertEqual(self.run_script("a").returncode, 0)
        self.assertEqual(self.target.read_bytes(), OBJ)

    def test_starts_again_if_the_part_is_longer_than_the_file(self):
        self.dest.mkdir(parents=True)
        self.part.write_bytes(OBJ + b"more")
        self.assertEqual(self.run_script("a").returncode, 0)
        self.assertEqual(self.target.read_bytes(), OBJ)

    def test_a_part_of_another_file_is_refused_and_then_forgotten(self):
        self.dest.mkdir(parents=True)
        self.part.write_bytes(b"x" * 20)
        self.assertEqual(self.run_script("a").returncode, 1)
        self.assert_nothing_left()
        self.assertEqual(self.run_script("a").returncode, 0)
        self.assertEqual(self.target.read_bytes(), OBJ)

    def test_unknown_sha256_needs_permission_and_is_printed(self):
        scenes = [self.scene(sha256=None)]
        result = self.run_script("a", scenes=scenes)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--allow-unverified", result.stderr)
        self.assertEqual(self.server.ranges, [])
        result = self.run_script("a", "--allow-unverified", scenes=scenes)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(hashlib.sha256(OBJ).hexdigest(), result.stdout)

    def test_unknown_sha256_still_checks_the_triangles(self):
        result = self.run_script("a", "--allow-unverified",
                                 scenes=[self.scene(sha256=None, triangles=4)])
        self.assertEqual(result.returncode, 1)
        self.assertIn("3 triangles", result.stderr)
        self.assert_nothing_left()

    def test_permission_does_not_excuse_a_mismatch(self):
        self.server.files["/a.obj"] = OBJ + b"# changed\n"
        self.assertEqual(self.run_script("a", "--allow-unverified").returncode, 1)
        self.assert_nothing_left()

    def test_unpacks_the_obj_of_an_archive(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("x/readme.txt", "hello")
            archive.writestr("x/Quad.OBJ", OBJ)
        self.server.files["/a.zip"] = buffer.getvalue()
        result = self.run_script("a", scenes=[self.scene(path="/a.zip", format="zip")])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.target.read_bytes(), OBJ)
        self.assertEqual([p.name for p in self.dest.iterdir()], ["a.obj"])

    def test_reports_a_damaged_archive(self):
        result = self.run_script("a", scenes=[self.scene(format="zip")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be unpacked", result.stderr)

    def test_reports_a_damaged_archive_of_lzma(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("a.obj", OBJ)
        packed = bytearray(buffer.getvalue())
        packed[39:44] = b"\xff" * 5  # LZMA's properties, behind the header of a file called a.obj
        self.server.files["/a.zip"] = bytes(packed)
        result = self.run_script("a", scenes=[self.scene(path="/a.zip", format="zip")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be unpacked", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_reports_damaged_compressed_data(self):
        packed = bytearray(gzip.compress(PLY))
        packed[12:20] = b"\xff" * 8  # within the compressed data, behind gzip's header
        self.server.files["/a.ply.gz"] = bytes(packed)
        result = self.run_script("a", scenes=[self.scene(path="/a.ply.gz", format="ply.gz")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be unpacked", result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        self.assert_nothing_left()

    def test_converts_ply(self):
        self.server.files["/a.ply"] = PLY
        self.server.files["/a.ply.gz"] = gzip.compress(PLY)
        for form in ("ply", "ply.gz"):
            with self.subTest(form):
                sha256 = hashlib.sha256(PLY_AS_OBJ).hexdigest()
                result = self.run_script(
                    "a", scenes=[self.scene(path=f"/a.{form}", format=form, sha256=sha256)])
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.target.read_bytes(), PLY_AS_OBJ)
                self.target.unlink()

    def test_reports_a_ply_that_ends_early_or_is_binary(self):
        for bad in (PLY[:-8], PLY.replace(b"ascii", b"binary_little_endian"), OBJ):
            self.server.files["/a.ply"] = bad
            result = self.run_script("a", scenes=[self.scene(path="/a.ply", format="ply")])
            self.assertEqual(result.returncode, 1, bad)
            self.assertNotIn("Traceback", result.stderr)
            self.assert_nothing_left()

    def test_says_what_it_cannot_convert(self):
        result = self.run_script("a", scenes=[self.scene(format="other")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("by hand", result.stderr)

    def test_goes_on_with_the_next_scene(self):
        result = self.run_script("b", "a",
                                 scenes=[self.scene(), self.scene(name="b", path="/b.obj")])
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.target.read_bytes(), OBJ)

    def test_lists(self):
        result = self.run_script("--list", scenes=[self.scene(), self.scene(name="b", sha256=None)])
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"a +3 +sha256 known +CC0-test\nb +3 +unverified")
        self.assertEqual(self.server.ranges, [])

    def test_wrong_usage(self):
        for arguments in ((), ("nosuch",)):
            result = self.run_script(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("there are a", result.stderr)

    def test_bad_catalogues(self):
        no_licence = self.scene()
        del no_licence["licence"]
        for catalogue in ("{", "[]", json.dumps({"scenes": [no_licence]}),
                          json.dumps({"scenes": [self.scene(), self.scene()]}),
                          json.dumps({"scenes": [self.scene(name="../a")]}),
                          json.dumps({"scenes": [self.scene(sha256="12")]}),
                          json.dumps({"scenes": [self.scene(format="3ds")]})):
            result = self.run_script("a", catalogue=catalogue)
            self.assertEqual(result.returncode, 2, catalogue)
            self.assertIn("catalogue.json", result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_hostile_catalogues(self):
        scene = self.scene()
        for catalogue in ("[" * 1000000, json.dumps({"scenes": 7}), json.dumps({"scenes": [7]}),
                          json.dumps({"scenes": [{**scene, "name": 7}]}),
                          json.dumps({"scenes": [{**scene, "url": ["x"]}]}),
                          json.dumps({"scenes": [{**scene, "triangles": "many"}]})):
            result = self.run_script("a", catalogue=catalogue)
            self.assertEqual(result.returncode, 2, catalogue[:80])
            self.assertIn("catalogue.json", result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_addresses_and_archives_that_are_none(self):
        with io.BytesIO() as file:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("a.obj", OBJ)
            encrypted = bytearray(file.getvalue())
        # The bit that says that the file is encrypted, in both headers.
        encrypted[6] |= 1
        encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
        self.server.files["/a.zip"] = bytes(encrypted)
        for change in ({"url": "no address"}, {"url": "http://[::1"},
                       {"path": "/a.zip", "format": "zip"}):
            with self.subTest(change=change):
                result = self.run_script("a", scenes=[self.scene(**change)])
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertTrue(result.stderr.startswith("fetch_scenes: a: "), result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_our_catalogue_is_well_formed(self):
        result = subprocess.run([sys.executable, str(SCRIPT), "--list"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(len(result.stdout.splitlines()), 14)
        self.assertIn("sponza", result.stdout)


if __name__ == "__main__":
    unittest.main()
