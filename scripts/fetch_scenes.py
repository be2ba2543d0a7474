#!/usr/bin/env python3
"""Fetches the published scenes that scenes/catalogue.json lists, as OBJ files.

Needs Python 3.8 and nothing else. A download that broke off goes on where it stopped. A file gets
its name only once it is whole and its SHA-256 is right, so what is there can be used.

Exit codes: 0 done, 1 a scene could not be fetched or was refused, 2 wrong usage or catalogue.
"""

import argparse
import gzip
import hashlib
import http.client
import json
import lzma
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request
import zipfile
import zlib

from figures import program

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = 1 << 20
TIMEOUT_SECONDS = 60
KEYS = ("name", "title", "kind", "triangles", "vertices", "zero_area", "format", "url", "sha256",
        "author", "licence", "note")
FORMATS = ("obj", "zip", "ply", "ply.gz", "other")


class FetchError(Exception):
    """A scene that cannot be had; the text says why and what to do."""


class CatalogueError(Exception):
    """A catalogue that cannot be used."""


def say(line, file=None):
    """Prints a line, which may have words of the catalogue, of a server or of the command line."""
    print(program.printable(line), file=file)


def read_catalogue(path):
    """The scenes of a catalogue by name, in its order; every field is checked."""
    try:
        scenes = json.loads(path.read_text(encoding="utf-8"))["scenes"]
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CatalogueError(f"{path}: is not a catalogue: {error!r}") from error
    except RecursionError as error:
        raise CatalogueError(f"{path}: is not a catalogue: nested too deeply") from error
    if not isinstance(scenes, list) or not all(isinstance(scene, dict) for scene in scenes):
        raise CatalogueError(f"{path}: is not a catalogue: its scenes are no list of objects")
    by_name = {}
    for scene in scenes:
        missing = [key for key in KEYS if key not in scene]
        name = str(scene.get("name", "a scene without name"))
        for key in KEYS:
            kinds = int if key in ("triangles", "vertices", "zero_area") else (str, type(None))
            if key in scene and not isinstance(scene[key], kinds):
                raise CatalogueError(f"{path}: {name} has the wrong type of {key}")
        if missing:
            raise CatalogueError(f"{path}: {name} lacks {', '.join(missing)}")
        if not re.fullmatch(r"[a-z0-9_]+", name) or name in by_name:
            raise CatalogueError(f"{path}: bad or repeated name {name!r}")
        if scene["format"] not in FORMATS:
            raise CatalogueError(f"{path}: {name} has the unknown format {scene['format']!r}")
        if scene["sha256"] is not None and not re.fullmatch(r"[0-9a-f]{64}", scene["sha256"]):
            raise CatalogueError(f"{path}: {name} has a malformed sha256")
        by_name[name] = scene
    return by_name


