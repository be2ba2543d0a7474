"""A waving mesh that is traced frame after frame, by libraries that keep its memory: as their documents say, on a CPU,
or on a GPU where nothing passes the host.

A library takes the mesh at rest, and rays (N, 3) float32 that are the same in each frame. `frame(phase)` begins to move
the vertices and to find the first hits; `end()` waits, and returns the vertices of the last frame and its hits' t.
"""

import functools
import importlib.util

import numpy as np

HEIGHT, LENGTH = 0.05, 0.5  # of the waves, in sizes of the mesh


class Wave:
    """Vertices that go up and down in waves along x."""

    def __init__(self, vertices):
        size = float(np.ptp(vertices, axis=0).max())
        self.height, self.number = HEIGHT * size, 2 * np.pi / (LENGTH * size)


class Heapwood:
    """A new tree in each frame, by a Builder; on a GPU with arrays of CuPy, or of Torch where CuPy is not installed."""

    def __init__(self, vertices, triangles, rays, device):
        import heapwood

        self.wave, self.on_gpu = Wave(vertices), device == "cuda"
        self.xp, self.stream, put = _arrays(device)
        self.rest, self.rays = put(vertices), [put(array) for array in rays]
        count = len(rays[0])
        self.out = tuple(put(np.zeros(shape, kind)) for shape, kind in (
            (count, np.float32), (count, np.int32), ((count, 2), np.float32)))
        self.builder = heapwood.Builder(put(triangles.astype(np.int32)), device=device)

    def frame(self, phase):
        self.moved = self.rest * 1
        self.moved[:, 2] += self.wave.height * self.xp.sin(self.wave.number * self.rest[:, 0] + phase)
        how = {"stream": self.stream()} if self.on_gpu else {}
        self.builder.rebuild(self.moved, **how)
        self.builder.closest_hit(*self.rays, coherent=True, out=self.out, progress=False, **how)

    def end(self):
        return _numpy(self.moved), _numpy(self.out[0])


class Warp:
    """Mesh.refit() in each frame: the bounds of its tree change, and its nodes stay those of the first one."""

    def __init__(self, vertices, triangles, rays, device):
        import warp

        warp.config.quiet = True
        self.wave, self.device = Wave(vertices), "cuda:0" if device == "cuda" else "cpu"
        self.rest = self._vectors(vertices)
        self.mesh = warp.Mesh(self._vectors(vertices), warp.array(
            triangles.astype(np.int32).ravel(), dtype=warp.int32, device=self.device))
        self.rays = [self._vectors(array) for array in rays]
        self.t = warp.empty(len(rays[0]), dtype=warp.float32, device=self.device)
        self.primitive = warp.empty(len(rays[0]), dtype=warp.int32, device=self.device)

    def _vectors(self, array):
        import warp

        return warp.array(array, dtype=warp.vec3, device=self.device)

    def frame(self, phase):
        import warp

        move, trace = _warp_kernels()
        warp.launch(move, dim=len(self.rest), device=self.device, inputs=[
            self.rest, self.mesh.points, self.wave.height, self.wave.number, phase])
        self.mesh.refit()
        warp.launch(trace, dim=len(self.t), device=self.device, inputs=[
            self.mesh.id, *self.rays, self.t, self.primitive])

    def end(self):
        return self.mesh.points.numpy(), self.t.numpy()


@functools.lru_cache(None)
def _warp_kernels():
    import warp as wp

    @wp.kernel
    def move(rest: wp.array(dtype=wp.vec3), moved: wp.array(dtype=wp.vec3), height: wp.float32, number: wp.float32,
             phase: wp.float32):
        i = wp.tid()
        at = rest[i]
        moved[i] = wp.vec3(at[0], at[1], at[2] + height * wp.sin(number * at[0] + phase))

    @wp.kernel
    def trace(mesh: wp.uint64, origins: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3),
              t: wp.array(dtype=wp.float32), primitive: wp.array(dtype=wp.int32)):
        i = wp.tid()
        length = wp.length(directions[i])
        found = wp.mesh_query_ray(mesh, origins[i], directions[i] / length, 1.0e30)
        t[i] = wp.inf
        primitive[i] = -1
        if found.result:
            t[i] = found.t / length
            primitive[i] = found.face

    return move, trace


def _arrays(device):
    """The library of arrays on a device; what gives its current stream, and what copies an array there."""
    if device == "cpu":
        return np, None, np.array
    if importlib.util.find_spec("cupy"):
        import cupy

        return cupy, cupy.cuda.get_current_stream, cupy.asarray
    import torch

    return torch, torch.cuda.current_stream, lambda array: torch.from_numpy(np.array(array)).cuda()


def _numpy(array):
    return array.get() if hasattr(array, "get") else array.cpu().numpy() if hasattr(array, "cpu") else array

