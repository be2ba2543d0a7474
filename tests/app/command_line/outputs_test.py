"""Outputs that cannot be written, in every verb: a full disk, a folder that takes no files, readers
that go away, streams that are closed, several programs on one file."""

import os
import pathlib
import resource
import subprocess
import unittest

from command_line import (
    DONE, EXECUTABLE, INTERNAL, USAGE, dice, environment, folder, run, thorough,
)
from every_output import JOURNALED, NAMES, VERBS, arguments, is_whole, record_inputs

OLD = b"what was there before"
NOBODY = 65534


def become_nobody():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def lets(*command):
    """Whether the system lets this process do that."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dice = dice()
        context = folder()
        cls.place = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        cls.inputs = record_inputs(cls.place)
        cls.sink, cls.full = cls.place / "sink.png", cls.place / "full.png"
        cls.sink.symlink_to("/dev/null")
        cls.full.symlink_to("/dev/full")
        cls.tried = 0

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.tried} runs")

    def command(self, verb, *outputs):
        if verb == "render" and "-o" not in outputs:  # it makes a picture in any case
            outputs = ("-o", self.sink, *outputs)
        return (*arguments(verb, self.inputs), *outputs)

    def run_verb(self, verb, *outputs, **options):
        type(self).tried += 1
        return run(*self.command(verb, *outputs), **options)

    def each(self, check):
        """Checks every output of every verb, each in a folder of its own."""
        for verb, (_, options) in VERBS.items():
            for option in options:
                with self.subTest(verb=verb, option=option), folder() as place:
                    check(verb, option, place / NAMES[option])

    def expect_one_sentence(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"\Aheapwood: error: .*\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)


class FullDisk(Outputs):
    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "needs a full device")
    def test_a_full_device(self):
        def check(verb, option, _):
            result = self.run_verb(verb, option, self.full)
            self.expect_one_sentence(result, INTERNAL, f"'{self.full}' could not be written in full: "
                                     "No space left on device")
            self.assertNotEqual(result.stdout, "", "the report is not lost with a file")
        self.each(check)

    def test_a_disk_that_fills_up(self):
        """A limit on the size of files, at which writing fails as on a full disk."""
        def check(verb, option, path):
            self.assertEqual(self.run_verb(verb, option, path).returncode, DONE)
            size = path.stat().st_size * 9 // 10  # times have more digits or fewer
            sizes = [0, self.dice.randrange(size)]
            if thorough():
                sizes += [1, *(self.dice.randrange(size) for _ in range(20))]
            for most in sizes:
                path.write_bytes(OLD)

                def limit(most=most):
                    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
                result = self.run_verb(verb, option, path, preexec_fn=limit)
                self.assertEqual(result.returncode, INTERNAL, result.stderr)
                self.assertIn(f"'{path}' could not be written in full: File too large",
                              result.stderr)
                self.assertEqual(path.read_bytes(), OLD)
                left = {other.name for other in path.parent.iterdir()} - {path.name}
                self.assertLessEqual(left, {path.name + ".partial"}, "nothing half written")
                for other in left:
                    (path.parent / other).unlink()
        self.each(check)


class Folders(Outputs):
    def test_no_such_folder(self):
        def check(verb, option, path):
            result = self.run_verb(verb, option, path.parent / "none" / path.name)
            self.expect_one_sentence(result, USAGE, "cannot write", "No such file or directory")
        self.each(check)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become somebody without rights")
    def test_a_folder_that_takes_no_files(self):
        def check(verb, option, path):
            path.parent.chmod(0o555)
            self.place.chmod(0o755)
            result = self.run_verb(verb, option, path, preexec_fn=become_nobody)
            self.expect_one_sentence(result, USAGE, "cannot write", "Permission denied")
            # A file in it that may be written is, but there is no place for a journal.
            path.write_bytes(OLD)
            path.chmod(0o666)
            result = self.run_verb(verb, option, path, preexec_fn=become_nobody)
            if verb in JOURNALED:
                self.expect_one_sentence(result, USAGE, "cannot be written: Permission denied")
                self.assertEqual(path.read_bytes(), OLD)
            else:
                self.assertEqual(result.returncode, DONE, result.stderr)
                self.assertTrue(is_whole(verb, option, path.read_bytes()))
        self.each(check)


@unittest.skipUnless(os.geteuid() == 0, "needs root, for files of others, mounts and attributes")
class Irreplaceable(Outputs):
    """Files that may be written, and that no other file may take the place of: told before the run."""

    def check(self, prepare, words, undo=lambda path: None, **options):
        def check(verb, option, path):
            path.write_bytes(OLD)
            path.chmod(0o666)
            prepare(path)
            try:
                result = self.run_verb(verb, option, path, **options)
                self.expect_one_sentence(result, USAGE, "cannot write", str(path), words,
                                         "name another file")
                self.assertEqual(path.read_bytes(), OLD)
                self.assertEqual([other.name for other in path.parent.iterdir()], [path.name])
            finally:
                undo(path)
        self.each(check)

    def test_of_another_user_in_a_sticky_folder(self):
        self.place.chmod(0o755)
        self.check(lambda path: path.parent.chmod(0o1777), "it belongs to another user",
                   preexec_fn=become_nobody)

    def test_of_the_same_user_in_a_sticky_folder(self):
        def check(verb, option, path):
            path.write_bytes(OLD)
            os.chown(path, NOBODY, NOBODY)
            path.parent.chmod(0o1777)
            result = self.run_verb(verb, option, path, preexec_fn=become_nobody)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertTrue(is_whole(verb, option, path.read_bytes()))
        self.place.chmod(0o755)
        self.each(check)

    @unittest.skipUnless(lets("unshare", "-m", "true"), "needs the right to mount")
    def test_with_a_mount_of_its_own(self):
        def run_verb(verb, option, path):
            script = 'mount --bind "$0" "$0" && exec "$@"'
            return run("-m", "sh", "-c", script, path, EXECUTABLE, *self.command(verb, option, path),
                       executable="unshare")
        self.run_verb = run_verb
        self.check(lambda path: None, "it is mounted by itself")

    def test_with_attributes(self):
        with folder() as place:
            if not lets("chattr", "+a", place) or not lets("chattr", "-a", place):
                self.skipTest("needs a file system with attributes")
        self.check(lambda path: lets("chattr", "+a", path), "it cannot be replaced",
                   undo=lambda path: lets("chattr", "-a", path))
        self.check(lambda path: lets("chattr", "+a", path.parent), "its folder lets no file",
                   undo=lambda path: lets("chattr", "-a", path.parent))


class Rights(Outputs):
    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give files to somebody else")
    def test_a_replaced_file_keeps_them(self):
        def check(verb, option, path):
            for mode in (0o600, 0o604, 0o664):
                path.write_bytes(OLD)
                os.chown(path, NOBODY, NOBODY)
                path.chmod(mode)
                result = self.run_verb(verb, option, path)
                self.assertEqual(result.returncode, DONE, result.stderr)
                now = path.stat()
                self.assertEqual((now.st_mode & 0o7777, now.st_uid, now.st_gid),
                                 (mode, NOBODY, NOBODY))
                self.assertTrue(is_whole(verb, option, path.read_bytes()))
        self.each(check)

    def test_a_loop_of_links_is_none(self):
        def check(verb, option, path):
            other = path.with_name("other")
            path.symlink_to(other)
            other.symlink_to(path)
            result = self.run_verb(verb, option, path)
            self.expect_one_sentence(result, USAGE, "cannot write", "symbolic links")
            self.assertTrue(path.is_symlink() and other.is_symlink())
        self.each(check)


class Streams(Outputs):
    def test_a_reader_that_has_gone(self):
        """Standard output is lost, and the files are whole."""
        def check(verb, option, path):
            end, pipe = os.pipe()
            os.close(end)
            result = self.run_verb(verb, option, path, stdout=pipe)
            os.close(pipe)
            self.expect_one_sentence(result, INTERNAL, "standard output could not be written")
            self.assertTrue(is_whole(verb, option, path.read_bytes()))
        self.each(check)

    def test_streams_that_are_closed(self):
        """No file gets the number of a closed stream, and text that is not its own."""
        for verb, (_, options) in VERBS.items():
            for closed in ((0,), (1,), (2,), (0, 1, 2)):
                with self.subTest(verb=verb, closed=closed), folder() as place:
                    paths = {option: place / NAMES[option] for option in options}

                    def close(closed=closed):
                        for descriptor in closed:
                            os.close(descriptor)
                    result = self.run_verb(verb, *(word for pair in paths.items() for word in pair),
                                           preexec_fn=close)
                    self.assertEqual(result.returncode, INTERNAL if 1 in closed else DONE,
                                     result.stderr)
                    for option, path in paths.items():
                        self.assertTrue(is_whole(verb, option, path.read_bytes()), path)


class Together(Outputs):
    def test_several_programs_on_one_file(self):
        def check(verb, option, path):
            command = [EXECUTABLE, *map(str, self.command(verb, option, path))]
            for _ in range(20 if thorough() else 1):
                programs = [subprocess.Popen(command, env=environment(), encoding="utf-8",
                                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                            for _ in range(4)]
                errors = [program.communicate(timeout=300)[1] for program in programs]
                codes = [program.returncode for program in programs]
                type(self).tried += len(codes)
                self.assertIn(DONE, codes, errors)
                for code, error in zip(codes, errors):
                    if code != DONE:  # of programs with a journal, one has it
                        self.assertIn(verb, JOURNALED)
                        self.assertEqual(code, USAGE, error)
                        self.assertRegex(error, "is in use by another|still goes on: wait")
                self.assertTrue(is_whole(verb, option, path.read_bytes()))
                self.assertEqual([other.name for other in path.parent.iterdir()], [path.name])
        self.each(check)


del Outputs  # has no tests of its own

if __name__ == "__main__":
    unittest.main()
