"""Made-up results in the shapes of `heapwood compare --json` and `heapwood bench --json`."""

ALLOCATORS = ("atomicmalloc", "awmalloc", "cudamalloc", "cmalloc", "hybrid", "buddy")
NOT_FULL = ("atomicmalloc", "awmalloc")

PROVENANCE = {
    "arguments": ["heapwood", "compare"],
    "version": "0.1.0",
    "git": "0123abc",
    "build_type": "Release",
    "compiler": "GNU 12.2.0",
    "cuda": "13.0",
    "device": "Made-up GPU",
    "device_units": 132,
    "driver": "13.0",
    "runtime": "13.0",
    "configuration": {"preset": "default", "leaf_limit": 2},
    "repeat": 5,
    "warm_up": 1,
    "threads": 0,
    "presplit": "levels",
    "host_pool": "on",
    "time_limit_s": 120,
    "date": "2026-11-21T23:00:00Z",
}


def spread(median, number=5, width=0.02):
    """Samples around a median, and what a result says of them."""
    middle = number // 2
    samples = [median * (1 + width * (i - middle) / max(middle, 1)) for i in range(number)]
    return {
        "median": samples[middle],
        "min": samples[0],
        "max": samples[-1],
        "samples": samples[1:] + samples[:1],
    }


def compare_cell(scene, pool, allocator, ms, outcome="done", slowdown=None, baseline=None,
                 fastest=False):
    """A cell of compare; `ms` is a spread, or None if it is not done."""
    done = ms is not None
    kernel = {"registers": 24, "stack_bytes": 0, "spill_store_bytes": 0, "spill_load_bytes": 0}
    return {
        "scene": scene,
        "pool": pool,
        "outcome": outcome,
        "message": None if done else f"the pool of {allocator} </script> & so on",
        "fastest_full": fastest,
        "baseline_pool": baseline,
        "build": {
            "method": "single",
            "allocator": allocator,
            "full_allocator": allocator not in NOT_FULL,
            "device": "gpu",
            "arrays": "every",
            "pool_bytes": int(float(pool.rstrip("x")) * 2222432),
            "pool_multiple": float(pool.rstrip("x")) * (0.9996 if allocator == "hybrid" else 1),
            "minimal_pool_bytes": None,
            "overhead_bytes": 8 if done else None,
            "leaked_bytes": 0 if done else None,
            "ms": ms,
            "slowdown": slowdown,
            "upload_ms": 1.5 if done else None,
            "pool_ms": 0.7 if done else None,
            "warps": 2640 if done else None,
        },
        "memory": {"pool_bytes": 1000, "total_bytes": 1500} if done else None,
        "tree": {"references_per_triangle": 3.72, "sah_1_1_5": 84.61,
                 "digest": "fd39d48d3ed2b2c9"} if done else None,
        "allocations": {
            "requests": 64000 if allocator in NOT_FULL else 128000,
            "frees": 128000,
            "failed": 0,
            "mean_bytes": 441.8,
            "deviation_bytes": 10127.3,
            "peak_live_bytes": 6200000,
            "histogram": [],
        }
        if done
        else None,
        "fragmentation": {
            "internal": 0.03 if done else None,
            "external": 0.75 if done else None,
            "peak": {"live_bytes": 6200000, "allocated_bytes": 6300000, "internal": 0.1,
                     "external": 0.7} if done else None,
        },
        "registers": {"build": 96, "spill_bytes": 0, "architecture": "sm_90",
                      "uncoalesced": kernel, "coalesced": None} if done else None,
        "published_registers": {"uncoalesced": 16, "coalesced": None},
    }


