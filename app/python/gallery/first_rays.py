# %% [markdown]
# # First rays
# A scene, its tree, a ray for each pixel, and a picture of what they hit.

# %%
import heapwood
import numpy as np

scene = heapwood.load("scenes/models/trefoil.obj")  # or vertices and triangles, or a mesh of trimesh
tree = heapwood.build(scene)
print(tree)
print(tree.digest, "is the tree's digest on every machine and with every allocator")

# %% [markdown]
# One ray is an origin and a direction, which need not have length 1. A ray without a hit has t = infinity.

# %%
t, triangle, barycentrics = tree.closest_hit([0, 0, 10], [0.1, 0.2, -1])
print(f"t = {t:.4f}, triangle {triangle}, barycentrics {barycentrics.round(3)}")

# %% [markdown]
# A camera is one origin and a direction for each pixel: shapes broadcast as NumPy's do, and results have the
# shape of the picture.

# %%
width, height = 240, 180
x = np.linspace(-1, 1, width)
y = np.linspace(0.75, -0.75, height)
directions = np.stack(np.broadcast_arrays(x[None], y[:, None], -1.9), axis=-1)
hits = tree.hits([0, 0, 9], directions)
print(hits.t.shape, f"{hits.mask.mean():.1%} of the pixels show the knot")
assert np.allclose(hits.points[hits.mask], ([0, 0, 9] + hits.t[..., None] * directions)[hits.mask], atol=1e-4)

# %% [markdown]
# Normals and points are NaN where there is no hit, so no pixel shows a triangle that its ray missed.

# %%
light = np.array([0.5, 0.7, 0.5])
shade = np.abs(hits.normals @ (light / np.linalg.norm(light)))
colour = heapwood.interpolate(hits, (scene.vertices - scene.bounds[0]) / np.ptp(scene.bounds, axis=0), fill=1)
picture = np.where(hits.mask[..., None], colour * shade[..., None], 1)

# %% picture
import matplotlib.pyplot as plt

plt.imshow(picture)
plt.axis("off")
plt.show()
