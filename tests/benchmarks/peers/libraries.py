"""Ray tracing libraries of Python behind one interface, each used as its documents say.

A library takes a mesh, and answers rays (N, 3) float32. Rays without a hit have t = infinity, primitive -1, NaN as
points, normals and values. `fewer`: by how much its rays are fewer, because it is slow.
"""

import functools

import numpy as np

import animations


class Heapwood:
    fewer = 1
    animation = animations.Heapwood

    def __init__(self, vertices, triangles):
        import heapwood

        self.tree = heapwood.build(vertices, triangles)

    @classmethod
    def load(cls, path):
        import heapwood

        self = cls.__new__(cls)
        self.tree = heapwood.build(path)
        return self

    def closest(self, origins, directions):
        return self.tree.closest_hit(origins, directions)[:2]

    def any(self, origins, directions):
        return self.tree.any_hit(origins, directions)

    def count(self, origins, directions):
        return self.tree.count(origins, directions)

    def all(self, origins, directions):
        offsets, t, _, _ = self.tree.all_hits(origins, directions)
        return np.repeat(np.arange(len(origins)), np.diff(offsets)), t

    def points_and_normals(self, origins, directions):
        hits = self.tree.hits(origins, directions)
        return hits.points, hits.normals

    def interpolate(self, origins, directions, values):
        import heapwood

        return heapwood.interpolate(self.tree.hits(origins, directions), values)

    @classmethod
    def several(cls, meshes, transforms, origins, directions):
        import heapwood

        hits = heapwood.build(meshes, transforms=transforms).hits(origins, directions)
        return hits.t, hits.geometry


class Open3D:
    fewer = 1

    def __init__(self, vertices, triangles):
        import open3d

        self._core = open3d.core
        self.scene = open3d.t.geometry.RaycastingScene()
        self.vertices, self.triangles = vertices, triangles
        self.scene.add_triangles(open3d.core.Tensor(vertices), open3d.core.Tensor(triangles.astype(np.uint32)))

    @classmethod
    def load(cls, path):
        import open3d

        mesh = open3d.io.read_triangle_mesh(path)
        return cls(np.asarray(mesh.vertices, np.float32), np.asarray(mesh.triangles))

    def _rays(self, origins, directions):
        return self._core.Tensor(np.concatenate([origins, directions], axis=1))

    def closest(self, origins, directions):
        found = self.scene.cast_rays(self._rays(origins, directions))
        primitive = found["primitive_ids"].numpy()
        return found["t_hit"].numpy(), np.where(primitive == self.scene.INVALID_ID, -1, primitive.astype(np.int64))

    def any(self, origins, directions):
        return self.scene.test_occlusions(self._rays(origins, directions)).numpy()

    def count(self, origins, directions):
        return self.scene.count_intersections(self._rays(origins, directions)).numpy()

    def all(self, origins, directions):
        found = self.scene.list_intersections(self._rays(origins, directions))
        return found["ray_ids"].numpy(), found["t_hit"].numpy()

    def points_and_normals(self, origins, directions):
        found = self.scene.cast_rays(self._rays(origins, directions))
        t, normals = found["t_hit"].numpy(), found["primitive_normals"].numpy()
        t = np.where(np.isfinite(t), t, np.nan)[:, None]
        return origins + t * directions, np.where(np.isnan(t), np.nan, normals)

    def interpolate(self, origins, directions, values):
        found = self.scene.cast_rays(self._rays(origins, directions))
        hit = np.isfinite(found["t_hit"].numpy())
        uv = found["primitive_uvs"].numpy()[hit]
        corners = values[self.triangles[found["primitive_ids"].numpy()[hit]]]
        weights = np.concatenate([1 - uv.sum(1, keepdims=True), uv], axis=1)
        result = np.full((len(origins), *values.shape[1:]), np.nan)
        result[hit] = np.einsum("ni,ni...->n...", weights, corners)
        return result

    @classmethod
    def several(cls, meshes, transforms, origins, directions):
        import open3d

        scene = open3d.t.geometry.RaycastingScene()
        for (vertices, triangles), matrix in zip(meshes, transforms):
            moved = (vertices @ matrix[:3, :3].T + matrix[:3, 3]).astype(np.float32)
            scene.add_triangles(open3d.core.Tensor(moved), open3d.core.Tensor(triangles.astype(np.uint32)))
        found = scene.cast_rays(open3d.core.Tensor(np.concatenate([origins, directions], axis=1)))
        geometry = found["geometry_ids"].numpy()
        return found["t_hit"].numpy(), np.where(geometry == scene.INVALID_ID, -1, geometry.astype(np.int64))


