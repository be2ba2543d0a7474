"""Tries an installed package: a tree, rays, and the program. Takes no arguments."""

import os
import subprocess
import sysconfig

import numpy as np

import heapwood


def program(*arguments):
    path = os.path.join(sysconfig.get_path("scripts"), "heapwood")
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False)


def main():
    tree = heapwood.build(heapwood.load("gen:sphere:1000"), device="cpu", verify=True)
    low, high = tree.scene.bounds
    ways = [high - low, low - high]
    t, triangle, _ = tree.closest_hit([high + 1, high + 1], ways)  # away from the sphere, through it
    assert triangle[0] == -1 and np.isinf(t[0]), (t, triangle)
    assert 0 <= triangle[1] < 1000 and 0 < t[1] < 2, (t, triangle)

    wanted = {"atomicmalloc", "cambium", "flatterscatter", "halloc", "hybrid"}
    assert set(heapwood.allocators()) == wanted, heapwood.allocators()
    for allocator in wanted:
        other = heapwood.build(tree.scene, device="cpu", allocator=allocator)
        assert other.digest == tree.digest, allocator

    version = program("--version")
    assert version.returncode == 0 and version.stdout.startswith("heapwood"), version
    assert program("build", "gen:sphere:1000", "--device", "cpu").returncode == 0
    lacking = program("build", "gen:sphere:1000", "--device", "cpu", "--allocator", "kma")
    assert lacking.returncode == 2, lacking
    assert "HEAPWOOD_ALLOCATORS=all pip install ." in lacking.stderr, lacking
    print(version.stdout.splitlines()[0])


if __name__ == "__main__":
    main()
