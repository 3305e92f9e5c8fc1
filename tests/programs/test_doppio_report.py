"""`doppio report` and `doppio compare`: pages about runs, from the records of a run."""

import html.parser
import json
import re
import shutil
import subprocess

import pytest
from PIL import Image

from conftest import last_line, run

FLAGS = {"batch_size": "32", "base_learning_rate": "0.1", "trace": "",
         "train_data": "/data/<train>"}


def write_run(folder, losses, accuracies, flags=FLAGS, tail=()):
    """The files of a run with one test after every five iterations."""
    folder.mkdir()
    lines = [{"event": "start", "time": 1.5, "run_id": "r", "num_shards": 2,
              "total_iterations": 0}]
    for i, loss in enumerate(losses, 1):
        lines.append({"event": "iteration", "epoch": (i - 1) // 5, "total_iterations": i,
                      "loss": loss, "accuracy": 1 - loss / 3, "learning_rate": 0.1,
                      "images_per_second": 100 + i, "input_wait": 0.01})
        if i % 5 == 0 and i // 5 <= len(accuracies):
            accuracy = accuracies[i // 5 - 1]
            lines.append({"event": "test", "epoch": i // 5 - 1, "total_iterations": i, "loss": 0.5,
                          "accuracy": accuracy})
            lines.append({"event": "epoch", "epoch": i // 5 - 1, "total_iterations": i,
                          "loss": loss, "accuracy": 0.5, "images": 320, "seconds": 4,
                          "test_accuracy": accuracy})
    text = "".join(json.dumps(line) + "\n" for line in [*lines, *tail])
    (folder / "metrics.jsonl").write_text(text)
    (folder / "settings.json").write_text(json.dumps(
        {"program": "resnet50_trainer", "version": "0.1.0", "host": {"name": "h", "pid": 7},
         "started": 1795698038.5, "flags": flags}))
    return folder


class Page(html.parser.HTMLParser):
    """The text of the cells and the tags of a page; checks that tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.links = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data

    def value(self, name):
        return self.cells[self.cells.index(name) + 1]


def report(folder):
    done = run("doppio", "report", folder)
    assert done.returncode == 0, done.output
    assert done.output.strip() == str(folder / "report.html")
    return (folder / "report.html").read_text()


@pytest.fixture
def losses():
    return [2.5 - 0.2 * i for i in range(10)]


def test_the_page_says_what_the_records_say(tmp_path, losses):
    text = report(write_run(tmp_path / "run", losses, [0.6, 0.55]))
    page = Page(text)
    assert page.value("shards") == "2"
    assert page.value("iterations") == "10"
    assert page.value("last training loss") == "0.7000"
    assert page.value("images per second, mean") == "105.4"  # images by time, not of the rates
    assert page.value("best test accuracy") == "0.6000"
    assert page.value("its epoch") == "1"
    assert page.value("last test accuracy") == "0.5500"
    assert page.value("seconds in finished epochs") == "8.0"
    at = page.cells.index("epoch")  # the head of a table of six columns
    assert [page.cells[at + 6 * row] for row in (1, 2)] == ["1", "2"]
    assert page.value("host.name") == "h"
    assert page.value("started") == "2026-11-26 13:00:38 UTC"
    assert page.value("train_data") == "/data/<train>"
    assert "<train>" not in text
    assert page.tags.count("svg") == 5
    assert not page.links
    assert not re.search(r"https?://", text)
    assert "prefers-color-scheme: dark" in text


def test_the_mean_speed_is_all_images_by_all_time(tmp_path):
    """9 iterations at 1000 images/s, and 1 that takes a hundred times as long."""
    folder = tmp_path / "run"
    folder.mkdir()
    lines = [{"event": "start", "time": 1.5, "run_id": "", "num_shards": 1, "total_iterations": 0},
             {"event": "iteration", "total_iterations": 9, "iterations": 9, "loss": 1,
              "images_per_second": 1000},
             {"event": "iteration", "total_iterations": 10, "iterations": 1, "loss": 1,
              "images_per_second": 10}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = Page(report(folder))
    assert page.value("images per second, mean") == f"{10 / (9 / 1000 + 1 / 10):.1f}"


def test_a_page_replaces_no_other_file(tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [0.6, 0.55])
    records = (folder / "metrics.jsonl").read_bytes()
    done = run("doppio", "report", folder, "--output", folder / "metrics.jsonl")
    assert done.returncode == 73 and "a page would replace" in last_line(done.output)
    assert (folder / "metrics.jsonl").read_bytes() == records
    (tmp_path / "link.html").symlink_to("page.html")
    for _ in range(2):  # the second time there is a page
        done = run("doppio", "report", folder, "--output", tmp_path / "link.html")
        assert done.returncode == 0, done.output
    assert (tmp_path / "link.html").is_symlink() and (tmp_path / "page.html").is_file()
    done = run("doppio", "report", folder, "--output", "/dev/stdout")
    assert done.returncode == 0 and "<!DOCTYPE html>" in done.output


def screenshot(page, scheme, folder):
    """What headless Chromium shows of a page to people who prefer `scheme`: an image."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("no Chromium takes screenshots: there is none of " + ", ".join(names))
    picture = folder / f"{scheme}.png"
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user",
         f"--blink-settings=preferredColorScheme={('dark', 'light').index(scheme)}",
         "--window-size=1200,900", f"--screenshot={picture}", page.as_uri()],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert picture.exists(), done.stdout
    return Image.open(picture).convert("RGB")


