"""What tests predicted: predictions.json of `--log_dir`, and its part of `doppio report`."""

import base64
import collections
import io
import json
import re

import pytest
from PIL import Image

from conftest import run, training


def predictions(folder):
    return json.loads((folder / "predictions.json").read_text())


def confusion(found):
    return {(label, predicted): count for label, predicted, count in found["counts"]}


def labels_of(path):
    return [*path.read_bytes()[8:]]


@pytest.fixture(scope="module")
def logged(databases, tmp_path_factory):
    """The folder of a run too short to get all images right."""
    folder = tmp_path_factory.mktemp("predictions")
    done = run("resnet50_trainer", *training(
        databases, folder, log_dir=folder / "logs", num_epochs=2, epoch_size=128,
        base_learning_rate=0.01, log_worst_images=15))
    assert done.returncode == 0, done.output
    return folder / "logs"


def test_every_image_is_counted_once(logged, databases):
    found = predictions(logged)
    labels = collections.Counter(labels_of(databases / "test-labels"))
    rows = collections.Counter()
    for (label, _), count in confusion(found).items():
        rows[label] += count
    assert rows == labels and found["images"] == 100 and found["epoch"] == 1
    lines = [json.loads(line) for line in (logged / "metrics.jsonl").read_text().splitlines()]
    (*_, test) = (line for line in lines if line["event"] == "test")
    right = sum(count for (label, predicted), count in confusion(found).items()
                if label == predicted)
    assert right / 100 == pytest.approx(test["accuracy"])
    assert 0 < right < 100


def test_the_worst_are_records_of_the_database(logged, databases):
    found = predictions(logged)
    labels = labels_of(databases / "test-labels")
    worst = found["worst"]
    assert len(worst) == 15
    probabilities = [image["label_probability"] for image in worst]
    assert probabilities == sorted(probabilities)
    for image in worst:
        assert image["label"] == labels[image["record"]] != image["predicted"]
        assert image["label_probability"] < image["confidence"] <= 1
        assert int(image["key"]) == image["record"]


def test_two_shards_find_what_one_finds(databases, shards, tmp_path, logged):
    """One shard and two test the same model; of the two only shard 0 asks for it."""
    done = run("resnet50_trainer", *training(
        databases, tmp_path, epoch_size=128, base_learning_rate=0.01))
    assert done.returncode == 0, done.output
    flags = {"evaluate": "true", "load_model_path": tmp_path / "model_1.mdl", "train_data": None}
    done = run(
        "resnet50_trainer", *training(databases, tmp_path, log_dir=tmp_path / "one", **flags))
    assert done.returncode == 0, done.output
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=shard, run_id="two",
            log_dir=tmp_path / "two" if shard == 0 else None, **flags))
    for status, output in shards.wait():
        assert status == 0, output
    one, two = predictions(tmp_path / "one"), predictions(tmp_path / "two")
    assert confusion(one) == confusion(two)
    assert [image["key"] for image in one["worst"]] == [image["key"] for image in two["worst"]]
    # A folder with only a test is enough for a page.
    assert run("doppio", "report", tmp_path / "two").returncode == 0


def test_the_page_shows_classes_matrix_and_pictures(logged, databases):
    assert run("doppio", "report", logged).returncode == 0
    text = (logged / "report.html").read_text()
    found = predictions(logged)
    table = text[text.index("By class"):]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row)
            for row in re.findall(r"<tr>(.*?)</tr>", table[:table.index("</table>")])]
    cells = confusion(found)
    for name, images, right, recall, taken, precision, _ in filter(None, rows):
        label = int(name)
        assert int(images) == sum(n for (own, _), n in cells.items() if own == label)
        assert int(taken) == sum(n for (_, other), n in cells.items() if other == label)
        assert int(right) == cells.get((label, label), 0)
        if int(images):
            assert recall == f"{100 * int(right) / int(images):.1f} %"
        if int(taken):
            assert precision == f"{100 * int(right) / int(taken):.1f} %"
    matrix = text[text.index("Confusion matrix"):text.index("Worst images")]
    numbers = [int(n) for n in re.findall(r"fill:var\(--ink\)\">(\d+)</text>", matrix)]
    assert sorted(numbers) == sorted(cells.values())
    pictures = re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]*)"', text)
    assert [key for _, key in pictures] == [image["key"] for image in found["worst"]]
    raw = (databases / "test-images").read_bytes()[16:]
    for (png, _), image in zip(pictures, found["worst"]):
        shown = Image.open(io.BytesIO(base64.b64decode(png))).convert("L")
        start = image["record"] * 28 * 28
        assert shown.tobytes() == raw[start:start + 28 * 28]
    captions = re.findall(r"<figcaption>(\d+), ([^<]+)<br>taken for (\d+), ([^<]+)</figcaption>",
                          text)
    assert captions == [
        (str(image["label"]), percent(image["label_probability"]),
         str(image["predicted"]), percent(image["confidence"]))
        for image in found["worst"]]


