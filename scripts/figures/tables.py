"""Tables of Markdown made from the raw samples of results. Needs the standard library only.

The program writes the tables of one run as it ends (--markdown), and reads no result. These are made of
stored results, choose their rows and columns, and some join several series in one table.

Every function of TABLES takes a loaded document and words, and returns lines of Markdown.
"""

import pathlib
import statistics

NOT_FULL = "\\*"
OUTCOMES = {"pool_exhausted": "out of pool", "out_of_pool": "out of pool"}
NONE = "–"


class TableError(Exception):
    """A table that cannot be made from this result; the text says why."""


def markdown(head, rows):
    """A table whose first column is text."""
    right = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(row) + " |" for row in [head, right, *rows]]


def short_name(path):
    """The name of a scene: sponza for scenes/sponza.obj.xz."""
    return path if path.startswith("gen:") else pathlib.PurePath(path).name.split(".obj")[0]


def _digits(value):
    """Three digits, without an exponent; with commas from a thousand on."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value < 0.01:
        return f"{value:.2g}"
    return f"{value:.{max(0, 3 - len(f'{value:.0f}'))}f}" if value >= 1 else f"{value:.3f}"


def outcome_text(word):
    """As people say it: "pool_exhausted" is out of pool."""
    return OUTCOMES.get(word, word.replace("_", " "))


def _title(entry):
    return entry["name"] + ("" if entry["full"] or entry.get("baseline") else NOT_FULL)


def _median(samples):
    return statistics.median(samples)


def _listed(document, wanted):
    """The allocators of a result, or those that are wanted, in this order."""
    entries = {entry["name"]: entry for entry in document["allocators"]}
    unknown = [name for name in wanted if name not in entries]
    if unknown:
        raise TableError(f"has no {unknown[0]}")
    return [entries[name] for name in wanted or entries]


def provenance(document):
    """One sentence: what was measured where, with what, and when."""
    p = document["provenance"]
    cuda = f", CUDA {p['cuda']}" if p.get("cuda") else ""
    turns = f"medians of {p['repeat']} turns" if p.get("repeat") else "medians"
    return [f"{p['device']}{cuda}, heapwood {p['version']} ({p['git']}), {p['date'][:10]}; {turns}."]


def scenes(document):
    """What a build of each scene is: of an allocator that answers request by request."""
    rows = []
    for scene in document["scenes"]:
        cells = [c for c in document["cells"] if c["scene"] == scene["path"] and c["tree"]]
        full = [c for c in cells if c["build"]["full_allocator"] and c["allocations"]]
        if not full:
            continue
        tree, asked = full[0]["tree"], full[0]["allocations"]
        rows.append([
            short_name(scene["path"]), f"{scene['triangles']:,}",
            f"{tree['references_per_triangle']:.2f}", f"{asked['requests']:,}",
            f"{asked['mean_bytes']:,.0f}", f"{asked['deviation_bytes']:,.0f}",
            f"{asked['peak_live_bytes'] / 2**20:.1f} MiB", f"{tree['sah_1_1_5']:.1f}",
            f"`{tree['digest']}`",
        ])
    return markdown(
        ["scene", "triangles", "N_ref", "N_alloc", "mean B", "deviation B", "peak live",
         "SAH(1, 1.5)", "digest"], rows)


def _cells(document, pool):
    cells = {}
    for cell in document["cells"]:
        if cell["pool"] == pool:
            cells[cell["build"]["allocator"], cell["scene"]] = cell
    if not cells:
        raise TableError(f"has no pool {pool}")
    return cells


def slowdown(document, pool, *names):
    """Times of atomicmalloc, or slowdowns over it; the fastest full allocator in bold."""
    cells = _cells(document, pool)
    rows = []
    for entry in _listed(document, names):
        row = [_title(entry)]
        for scene in document["scenes"]:
            cell = cells.get((entry["name"], scene["path"]))
            row.append(_build_text(entry, cell, cells, scene["path"]))
        rows.append(row)
    return markdown([pool, *(short_name(s["path"]) for s in document["scenes"])], rows)


def _build_text(entry, cell, cells, scene):
    if cell is None:
        return NONE
    if cell["outcome"] != "done":
        return outcome_text(cell["outcome"])
    median = _median(cell["build"]["ms"]["samples"])
    # Where atomicmalloc ran out of this pool, the result has its time with another one.
    if entry["name"] == "atomicmalloc" or cell["build"]["slowdown"] is None:
        return f"{median:.3f} ms"
    reference = cells.get(("atomicmalloc", scene))
    if reference is not None and reference["outcome"] == "done":
        ratio = median / _median(reference["build"]["ms"]["samples"])
    else:
        ratio = cell["build"]["slowdown"]
    text = f"{ratio:.2f}x"
    return f"**{text}**" if cell["fastest_full"] else text


def fragmentation(document, pool):
    """Internal / external after the build, then at its peak, in per cent."""
    cells = _cells(document, pool)
    rows = []
    for entry in _listed(document, ()):
        row = [_title(entry)]
        for scene in document["scenes"]:
            row.append(_fragmentation_text(cells.get((entry["name"], scene["path"]))))
        if any(text != NONE for text in row[1:]):
            rows.append(row)
    return markdown([pool, *(short_name(s["path"]) for s in document["scenes"])], rows)


def _fragmentation_text(cell):
    f = cell and cell["fragmentation"]
    if not f or not f["peak"] or None in (f["internal"], f["peak"]["internal"]):
        return NONE
    percent = [f"{100 * v:.0f}" for v in (f["internal"], f["external"], f["peak"]["internal"],
                                          f["peak"]["external"])]
    return "{} / {}, {} / {}".format(*percent)


def points(document, series, metric, phase):
    """{(allocator, x): median, or the outcome of a cell without one} of a series."""
    values = {}
    for cell in document["cells"]:
        if cell["series"] != series:
            continue
        spread = cell["metrics"].get(metric, {}).get(phase)
        key = cell["allocator"], cell["x"]
        if spread:
            values[key] = _median(spread["samples"])
        elif cell["outcome"] != "done":
            values[key] = outcome_text(cell["outcome"])
    return values


def series(document, name, metric="ms", phase="warm"):
    """A table of medians: a row an allocator, a column a point."""
    values = points(document, name, metric, phase)
    if not values:
        raise TableError(f"has no {metric} of {name}")
    axis = sorted({x for _, x in values if x is not None})
    rows = [
        [_title(entry), *(figure_text(values.get((entry["name"], x))) for x in axis)]
        for entry in _listed(document, ())
        if any((entry["name"], x) in values for x in axis)
    ]
    return markdown([name, *(place_text(x) for x in axis)], rows)


def place_text(x):
    """A point of an axis: 2 Ki for 2048."""
    for power, unit in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if x >= 1024**power and x % 1024**power == 0:
            return f"{x / 1024**power:.0f} {unit}"
    return f"{x:,.0f}"


def figure_text(value):
    """A median with three digits; text, as of an outcome, stays."""
    if value is None:
        return NONE
    return value if isinstance(value, str) else _digits(value)


# Columns of `synthetic`: title, series, x, metric.
_SYNTHETIC = (
    ("16 B", "alloc.thread.100000", 16, "alloc_ms"),
    ("256 B", "alloc.thread.100000", 256, "alloc_ms"),
    ("1 KiB", "alloc.thread.100000", 1024, "alloc_ms"),
    ("8 KiB", "alloc.thread.100000", 8192, "alloc_ms"),
    ("16 B, free", "alloc.thread.100000", 16, "free_ms"),
    ("warps 16 B", "alloc.warp.10000", 16, "alloc_ms"),
    ("warps 1 KiB", "alloc.warp.10000", 1024, "alloc_ms"),
    ("warps 8 KiB", "alloc.warp.10000", 8192, "alloc_ms"),
    ("ACD 4 B", "acd.payload", 4, "ms"),
)


def synthetic(document):
    """The survey in one table: medians of warm iterations in microseconds, pool use, registers."""
    columns = [
        [title, {name: value for (name, x), value in
                 points(document, of, metric, "warm").items() if x == place}]
        for title, of, place, metric in _SYNTHETIC
    ]
    used = points(document, "oom", "utilisation", "value")
    alone = points(document, "registers", "uncoalesced", "value")
    together = points(document, "registers", "coalesced", "value")
    rows = []
    for entry in _listed(document, ()):
        name = entry["name"]
        if entry.get("baseline"):
            continue
        row = [_title(entry)]
        for _, values in columns:
            value = values.get(name)
            row.append(figure_text(value * 1000 if isinstance(value, float) else value))
        for size in (64, 4096):
            value = used.get((name, size))
            row.append(f"{value:.2f}" if isinstance(value, float) else figure_text(value))
        pair = alone.get((name, None)), together.get((name, None))
        row.append(" / ".join(f"{v:.0f}" if isinstance(v, float) else NONE for v in pair))
        rows.append(row)
    head = ["µs", *(title for title, _ in columns), "pool used, 64 B", "4 KiB", "registers"]
    return markdown(head, rows)


def registers(document):
    """Registers of a thread: an allocation and a deallocation, published ones, the build kernel."""
    rows = []
    for entry in _listed(document, ()):
        cells = [c for c in document["cells"] if c["build"]["allocator"] == entry["name"]]
        known = [c for c in cells if c["registers"]]
        if not known:
            continue
        ours, published = known[0]["registers"], known[0].get("published_registers") or {}
        row = [_title(entry)]
        for kind in ("uncoalesced", "coalesced"):
            row.append(_text_of(ours[kind] and ours[kind]["registers"]))
            row.append(_text_of(published.get(kind)))
        row += [_text_of(ours["build"]), _text_of(ours["spill_bytes"])]
        rows.append(row)
    return markdown(["registers", "each lane alone", "published", "lanes together", "published",
                     "build kernel", "its local memory, bytes"], rows)


def _text_of(count):
    return NONE if count is None else str(count)


TABLES = {
    table.__name__: table
    for table in (provenance, scenes, slowdown, fragmentation, registers, series, synthetic)
}
