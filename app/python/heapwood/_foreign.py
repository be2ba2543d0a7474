"""Files of other formats, which trimesh reads where it is installed."""

import os

from heapwood.errors import SceneError

_SUFFIXES = (".ply", ".stl", ".off", ".glb", ".gltf")


def reads(path):
    """Whether a file's name says that it is one of them."""
    return path.lower().endswith(_SUFFIXES)


def meshes(path):
    """The meshes of a file, each where it is placed.

    Raises:
        SceneError: there is no trimesh, or it cannot read the file, or finds no triangles.
    """
    try:
        import trimesh
    except ImportError:
        raise SceneError(f"{path}: trimesh reads such files, and is not installed: pip install trimesh, or save the "
                         "scene as an OBJ file") from None
    if not os.path.isfile(path):
        raise SceneError(f"{path}: is no file; name one that can be read")
    try:
        found = trimesh.load_scene(path, process=False, skip_materials=True).dump(concatenate=False)
    except Exception as error:  # whatever a reader comes upon
        raise SceneError(f"{path}: trimesh cannot read it: {type(error).__name__}: {error}") from None
    found = [mesh for mesh in found if len(getattr(mesh, "faces", ()))]
    if not found:
        raise SceneError(f"{path}: has no triangles; name a file of a mesh")
    return found
