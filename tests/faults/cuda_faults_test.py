"""Each call of the CUDA runtime fails once, in every verb that makes some: a sentence, exit code 1,
and everything is given back. Needs a GPU; skips without one.

    HEAPWOOD_TEST_CUDA_FAULTS=heapwood_cuda_faults python3 cuda_faults_test.py
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

FAULTS = os.environ.get("HEAPWOOD_TEST_CUDA_FAULTS", "")
SEED = int(os.environ.get("HEAPWOOD_TEST_SEED") or random.SystemRandom().getrandbits(32))
SHARE = None if "HEAPWOOD_TEST_ALL" in os.environ else 12
DONE, INTERNAL, NO_DEVICE = 0, 1, 77

SCENE = "gen:city:600"
GPU = ("--device", "gpu")
VERBS = {
    "build": ("build", SCENE, *GPU, "--repeat", "1"),
    "levels": ("build", SCENE, *GPU, "--repeat", "1", "--method", "levels"),
    "trace": ("trace", SCENE, *GPU, "--rays", "1000", "--repeat", "1"),
    "render": ("render", SCENE, *GPU, "--size", "32x32", "-o"),
    "inspect": ("inspect", SCENE, *GPU),
    "compare": ("compare", SCENE, *GPU, "--repeat", "1"),
    "bench": ("bench", "ad", *GPU, "--repeat", "1", "--quick"),
}
WITH_WORKERS = ("compare", "bench")
# What ends something cannot report, and is not needed for a result.
ENDINGS = ("cudaFree", "cudaFreeAsync", "cudaEventDestroy")


class CudaFaults(unittest.TestCase):
    dice = random.Random(SEED)

    def run_with_fault(self, arguments, call):
        """The program's end, and a line of (calls, name of the one that failed, what is live) for
        each process of it that has come to its own end."""
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name)
            arguments = [*arguments, place / "x.png"] if arguments[-1] == "-o" else arguments
            clean = {k: v for k, v in os.environ.items() if not k.startswith("HEAPWOOD_")}
            result = subprocess.run(
                [FAULTS, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                encoding="utf-8", errors="replace", timeout=120, check=False,
                env={**clean, "HEAPWOOD_FAULT_CALL": str(call),
                     "HEAPWOOD_FAULT_REPORT": str(place / "report")})
            lines = (place / "report").read_text().splitlines()
            report = [(int(n), failed, int(live)) for n, failed, live in map(str.split, lines)]
            return result, report

    def check(self, verb):
        whole, report = self.run_with_fault(VERBS[verb], 0)
        self.assertEqual(whole.returncode, DONE, whole.stderr)
        self.assertEqual([live for _, _, live in report], [0] * len(report))
        most = max(calls for calls, _, _ in report)
        if verb in WITH_WORKERS:  # which are killed when they are done, and report nothing
            most += 60
        self.assertGreater(most, 10)
        numbers = range(1, most + 1)
        if SHARE is not None and most > SHARE:
            numbers = sorted(self.dice.sample(numbers, SHARE))
        for call in numbers:
            result, report = self.run_with_fault(VERBS[verb], call)
            names = {failed for _, failed, _ in report}
            what = f"{verb}, seed {SEED}, call {call} of {most}, {names}: {result.stderr}"
            self.assertEqual([live for _, _, live in report], [0] * len(report), what)
            if names <= {"-", *ENDINGS} and result.returncode == DONE:
                continue
            # CUDA's libraries make some of these calls, and have their own words for a failure.
            codes = (NO_DEVICE, INTERNAL) if "cudaGetDeviceCount" in names else (INTERNAL,)
            self.assertIn(result.returncode, codes, what)
            self.assertRegex(result.stderr, r"heapwood: error: .*cudaError(\w+| \d+)", what)
        print(f"{verb}: {len(numbers)} of {most} calls failed")


for one in VERBS:
    setattr(CudaFaults, f"test_{one}", lambda self, verb=one: self.check(verb))

if __name__ == "__main__":
    if not FAULTS:
        print("built without CUDA")
        sys.exit(NO_DEVICE)
    probe = subprocess.run([FAULTS, "build", "gen:sphere:10", *GPU, "-q"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if probe.returncode == NO_DEVICE:
        print("no such device")
        sys.exit(NO_DEVICE)
    print(f"HEAPWOOD_TEST_SEED={SEED}")
    unittest.main()
