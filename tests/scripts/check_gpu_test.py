"""What scripts/check_gpu makes of the answers of the tests, of programs with the installed package, and of
compute-sanitizer: with a program and tools that only say what they are told to."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_gpu"

PROGRAM = """#!/bin/sh
while [ $# -gt 1 ]; do
    if [ "$1" = --json ]; then cp "$REPORT" "$2"; fi
    shift
done
"""
SANITIZER = """#!/bin/sh
case " $* " in *" --tool initcheck "*) cat "$READS" ;; esac
"""
REPORT = {
    "allocators": [{"name": "atomicmalloc"}],
    "generators": [{"name": "sphere"}],
    "provenance": {"device": "none", "driver": "0"},
}
BEGIN = "========= COMPUTE-SANITIZER\n"
# A copy of the host's, and a read of a kernel's, as the manual of compute-sanitizer has them.
COPY = """========= Host API memory access error at host access to 0x7f2aa3e00000 of size 40 bytes
=========     Uninitialized access at 0x7f2aa3e00014 on access by cudaMemcpy source
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: cudaMemcpy [0x55c2] in heapwood
=========         Host Frame: heapwood::kdtree::{}() const [0x1ab2] in heapwood
=========
"""
READ = """========= Uninitialized __global__ memory read of size 4 bytes
=========     at void heapwood::kdtree::build_kernel(...)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f2aa3e00014
=========
"""


def write(path, text):
    """Writes a script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class CheckGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build = self.folder / "build"
        write(self.build / "app" / "heapwood", PROGRAM)
        write(self.folder / "tools" / "compute-sanitizer", SANITIZER)
        (self.folder / "report.json").write_text(json.dumps(REPORT))

    def check(self, part, reads=""):
        """Runs one part. @return its exit code, and what it says."""
        (self.folder / "reads").write_text(BEGIN + reads)
        run = subprocess.run(
            [str(SCRIPT), "--only", part, "--logs", str(self.folder / "logs"), str(self.build)],
            env={**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}",
                 "REPORT": str(self.folder / "report.json"),
                 "READS": str(self.folder / "reads")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=60,
            check=False)
        return run.returncode, run.stdout

    def test_initcheck_is_silent(self):
        code, said = self.check("sanitize")
        self.assertEqual(code, 0, said)

    def test_copies_of_what_a_build_reserved_only(self):
        code, said = self.check("sanitize", 2 * COPY.format("canonical_copy"))
        self.assertEqual(code, 0, said)

    def test_another_copy_of_what_nothing_has_written(self):
        known, other = COPY.format("canonical_copy"), COPY.format("BuildMemory::state")
        for reads in (other, known + other, other + known, known + other + known):
            code, said = self.check("sanitize", reads)
            self.assertEqual(code, 1, said)
            self.assertIn("FAILED (reads)", said)

    def test_a_kernel_that_reads_what_nothing_has_written(self):
        for reads in (READ, COPY.format("canonical_copy") + READ):
            code, said = self.check("sanitize", reads)
            self.assertEqual(code, 1, said)
            self.assertIn("Uninitialized __global__ memory read", said)

    def test_programs_with_the_installed_package(self):
        write(self.build / "x_tests_gpu", "#!/bin/sh\necho '[  PASSED  ] 1 test.'\n")
        code, said = self.check("tests")
        self.assertEqual(code, 1, said)
        self.assertIn("ctest -R install", said)
        programs = self.build / "tests" / "install" / "install_consumer_gpu" / "build"
        for name in ("consumer_gpu", "consumer_heap_gpu", "consumer_malloc_gpu", "consumer_trees_gpu"):
            write(programs / name, "#!/bin/sh\n")
        code, said = self.check("tests")
        self.assertEqual(code, 0, said)
        write(programs / "consumer_trees_gpu", "#!/bin/sh\nexit 1\n")
        code, said = self.check("tests")
        self.assertEqual(code, 1, said)


if __name__ == "__main__":
    unittest.main()
