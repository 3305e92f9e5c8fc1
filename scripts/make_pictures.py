#!/usr/bin/env python3
"""Makes the pictures of Doppio's pages in the documentation, from two short runs on MNIST.

    build/venv/bin/python scripts/make_pictures.py MNIST [--output docs/pictures]

MNIST is the folder with its four files. Two shards train LeNet twice, with two learning rates
(about two minutes each). Writes report_curves.png, report_predictions.png, compare.png,
data_inspect.png and lenet.svg. Needs a build in build/release, Chromium, and Pillow. Look at the
pictures before you commit them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

BUILD = Path(__file__).resolve().parents[1] / "build" / "release"
PIXELS = 1200  # the width of a picture
MAX_BYTES = 150_000

# {picture: (page, where its part begins, where the part ends, width in pixels of the style sheet)}
# The documentation has about 700 pixels: a wider page is shown with smaller letters.
PICTURES = {
    "report_curves": ("runs/digits/report.html", "<h2>Results",
                      '<div class="card"><h3>Images per second', 720),
    "report_predictions": ("runs/digits/report.html", "<h2>Predictions", "<h3>By class", 720),
    "compare": ("compare.html", "<p>A:", '<div class="card"><h3>Loss, test', 720),
    "data_inspect": ("train.html", "<h2>Labels", "<h3>4</h3>", 1000),
}


def run_commands(folder):
    """Trains, and writes the pages and the drawing."""
    train = ("doppio train --recipe mnist_lenet --data train_lmdb --test_data test_lmdb --use_cpu "
             "-n 2 --log_worst_images 10 ")
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}",
                   "PYTHONPATH": str(BUILD / "python"), "DOPPIO_PYTHON": sys.executable}
    for command in (
            "doppio data prepare mnist --input mnist --output train_lmdb --test_output test_lmdb",
            "doppio data inspect train_lmdb --html train.html",
            train + "--model_prefix digits --log_dir runs/digits",
            train + "--model_prefix slow --log_dir runs/slow --lr 0.002",
            "doppio report runs/digits",
            "doppio compare runs/digits runs/slow --html compare.html",
            "doppio inspect digits-0005.mdl --svg lenet.svg"):
        print(command, flush=True)
        subprocess.run(command.split(), cwd=folder, env=environment, check=True,
                       stdout=subprocess.DEVNULL)


def part_of(page, begin, end):
    """The page with this part of its body alone; a browser closes what the part leaves open."""
    head = page[:page.index("</h1>") + len("</h1>")]
    return head + page[page.index(begin):page.index(end)]


def screenshot(browser, page, width, picture):
    """What light Chromium shows of a page, without the empty space below it."""
    scale = PIXELS / width
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={page.parent}/user", "--blink-settings=preferredColorScheme=1",
         f"--force-device-scale-factor={scale}", f"--window-size={width},3000",
         f"--screenshot={picture}", page.as_uri()],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    image = Image.open(picture).convert("RGB")
    paper = Image.new("RGB", image.size, image.getpixel((0, 0)))
    below = ImageChops.difference(image, paper).getbbox()[3] + int(20 * scale)
    image.crop((0, 0, image.width, below)).quantize(128, dither=Image.Dither.NONE).save(
        picture, optimize=True)
    size = picture.stat().st_size
    print(f"{picture.name}: {image.width} x {below}, {size} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"{picture} has {size} bytes, more than {MAX_BYTES}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mnist", type=Path)
    parser.add_argument("--output", type=Path, default=Path("docs/pictures"))
    args = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        parser.error("there is none of " + ", ".join(names))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mnist").symlink_to(args.mnist.resolve())
        run_commands(folder)
        for picture, (page, begin, end, width) in PICTURES.items():
            part = folder / f"{picture}.html"
            part.write_text(part_of((folder / page).read_text(), begin, end))
            screenshot(browser, part, width, args.output.resolve() / f"{picture}.png")
        shutil.copy(folder / "lenet.svg", args.output)


if __name__ == "__main__":
    main()
