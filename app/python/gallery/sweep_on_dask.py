# %% [markdown]
# # A sweep on Dask
# Many measurements as one table, by the workers of a cluster; here two of this process. For workers on other
# machines only the line that makes the client changes. Each measurement is a program of its own in any case.

# %%
import pathlib
import tempfile

import distributed
import heapwood

cells = heapwood.cells(scene=["gen:city:2000", "gen:sphere:2000", "gen:hair:2000"],
                       allocator=["atomicmalloc", "cambium", "halloc"], repeat=5, device="cpu")
print(len(cells), "cells, the first is", cells[0])

# %% [markdown]
# `resume` names a file in which each result is noted: after Ctrl-C, or when the machine was switched off, the
# same call goes on from there. A worker that dies costs a retry.

# %%
notes = pathlib.Path(tempfile.mkdtemp()) / "sweep.jsonl"
with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
    table = heapwood.sweep(cells, client.get_executor(), resume=notes, progress=False)

# %% [markdown]
# A row is a sample, and says where it was measured. All allocators build the same tree.

# %%
assert set(table.outcome) == {"done"} and table.groupby("scene")["tree.digest"].nunique().eq(1).all()
print(len(table), "samples; noted in the file are", len(notes.read_text().splitlines()), "cells")
medians = table.pivot_table(index="scene", columns="allocator", values="ms", aggfunc="median")
print(medians.round(2).to_string())

# %% picture
import matplotlib.pyplot as plt

axis = medians.plot.barh(figsize=(5, 2.6), xlabel="ms to build the tree", ylabel="")
axis.legend(fontsize="small")
plt.show()
