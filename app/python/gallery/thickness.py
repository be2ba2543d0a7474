# %% [markdown]
# # Thickness by all hits
# An X-ray: how much of a closed body lies on each ray. `all_hits` has every triangle on the way, front to back.

# %%
import heapwood
import numpy as np

scene = heapwood.load("scenes/models/trefoil.obj")
tree = heapwood.build(scene)
(x0, y0, z0), (x1, y1, z1) = scene.bounds
size = 220
x = x0 + (np.arange(size) + 0.5) * (x1 - x0) / size
y = y1 - (np.arange(size) + 0.5) * (y1 - y0) / size
origins = np.stack(np.broadcast_arrays(x[None], y[:, None], z0 - 1), axis=-1).reshape(-1, 3)
offsets, t, triangle, _ = tree.all_hits(origins, [0, 0, 1])
print(f"{len(t):,} hits of {len(origins):,} rays, at most {np.diff(offsets).max()} of one")

# %% [markdown]
# A ray enters where the surface faces it and leaves where it does not. Length inside is the sum of t where it
# leaves, less that where it enters: no pairs have to be found, and a ray that touches an edge, where it meets two
# triangles, is right if both face the same way. Such rays aside, each enters as often as it leaves.

# %%
a, b, c = scene.vertices[scene.triangles].astype(float).transpose(1, 0, 2)
leaves = np.sign(np.cross(b - a, c - a)[:, 2])[triangle]
ray = np.repeat(np.arange(len(origins)), np.diff(offsets))
closed = np.bincount(ray, leaves, len(origins)) == 0
thickness = np.where(closed, np.bincount(ray, leaves * t, len(origins)), np.nan)
print(f"{(~closed).sum()} rays through an edge are left out")

# %% [markdown]
# The mean over all rays, times the area, is the body's volume. Its triangles give the same by the divergence
# theorem.

# %%
volume = np.nanmean(thickness) * (x1 - x0) * (y1 - y0)
exact = np.einsum("ij,ij", a, np.cross(b, c)) / 6
print(f"volume by rays {volume:.2f}, by triangles {exact:.2f}")
assert abs(volume / exact - 1) < 0.01

# %% picture
import matplotlib.pyplot as plt

plt.imshow(thickness.reshape(size, size), cmap="magma")
plt.colorbar(label="length inside")
plt.axis("off")
plt.show()
