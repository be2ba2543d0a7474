"""No test is left out silently: every test file belongs to this build and to ctest.

    python3 watch_test.py SOURCE_FOLDER BUILD_FOLDER

A test file is called *_test.cpp, *_test.cu or *_test.py. CMake takes no notice of one that nobody
names, and of an executable whose tests nobody adds.
"""

import json
import pathlib
import re
import subprocess
import sys

source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])

with open(build / "compile_commands.json", encoding="utf-8") as file:
    compiled = {pathlib.Path(entry["file"]).resolve() for entry in json.load(file)}
# Of files that are compiled as one, the compiler is given one that includes them.
for path in [path for path in compiled if path.parent.name == "Unity"]:
    included = re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.MULTILINE)
    compiled.update(pathlib.Path(name).resolve() for name in included)
listing = json.loads(
    subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    ).stdout
)
words = set()
for test in listing["tests"]:
    folders = [p["value"] for p in test.get("properties", []) if p["name"] == "WORKING_DIRECTORY"]
    for word in test.get("command", []):
        # A folder on the way may be a link, which ctest keeps.
        words.update(str((pathlib.Path(folder) / word).resolve()) for folder in [".", *folders])

cuda = any(path.suffix == ".cu" for path in compiled)
lost = []
for path in sorted((source / "tests").rglob("*_test.*")):
    if path.suffix == ".cpp" or (path.suffix == ".cu" and cuda):
        if path not in compiled:
            lost.append(f"{path.relative_to(source)} is compiled by no target")
    elif path.suffix == ".py" and str(path) not in words:
        lost.append(f"{path.relative_to(source)} is run by no test")
# A test may configure builds of its own below this one.
others = {path.parent for path in build.rglob("CMakeCache.txt")} - {build}
for path in sorted(build.rglob("*_tests*")):
    if others.intersection(path.parents):
        continue
    runs = path.is_file() and path.suffix == "" and path.stat().st_mode & 0o100
    if runs and str(path) not in words:
        lost.append(f"of {path.relative_to(build)} there are no tests")

for line in lost:
    print(line)
if lost:
    sys.exit("a test that does not run cannot fail: name it in a CMakeLists.txt of tests/")
print(f"{len(listing['tests'])} tests, and all test files are among them")
