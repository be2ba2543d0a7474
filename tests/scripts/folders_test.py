"""Data flows one way: no folder includes, by whichever way, a folder that includes it.

In allocators, kdtree and scenes each header beside the folders counts alone, with the source file of
its name: users include these headers, and many of them stand in front of a folder.
"""

import collections
import re
import unittest

from support import ROOT

LIBRARIES = ("allocators", "kdtree", "scenes")
# Each may include itself and those before it.
LAYERS = ("allocators/platform", "allocators scenes", "kdtree", "app")
INCLUDE = re.compile(r'^\s*#\s*include "((?:allocators|kdtree|scenes|app)/[^"]+)"', re.MULTILINE)


def sources():
    for folder in (*LIBRARIES, "app"):
        for path in sorted((ROOT / folder).rglob("*")):
            if re.search(r"\.(h|cuh|cpp|cu)(\.in)?$", path.name):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def place_of(file):
    """What of the tree a file belongs to, where circles count."""
    folder, _, name = file.rpartition("/")
    return f"{folder}/{name.split('.')[0]}" if folder in LIBRARIES else folder


def arrows(files):
    """{(place, place): [(file, included), ...]} of (file, text) pairs."""
    found = collections.defaultdict(list)
    for file, text in files:
        for included in INCLUDE.findall(text):
            if place_of(file) != place_of(included):
                found[place_of(file), place_of(included)].append((file, included))
    return found


def reached(start, goal, ways):
    """The shortest way, as a list of places, or nothing."""
    before, waiting = {start: None}, collections.deque([start])
    while waiting:
        place = waiting.popleft()
        if place == goal:
            way = [place]
            while before[way[-1]] is not None:
                way.append(before[way[-1]])
            return way[::-1]
        for following in sorted(ways[place] - before.keys()):
            before[following] = place
            waiting.append(following)
    return []


def circles(found):
    """A sentence for each arrow that lies on a circle."""
    ways = collections.defaultdict(set)
    for first, second in found:
        ways[first].add(second)
    sentences = []
    for (first, second), pairs in sorted(found.items()):
        way = reached(second, first, ways)
        if way:
            sentences.append("{} includes {}".format(*pairs[0]) + ", and " + " -> ".join(way))
    return sentences


def layer_of(file):
    if file.startswith("allocators/platform/"):
        return 0
    return next(i for i, names in enumerate(LAYERS) if file.split("/")[0] in names.split())


def climbs(files):
    """(file, included) pairs in which the included file is above the other, or beside it: scenes
    include nothing of allocators but what is in its platform, and allocators nothing of scenes."""
    for file, text in files:
        for included in INCLUDE.findall(text):
            below, above = layer_of(file), layer_of(included)
            apart = file.split("/")[0] != included.split("/")[0]
            if above > below or (above == below and apart):
                yield file, included


class FoldersTest(unittest.TestCase):
    def test_no_folders_include_one_another(self):
        found = arrows(sources())
        self.assertGreater(len(found), 300)
        self.assertEqual(circles(found), [])

    def test_nothing_includes_what_is_above_it(self):
        self.assertEqual(list(climbs(sources())), [])

    def test_a_circle_is_found(self):
        files = [("app/a/x.h", '#include "app/b/y.h"\n'), ("app/b/z.cpp", '#include "app/c/w.h"\n'),
                 ("app/c/w.h", '#include "app/a/x.h"\n#include "kdtree/model/box.cuh"\n')]
        self.assertEqual(circles(arrows(files[:2])), [])
        self.assertEqual(len(circles(arrows(files))), 3)
        parts = [("kdtree/front.h", '#include "kdtree/inner/part.h"\n'),
                 ("kdtree/inner/part.h", '#include "kdtree/basic.h"\n')]
        self.assertEqual(circles(arrows(parts)), [])
        parts.append(("kdtree/basic.cpp", '#include "kdtree/front.h"\n'))
        self.assertEqual(len(circles(arrows(parts))), 3)

    def test_a_climb_is_found(self):
        for file, included in (("allocators/platform/x.h", "allocators/y.h"),
                               ("scenes/x.h", "allocators/parts/y.h"),
                               ("allocators/x.h", "scenes/y.h"),
                               ("kdtree/x.h", "app/base/y.h")):
            self.assertEqual(list(climbs([(file, f'#include "{included}"\n')])), [(file, included)])


if __name__ == "__main__":
    unittest.main()
