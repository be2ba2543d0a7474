"""Names at the ends of lines, moved apart where they would overlap."""

import numpy as np

from figures.style import FAINT, INK

FONT_POINTS = 7
_GAP_POINTS = 8.5  # from one baseline to the next


def spread(wanted, gap, low, high):
    """Positions at least `gap` apart, in the order of `wanted`, as near to it as can be.

    The sum of squared shifts is the smallest possible: where neighbours crowd, they become a block
    around the mean of what they wanted (the pool-adjacent-violators algorithm). All lie within
    [low, high] if that is long enough, else they are centred on it.
    """
    order = np.argsort(wanted, kind="stable")
    # Less i gaps, positions need only not decrease.
    targets = np.asarray(wanted, dtype=float)[order] - gap * np.arange(len(wanted))
    blocks = []  # [mean, number]
    for target in targets:
        blocks.append([target, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, number = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * number) / (before[1] + number)
            before[1] += number
    lowest, highest = low, high - gap * (len(wanted) - 1)
    if highest < lowest:
        lowest = highest = (lowest + highest) / 2
    placed = np.empty(len(wanted))
    settled = np.repeat([mean for mean, _ in blocks], [number for _, number in blocks])
    placed[order] = np.clip(settled, lowest, highest) + gap * np.arange(len(wanted))
    return placed


def height_for(number):
    """Inches that an axis needs so that so many labels fit beside it."""
    return number * _GAP_POINTS / 72


def label_ends(axes, ends):
    """Writes each name to the right of the axes, with its marker and a thin line from its end.

    `ends` are (name, x, y, look), looks as `Styles.line` has them; limits and layout of the axes
    must be final.
    """
    if not ends:
        return
    pixels = axes.figure.dpi / 72
    box = axes.get_window_extent()
    points = axes.transData.transform([end[1:3] for end in ends])
    heights = spread(points[:, 1], _GAP_POINTS * pixels, box.y0, box.y1)
    to_axes = axes.transAxes.inverted()
    for (name, x, y, look), end, height in zip(ends, points, heights):
        at = to_axes.transform((box.x1 + 18 * pixels, height))
        # Level as far as the axes go: a slanting line among the data would look like data.
        edge = to_axes.transform((box.x1 + 2 * pixels, end[1]))
        outside = {"transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}
        axes.plot(
            *zip(to_axes.transform(end), edge, at),
            color=look["color"],
            linewidth=0.5,
            alpha=0.5,
            **outside,
        )
        axes.plot(
            *at,
            color=look["color"],
            marker=look["marker"],
            markersize=look["markersize"],
            markerfacecolor=look.get("markerfacecolor", look["color"]),
            markeredgewidth=look["markeredgewidth"],
            **outside,
        )
        axes.annotate(
            name,
            at,
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=FONT_POINTS,
            color=FAINT if look["color"] == FAINT else INK,
            va="center_baseline",
            annotation_clip=False,
        )