class Trimesh:
    """trimesh with rtree, without Embree."""

    fewer = 1000

    def __init__(self, vertices, triangles):
        self._use(self._module().Trimesh(vertices, triangles, process=False))

    @staticmethod
    def _module():
        import trimesh

        return trimesh

    def _use(self, mesh):
        from trimesh.ray.ray_triangle import RayMeshIntersector

        self.mesh, self.rays = mesh, RayMeshIntersector(mesh)

    @classmethod
    def load(cls, path):
        self = cls.__new__(cls)
        self._use(cls._module().load(path, force="mesh", process=False))
        return self

    def _hits(self, origins, directions, multiple_hits=False):
        points, ray, primitive = self.rays.intersects_location(origins, directions, multiple_hits=multiple_hits)
        length2 = np.sum(np.float64(directions) ** 2, axis=1)[ray]
        return points, ray, primitive, np.einsum("ij,ij->i", points - origins[ray], directions[ray]) / length2

    def closest(self, origins, directions):
        _, ray, primitive, t = self._hits(origins, directions)
        return _scattered(len(origins), ray, t, np.inf), _scattered(len(origins), ray, primitive, -1)

    def any(self, origins, directions):
        return self.rays.intersects_any(origins, directions)

    def count(self, origins, directions):
        return np.bincount(self._hits(origins, directions, True)[1], minlength=len(origins))

    def all(self, origins, directions):
        _, ray, _, t = self._hits(origins, directions, True)
        return ray, t

    def points_and_normals(self, origins, directions):
        points, ray, primitive, _ = self._hits(origins, directions)
        return (_scattered(len(origins), ray, points, np.nan),
                _scattered(len(origins), ray, self.mesh.face_normals[primitive], np.nan))

    def interpolate(self, origins, directions, values):
        points, ray, primitive, _ = self._hits(origins, directions)
        weights = self._module().triangles.points_to_barycentric(self.mesh.triangles[primitive], points)
        return _scattered(len(origins), ray, np.einsum("ni,ni...->n...", weights,
                                                       values[self.mesh.faces[primitive]]), np.nan)

    @classmethod
    def several(cls, meshes, transforms, origins, directions):
        trimesh = cls._module()
        parts = [trimesh.Trimesh(*mesh, process=False).apply_transform(matrix)
                 for mesh, matrix in zip(meshes, transforms)]
        self = cls.__new__(cls)
        self._use(trimesh.util.concatenate(parts))
        t, primitive = self.closest(origins, directions)
        ends = np.cumsum([len(part.faces) for part in parts])
        return t, np.where(primitive < 0, -1, np.searchsorted(ends, primitive, side="right"))


class Embreex(Trimesh):
    """trimesh with Embree by embreex."""

    fewer = 1

    def _use(self, mesh):
        import embreex  # noqa: F401: trimesh would fall back to rtree
        from trimesh.ray.ray_pyembree import RayMeshIntersector

        self.mesh, self.rays = mesh, RayMeshIntersector(mesh)


class Warp:
    """warp on the CPU."""

    fewer = 1
    animation = animations.Warp

    def __init__(self, vertices, triangles):
        import warp

        warp.config.quiet = True
        self.vertices, self.triangles = vertices, triangles
        self.mesh = warp.Mesh(warp.array(vertices, dtype=warp.vec3, device="cpu"),
                              warp.array(triangles.astype(np.int32).ravel(), dtype=warp.int32, device="cpu"))

    def _trace(self, origins, directions):
        import warp

        n = len(origins)
        t, primitive, uv, normal = (warp.empty(n, dtype=kind, device="cpu") for kind in (
            warp.float32, warp.int32, warp.vec2, warp.vec3))
        warp.launch(_warp_kernel(), dim=n, device="cpu", inputs=[
            self.mesh.id, warp.array(origins, dtype=warp.vec3, device="cpu"),
            warp.array(directions, dtype=warp.vec3, device="cpu"), t, primitive, uv, normal])
        return t.numpy(), primitive.numpy(), uv.numpy(), normal.numpy()

    def closest(self, origins, directions):
        return self._trace(origins, directions)[:2]

    def any(self, origins, directions):
        return self._trace(origins, directions)[1] >= 0

    def points_and_normals(self, origins, directions):
        t, primitive, _, normals = self._trace(origins, directions)
        hit = (primitive >= 0)[:, None]
        return np.where(hit, origins + t[:, None] * directions, np.nan), np.where(hit, normals, np.nan)

    def interpolate(self, origins, directions, values):
        _, primitive, uv, _ = self._trace(origins, directions)
        hit = primitive >= 0
        weights = np.concatenate([uv[hit], 1 - uv[hit].sum(1, keepdims=True)], axis=1)
        result = np.full((len(origins), *values.shape[1:]), np.nan)
        result[hit] = np.einsum("ni,ni...->n...", weights, values[self.triangles[primitive[hit]]])
        return result


@functools.lru_cache(None)
def _warp_kernel():
    import warp as wp

    @wp.kernel
    def trace(mesh: wp.uint64, origins: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3),
              t: wp.array(dtype=wp.float32), primitive: wp.array(dtype=wp.int32), uv: wp.array(dtype=wp.vec2),
              normal: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        length = wp.length(directions[i])
        found = wp.mesh_query_ray(mesh, origins[i], directions[i] / length, 1.0e30)
        t[i] = wp.inf
        primitive[i] = -1
        if found.result:
            t[i] = found.t / length
            primitive[i] = found.face
            uv[i] = wp.vec2(found.u, found.v)
            normal[i] = found.normal

    return trace


def _scattered(count, places, values, fill):
    result = np.full((count, *np.shape(values)[1:]), fill)
    result[places] = values
    return result


LIBRARIES = {"heapwood": Heapwood, "open3d": Open3D, "embreex": Embreex, "trimesh": Trimesh, "warp": Warp}
