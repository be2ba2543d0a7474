"""The best full allocator of every cell beside those that Heapwood would have be it.

Needs the standard library only. As figures/tables.py: a document and words in, Markdown out.
"""

import collections
import math
import statistics

from figures import tables

OURS = ("halloc", "hybrid", "cambium")
CLOSE = 1.05  # ours from here on stand in bold: they are behind
NEAR = 1.25  # what counts as near in the table of one allocator
MORE_IS_BETTER = ("utilisation", "utilisation_all")
# Shares that are often 0: how many times as much one has says nothing.
NO_RATIO = ("internal", "external", "refused")

# Cells that share what is measured. `cells` is [(place, {allocator: figure, or outcome as text})].
Group = collections.namedtuple("Group", "name unit more cells")
# Groups beside each other in one table.
Section = collections.namedtuple("Section", "name title axis groups")


def frontier(document):
    """Every cell: the best full allocator, ours, and how many times the best ours take."""
    ours, lines = _ours(document), []
    for section in _sections(document):
        groups = section.groups
        head = [section.axis]
        for group in groups:
            head += [f"{group.name}, {group.unit}: best", *ours, "ours"]
        rows = collections.defaultdict(lambda: [tables.NONE] * (len(head) - 1))
        for i, group in enumerate(groups):
            width = 2 + len(ours)
            for place, values in group.cells:
                rows[place][i * width:(i + 1) * width] = _cell(values, group, ours)
        lines += ["" if lines else None, f"### {section.name}", "", f"{section.title}.", ""]
        lines += tables.markdown(head, [[place, *row] for place, row in rows.items()])
    return [line for line in lines if line is not None]


def frontier_summary(document):
    """A row for each thing measured: in how many cells ours are the best, else how far behind."""
    ours = _ours(document)
    lines = [f"Full allocators in these samples: {', '.join(_full(document))}."]
    lacking = [name for name in OURS if name not in ours]
    if lacking:
        lines.append(f"Not in them: {', '.join(lacking)}.")
    rows, every = [], []
    for section in _sections(document):
        for group in section.groups:
            ratios, (worst, place, best) = _behind_best(group, ours)
            counts = _counts(ratios)
            every += ratios
            rows.append([
                f"{section.name}, {group.name}", *map(str, counts),
                _times(statistics.median(ratios)),
                *([_times(worst), place, best] if worst > 1 else [tables.NONE] * 3),
            ])
    cells, first, near = _counts(every)
    lines.append(f"Of {cells} cells, ours are the best in {first}, and within 5 % in {near}.")
    head = ["", "cells", "best", "within 5 %", "median", "worst", "at", "best there"]
    return [*lines, "", *tables.markdown(head, rows)]


def distance(document, name):
    """How far one full allocator is from the best one in the times of bench: warm, then cold."""
    if document["kind"] != "bench":
        raise tables.TableError("has no tests")
    if name not in _full(document):
        raise tables.TableError(f"has no full allocator {name!r}")
    rows = collections.defaultdict(lambda: [tables.NONE] * 4)
    totals = []
    for i, phase in enumerate(("warm", "cold")):
        every = []
        for section in _sections(document, phase):
            for group in section.groups:
                ratios, (worst, place, best) = _behind_best(group, [name])
                every += ratios
                rows[f"{section.name}, {group.name}"][2 * i:2 * i + 2] = [
                    _near(ratios),
                    f"{_times(worst)} at {place}, {best}" if worst > 1 else tables.NONE]
        totals.append(f"{phase} {_near(every)}")
    lines = [f"Cells in which {name} takes at most {NEAR} times as long as the best full allocator: "
             f"{'; '.join(totals)}."]
    head = ["", "warm: near", "furthest", "cold: near", "furthest"]
    return [*lines, "", *tables.markdown(head, [[title, *row] for title, row in rows.items()])]


def _full(document):
    return [entry["name"] for entry in document["allocators"]
            if entry["full"] and not entry.get("baseline")]


def _ours(document):
    names = _full(document)
    ours = [name for name in OURS if name in names]
    if not ours:
        raise tables.TableError(f"has none of {', '.join(OURS)}")
    return ours


