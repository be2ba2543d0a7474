"""Thirteen tasks: what is measured, and what is wrong by brute force in double precision."""

import hashlib
import pathlib
import pickle
import time
from typing import NamedTuple

import numpy as np

from brute_force import hits_by_brute_force

CHECKED = 100  # rays of each task
SURE = 1e-5  # rays that pass an edge at less, in barycentrics, are not judged: rounding decides
FRAMES = 1000  # of the animation
NEAR = 1e-4  # how far results may be off, of the scene's size


class Inputs:
    """Meshes and rays, the same for all libraries."""

    def __init__(self, quick, folder, device="cpu"):
        from heapwood import load  # a generator; the mesh is arrays from here on

        self.quick, self.folder, self.device = quick, pathlib.Path(folder), device
        self.scene = load(f"gen:sphere:{2000 if quick else 152000}")
        self.vertices, self.triangles = np.array(self.scene.vertices), np.array(self.scene.triangles, np.int64)
        self.low, self.high = self.vertices.min(0), self.vertices.max(0)
        self.size = float(np.linalg.norm(self.high - self.low))
        self.rng = np.random.default_rng(1)

    def rays(self, count):
        """From anywhere around the mesh to anywhere in its box."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        origins = middle + 1.5 * half * self.rng.uniform(-1, 1, (count, 3))
        directions = self.rng.uniform(self.low, self.high, (count, 3)) - origins
        return origins.astype(np.float32), directions.astype(np.float32)

    def camera(self, side):
        x, y = np.meshgrid(np.linspace(-0.4, 0.4, side), np.linspace(-0.4, 0.4, side))
        directions = np.stack([x, y, np.full_like(x, -1)], -1).reshape(-1, 3).astype(np.float32)
        eye = (self.low + self.high) / 2 + [0, 0, self.size]
        return np.broadcast_to(eye.astype(np.float32), directions.shape).copy(), directions


class Time(NamedTuple):
    """Milliseconds of a call: by the clock, and of all processors together."""

    wall: float
    cpu: float

    def times(self, factor):
        return Time(factor * self.wall, factor * self.cpu)


def timed(work, repeat, calls=1):
    """The time of the fastest of some calls, and its result."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter(), time.process_time()
        for _ in range(calls):
            result = work()
        end = time.perf_counter(), time.process_time()
        times.append(Time(*((b - a) * 1000 / calls for a, b in zip(start, end))))
    return min(times), result


class _Mesh:
    def __init__(self, vertices, triangles):
        self.vertices, self.triangles = vertices, triangles


def exact(folder, vertices, triangles, origins, directions):
    """For each ray all t in order, and whether rounding cannot change what it meets. Kept in the folder."""
    key = hashlib.sha256(b"".join(map(np.ascontiguousarray, (vertices, triangles, origins, directions)))).hexdigest()
    path = pathlib.Path(folder) / key
    if not path.exists():
        found, mesh = [], _Mesh(vertices, triangles)
        for origin, direction in zip(origins, directions):
            t, inside = hits_by_brute_force(mesh, origin[None], direction[None])
            found.append((np.sort(t[np.isfinite(t)]), not (np.abs(inside) < SURE).any()))
        path.write_bytes(pickle.dumps(found))
    return pickle.loads(path.read_bytes())


def _wrong(reference, found, differs):
    judged = [(known, one) for (known, sure), one in zip(reference, found) if sure]
    return sum(bool(differs(known, one)) for known, one in judged), len(judged)


def _first(known):
    return known[0] if len(known) else np.inf