def compare(scenes=("bunny.obj.xz", "models/a & <b>.obj"), pools=("200x", "20x"),
            allocators=ALLOCATORS, factor=1.0):
    """A whole result; atomicmalloc runs out of the last of several pools, cmalloc hangs there."""
    cells = []
    for number, scene in enumerate(scenes):
        for pool in pools:
            times = {
                name: factor * (number + 1) * 0.8 * (20 if name == "cudamalloc" else 1 + 0.3 * i)
                for i, name in enumerate(allocators)
            }
            small = pool == pools[-1] and len(pools) > 1
            reference = times.get("atomicmalloc")
            baseline = (pools[0] if small else pool) if reference else None
            full = [name for name in allocators if name not in (*NOT_FULL, "cmalloc")]
            fastest = min(full, key=times.get, default=None)
            for name in allocators:
                failed = {"atomicmalloc": "pool_exhausted", "cmalloc": "hang"}.get(name)
                if small and failed:
                    cells.append(compare_cell(scene, pool, name, None, failed, baseline=baseline))
                else:
                    slowdown = times[name] / reference if reference else None
                    cells.append(compare_cell(scene, pool, name, spread(times[name]),
                                              slowdown=slowdown, fastest=name == fastest,
                                              baseline=baseline))
    return {
        "schema": 1,
        "kind": "compare",
        "complete": True,
        "provenance": dict(PROVENANCE),
        "pools": list(pools),
        "allocators": [
            {"name": name, "title": name.title(), "source": "made up",
             "full": name not in NOT_FULL, "method": "single"}
            for name in allocators
        ],
        "scenes": [
            {"path": path, "digest": "0123456789abcdef", "triangles": 69451 * (i + 1),
             "vertices": 35947, "degenerate": 0,
             "bounds": {"lo": [0, 0, 0], "hi": [1, 1, 1]}, "root_bytes": 2222432}
            for i, path in enumerate(scenes)
        ],
        "cells": cells,
    }


TIMED = [
    {"name": "alloc_ms", "title": "allocation", "unit": "ms", "timed": True},
    {"name": "free_ms", "title": "deallocation", "unit": "ms", "timed": True},
]


def series(name, test, title, x, metrics):
    """A series as bench lists it; x is (name, title, log) or None."""
    if x is not None:
        x = dict(zip(("name", "title", "log"), x))
    return {"id": name, "test": test, "title": title, "source": "Made up 2026, figure 1", "x": x,
            "metrics": metrics}


SERIES = (
    (series("ad.payload", "ad", "Allocate, deallocate", ("bytes", "payload, bytes", True),
            TIMED[:1]), (4, 64, 1024)),
    (series("alloc.thread.100000", "alloc", "One request a thread, 100,000 threads",
            ("bytes", "bytes requested", True), TIMED), (16, 256, 1024, 65536)),
    (series("fragmentation", "fragmentation", "Range of addresses",
            ("bytes", "bytes requested", True),
            [{"name": "range", "title": "address range / bytes", "unit": "1", "timed": False}]),
     (16, 256, 4096)),
    (series("oom", "oom", "How full the pool is", ("bytes", "bytes requested", True),
            [{"name": "utilisation", "title": "requested / pool", "unit": "1", "timed": False}]),
     (16, 256, 4096)),
    (series("churn.live", "churn", "A live set", ("live", "live set, % of the pool", True),
            [{"name": "alloc_p50", "title": "allocation, median call", "unit": "cycles",
              "timed": False},
             {"name": "refused", "title": "requests refused", "unit": "%", "timed": False}]),
     (30, 60, 90)),
    (series("init", "init", "Making the pool", None,
            [{"name": "init_ms", "title": "making", "unit": "ms", "timed": False},
             {"name": "reset_ms", "title": "resetting", "unit": "ms", "timed": True}]), (None,)),
    (series("registers", "registers", "Registers", None,
            [{"name": "uncoalesced", "title": "each lane on its own", "unit": "1",
              "timed": False},
             {"name": "coalesced", "title": "lanes together", "unit": "1", "timed": False}]),
     (None,)),
)


def bench_cell(name, allocator, x, metrics, outcome="done"):
    """A cell of bench."""
    return {
        "series": name,
        "allocator": allocator,
        "x": x,
        "outcome": outcome,
        "message": None if outcome == "done" else "no answer",
        "parameters": {"by": "thread", "callers": 1, "requests": 1, "min_bytes": 4,
                       "max_bytes": 4, "pool_bytes": 1 << 28, "probability": None},
        "counts": None,
        "metrics": metrics,
    }


