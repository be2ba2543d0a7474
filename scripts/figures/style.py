"""How the figures look: in print, in grey, and to the colour-blind.

No series is told by its colour alone: each has a marker, a dash pattern and its name at its end.
"""

import itertools

import matplotlib

# Drawn into files only: a script must not need a display.
matplotlib.use("Agg")

# The colours of Okabe & Ito (2008) with a wine red for their yellow, which is lost on white paper;
# black is the reference's own. Seven, four and nine have no common factor, so that no two of the
# first 252 allocators look alike.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

# An allocator looks the same in every figure: new ones come last here. Others follow in the order
# in which they are met.
_KNOWN = (
    "cmalloc cfmalloc cmmalloc cfmmalloc cdmalloc hybrid buddy cudamalloc awmalloc "
    "scatteralloc fdgmalloc halloc xmalloc ouroboros-p-s ouroboros-p-va ouroboros-p-vl "
    "ouroboros-c-s ouroboros-c-va ouroboros-c-vl gallatin llvm-libc dynasoar flatterscatter "
    "bulkalloc cambium kma"
).split()
REFERENCE = "atomicmalloc"

INK = "#222222"
FAINT = "#6A6A6A"
GRID = "#DDDDDD"

matplotlib.rcParams.update(
    {
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.labelsize": 8,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "legend.frameon": False,
        # Text stays text: small files, searchable, and the reader's own font.
        "svg.fonttype": "none",
        # The same figure is the same file.
        "svg.hashsalt": "heapwood",
    }
)


def published_line(place):
    """The look of others' published figures: grey, thin and hollow; `place` tells them apart."""
    return {
        "color": FAINT,
        "linestyle": _DASHES[1 + place % 3],
        "marker": _MARKERS[place % len(_MARKERS)],
        "markersize": 3,
        "markerfacecolor": "white",
        "markeredgewidth": 0.5,
        "linewidth": 0.7,
    }


class Styles:
    """The look of every allocator that is drawn, as keywords of `Axes.plot`."""

    def __init__(self, names):
        others = [name for name in names if name not in _KNOWN and name != REFERENCE]
        order = [*_KNOWN, *dict.fromkeys(others)]
        looks = zip(itertools.cycle(_COLOURS), itertools.cycle(_DASHES), itertools.cycle(_MARKERS))
        self._looks = dict(zip(order, looks))
        self._looks[REFERENCE] = ("black", "-", "o")

    def line(self, name):
        """Colour, dashes and marker of a line."""
        colour, dash, marker = self._looks[name]
        return {
            "color": colour,
            "linestyle": dash,
            "marker": marker,
            "markersize": 3.5,
            "markeredgewidth": 0,
            "linewidth": 1.6 if name == REFERENCE else 1.1,
        }
