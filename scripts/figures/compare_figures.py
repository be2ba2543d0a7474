"""The figures of `heapwood compare`: slowdown per scene, time against pool size."""

import pathlib

import numpy as np

from figures import canvas, labels
from figures.results import outcome_text
from figures.style import FAINT, GRID, INK, REFERENCE, Styles

_BAR, _FASTEST = "#9DB8D2", "#0B4F8A"


def figures(result):
    """Yields (name, figure) of each."""
    for pool in result.document["pools"]:
        cells = result.cells[result.cells.pool == pool]
        done = cells[cells.outcome == "done"]
        if len(done) and done.slowdown.notna().all():
            yield f"slowdown-{pool}", _slowdown(result, pool, cells)
        else:
            yield f"time-{pool}", _time(result, pool, cells)
    if len(result.document["pools"]) > 1:
        yield "pool-size", _pool_size(result)


def _scene_names(scenes):
    """Short names by path: bunny for models/bunny.obj.xz, unless two were the same."""
    short = {
        path: path if path.startswith("gen:") else pathlib.PurePath(path).name.split(".obj")[0]
        for path in scenes
    }
    return short if len(set(short.values())) == len(short) else {path: path for path in scenes}


def _notes(result, *more):
    p = result.provenance
    incomplete = [] if result.document["complete"] else ["Incomplete: not all cells were measured."]
    starred = "* no full allocator: memory returns with the whole pool, or in ring order, only."
    stars = [starred] if False in result.full.values() else []
    medians = f"Medians of {p['repeat']} builds. {result.where()}"
    return [*more, *stars, *incomplete, medians]


def _rows(result, cells, title, subtitle, notes):
    """A figure, and for each scene a panel with its cells, a row for each allocator."""
    names = list(cells.allocator.unique())
    scenes = list(cells.scene.unique())
    left = canvas.names_width(map(result.name, names))
    page = canvas.Canvas(
        len(scenes), 3, 1.9, 0.2 + 0.16 * len(names), left=left, right=0.35
    )
    figure, panels = page.draw(title, subtitle, notes)
    parts = []
    for axes, (scene, title) in zip(panels, _scene_names(scenes).items()):
        rows = cells[cells.scene == scene].set_index("allocator").reindex(names)
        parts.append((axes, rows))
        axes.set_title(title)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [result.name(name) for name in names], fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        for tick, fastest in zip(axes.get_yticklabels(), rows.fastest):
            tick.set_fontweight("bold" if fastest is True else "normal")
    return figure, parts


def _slowdown(result, pool, cells):
    """Bars from 1x, the time of the reference; the way left of it is faster."""
    others = sorted(set(cells[cells.outcome == "done"].baseline) - {pool})
    elsewhere = [f"Where {REFERENCE} was not done: over its time with pool {', '.join(others)}."]
    figure, panels = _rows(
        result,
        cells,
        f"Slowdown against {REFERENCE}, pool {pool}",
        f"T_build over {REFERENCE}'s on the same scene; logarithmic",
        _notes(
            result, "Dark and bold: the fastest full allocator.", *(elsewhere if others else [])
        ),
    )
    known = cells.slowdown.dropna()
    low, high = min(0.8, known.min() / 1.1), max(2, known.max() * 1.9)
    for axes, rows in panels:
        canvas.logarithmic_x(axes, low, high, unit="x")
        axes.axvline(1, color=INK, linewidth=0.8)
        for place, (name, row) in enumerate(rows.iterrows()):
            if np.isnan(row.slowdown):
                canvas.row_text(axes, place, outcome_text(str(row.outcome)), 1.04)
                continue
            axes.barh(
                place,
                row.slowdown - 1,
                left=1,
                height=0.66,
                color=_FASTEST if row.fastest else _BAR,
                hatch=None if result.full[name] else "////",
                edgecolor="white",
                linewidth=0,
            )
            text = f"{row.slowdown:.2f}x" if row.slowdown < 10 else f"{row.slowdown:.1f}x"
            axes.text(max(row.slowdown, 1) * 1.04, place, text, fontsize=6.5, va="center")
    return figure


def _time(result, pool, cells):
    """Points with a line from the fastest to the slowest build, where there is no reference."""
    figure, panels = _rows(
        result,
        cells,
        f"T_build, pool {pool}",
        f"milliseconds, logarithmic; no slowdowns, for some scene has no time of {REFERENCE}",
        _notes(result, "Dark and bold: the fastest full allocator."),
    )
    for axes, rows in panels:
        axes.set_xlabel("ms")
        known = rows["median"].dropna()
        low, high = (known.min(), known.max()) if len(known) else (1, 1)
        canvas.logarithmic_x(axes, low / 1.3, high * 2.2)
        for place, (_, row) in enumerate(rows.iterrows()):
            if np.isnan(row["median"]):
                canvas.row_text(axes, place, outcome_text(str(row.outcome)), low / 1.25)
                continue
            colour = _FASTEST if row.fastest else FAINT
            axes.hlines(place, low / 1.3, row["median"], color=GRID, linewidth=1)
            axes.hlines(place, row["min"], row["max"], color=colour, linewidth=1.5)
            axes.plot(row["median"], place, "o", color=colour, markersize=4)
            axes.text(
                row["max"] * 1.08, place, f"{row['median']:.3g}", fontsize=6.5, va="center"
            )
    return figure


def _failures(cells):
    """In words, who had no time where."""
    failed = cells[cells["median"].isna()]
    names = _scene_names(cells.scene.unique())
    entries = []
    for (name, pool, outcome), rows in failed.groupby(
        ["allocator", "pool", "outcome"], sort=False
    ):
        everywhere = rows.scene.nunique() == cells.scene.nunique()
        where = "" if everywhere else " in " + ", ".join(names[scene] for scene in rows.scene)
        entries.append(f"{name} at {pool}{where} ({outcome_text(outcome)})")
    return [f"Without a time: {'; '.join(entries)}."] if entries else []


def _pool_size(result):
    cells = result.cells.dropna(subset=["multiple"])
    names = list(cells.allocator.unique())
    styles = Styles(names)
    scenes = list(cells.scene.unique())
    page = canvas.Canvas(
        len(scenes),
        2,
        2.6,
        max(2.0, labels.height_for(len(names))),
        right=canvas.names_width(map(result.name, names)) + 0.1,
    )
    figure, panels = page.draw(
        "Build time against pool size",
        "T_build in ms against the pool as a multiple of the root node's array; logarithmic",
        _notes(result, *_failures(cells)),
    )
    for axes, (scene, title) in zip(panels, _scene_names(scenes).items()):
        here = cells[cells.scene == scene].dropna(subset=["median"])
        axes.set_title(title)
        axes.set_ylabel("ms")
        axes.set_xlabel("pool / root array")
        # Allocators round a pool to what they can use: one tick for all that was one pool.
        pools = cells[cells.scene == scene].groupby("pool").multiple.max()
        canvas.scale_x(axes, [float(f"{multiple:.3g}") for multiple in pools], log=True)
        canvas.scale_y(axes, [*here["min"], *here["max"]], log=True)
        ends = []
        for name, rows in here.groupby("allocator", sort=False):
            rows = rows.sort_values("multiple")
            look = styles.line(name)
            canvas.line(axes, rows.multiple, rows, look)
            last = rows.iloc[-1]
            ends.append((result.name(name), last.multiple, last["median"], look))
        axes.margins(x=0.06)
        axes.autoscale_view(scaley=False)
        labels.label_ends(axes, ends)
    return figure
