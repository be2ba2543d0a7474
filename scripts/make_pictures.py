#!/usr/bin/env python3
"""Renders the pictures of app/README.md into scripts/results/figures.

    scripts/make_pictures.py PROGRAM FOLDER

PROGRAM is heapwood, FOLDER has the scenes, as NAME.obj.xz (scripts/fetch_scenes.py). Pictures are
rendered at 960 x 540, and brought to 256 colours and below 300 KB for the repository, the noisy ones
at two thirds of their size.

Needs Python 3.8 and Pillow.
"""

import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

FIGURES = pathlib.Path(__file__).resolve().parent / "results" / "figures"
MOST_BYTES = 300_000

PICTURES = {
    "render-sponza.png": ("sponza", "path"),
    "render-conference.png": ("conference", "path"),
    "render-dragon.png": ("dragon_202k", "ambient-occlusion"),
    "render-country_kitchen-cost.png": ("country_kitchen", "cost"),
    "render-bunny-depth-of-tree.png": ("bunny", "depth-of-tree"),
    "render-armadillo-normal.png": ("armadillo_100k", "normal", "--spp", "16"),
}


def main(program, folder):
    for name, (scene, mode, *options) in PICTURES.items():
        with tempfile.TemporaryDirectory() as place:
            made = pathlib.Path(place) / name
            subprocess.run([program, "render", f"{folder}/{scene}.obj.xz", "--mode", mode, *options,
                            "-o", made], check=True)
            picture = Image.open(made)
            to = FIGURES / name
            for size in (picture.size, (640, 360)):
                smaller = picture.resize(size, Image.Resampling.LANCZOS)
                smaller.quantize(256, dither=Image.Dither.NONE).save(to, optimize=True)
                if to.stat().st_size < MOST_BYTES:
                    break
            print(to, to.stat().st_size)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
