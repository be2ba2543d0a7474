"""What the package needs of the system: a wheel is carried to machines that have little."""

import gzip
import lzma
import pathlib
import re
import subprocess

import pytest

import heapwood
from heapwood import _core
from heapwood._program import PROGRAM

ROOT = pathlib.Path(__file__).parents[2]
SYSTEM = {"libc", "libm", "libstdc++", "libgcc_s", "libpthread", "libdl", "librt", "ld-linux-x86-64",
          "ld-linux-aarch64"}
# Shared libraries of an ordinary build of the program, and what keeps them out of a wheel.
OPTIONAL = {"OpenEXR": 'HEAPWOOD_OPENEXR = "OFF"', "Iex": 'HEAPWOOD_OPENEXR = "OFF"',
            "IlmThread": 'HEAPWOOD_OPENEXR = "OFF"', "Imath": 'HEAPWOOD_OPENEXR = "OFF"',
            "embree": 'CMAKE_DISABLE_FIND_PACKAGE_embree = "ON"'}


def needed(path):
    """The names of the shared libraries that a file asks for, without versions."""
    try:
        result = subprocess.run(["readelf", "-d", path], check=True, stdout=subprocess.PIPE,
                                universal_newlines=True)
    except FileNotFoundError:
        pytest.skip("there is no readelf: apt-get install binutils")
    found = re.findall(r"\(NEEDED\).*\[(.*?)\.so", result.stdout)
    assert found
    return set(found)


def test_the_module_needs_no_library_of_its_own():
    assert needed(_core.__file__) <= SYSTEM


def test_the_program_of_a_wheel_needs_no_library_of_its_own():
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in needed(PROGRAM) - SYSTEM:
        kept_out = [setting for word, setting in OPTIONAL.items() if name.startswith(f"lib{word}")]
        assert kept_out and kept_out[0] in settings, f"a wheel would need {name}"


@pytest.mark.parametrize("library, suffix", [(lzma, "xz"), (gzip, "gz")])
def test_the_module_reads_what_is_packed(library, suffix, tmp_path):
    # By libraries that are part of it.
    path = tmp_path / f"gem.obj.{suffix}"
    path.write_bytes(library.compress((ROOT / "scenes/models/gem.obj").read_bytes()))
    assert heapwood.load(path).digest == heapwood.load(ROOT / "scenes/models/gem.obj").digest