def _sections(document, phase=None):
    """All cells in which some full allocator has a figure; of a phase only, what is timed in it."""
    sections = _builds(document) if document["kind"] == "compare" else _tests(document, phase)
    full = set(_full(document))
    found = []
    for section in sections:
        groups = []
        for group in section.groups:
            cells = [(place, {name: values[name] for name in values if name in full})
                     for place, values in group.cells]
            cells = [cell for cell in cells if _figures(cell[1])]
            if cells:
                groups.append(group._replace(cells=cells))
        if groups:
            found.append(section._replace(groups=groups))
    if not found:
        raise tables.TableError("has no figures of full allocators")
    return found


def _builds(document):
    groups = []
    for pool in document["pools"]:
        cells = []
        for scene in document["scenes"]:
            values = {}
            for cell in document["cells"]:
                if (cell["pool"], cell["scene"]) == (pool, scene["path"]):
                    done = cell["outcome"] == "done"
                    values[cell["build"]["allocator"]] = (
                        statistics.median(cell["build"]["ms"]["samples"]) if done
                        else tables.outcome_text(cell["outcome"]))
            cells.append((tables.short_name(scene["path"]), values))
        groups.append(Group(pool, "ms", False, cells))
    return [Section("build", "Builds of the kernel, by pool", "scene", groups)]


def _tests(document, phase):
    for series in document["series"]:
        groups = []
        for metric in series["metrics"]:
            if metric["name"] in NO_RATIO or (phase and not metric["timed"]):
                continue
            by_place = collections.defaultdict(dict)
            found = tables.points(document, series["id"], metric["name"],
                                  phase or ("warm" if metric["timed"] else "value"))
            scale, unit = (1000, "µs") if metric["unit"] == "ms" else (1, metric["unit"])
            refused = _refused(document, series["id"]) if metric["timed"] else ()
            for (allocator, x), value in found.items():
                if (allocator, x) in refused:
                    value = "refused"
                by_place[x][allocator] = value if isinstance(value, str) else scale * value
            cells = [(tables.NONE if x is None else tables.place_text(x), by_place[x])
                     for x in sorted(by_place, key=lambda x: x or 0)]
            more = metric["name"] in MORE_IS_BETTER
            groups.append(Group(metric["title"], "share" if unit == "1" and more else unit,
                                more, cells))
        axis = series["x"]["title"] if series["x"] else ""
        yield Section(series["id"], series["title"], axis, groups)


def _refused(document, series):
    """Cells with a request that was refused: their times are of less work."""
    return {(cell["allocator"], cell["x"]) for cell in document["cells"]
            if cell["series"] == series and cell["counts"] and cell["counts"]["failed"]}


def _figures(values):
    return {name: value for name, value in values.items() if not isinstance(value, str)}


def _best(values, group):
    figures = _figures(values)
    return (max if group.more else min)(figures, key=figures.get)


def _ratio(values, group, ours):
    """How many times the best figure ours have, at least 1.

    Infinite if none of ours has a figure, and if the best is 0 and ours are not.
    """
    figures = _figures(values)
    own = {name: figures[name] for name in ours if name in figures}
    if not own:
        return math.inf
    pair = own[_best(own, group)], figures[_best(values, group)]
    more, less = max(pair), min(pair)
    if more == less:
        return 1
    return more / less if less > 0 else math.inf


def _behind_best(group, ours):
    """The ratios of all cells; then the largest one, with its place and what is best there."""
    found = [(_ratio(values, group, ours), place, _best(values, group))
             for place, values in group.cells]
    return [ratio for ratio, _, _ in found], max(found, key=lambda entry: entry[0])


def _near(ratios):
    return f"{sum(ratio <= NEAR for ratio in ratios)} of {len(ratios)}"


def _counts(ratios):
    """How many there are, in how many ours are the best, and in how many close to it."""
    near = sum(not _behind(ratio) for ratio in ratios)
    return len(ratios), sum(ratio == 1 for ratio in ratios), near


def _behind(ratio):
    return round(ratio, 2) >= CLOSE


def _times(ratio):
    return "∞" if ratio == math.inf else f"{ratio:.2f}x"


def _cell(values, group, ours):
    ratio = _ratio(values, group, ours)
    best = _best(values, group)
    word = "best" if ratio == 1 else _times(ratio)
    return [f"{best} {tables.figure_text(values[best])}",
            *(tables.figure_text(values.get(name)) for name in ours),
            f"**{word}**" if _behind(ratio) else word]
