"""Lets trimesh take heapwood's intersector for its fast one."""

import sys
import types

import trimesh

from heapwood.trimesh import RayMeshIntersector

fast = types.ModuleType("trimesh.ray.ray_pyembree")
fast.RayMeshIntersector = RayMeshIntersector
sys.modules[fast.__name__] = trimesh.ray.ray_pyembree = fast
trimesh.ray.has_embree = True
assert isinstance(trimesh.creation.box().ray, RayMeshIntersector)
