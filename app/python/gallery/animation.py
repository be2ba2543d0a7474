# %% [markdown]
# # An animation
# A surface that moves: a `Builder` makes its tree again for each frame, and rays go through it. Where there is a GPU
# and CuPy, the same lines run there: vertices, trees, rays and results stay on the GPU.

# %%
import time

import heapwood
import numpy as xp

if heapwood.cuda_available():
    try:
        import cupy as xp
    except ImportError:
        print("no CuPy, so arrays are NumPy's")
device = "cpu" if xp.__name__ == "numpy" else "cuda"

# %% [markdown]
# A pond of 96 x 96 x 2 triangles. Waves change its vertices, not its triangles.

# %%
n = 97
corner = (xp.arange(n - 1)[:, None] * n + xp.arange(n - 1)).ravel()
triangles = xp.concatenate([xp.stack([corner, corner + 1, corner + n], 1),
                            xp.stack([corner + 1, corner + n + 1, corner + n], 1)])
x, y = xp.meshgrid(xp.linspace(-1, 1, n), xp.linspace(-1, 1, n))


def vertices(second):
    waves = [xp.cos(14 * xp.hypot(x - cx, y - cy) - 6 * second) for cx, cy in ((-0.5, 0.3), (0.6, -0.4))]
    return xp.stack([x, y, 0.03 * (waves[0] + waves[1])], -1).reshape(-1, 3)


# %% [markdown]
# Each frame: a tree, rays of the sun from above, and how steeply they meet the water.

# %%
pixel = (xp.arange(160) + 0.5) / 80 - 1
origins = xp.stack(xp.broadcast_arrays(pixel[None], -pixel[:, None], 9.0), -1).astype("float32")
down = xp.asarray([0, 0, -1], dtype="float32")
builder = heapwood.Builder(triangles, device=device)
frames, start = [], time.perf_counter()
for frame in range(4):
    builder.rebuild(vertices(frame / 12).astype("float32"))
    hits = builder.hits(origins, down)
    assert hits.mask.all()
    frames.append(xp.abs(hits.normals @ xp.asarray([0.5, 0.5, 0.7], dtype="float32")))
seconds = (time.perf_counter() - start) / len(frames)
print(f"{1000 * seconds:.0f} ms a frame of {len(triangles):,} triangles and {hits.t.size:,} rays, on {builder.device}")

# %% picture
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 4, figsize=(7, 2))
for axis, picture in zip(axes, frames):
    axis.imshow(picture.get() if hasattr(picture, "get") else picture, cmap="Blues_r")
    axis.axis("off")
plt.show()