def replay(allocators=ALLOCATORS, factor=1.0):
    """A whole result; cmalloc hangs, atomicmalloc has no fragmentation to tell of."""
    results = []
    for i, name in enumerate(allocators):
        done = name != "cmalloc"
        ms = 0.2 * (1 + i) * factor
        results.append({
            "allocator": name,
            "title": name.title(),
            "full": name not in NOT_FULL,
            "outcome": "done" if done else "hang",
            "message": None,
            "callers": 64,
            "pool_bytes": 1 << 28,
            "ms": spread(ms) if done else None,
            "cold_ms": spread(2 * ms) if done else None,
            "slowdown": 1.0 + i if done else None,
            "calls_per_second": 1e6,
            "counts": None,
            "peak_allocated_bytes": 1e6,
            "peak_external": 0.5 if done and name != "atomicmalloc" else None,
            "end_external": 0.0,
        })
    return {
        "schema": 1,
        "kind": "replay",
        "provenance": {**PROVENANCE, "pool_bytes": 1 << 28},
        "trace": {"path": "traces/bunny.trace", "callers": 64, "requests": 1000, "frees": 1000,
                  "bytes": 5000, "largest_bytes": 64, "peak_bytes": 4000, "root_bytes": 64,
                  "header": {}},
        "results": results,
    }


def bench(allocators=ALLOCATORS, published=True, factor=1.0):
    """A whole result; cmalloc hangs at the largest x of every series."""
    cells = []
    for entry, xs in SERIES:
        for i, allocator in enumerate(allocators):
            for x in xs:
                if allocator == "cmalloc" and x == xs[-1] and len(xs) > 1:
                    cells.append(bench_cell(entry["id"], allocator, x, {}, "hang"))
                    continue
                metrics = {}
                for metric in entry["metrics"]:
                    base = factor * 0.01 * (i + 1) * (1 + (x or 1) ** 0.5 / 8)
                    if metric["timed"]:
                        metrics[metric["name"]] = {"cold": spread(3 * base, 3),
                                                   "warm": spread(base, 10)}
                    elif metric["name"] == "coalesced":
                        metrics[metric["name"]] = {"value": None}
                    elif metric["name"] == "refused":
                        # None at first, and of few allocators any; from there on widely apart.
                        metrics["refused"] = {"value": spread(0 if x == 30 else i**4 / 1e2)}
                    elif metric["unit"] in ("ms", "cycles"):
                        metrics[metric["name"]] = {"value": spread(base, 10)}
                    else:
                        metrics[metric["name"]] = {"value": spread(1 / (1 + base), 3)}
                cells.append(bench_cell(entry["id"], allocator, x, metrics))
    names = [
        {"name": name, "title": name.title(), "full": name not in NOT_FULL}
        for name in allocators
    ]
    # What needs no allocator, beside those that do.
    names.append({"name": "prefix-sum", "title": "A prefix sum", "full": False,
                  "baseline": True})
    for x in (4, 64, 1024):
        metrics = {"alloc_ms": {"cold": None, "warm": spread(0.004 * factor, 10)}}
        cells.append(bench_cell("ad.payload", "prefix-sum", x, metrics))
    result = {
        "schema": 1,
        "kind": "bench",
        "provenance": {**PROVENANCE, "arguments": ["heapwood", "bench"]},
        "allocators": names,
        "series": [entry for entry, _ in SERIES],
        "cells": cells,
    }
    if published:
        result["published"] = [
            {"series": "alloc.thread.100000", "name": "RegEff-C", "device": "TITAN V",
             "metric": "alloc_ms", "x": [16, 64, 256, 1024, 2048],
             "values": [2.66, 2.64, None, 3.1, 0],
             "source": "Winter et al. 2021"}
        ]
    return result
