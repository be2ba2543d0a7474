"""One figure for a result of `heapwood compare`: all scenes in a row for each allocator."""

import statistics

from figures import canvas
from figures.style import FAINT, INK, REFERENCE

_DOT, _MEAN = "#9DB8D2", "#0B4F8A"


def figures(result):
    """[(name, figure)]: one for each pool with a slowdown of every scene; fastest first."""
    drawn = []
    for pool in result.document["pools"]:
        cells = result.cells[(result.cells.pool == pool) & (result.cells.allocator != REFERENCE)]
        cells = cells.dropna(subset=["slowdown"])
        if len(cells) and cells.slowdown.min() > 0:
            drawn.append((f"summary-{pool}", _summary(result, pool, cells)))
    return drawn


def _summary(result, pool, cells):
    means = {
        name: statistics.geometric_mean(rows.slowdown)
        for name, rows in cells.groupby("allocator", sort=False)
    }
    names = sorted(means, key=means.get)
    scenes = result.cells.scene.nunique()
    page = canvas.Canvas(
        1, 1, 5.2, 0.2 + 0.17 * len(names), left=canvas.names_width(map(result.name, names)),
        right=0.2,
    )
    figure, (axes,) = page.draw(
        f"Build time with each allocator over {REFERENCE}, pool {pool}",
        f"light: one of {scenes} scenes; dark: their geometric mean; logarithmic",
        ["* not full: memory returns with the whole pool, or in the order of a ring, only.",
         f"Medians of {result.provenance['repeat']} builds. {result.where()}"],
    )
    canvas.logarithmic_x(axes, min(0.9, cells.slowdown.min() / 1.1), cells.slowdown.max() * 1.5,
                         unit="x")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [result.name(name) for name in names], fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.axvline(1, color=INK, linewidth=0.8)
    for place, name in enumerate(names):
        values = cells[cells.allocator == name].slowdown
        axes.hlines(place, values.min(), values.max(), color=FAINT, linewidth=0.5)
        axes.plot(values, [place] * len(values), "o", color=_DOT, markersize=3, markeredgewidth=0)
        axes.plot(means[name], place, "D", color=_MEAN, markersize=4, markeredgewidth=0)
        axes.annotate(
            f"{means[name]:.2f}x", (values.max(), place), xytext=(6, 0),
            textcoords="offset points", fontsize=6.5, va="center",
        )
    return figure