class Tasks:
    """A method for each task: it returns its time, and how many of how many answers are wrong."""

    def __init__(self, inputs, library, repeat):
        self.inputs, self.library, self.repeat = inputs, library, repeat
        self.many = (20_000 if inputs.quick else 1_000_000) // library.fewer

    def _made(self):
        return self.library(self.inputs.vertices, self.inputs.triangles)

    def _rays(self, count=None):
        origins, directions = self.inputs.rays(count or self.many)
        some = slice(min(CHECKED, len(origins)))
        reference = self._exact(origins[some], directions[some])
        return origins, directions, reference

    def _exact(self, origins, directions):
        return exact(self.inputs.folder, self.inputs.vertices, self.inputs.triangles, origins, directions)

    def _far(self, known, t):
        known = _first(known)
        if np.isinf(known) or np.isinf(t):
            return known != t
        return abs(known - t) > NEAR * max(known, 1)

    def _simple(self, method, differs, rays=None, calls=1):
        origins, directions, reference = rays or self._rays()
        call = getattr(self._made(), method)
        call(origins[:100], directions[:100])
        taken, found = timed(lambda: call(origins, directions), self.repeat, calls)
        return taken, *_wrong(reference, found[0] if isinstance(found, tuple) else found, differs)

    def closest_hit(self):
        return self._simple("closest", self._far)

    def any_hit(self):
        return self._simple("any", lambda known, one: (len(known) > 0) != one)

    def count_hits(self):
        return self._simple("count", lambda known, one: len(known) != one)

    def all_hits(self):
        origins, directions, reference = self._rays()
        made = self._made()
        made.all(origins[:100], directions[:100])
        taken, (ray, t) = timed(lambda: made.all(origins, directions), self.repeat)
        few = ray < CHECKED
        found = [np.sort(t[few][ray[few] == i]) for i in range(len(reference))]
        return taken, *_wrong(reference, found, lambda known, one: len(known) != len(one) or
                           not np.allclose(known, one, rtol=NEAR, atol=NEAR))

    def camera_rays(self):
        origins, directions = self.inputs.camera(max(int(self.many**0.5), 8))
        some = self.inputs.rng.permutation(len(origins))[:CHECKED]
        call = self._made().closest
        call(origins[:100], directions[:100])
        taken, (t, _) = timed(lambda: call(origins, directions), self.repeat)
        return taken, *_wrong(self._exact(origins[some], directions[some]), t[some], self._far)

    def one_ray(self):
        return self._simple("closest", self._far, self._rays(1), 1 if self.library.fewer > 1 else 300)

    def hundred_rays(self):
        return self._simple("closest", self._far, self._rays(100), 1 if self.library.fewer > 1 else 100)

    def rebuild_and_trace(self):
        origins, directions, _ = self._rays((200 if self.inputs.quick else 20_000) // min(self.library.fewer, 100))
        turns = 1 if self.library.fewer > 1 else 2 if self.inputs.quick else 50
        half = self.inputs.triangles[::2]

        def frames():
            for turn in range(turns):
                moved = (self.inputs.vertices * np.float32(1 + 0.01 * turn)).astype(np.float32)
                found = self.library(moved, half).closest(origins, directions)
            return moved, found

        taken, (moved, (t, _)) = timed(frames, 1)
        reference = exact(self.inputs.folder, moved, half, origins[:CHECKED], directions[:CHECKED])
        return taken.times(50 / turns), *_wrong(reference, t, self._far)

    def load_a_mesh(self):
        path = str(self.inputs.folder / "mesh.obj")
        if not (self.inputs.folder / "mesh.obj").exists():
            self.inputs.scene.save(path)
        origins, directions, reference = self._rays(100)
        taken, (t, _) = timed(lambda: self.library.load(path).closest(origins, directions), self.repeat)
        return taken, *_wrong(reference, t, self._far)

    def points_and_normals(self):
        origins, directions, reference = self._rays()
        made = self._made()
        taken, (points, normals) = timed(lambda: made.points_and_normals(origins, directions), self.repeat)
        _, primitive = made.closest(origins[:CHECKED], directions[:CHECKED])
        corners = self.inputs.vertices.astype(float)[self.inputs.triangles[primitive]]
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        across /= np.linalg.norm(across, axis=1, keepdims=True)

        def differs(known, i):
            if not len(known):
                return not (np.isnan(points[i]).all() and np.isnan(normals[i]).all())
            place = origins[i] + known[0] * np.float64(directions[i])
            normal = normals[i] / np.linalg.norm(normals[i])
            return not (np.linalg.norm(points[i] - place) < NEAR * self.inputs.size and
                        abs(normal @ across[i]) > 1 - NEAR)

        return taken, *_wrong(reference, range(len(reference)), differs)

    def interpolation(self):
        origins, directions, reference = self._rays()
        made = self._made()
        # Positions as values: what is found is then the point that was hit.
        values = self.inputs.vertices
        taken, found = timed(lambda: made.interpolate(origins, directions, values), self.repeat)

        def differs(known, i):
            if not len(known):
                return not np.isnan(found[i]).all()
            place = origins[i] + known[0] * np.float64(directions[i])
            return not np.linalg.norm(found[i] - place) < NEAR * self.inputs.size

        return taken, *_wrong(reference, range(len(reference)), differs)

    def several_meshes(self):
        half = self.inputs.triangles[: len(self.inputs.triangles) // 2]
        meshes = [(self.inputs.vertices, self.inputs.triangles), (self.inputs.vertices, half)]
        moves = np.stack([np.eye(4), np.eye(4)])
        moves[1, :3] = np.array([[0, -1, 0, self.size_x()], [1, 0, 0, 0], [0, 0, 1, 0]])
        origins, directions, _ = self._rays(max(self.many // 10, 10))
        taken, (t, geometry) = timed(lambda: self.library.several(meshes, moves, origins, directions), self.repeat)
        some = slice(CHECKED)
        known = [exact(self.inputs.folder, (mesh @ move[:3, :3].T + move[:3, 3]).astype(np.float32), triangles,
                       origins[some], directions[some]) for (mesh, triangles), move in zip(meshes, moves)]
        first = np.array([[_first(one) for one, _ in row] for row in known])
        reference = [(np.sort(first[:, i]), known[0][i][1] and known[1][i][1]) for i in range(first.shape[1])]

        def differs(ts, i):
            owner = -1 if np.isinf(ts[0]) else int(np.argmin(first[:, i]))
            return self._far(ts, t[i]) or geometry[i] != owner

        return taken, *_wrong(reference, range(len(reference)), differs)

    def animation(self):
        frames = 5 if self.inputs.quick else 20 if self.inputs.device == "cpu" else FRAMES
        rays = self.inputs.camera(int(self.many**0.5))
        waving = self.library.animation(self.inputs.vertices, self.inputs.triangles, rays, self.inputs.device)
        waving.frame(0.0)  # kernels are loaded
        waving.end()

        def play():
            for number in range(frames):
                waving.frame(0.1 * number)
            return waving.end()

        taken, (vertices, t) = timed(play, self.repeat)
        some = self.inputs.rng.permutation(len(t))[:CHECKED]
        reference = exact(self.inputs.folder, vertices, self.inputs.triangles, rays[0][some], rays[1][some])
        return taken.times(FRAMES / frames), *_wrong(reference, t[some], self._far)

    def size_x(self):
        return float(self.inputs.high[0] - self.inputs.low[0])


TASKS = {
    "closest_hit": "closest hit, 1 M random rays", "any_hit": "any hit, 1 M", "count_hits": "count of hits, 1 M",
    "all_hits": "all hits, 1 M", "camera_rays": "a camera's 1000 x 1000 rays", "one_ray": "one ray",
    "hundred_rays": "100 rays", "rebuild_and_trace": "50 x (build half the mesh, 20 k rays)",
    "load_a_mesh": "load an OBJ file, build, 100 rays", "points_and_normals": "points and normals, 1 M",
    "interpolation": "interpolate vertices' values, 1 M", "several_meshes": "two meshes by 4 x 4, build, 100 k rays",
    "animation": "1,000 frames of a waving mesh, a camera's 1000 x 1000 rays each",
}
