"""trimesh's own tests of rays, with heapwood.trimesh in the place of its fast intersector.

They come with trimesh's source archive, which scripts/setup.sh puts beside the environment; what they
take from the rest of its test suite stands in trimesh_suite/.
"""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

pytest.importorskip("trimesh")
pytest.importorskip("rtree")

HERE = pathlib.Path(__file__).parent
FILES = ("test_ray.py", "test_ray_upstream.py")
# They need models that the archive does not have.
WITHOUT = ("test_rays", "test_on_edge")


def archive():
    version = importlib.metadata.version("trimesh")
    path = pathlib.Path(sys.prefix) / "share" / f"trimesh-{version}.tar.gz"
    if not path.exists():
        pytest.skip(f"there is no {path}: pip download --no-deps --no-binary :all: trimesh=={version}")
    return path


@pytest.mark.parametrize("name", FILES)
def test_trimesh_passes_its_own_tests(name, tmp_path):
    with tarfile.open(archive()) as files:
        members = [m for m in files.getmembers() if m.name.endswith(f"/tests/{name}")]
        if not members:
            pytest.skip(f"this version of trimesh has no {name}")
        (tmp_path / name).write_bytes(files.extractfile(members[0]).read())
    for path in (HERE / "trimesh_suite").iterdir():
        if path.suffix == ".py":
            shutil.copy(path, tmp_path)
    call = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    call += [f"--deselect={name}::{test}" for test in WITHOUT]
    result = subprocess.run(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True)
    assert result.returncode == 0, result.stdout
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed and int(passed.group(1)) >= 8, result.stdout
    assert "skipped" not in result.stdout, result.stdout