def sha256_of(path):
    """The SHA-256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


def open_url(url, start):
    """Opens url from byte `start` if the server can do that, else from 0: (response, start)."""
    headers = {"User-Agent": "heapwood-fetch-scenes", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:
            return open_url(url, 0)
        raise FetchError(f"{url}: the server says {error.code} {error.reason}") from error
    except (urllib.error.URLError, OSError, ValueError, http.client.HTTPException) as error:
        raise FetchError(f"{url}: {getattr(error, 'reason', error)}") from error
    content_range = response.headers.get("Content-Range", "")
    if response.status == 206 and content_range.startswith(f"bytes {start}-"):
        return response, start
    if response.status == 206:
        response.close()
        return open_url(url, 0)
    return response, 0


def length_of(url, response):
    """How many bytes a response has, or None if the server does not say so."""
    length = response.headers.get("Content-Length")
    if length is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", length):
        raise FetchError(f"{url}: the server's Content-Length is {length[:40]!r}, which is no "
                         "number of bytes; fetch it from elsewhere, and save it as OBJ")
    return int(length)


def download(url, part):
    """Downloads url to the file `part`, going on after what is there already."""
    start = part.stat().st_size if part.exists() else 0
    response, start = open_url(url, start)
    with response:
        length = length_of(url, response)
        save(url, response, part, start, None if length is None else start + length)


def save(url, response, part, start, expected):
    """Writes a response to the file `part`, from byte `start` on; `expected`: bytes in the end."""
    with open(part, "ab" if start else "wb") as file:
        try:
            for block in iter(lambda: response.read(BLOCK), b""):
                file.write(block)
        except http.client.IncompleteRead as error:
            file.write(error.partial)
        except (OSError, http.client.HTTPException) as error:
            raise FetchError(f"{url}: broke off: {error}; run this again to go on") from error
        size = file.tell()
    if expected is not None and size != expected:
        raise FetchError(f"{url}: ended after {size} of {expected} bytes; run this again to go on")


def obj_of_ply(lines, out):
    """Writes the positions and faces of an ASCII PLY (an iterable of lines of bytes) as OBJ."""
    lines = iter(lines)
    if next(lines, b"").strip() != b"ply":
        raise FetchError("is not a PLY file")
    elements = []
    for line in lines:
        words = line.split()
        if words[:1] == [b"format"] and words[1] != b"ascii":
            raise FetchError("is a binary PLY; only ASCII is converted")
        if words[:1] == [b"element"]:
            elements.append((words[1], int(words[2]), []))
        if words[:1] == [b"property"]:
            elements[-1][2].append(words[-1])
        if words[:1] == [b"end_header"]:
            break
    for kind, count, properties in elements:
        for _ in range(count):
            words = next(lines, b"").split()
            if kind == b"vertex":
                xyz = [words[properties.index(axis)] for axis in (b"x", b"y", b"z")]
                out.write(b"v " + b" ".join(xyz) + b"\n")
            elif kind == b"face":
                corners = [b"%d" % (int(word) + 1) for word in words[1:1 + int(words[0])]]
                out.write(b"f " + b" ".join(corners) + b"\n")


def extract(scene, part, target):
    """Writes the OBJ that the downloaded file `part` holds to `target`."""
    try:
        with open(target, "wb") as out:
            if scene["format"] == "zip":
                with zipfile.ZipFile(part) as archive:
                    members = [m for m in archive.namelist() if m.lower().endswith(".obj")]
                    if len(members) != 1:
                        raise FetchError(f"the archive has {len(members)} OBJ files, not one")
                    with archive.open(members[0]) as member:
                        for block in iter(lambda: member.read(BLOCK), b""):
                            out.write(block)
            else:
                opener = gzip.open if scene["format"] == "ply.gz" else open
                with opener(part, "rb") as lines:
                    obj_of_ply(lines, out)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, IndexError,
            NotImplementedError, RuntimeError, lzma.LZMAError) as error:
        raise FetchError(f"cannot be unpacked: {error}") from error


def count_triangles(path):
    """Triangles of an OBJ file, polygons cut in triangles."""
    count = 0
    with open(path, "rb") as lines:
        for line in lines:
            words = line.split(b"#")[0].split()
            if words and words[0] in (b"f", b"fo"):
                count += max(0, len(words) - 3)
    return count


def check(scene, path, actual_sha256):
    """Raises FetchError if the file is not the one that the catalogue means."""
    if scene["sha256"] is not None and actual_sha256 != scene["sha256"]:
        raise FetchError(f"refused: sha256 is {actual_sha256}, "
                         f"but the catalogue has {scene['sha256']}")
    triangles = count_triangles(path)
    if triangles != scene["triangles"]:
        raise FetchError(f"refused: {triangles} triangles, "
                         f"but the catalogue has {scene['triangles']}")


def fetch(scene, folder, allow_unverified):
    """Puts NAME.obj into the folder, or raises FetchError and leaves no NAME.obj there."""
    target = folder / (scene["name"] + ".obj")
    part = folder / (scene["name"] + ".part")
    unpacked = folder / (scene["name"] + ".unpacked")
    say(f"{scene['name']}: {scene['title']}, {scene['triangles']} triangles")
    for key, word in (("author", "author:"), ("licence", "licence:"), ("url", "from:")):
        say(f"  {word:<9}{scene[key]}")
    if scene["format"] == "other":
        raise FetchError(f"not converted by this script: {scene['note']}. Fetch it by hand, "
                         "or from another archive, and save it as OBJ")
    if target.exists():
        try:
            check(scene, target, sha256_of(target))
        except FetchError as error:
            raise FetchError(f"{target} is another file ({error}); move it away first") from error
        say(f"  is there already: {target}")
        return
    if scene["sha256"] is None and not allow_unverified:
        raise FetchError("the catalogue has no sha256 for it; add --allow-unverified to fetch it "
                         "and check the number of triangles only")
    folder.mkdir(parents=True, exist_ok=True)
    download(scene["url"], part)
    try:
        if scene["format"] == "obj":
            os.replace(part, unpacked)
        else:
            extract(scene, part, unpacked)
        actual_sha256 = sha256_of(unpacked)
        check(scene, unpacked, actual_sha256)
        os.replace(unpacked, target)
    finally:
        # A whole download that is refused must not be gone on with the next time.
        for leftover in (part, unpacked):
            if leftover.exists():
                leftover.unlink()
    checked = "checked" if scene["sha256"] else "not checked, the catalogue has none"
    say(f"  sha256:  {actual_sha256} ({checked})")
    say(f"  wrote {target}")


def print_list(scenes):
    """One line a scene: name, triangles, whether it can be fetched and checked, licence."""
    print(f"{'name':<18}{'triangles':>10}  {'how':<14}licence")
    for scene in scenes.values():
        how = ("by hand" if scene["format"] == "other" else
               "sha256 known" if scene["sha256"] else "unverified")
        say(f"{scene['name']:<18}{scene['triangles']:>10}  {how:<14}{scene['licence']}")


def main(arguments=None):
    """The command line; returns the exit code."""
    parser = program.Parser(
        description="Fetch published scenes as OBJ files.",
        epilog="example: scripts/fetch_scenes.py cornell_original hand --dest /tmp/scenes")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenes of the catalogue")
    parser.add_argument("--list", action="store_true", help="list the catalogue and stop")
    parser.add_argument("--dest", type=pathlib.Path, default=ROOT / ".cache" / "scenes",
                        help="folder to write to (default: %(default)s)")
    parser.add_argument("--catalogue", type=pathlib.Path, default=ROOT / "scenes/catalogue.json",
                        help="catalogue to read (default: %(default)s)")
    parser.add_argument("--allow-unverified", action="store_true",
                        help="also fetch scenes whose sha256 is not known; print what it is")
    options = parser.parse_args(arguments)
    try:
        scenes = read_catalogue(options.catalogue)
    except CatalogueError as error:
        say(f"fetch_scenes: {error}", sys.stderr)
        return 2
    if options.list:
        print_list(scenes)
        return 0
    unknown = [name for name in options.names if name not in scenes]
    if unknown or not options.names:
        what = f"no scene {', '.join(unknown)}" if unknown else "name a scene, or --list"
        say(f"fetch_scenes: {what}; there are {', '.join(scenes)}", sys.stderr)
        return 2
    failed = False
    for name in options.names:
        try:
            fetch(scenes[name], options.dest, options.allow_unverified)
        except (FetchError, OSError) as error:
            sys.stdout.flush()
            say(f"fetch_scenes: {name}: {error}", sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    program.run("fetch_scenes", main)
