"""Every output of every verb, and whether a file is what the verb writes."""

import json
import re
import zlib

from command_line import DONE, MODELS, run
from schemas import violations

GEM = MODELS / "gem.obj"
SCENE = "gen:city:600"
CPU = ("--device", "cpu", "--threads", "2")
FEW = ("-a", "cmalloc,halloc", "--repeat", "2")

# The arguments of each verb without its outputs and recorded inputs, and the options that name outputs.
VERBS = {
    "build": (("build", SCENE, *CPU, "-a", "halloc", "--repeat", "1"),
              ("--json", "--html", "--trace", "--out")),
    "compare": (("compare", SCENE, *CPU, *FEW), ("--json", "--html")),
    "bench": (("bench", "ad", *CPU, *FEW, "--quick"), ("--json", "--html")),
    "replay": (("replay", *CPU, *FEW), ("--json", "--html")),
    "trace": (("trace", SCENE, *CPU, "--rays", "1000", "--repeat", "1"), ("--json", "--html")),
    "render": (("render", GEM, *CPU, "--size", "64x64"), ("--json", "--html", "-o")),
    "inspect": (("inspect", SCENE, *CPU), ("--json", "--html", "--boxes")),
    "list": (("list",), ("--json", "--html")),
}
NAMES = {"--json": "x.json", "--html": "x.html", "--trace": "x.trace", "--out": "x.kdt",
         "-o": "x.png", "--boxes": "x.ply"}
JOURNALED = ("compare", "bench", "replay")


def record_inputs(place):
    """Records in a folder what some verbs read: by verb, the file's path."""
    inputs = {"replay": place / "recorded.trace"}
    result = run("build", SCENE, "--repeat", 1, "--trace", inputs["replay"])
    assert result.returncode == DONE, result.stderr
    return inputs


def arguments(verb, inputs):
    """The command line of a verb without outputs."""
    return (*VERBS[verb][0], inputs[verb]) if verb in inputs else VERBS[verb][0]


def is_whole_json(verb, data):
    return violations(json.loads(data), verb) == []


def is_whole_trace(data):
    header, _, calls = data.partition(b"\n")
    json.loads(header)
    lines = calls.splitlines()[1:]
    # What a finished build has asked for, it has freed.
    return data.endswith(b"\n") and 2 * sum(line[:1] == b"f" for line in lines) == len(lines)


def is_whole_tree(data):
    return data[:4] == b"\x89KDT" and len(data) == int.from_bytes(data[16:24], "little")


def is_whole_png(data):
    end = b"\0\0\0\0IEND" + zlib.crc32(b"IEND").to_bytes(4, "big")
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data.endswith(end)


def is_whole_ply(data):
    header, _, body = data.partition(b"end_header\n")
    vertices, faces = map(int, re.findall(rb"element \w+ (\d+)\n", header))
    return header.startswith(b"ply\n") and len(body) == 12 * vertices + 22 * faces


def is_whole(verb, option, data):
    """Whether the data is all that the verb writes for that option."""
    if option == "--json":
        return is_whole_json(verb, data)
    if option == "--html":
        return data.rstrip().endswith(b"</html>")
    return {"--trace": is_whole_trace, "--out": is_whole_tree, "-o": is_whole_png,
            "--boxes": is_whole_ply}[option](data)