def colors_of(image):
    """{colour: pixels}."""
    return {color: count for count, color in image.getcolors(image.width * image.height)}


def luminance(color):
    """The relative luminance of sRGB (WCAG 2), from 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (channel / 255 for channel in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_can_be_read_in_light_and_in_the_dark(tmp_path, losses):
    report(write_run(tmp_path / "run", losses, [0.6, 0.55]))
    page = tmp_path / "run" / "report.html"
    light, dark = (screenshot(page, scheme, tmp_path) for scheme in ("light", "dark"))
    heading, names = (0, 0, 1100, 75), (60, 125, 250, 390)  # the names of the results
    for image, is_light in ((light, True), (dark, False)):
        for box, grade in ((heading, 7), (names, 4.5)):  # WCAG's contrasts AAA and AA
            colors = colors_of(image.crop(box))
            paper = luminance(max(colors, key=colors.get))
            assert paper > 0.8 if is_light else paper < 0.05
            levels = [luminance(color) for color, count in colors.items() if count > 10]
            low, high = min(levels), max(levels)
            assert paper == (high if is_light else low) and (high + 0.05) / (low + 0.05) > grade
    # Curves have a colour for each scheme, as in the style sheet of the page.
    blue, light_blue = (0x1f, 0x6f, 0xd0), (0x6a, 0xa9, 0xf5)
    for image, other, curve in ((light, dark, blue), (dark, light, light_blue)):
        assert colors_of(image).get(curve, 0) > 20 and curve not in colors_of(other)


def test_the_curve_goes_through_the_points(tmp_path):
    """With losses 0 and 1 the axes are from 0 to 1: the line joins two corners of the plot."""
    text = report(write_run(tmp_path / "run", [0.0, 1.0], []))
    svg = text[text.index("<h3>Loss</h3>"):]
    points = re.search(r'<polyline[^>]* points="([^"]*)"', svg)[1].split()
    (x0, y0), (x1, y1) = (tuple(map(float, point.split(","))) for point in points)
    assert (x0, y0) == (56, 242)
    assert (x1, y1) == (540, 28)


def test_the_upright_axis_has_a_number_at_both_ends(tmp_path, losses):
    """Losses from 2.5 down to 0.7: the axis goes from 0.5 to 2.5, and each line has its number."""
    text = report(write_run(tmp_path / "run", losses, []))
    svg = text[text.index("<h3>Loss</h3>"):]
    svg = svg[:svg.index("</svg>")]
    numbers = re.findall(r'y="([^"]*)" text-anchor="end">([^<]*)</text>', svg)
    assert [number for _, number in numbers] == ["0.5", "1", "1.5", "2", "2.5"]
    assert [float(y) - 4 for y, _ in numbers] == [242, 188.5, 135, 81.5, 28]
    points = re.search(r'<polyline[^>]* points="([^"]*)"', svg)[1].split()
    assert points[0] == "56.0,28.0" and points[-1] == "540.0,220.6"


def test_curves_have_a_legend_that_can_wrap(tmp_path, losses):
    """Names of many shards do not fit into one line of a chart."""
    text = report(write_run(tmp_path / "run", losses, [0.6, 0.55]))
    legends = re.findall(r'<div class="legend">(.*?)</div><svg', text)
    assert len(legends) == 5
    names = [re.findall(r'<span><i style="background:var\(--c(\d)\)"></i>([^<]*)</span>', legend)
             for legend in legends]
    assert names[0] == [("0", "training"), ("1", "test")]
    assert names[2] == [("0", "training")]


def test_many_points_are_thinned(tmp_path):
    text = report(write_run(tmp_path / "run", [1.0] * 2000, []))
    svg = text[text.index("<h3>Loss</h3>"):]
    points = re.search(r'<polyline[^>]* points="([^"]*)"', svg)[1].split()
    assert len(points) == 300


def test_digits_of_large_counts_are_grouped(tmp_path, losses):
    tail = [{"event": "iteration", "epoch": 3, "total_iterations": 1234567, "loss": 1.0,
             "images_per_second": 1}]
    page = Page(report(write_run(tmp_path / "run", losses, [0.6], tail=tail)))
    assert page.value("iterations") == "1,234,567"


def test_iterations_that_a_restart_did_not_keep_are_left_out(tmp_path, losses):
    tail = [{"event": "start", "num_shards": 4, "total_iterations": 5},
            {"event": "iteration", "total_iterations": 6, "loss": 9.0, "images_per_second": 1}]
    page = Page(report(write_run(tmp_path / "run", losses, [0.3, 0.9], tail=tail)))
    assert page.value("shards") == "4"
    assert page.value("iterations") == "6"
    assert page.value("last training loss") == "9.0000"
    assert page.value("best test accuracy") == "0.3000"


def test_a_line_that_is_cut_short_is_counted(tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [])
    with open(folder / "metrics.jsonl", "a") as file:
        file.write('{"event": "itera')
    assert "1 lines of metrics.jsonl cannot be read" in report(folder)


def test_the_timeline_is_summed_up_by_shard(tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [])
    assert "<h2>Timeline</h2>" not in report(folder)
    parts = [{"category": "operator", "name": f"Type{i}", "count": 4, "seconds": 0.1 - 0.006 * i}
             for i in range(15)]
    waits = [{"category": "exchange", "name": "Allreduce", "count": 8, "seconds": 3.0}]
    (folder / "timeline.json").write_text(json.dumps(
        {"trace": "<out>.json", "first": 11, "last": 12, "shards": [
            {"iterations": 2, "seconds": 2.0, "parts": parts + waits},
            {"iterations": 2, "seconds": 5.0, "parts": parts}]}))
    text = report(folder)
    page = Page(text)
    assert "iterations 11 to 12" in text and "&lt;out&gt;.json" in text
    at = page.cells.index("Type0")
    assert page.cells[at:at + 4] == ["Type0", "5.0 %", "2.0 %", ""]
    at = page.cells.index("3 other types")  # of 0.028, 0.022 and 0.016 s
    assert page.cells[at + 1:at + 3] == ["3.3 %", "1.3 %"]
    at = page.cells.index("exchange: Allreduce")
    assert page.cells[at + 1:at + 3] == ["150.0 %", "0.0 %"]
    assert 'style="width:7px"' in text  # 3.5 % of 200 pixels
    assert 'style="width:150px"' in text


def test_the_memory_is_shown_by_kind_and_blob(tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [])
    mib = 1 << 20
    blobs = [{"name": f"blob{i}", "shape": "[2]", "type": "float", "device": "cpu",
              "kind": "activation", "bytes": (40 - i) * mib, "shared_with": i % 2}
             for i in range(30)]
    (folder / "memory.json").write_text(json.dumps(
        {"iteration": 10, "blob_bytes": 100 * mib, "distinct_bytes": 60.5 * mib,
         "peak_bytes": {"cpu": 300 * mib}, "blobs": blobs,
         "kinds": [{"kind": "activation", "blobs": 3, "bytes": 25 * mib},
                   {"kind": "parameter", "blobs": 2, "bytes": 75 * mib},
                   {"kind": "other", "blobs": 1, "bytes": 40}]}))
    text = report(folder)
    page = Page(text)
    assert page.value("all blobs") == "100 MiB"
    assert page.value("memory that they lie in") == "60.5 MiB"
    assert page.value("peak of the process, cpu") == "300 MiB"
    assert page.cells.index("parameter") < page.cells.index("activation")
    at = page.cells.index("other")
    assert page.cells[at:at + 3] == ["other", "1", "40 B"]  # not 0.0 MiB
    assert 'style="width:150px"' in text and 'style="width:50px"' in text
    at = page.cells.index("blob1")
    assert page.cells[at:at + 6] == ["blob1", "activation", "float", "[2]", "39 MiB", "1"]
    assert "blob24" in page.cells and "blob25" not in page.cells
    assert "The 25 largest of 30 blobs" in text


@pytest.mark.parametrize("name", ["timeline.json", "memory.json"])
def test_a_damaged_file_is_one_line(name, tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [])
    (folder / name).write_text("{")
    done = run("doppio", "report", folder)
    assert (done.returncode, done.output) == (65, f"doppio: {folder / name} is not JSON\n")


def test_compare(tmp_path, losses):
    a = write_run(tmp_path / "a", losses, [0.6])
    flags = {**FLAGS, "batch_size": "64", "trace": "t.json"}
    b = write_run(tmp_path / "b", losses[:7], [0.8], flags)
    page = tmp_path / "page.html"
    done = run("doppio", "compare", a, b, "--html", page)
    assert done.returncode == 0, done.output
    rows = {line[:28].strip(): line[28:].split() for line in done.output.splitlines()}
    assert rows["best test accuracy"] == ["0.6000", "0.8000"]
    assert rows["iterations"] == ["10", "7"]
    assert rows["--batch_size"] == ["32", "64"]
    assert rows["--trace"] == ["none", "t.json"]
    assert "--base_learning_rate" not in rows
    parsed = Page(page.read_text())
    assert parsed.tags.count("svg") == 7
    assert parsed.value("batch_size") == "32"
    assert "the settings are equal" not in done.output + page.read_text()


def test_compare_says_that_settings_are_equal(tmp_path, losses):
    a, b = (write_run(tmp_path / name, losses, [0.6]) for name in "ab")
    page = tmp_path / "page.html"
    done = run("doppio", "compare", a, b, "--html", page)
    assert done.returncode == 0, done.output
    assert last_line(done.output) == "the settings are equal"
    Page(page.read_text())
    assert "<p>None: the settings are equal.</p>" in page.read_text()


def test_a_missing_folder_is_named(tmp_path, losses):
    folder = write_run(tmp_path / "run", losses, [])
    missing = tmp_path / "not" / "there"
    for words in (("report", folder, "--output"), ("compare", folder, folder, "--html")):
        done = run("doppio", *words, missing / "x.html")
        assert (done.returncode, done.output) == (
            73, f"doppio: cannot write {missing}/x.html: there is no folder {missing}\n")


@pytest.mark.parametrize("contents, status, text", [
    (None, 66, "there is no"),
    ("", 65, "has no event of a run"),
    ("not json\n", 65, "1 lines that are not JSON"),
])
def test_bad_directories_are_one_line(tmp_path, contents, status, text):
    folder = tmp_path / "run"
    folder.mkdir()
    if contents is not None:
        (folder / "metrics.jsonl").write_text(contents)
    for args in (["report", folder], ["compare", folder, folder]):
        done = run("doppio", *args)
        assert done.returncode == status, done.output
        assert text in done.output and str(folder) in done.output
        assert len(done.output.strip().splitlines()) == 1
    assert not (folder / "report.html").exists()
