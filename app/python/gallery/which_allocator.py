# %% [markdown]
# # Which allocator fits my kernel?
# Record what the kernel asks for, let all allocators answer the same requests, and compare time and memory. Here
# the kernel is that of the tree's builder; for a kernel of your own the adaptor `Tracing<A>`
# (allocators/measure/tracing.cuh) records the same file.

# %%
import pathlib
import subprocess
import sys
import tempfile

import heapwood

trace = pathlib.Path(tempfile.mkdtemp()) / "city.trace"
subprocess.run([sys.executable, "-m", "heapwood", "build", "gen:city:5000", "-q", "--allocator", "hybrid",
                "--device", "cpu", "--trace", trace], check=True, stdout=subprocess.DEVNULL)

# %% [markdown]
# Every turn answers all requests in a fresh pool, checks every block, and is timed by another turn. `progress` may
# be a function, too.

# %%
table = heapwood.replay(trace, device="cpu", repeat=5, progress=False)
done = table[(table.outcome == "done") & table.full].copy()
assert (done["counts.corrupt"] == 0).all() and (done["counts.failed"] == 0).all()
done["us_a_request"] = 1000 * done["ms.median"] / done["counts.requests"]
done["peak_KiB"] = done["peak_allocated_bytes"] / 1024
print(done[["allocator", "us_a_request", "slowdown", "peak_KiB"]].round(3).to_string(index=False))

# %% [markdown]
# The fastest may be so by chance. Others whose best sample is below its median are as good as it is; of these
# the one with the least memory is the choice. On a machine that does other work, raise `repeat`.

# %%
fastest = done.loc[done["ms.median"].idxmin()]
equal = done[done["ms.min"] <= fastest["ms.median"]]
choice = equal.loc[equal["peak_allocated_bytes"].idxmin()]
print(f"as fast as {fastest.allocator}: {', '.join(equal.allocator)}; the choice is {choice.allocator}")

# %% picture
import matplotlib.pyplot as plt

for row in done.itertuples():
    plt.plot(row.us_a_request, row.peak_KiB, "o")
    plt.annotate(row.allocator, (row.us_a_request, row.peak_KiB), xytext=(4, 4), textcoords="offset points")
plt.xlabel("microseconds a request")
plt.ylabel("KiB at the peak")
plt.margins(0.25)
plt.show()
