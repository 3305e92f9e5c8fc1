"""Calls of `doppio data`, and images for them."""

import json
import random

from conftest import run


def prepare(*args, **options):
    return run("doppio", "data", "prepare", *args, **options)


def inspect(path, *args, status=0):
    done = run("doppio", "data", "inspect", path, "--json", *args)
    assert done.returncode == status, done.output
    # A slow machine gets lines of progress before it.
    return json.loads(done.output[done.output.index("{"):])


def ppm(width, height, colour, seed=0):
    """A PPM file of noise around a colour."""
    rng = random.Random(seed)
    pixels = bytes(min(255, max(0, c + rng.randrange(-9, 9))) for _ in range(width * height)
                   for c in colour)
    return b"P6 %d %d 255\n" % (width, height) + pixels


def make_pictures(folder):
    """A folder of 12 cats and 8 dogs."""
    for name, count, colour in (("cat", 12, (200, 40, 40)), ("dog", 8, (40, 40, 200))):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            (folder / name / f"{i:02}.ppm").write_bytes(ppm(40 + i, 30, colour, seed=i))
    return folder
