"""What rays meet, without a tree."""

import numpy as np


def hits_by_brute_force(scene, origins, directions):
    """Every ray against every triangle, by Cramer's rule in double precision.

    Returns t of shape (rays, triangles), NaN where there is no hit, and how far the ray's point is
    inside the triangle: near 0 no test can be sure.
    """
    corners = scene.vertices[scene.triangles].astype(np.float64)
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    o, d = np.float64(origins)[:, None], np.float64(directions)[:, None]
    p = np.cross(d, ac)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / np.einsum("...i,...i", p, np.broadcast_to(ab, p.shape))
        u = np.einsum("...i,...i", o - a, p) * inverse
        q = np.cross(o - a, ab)
        v = np.einsum("...i,...i", np.broadcast_to(d, q.shape), q) * inverse
        t = np.einsum("...i,...i", np.broadcast_to(ac, q.shape), q) * inverse
        inside = np.minimum(np.minimum(u, v), 1 - u - v)
    return np.where((inside >= 0) & (t >= 0), t, np.nan), np.minimum(inside, t)
