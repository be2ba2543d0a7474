"""The published tables of builds beside ours. Needs the standard library only."""

import pathlib
import statistics

from figures import tables

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "published"
# Scenes of ours that the papers have, under their names, with about as many triangles.
SCENES = {
    "sponza": "sponza",
    "crytek_sponza": "crytek_sponza",
    "conference": "conference",
    "dragon_871k": "dragon",
}


def read(name):
    """(head, scenes, {row: {scene: text}}) of a file of scripts/published."""
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    names = lines[1].split("\t")[1:]
    rows = {}
    for line in lines[2:]:
        title, *values = line.split("\t")
        rows[title] = dict(zip(names, values))
    return lines[0][3:].split("\t"), names, rows


def _ours(document, pool, row, scene):
    """The slowdown of a row's allocator in our result, as text."""
    name = row.split("*")[0].split("_")[0].lower()
    found = {
        cell["build"]["allocator"]: cell
        for cell in document["cells"]
        if cell["pool"] == pool and tables.short_name(cell["scene"]) == scene
    }
    cell, reference = found.get(name), found.get("atomicmalloc")
    if cell is None or reference is None:
        return tables.NONE
    if cell["outcome"] != "done" or reference["outcome"] != "done":
        return tables.NONE
    own, base = (statistics.median(c["build"]["ms"]["samples"]) for c in (cell, reference))
    return f"{own:.2f} ms" if name == "atomicmalloc" else f"{own / base:.2f}"


def published(document, name, pool):
    """A row an allocator: what the paper has / what we have, for each scene that both have."""
    _, names, rows = read(name)
    ours = [tables.short_name(scene["path"]) for scene in document["scenes"]]
    shared = [(mine, theirs) for mine, theirs in SCENES.items() if mine in ours and theirs in names]
    if not shared:
        raise tables.TableError("has no scene of the published table")
    lines = []
    for title, values in rows.items():
        allocator = title.split("*")[0].split("_")[0]
        if len(allocator) < 6 or allocator == "deviation":
            continue  # facts of the scene
        forms = document["provenance"].get("forms", {})
        page = str(forms.get("page_bytes", forms.get("page", 4096)))
        if allocator == "ScatterAlloc" and title.split("_")[-1] != page:
            continue
        unit = " ms" if title.endswith("_ms") else ""
        line = [allocator + ("\\*" if "*" in title else "")]
        for mine, theirs in shared:
            line.append(f"{values[theirs]}{unit} / {_ours(document, pool, title, mine)}")
        lines.append(line)
    return tables.markdown(["published / ours", *(mine for mine, _ in shared)], lines)
