"""Documents as pages hold them, for the tests of the page."""


def number(text, value=None, look="", note=""):
    """A cell as the page holds it."""
    return {"text": text, "value": value, "look": look, "note": note}


def table(title, columns, rows):
    """A table; columns whose names begin with # have numbers, whose cells are (text, value, ...)."""
    return {
        "title": title,
        "columns": [{"title": c.lstrip("#"), "numbers": c[0] == "#"} for c in columns],
        "rows": [[number(c) if isinstance(c, str) else number(*c) for c in row] for row in rows],
    }


def line(name, *points, **more):
    """A line of a plot: points are (x, y, text)."""
    return {"name": name, "points": [dict(zip(("x", "y", "text"), p)) for p in points],
            "strong": False, "partial": name.endswith("*"), "word": "", **more}


FACTORS = {"atomicmalloc*": 1, "cudamalloc": 20, "cmalloc": 1.9, "hybrid": 2.2, "buddy": 2.5}


def document():
    """A document with a table of words and numbers, bars and lines."""
    times = [[name, (f"{factor:.2f}x", factor, "best" if name == "hybrid" else "", "0.8 ms")]
             for name, factor in FACTORS.items()]
    times.append(["hung", ("hang", None, "failed", "the process </script> & so on")])
    bars = [line(name, (0, factor, f"{factor:.2f}x, 0.8 ms"), strong=name == "hybrid")
            for name, factor in FACTORS.items()]
    lines = [line(name, *((x, factor * x ** 0.5, f"{x}") for x in (20.2 if factor > 2 else 20,
                                                                   200)))
             for name, factor in FACTORS.items()]
    return {
        "title": "heapwood sample",
        "tables": [
            table("Scenes", ["scene", "#N_tris"],
                  [["bunny", ("69,451", 69451)], ["a & <b>", ("138,902", 138902)]]),
            table("Times", ["allocator", "#bunny"], times),
            table("Nothing", ["allocator"], []),
        ],
        "plots": [
            {"table": "Times", "title": "bunny", "x": "", "y": "x", "base": 1,
             "lines": bars + [line("hung", word="hang")]},
            {"table": "Times", "title": "bunny: all pools", "x": "pool, logarithmic", "y": "ms",
             "base": None, "lines": lines + [line("hung")]},
        ],
        "pools": [{"table": "Scenes", "title": "hybrid: the first 1.0 KiB", "pictures": [
            {"name": "at the peak", "blocks": "eeh.-" * 30, "fill": "19900" * 30},
            {"name": "after the build", "blocks": "." * 150, "fill": "0" * 150}]}],
        "remarks": [{"text": "* a <mark>", "warning": False}],
        "records": table("", ["scene", "#ms"], [["bunny", ("0.8", 0.8)], ["a & <b>", ("1", 1)]]),
        "data": {"schema": 1, "provenance": {
            "arguments": ["heapwood", "sample"], "version": "0.1.0", "git": "0123abc",
            "build_type": "Release", "compiler": "GNU 12.2.0", "device": "Made-up GPU",
            "cuda": None, "configuration": {"leaf_limit": 2}}},
    }


def wide_document():
    """The same with long titles and words, and a table of 40 columns."""
    shown = document()
    title = "Pool 200x: T_build of atomicmalloc in ms, slowdown of the others"
    shown["tables"][1]["title"] = title
    for plot in shown["plots"]:
        plot["table"] = title
    shown["records"] = table("", ["scene", *(f"#figure_number_{i}" for i in range(1, 40))], [
        [name, *((f"{i}", i) for i in range(1, 40))] for name in ("b", "a")])
    shown["data"]["scenes"] = [
        {"path": f"/home/user/{'very-' * 20}long/{name}.obj", "digest": "0" * 16}
        for name in ("one", "two", "three", "four", "five")]
    return shown
