# %% [markdown]
# # Ambient occlusion of a mesh
# How much of the sky each point of a surface sees: rays in random directions from each point, of which
# `any_hit` says whether they meet anything.

# %%
import heapwood
import numpy as np

scene = heapwood.load("scenes/models/stepped_pyramid.obj")
tree = heapwood.build(scene)
width, height = 200, 150
eye, target = np.array([24.0, 22.0, 30.0]), np.array([0.0, 2.0, 0.0])
forward = (target - eye) / np.linalg.norm(target - eye)
right = np.cross(forward, [0, 1, 0])
right /= np.linalg.norm(right)
up = np.cross(right, forward)
x, y = np.meshgrid(np.linspace(-0.44, 0.44, width), np.linspace(0.3, -0.36, height))
directions = forward + x[..., None] * right + y[..., None] * up
hits = tree.hits(eye, directions)
print(f"{hits.mask.sum():,} points on {len(tree.triangles)} triangles")

# %% [markdown]
# A random point of the unit sphere, added to the normal, is a direction of the hemisphere around it, and more
# likely near it, as light counts there. `t_min` keeps a ray from the surface that it leaves; what is farther away
# than `t_max` hides no sky. Origins (N, 1, 3) and directions (N, 64, 3) are 64 N rays.

# %%
rng = np.random.default_rng(1)
points, normals = hits.points[hits.mask], hits.normals[hits.mask]
normals = np.where(np.sum(normals * directions[hits.mask], axis=1, keepdims=True) > 0, -normals, normals)
sphere = rng.normal(size=(len(points), 64, 3))
sphere /= np.linalg.norm(sphere, axis=-1, keepdims=True)
occluded = tree.any_hit(points[:, None], normals[:, None] + sphere, t_min=1e-3, t_max=8)
open_sky = 1 - occluded.mean(axis=1)
print(f"{occluded.size:,} rays; a point sees {open_sky.mean():.0%} of its sky, the darkest {open_sky.min():.0%}")
assert 0 <= open_sky.min() < 0.5 < open_sky.max() == 1

# %% picture
import matplotlib.pyplot as plt

picture = np.ones((height, width))
picture[hits.mask] = open_sky
plt.imshow(picture, cmap="gray", vmin=0, vmax=1)
plt.axis("off")
plt.show()
