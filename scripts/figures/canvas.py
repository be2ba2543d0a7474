"""A figure as a grid of panels of fixed size, with a title above and notes below."""

import math
import textwrap

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from figures import labels
from figures.style import FAINT, INK

_SMALL = 6.5  # points, of notes


class Canvas:
    """Panels of `width` x `height` inches each, with room at their sides for names."""

    def __init__(self, number, columns, width, height, *, left=0.6, right=0.2):
        self.columns = min(columns, number)
        self._rows = math.ceil(number / self.columns)
        # A single narrow panel is made as wide as the title and the notes need.
        width = max(width, 4.6 / self.columns - left - right)
        self._cell = (left + width + right, height + 0.72)
        self._panel = (width, height)
        self._left = left
        self._number = number

    def draw(self, title, subtitle, notes):
        """The figure and its panels, row by row."""
        width = self.columns * self._cell[0]
        fitting = int((width - 0.2) * 72 / _SMALL / 0.55)
        lines = [line for note in notes for line in textwrap.wrap(note, fitting)]
        subtitle = textwrap.fill(subtitle, fitting)
        above = 0.42 + 0.12 * subtitle.count("\n")
        below = 0.12 + len(lines) * _SMALL * 1.3 / 72
        height = above + self._rows * self._cell[1] + below
        figure = Figure(figsize=(width, height))
        figure.text(0.1 / width, 1 - 0.08 / height, title, fontsize=10, weight="bold", va="top")
        figure.text(
            0.1 / width, 1 - 0.27 / height, subtitle, fontsize=_SMALL, color=FAINT, va="top"
        )
        figure.text(
            0.1 / width, 0.06 / height, "\n".join(lines), fontsize=_SMALL, color=FAINT, va="bottom"
        )
        panels = []
        for index in range(self._number):
            row, column = divmod(index, self.columns)
            x = column * self._cell[0] + self._left
            y = height - above - (row + 1) * self._cell[1] + 0.45
            panels.append(
                figure.add_axes(
                    (x / width, y / height, self._panel[0] / width, self._panel[1] / height)
                )
            )
        return figure, panels


def names_width(names):
    """Inches that the longest of the names takes beside a panel, with its leader."""
    return 0.25 + max(map(len, names), default=0) * labels.FONT_POINTS * 0.6 / 72


def short_number(value, _=None):
    """Few digits: 0.25, 16, 8192, 64Ki for 65536, 100K, 1.5M."""
    for power, unit in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if value >= 1e4 and value % 1024**power == 0 and value < 1e4 * 1024**power:
            return f"{value / 1024**power:.4g}{unit}"
    for power, unit in ((12, "T"), (9, "G"), (6, "M"), (3, "K")):
        if abs(value) >= max(10**power, 1e4):
            return f"{value / 10**power:.3g}{unit}"
    return f"{value:.4g}"


def scale_x(axes, values, log):
    """An axis with ticks at the measured places, as many as have room."""
    values = sorted(set(values))
    if log:
        axes.set_xscale("log", base=2)
    every = math.ceil(len(values) / 7)
    axes.xaxis.set_major_locator(FixedLocator(values[::every]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(short_number))


def logarithmic_x(axes, low, high, unit=""):
    """A logarithmic axis with no more ticks than have room."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    subs = (1, 2, 5) if high / low < 200 else (1, 3) if high / low < 3000 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=10))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short_number(x) + unit))


def scale_y(axes, values, log):
    """An axis for the values: logarithmic, for those that are positive, or from zero."""
    values = np.asarray(values, dtype=float)
    if log and (values > 0).any():
        axes.set_yscale("log")
        low, high = values[values > 0].min(), values.max()
        room = max(high / low, 2) ** 0.05
        axes.set_ylim(low / room, high * room)
        wide = high / low > 30
        subs = (1,) if high / low > 1e4 else (1, 3) if wide else (1, 2, 5)
        axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=20))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(short_number))
        if len([t for t in axes.get_yticks() if low / room <= t <= high * room]) < 2:
            axes.yaxis.set_minor_formatter(FuncFormatter(short_number))
    elif len(values):
        axes.set_ylim(min(0, values.min()), values.max() * 1.05 or 1)


def line(axes, x, spread, look, label=None):
    """A line through medians with a thin bar from the smallest to the largest sample."""
    axes.plot(x, spread["median"], label=label, **look)
    axes.vlines(x, spread["min"], spread["max"], color=look["color"], linewidth=0.7, alpha=0.6)


def row_text(axes, row, text, x):
    """A word in the place of a bar."""
    axes.text(x, row, text, fontsize=_SMALL, style="italic", va="center", color=INK)
