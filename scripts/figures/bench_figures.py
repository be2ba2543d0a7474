"""The figures of `heapwood bench`: one for each series, a panel for each metric."""

import pandas as pd

from figures import canvas, labels
from figures.results import outcome_text
from figures.style import Styles, published_line

_PHASES = {"cold": ", first iteration", "warm": "", "value": ""}


def figures(result):
    """Yields (name, figure) of every series that has a figure to show."""
    for series in result.document["series"]:
        cells = result.cells[result.cells.series == series["id"]]
        panels = _panels(series, cells)
        if panels:
            draw = _lines if cells.x.nunique() > 1 else _bars
            yield series["id"].replace(".", "-"), draw(result, series, cells, panels)


def _panels(series, cells):
    """(title, metric, phase, cells) of each, warm ones first."""
    panels = []
    for phase in ("warm", "cold", "value"):
        for metric in series["metrics"]:
            here = cells[(cells.metric == metric["name"]) & (cells.phase == phase)]
            if here["median"].notna().any():
                unit = "" if metric["unit"] == "1" else f" ({metric['unit']})"
                title = metric["title"] + _PHASES[phase] + unit
                panels.append((title, metric, phase, here.dropna(subset=["median"])))
    return panels


def _subtitle(series, cells):
    """What the series is called and follows; and its place on the axis, if it has but one."""
    source = f"; after {series['source']}" if series.get("source") else ""
    place = ""
    if series["x"] is not None and cells.x.nunique() == 1:
        place = f"; {series['x']['title']}: {canvas.short_number(cells.x.iloc[0])}"
    return f"{series['id']}{source}{place}"


def _failures(series, cells):
    """In words, where who failed and how; one entry for a run of the same failure."""
    once = cells.drop_duplicates(["allocator", "x"])
    entries = []
    for (name, outcome), rows in once[once.outcome != "done"].groupby(
        ["allocator", "outcome"], sort=False
    ):
        where = ""
        if series["x"] is not None:
            places = [canvas.short_number(x) for x in sorted(rows.x)]
            if len(places) == once.x.nunique():
                where = " everywhere"
            elif len(places) > 3:
                where = f" at {len(places)} places from {places[0]} to {places[-1]}"
            else:
                where = f" at {', '.join(places)}"
        entries.append(f"{name} {outcome_text(outcome)}{where}")
    return [f"Without a figure: {'; '.join(entries)}."] if entries else []


def _notes(result, series, cells):
    stars = ["* no full allocator."] if _starred(result, cells) else []
    published = result.document.get("published", [])
    others = [line["source"] for line in published if line["series"] == series["id"]]
    sources = [f"Grey: {source}." for source in dict.fromkeys(others)]
    where = f"Medians; bars from least to most. {result.where()}"
    return [*_failures(series, cells), *stars, *sources, where]


def _starred(result, cells):
    return any(result.full.get(name) is False for name in cells.allocator.unique())


def _published(result, series, metric, phase):
    """The published lines beside ours: (name, [(x, value)]). They were measured warm.

    A time of 0 there is a run that failed.
    """
    if phase == "cold":
        return []
    return [
        (f"{line['name']} ({line['device']})", pairs)
        for line in result.document.get("published", [])
        if line["series"] == series["id"] and line["metric"] == metric["name"]
        for pairs in [[point for point in zip(line["x"], line["values"]) if point[1]]]
        if pairs
    ]


def _lines(result, series, cells, panels):
    styles = Styles(result.full)
    published = [_published(result, series, metric, phase) for _, metric, phase, _ in panels]
    names = [result.name(name) for name in cells.allocator.unique()]
    labelled = names + [name for lines in published for name, _ in lines]
    most = max(
        here.allocator.nunique() + len(lines) for (_, _, _, here), lines in zip(panels, published)
    )
    page = canvas.Canvas(
        len(panels),
        2,
        2.9,
        max(2.2, labels.height_for(most)),
        right=canvas.names_width(labelled) + 0.1,
    )
    figure, all_axes = page.draw(
        series["title"], _subtitle(series, cells), _notes(result, series, cells)
    )
    for axes, (title, metric, _, here), lines in zip(all_axes, panels, published):
        values = [*here["min"], *here["max"], *(v for _, pairs in lines for _, v in pairs)]
        axes.set_title(title)
        axes.set_xlabel(series["x"]["title"])
        places = [*cells.x, *(x for _, pairs in lines for x, _ in pairs)]
        canvas.scale_x(axes, places, series["x"]["log"])
        positive = [value for value in values if value > 0]
        wide = positive and max(positive) / min(positive) > 50
        # Of a percentage 0 is a figure, which has to be seen.
        canvas.scale_y(
            axes, values, metric["unit"] == "ms" or (wide and metric["unit"] != "%")
        )
        ends = []
        for place, (name, pairs) in enumerate(lines):
            look = published_line(place)
            x, y = zip(*pairs)
            axes.plot(x, y, **look)
            ends.append((name, x[-1], y[-1], look))
        for name, rows in here.groupby("allocator", sort=False):
            rows = rows.sort_values("x")
            look = styles.line(name)
            canvas.line(axes, rows.x, rows, look)
            last = rows.iloc[-1]
            ends.append((result.name(name), last.x, last["median"], look))
        axes.margins(x=0.05)
        axes.autoscale_view(scaley=False)
        labels.label_ends(axes, ends)
    return figure


def _bars(result, series, cells, panels):
    """A row for each allocator: a point, and a line from the least to the most."""
    names = list(cells.allocator.unique())
    page = canvas.Canvas(
        len(panels),
        3,
        2.2,
        0.2 + 0.16 * len(names),
        left=canvas.names_width(map(result.name, names)),
        right=0.3,
    )
    figure, all_axes = page.draw(
        series["title"], _subtitle(series, cells), _notes(result, series, cells)
    )
    for axes, (title, metric, _, here) in zip(all_axes, panels):
        rows = here.set_index("allocator").reindex(names)
        known = pd.concat([rows["min"], rows["max"]]).dropna()
        axes.set_title(title)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [result.name(name) for name in names], fontsize=7)
        axes.tick_params(axis="y", length=0)
        log = metric["unit"] == "ms" and known.min() > 0 and known.max() / known.min() > 10
        if log:
            canvas.logarithmic_x(axes, known.min() / 1.3, known.max() * 2.2)
        else:
            axes.set_xlim(0, known.max() * 1.25 or 1)
        for place, (_, row) in enumerate(rows.iterrows()):
            if pd.isna(row["median"]):
                canvas.row_text(axes, place, "–", axes.get_xlim()[0])
                continue
            axes.hlines(place, row["min"], row["max"], color="#0B4F8A", linewidth=1.5)
            axes.plot(row["median"], place, "o", color="#0B4F8A", markersize=4)
            axes.annotate(
                canvas.short_number(float(f"{row['median']:.3g}")),
                (row["max"], place),
                xytext=(5, 0),
                textcoords="offset points",
                fontsize=6.5,
                va="center",
            )
    return figure