def percent(probability):
    """As the page writes it: no line ends before "%"."""
    if probability < 0.0005:
        return "under 0.1\u00a0%"
    return f"{100 * probability:.{1 if probability < 0.1 else 0}f}\u00a0%"


def write_run(folder, database, counts, worst=()):
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(json.dumps(
        {"event": "iteration", "total_iterations": 1, "loss": 1, "images_per_second": 10}) + "\n")
    (folder / "predictions.json").write_text(json.dumps(
        {"epoch": 0, "images": 3, "database": str(database), "db_type": "lmdb", "counts": counts,
         "worst": [*worst]}))
    return folder


@pytest.mark.parametrize("database, key, words", [
    ("no_such_lmdb", "0", "cannot be shown"),
    ("test_lmdb", "another", "had another"),
])
def test_a_database_that_is_gone_or_changed_is_named(databases, tmp_path, database, key, words):
    worst = [{"record": 3, "key": key, "label": 1, "predicted": 2}]
    folder = write_run(tmp_path / "run", databases / database, [[1, 2, 3]], worst)
    done = run("doppio", "report", folder)
    assert done.returncode == 0, done.output
    text = (folder / "report.html").read_text()
    assert words in text and database in text and "<img" not in text


def test_many_classes_have_a_list_of_mistakes(databases, tmp_path):
    counts = [[label, label, 5] for label in range(40)] + [[3, 4, 2], [7, 8, 4]]
    folder = write_run(tmp_path / "run", databases / "test_lmdb", counts)
    assert run("doppio", "report", folder).returncode == 0
    text = (folder / "report.html").read_text()
    assert "Confusion matrix" not in text
    table = text[text.index("Most frequent mistakes"):]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table[:table.index("</table>")])
    assert cells == ["7", "8", "4", "44.4 %", "3", "4", "2", "28.6 %"]


def test_a_damaged_file_is_named(databases, tmp_path):
    folder = write_run(tmp_path / "run", databases / "test_lmdb", [])
    (folder / "predictions.json").write_text("{")
    done = run("doppio", "report", folder)
    assert done.returncode == 65
    assert "predictions.json is not JSON" in done.output


def test_each_shard_has_a_line_on_the_page(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=shard, run_id="speeds", batch_size=16,
            log_dir=tmp_path / "logs", log_every=1))
    for status, output in shards.wait():
        assert status == 0, output
    lines = [json.loads(line)
             for line in (tmp_path / "logs" / "metrics.jsonl").read_text().splitlines()]
    iterations = [line for line in lines if line["event"] == "iteration"]
    assert iterations[0]["shards"] == []  # there was no iteration before
    for line in iterations[1:]:
        assert len(line["shards"]) == 2
        for speed in line["shards"]:
            assert speed["images_per_second"] > 0
            assert 0 <= speed["input_wait"] <= 1 and 0 < speed["exchanging"] <= 1
    assert run("doppio", "report", tmp_path / "logs").returncode == 0
    text = (tmp_path / "logs" / "report.html").read_text()
    assert "Images per second, by shard" in text and "</i>shard 1</span>" in text


def test_without_a_log_dir_nothing_is_noted(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, epoch_size=64), cwd=tmp_path)
    assert done.returncode == 0
    assert not [*tmp_path.glob("**/predictions.json")]
    done = run("resnet50_trainer", *training(databases, tmp_path, log_worst_images=-1))
    assert done.returncode == 64 and "--log_worst_images is -1" in done.output
