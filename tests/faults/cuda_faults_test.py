"""Each call of the CUDA runtime fails once, in every verb that makes some: a sentence, exit code 1,
and everything is given back. Needs a GPU; skips without one.

    HEAPWOOD_TEST_CUDA_FAULTS=heapwood_cuda_faults python3 cuda_faults_test.py
"""

import concurrent.futures
import functools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

FAULTS = os.environ.get("HEAPWOOD_TEST_CUDA_FAULTS", "")
SEED = int(os.environ.get("HEAPWOOD_TEST_SEED") or random.SystemRandom().getrandbits(32))
SHARE = None if "HEAPWOOD_TEST_ALL" in os.environ else 12
DONE, INTERNAL, NO_DEVICE = 0, 1, 77
# What cannot be an answer: the program has not ended.
HANG = None
LIMIT = 120  # seconds, after which a program hangs
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("HEAPWOOD_")}

SCENE = "gen:city:600"
GPU = ("--device", "gpu")
# One allocator is enough, for all others have the same calls made. cudamalloc has some of its own.
CUDA = ("--allocator", "cudamalloc")
HALLOC = ("--allocator", "halloc")
# "TRACE" stands for a trace of the scene's build, "PICTURE" for a file to write.
VERBS = {
    "build": ("build", SCENE, *GPU, "--repeat", "1"),
    "levels": ("build", SCENE, *GPU, "--repeat", "1", "--method", "levels"),
    "trace": ("trace", SCENE, *GPU, "--rays", "1000", "--repeat", "1"),
    "render": ("render", SCENE, *GPU, "--size", "32x32", "-o", "PICTURE"),
    "inspect": ("inspect", SCENE, *GPU),
    "compare": ("compare", SCENE, *GPU, *CUDA, "--repeat", "1"),
    "bench": ("bench", "ad", *GPU, *HALLOC, "--repeat", "1", "--quick"),
    "replay": ("replay", "TRACE", *GPU, *HALLOC, "--repeat", "1"),
}
KEPT = tempfile.TemporaryDirectory()
# What ends something cannot report, and is not needed for a result.
ENDINGS = ("cudaFree", "cudaFreeAsync", "cudaEventDestroy")
MESSAGE = re.compile(r"heapwood: error: .*cudaError(\w+| \d+)")


@functools.cache
def recorded_trace():
    """A file with the requests of a build, made once."""
    name = pathlib.Path(KEPT.name) / "x.trace"
    subprocess.run([FAULTS, "build", SCENE, "--device", "cpu", "--threads", "1", "-q",
                    "-a", "hybrid", "--repeat", "1", "--trace", name],
                   stdout=subprocess.DEVNULL, check=True, env=CLEAN)
    return str(name)


def run_with_fault(verb, call, limit=LIMIT):
    """The program's exit code (HANG if it has not ended within so many seconds), what it says on
    standard error, and of each of its processes (calls, name of the one that failed, what is live,
    whether it came to its own end)."""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        (place / "reports").mkdir()
        files = {"PICTURE": str(place / "x.png")}
        if "TRACE" in VERBS[verb]:
            files["TRACE"] = recorded_trace()
        arguments = [files.get(word, word) for word in VERBS[verb]]
        with open(place / "errors", "wb") as errors:
            program = subprocess.Popen(
                [FAULTS, *arguments], stdout=subprocess.DEVNULL, stderr=errors,
                env={**CLEAN, "HEAPWOOD_FAULT_CALL": str(call),
                     "HEAPWOOD_FAULT_REPORT": str(place / "reports")})
            try:
                code = program.wait(limit)
            except subprocess.TimeoutExpired:
                program.kill()  # and its processes with it, which ask the system for that
                program.wait()
                code = HANG
        said = (place / "errors").read_text(encoding="utf-8", errors="replace")
        lines = [file.read_text().split() for file in (place / "reports").iterdir()]
        return code, said, [(int(n), failed, int(live), end == "ended")
                            for n, failed, live, end in lines]


def complaint(code, said, report):
    """What is wrong with a run in which a call has failed; "" if nothing is."""
    names = {failed for _, failed, _, _ in report} - {"-"}
    if code is HANG:
        return "hangs"
    lost = [live for _, _, live, ended in report if ended and live != 0]
    if lost:
        return f"has not given back {sum(lost)}"
    if code == DONE and names <= set(ENDINGS):
        return ""
    # CUDA's libraries make some of these calls, and have their own words for a failure.
    if code != INTERNAL and not (code == NO_DEVICE and "cudaGetDeviceCount" in names):
        return f"ends with exit code {code}"
    return "" if MESSAGE.search(said) else "does not say what failed"


class CudaFaults(unittest.TestCase):
    dice = random.Random(SEED)

    def check(self, verb):
        code, said, report = run_with_fault(verb, 0)
        self.assertEqual(code, DONE, said)
        self.assertEqual([live for _, _, live, ended in report if ended and live != 0], [])
        most = max(calls for calls, _, _, _ in report)
        self.assertGreater(most, 10)
        numbers = self.dice.sample(range(1, most + 1), most)[:SHARE]
        wrong = []
        # As many as there are processors, for most of a run is CUDA's start. Calls fail in any order,
        # and findings are printed as they come: a run that is cut off has tried a fair share.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = pool.map(lambda call: run_with_fault(verb, call), numbers)
            for done, (call, (code, said, report)) in enumerate(zip(numbers, runs), 1):
                what = complaint(code, said, report)
                if what:
                    names = {failed for _, failed, _, _ in report}
                    wrong.append(f"{verb}, seed {SEED}, call {call}, {names}: {what}: {said}")
                    print(wrong[-1], flush=True)
                if done % 50 == 0 or done == len(numbers):
                    print(f"{verb}: {done} of {most} calls failed", flush=True)
        self.assertEqual(wrong, [])


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
