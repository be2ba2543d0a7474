"""What trimesh's tests of rays take from the rest of its test suite, with meshes of our own."""

import logging
import time  # noqa: F401

import numpy as np
import trimesh

log = logging.getLogger("trimesh")
random = np.random.default_rng(1).random


def _open_mesh():
    """Half of a sphere, which is not closed."""
    sphere = trimesh.creation.icosphere(subdivisions=2, radius=3)
    sphere.update_faces(sphere.triangles_center[:, 2] > 0)
    return sphere


_MESHES = {
    "unit_cube.STL": trimesh.creation.box,
    "unit_sphere.STL": lambda: trimesh.creation.icosphere(radius=0.5),
    "featuretype.STL": lambda: trimesh.creation.torus(2, 0.7),
    "teapot.stl": _open_mesh,
}


def get_mesh(name, use_embree=True):
    """A mesh with the properties that a test wants of the one with that name."""
    made = _MESHES[name]()
    return trimesh.Trimesh(made.vertices, made.faces, use_embree=use_embree)
