"""--log_dir: what a run records, read by TensorBoard and by a JSON parser."""

import hashlib
import io
import json
import math

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from conftest import last_line, run, training, wait_for_line

EVERYTHING = {"scalars": 0, "images": 0, "histograms": 0}


def train(databases, folder, **flags):
    """A run of two epochs with ten iterations each."""
    done = run("resnet50_trainer", *training(databases, folder, **{
        "batch_size": 64, "num_epochs": 2, "log_dir": folder / "logs", **flags}), cwd=folder)
    assert done.returncode == 0, done.output
    return done.output


def metrics(folder):
    lines = (folder / "logs" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def of_event(lines, event):
    return [line for line in lines if line["event"] == event]


@pytest.fixture(scope="module")
def logged(databases, tmp_path_factory):
    """The folder of a run with all records, one line for each iteration."""
    folder = tmp_path_factory.mktemp("logged")
    train(databases, folder, log_every=1, log_histograms_every=8, image_scale=28,
          init_method="redis://:hunter2@localhost/1")
    return folder


@pytest.fixture(scope="module")
def events(logged):
    accumulator = EventAccumulator(str(logged / "logs"), size_guidance=EVERYTHING)
    accumulator.Reload()
    return accumulator


def test_metrics_hold_one_line_for_each_event(logged):
    lines = metrics(logged)
    events = [line["event"] for line in lines]
    # Models are written in the background.
    assert [event for event in events if event != "model"] == (
        ["start"] + 2 * (["iteration"] * 10 + ["test", "epoch"]))
    assert events.count("model") == 2 and events[-1] == "model"
    assert [line["total_iterations"] for line in of_event(lines, "iteration")] == [*range(1, 21)]
    assert [line["epoch"] for line in of_event(lines, "epoch")] == [0, 1]
    times = [line["time"] for line in lines]
    assert times == sorted(times)
    for line in of_event(lines, "iteration"):
        assert 0 < line["loss"] < 40 and 0 <= line["accuracy"] <= line["accuracy_top5"] <= 1
        assert line["images_per_second"] > 0 and line["learning_rate"] == pytest.approx(0.02)
        assert 0 <= line["input_wait"] <= 1
    epoch = of_event(lines, "epoch")[1]
    last = of_event(lines, "iteration")[10:]
    assert epoch["loss"] == pytest.approx(sum(line["loss"] for line in last) / 10, rel=1e-6)
    assert epoch["test_accuracy"] == of_event(lines, "test")[1]["accuracy"]


def test_memory_is_recorded_by_blob(logged):
    memory = json.loads((logged / "logs" / "memory.json").read_text())
    assert memory["iteration"] == 1
    sizes = [blob["bytes"] for blob in memory["blobs"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) == memory["blob_bytes"]
    assert 0 < memory["distinct_bytes"] < memory["blob_bytes"]
    kinds = {kind["kind"]: kind["bytes"] for kind in memory["kinds"]}
    assert kinds["gradient"] == kinds["parameter"]
    assert sum(kinds.values()) == memory["blob_bytes"]
    weight = next(blob for blob in memory["blobs"] if blob["name"] == "cpu_0/fc3_w")
    assert (weight["shape"], weight["type"], weight["kind"], weight["bytes"]) == (
        "[500, 800]", "float", "parameter", 4 * 500 * 800)


def test_settings_tell_how_to_repeat_the_run(logged, databases):
    text = (logged / "logs" / "settings.json").read_text()
    settings = json.loads(text)
    assert settings["program"] == "resnet50_trainer"
    assert settings["flags"]["batch_size"] == "64" and settings["flags"]["seed"] == "1"
    assert settings["flags"]["lr_factor"] == "0.1"
    assert settings["flags"]["init_method"] == "redis://localhost:6379/1"
    assert "hunter2" not in text
    assert settings["version"].startswith("0.") and settings["build"]["compiler"]
    doctor = json.loads(run("doppio", "doctor", "--json").output)["findings"]
    (libraries,) = (each["text"] for each in doctor if each["topic"] == "libraries")
    assert libraries == ", ".join(map(" ".join, sorted(settings["libraries"].items())))
    assert settings["host"]["name"] and settings["run"]["num_shards"] == 1
    assert settings["train_data"]["path"] == str(databases / "train_lmdb")
    assert settings["train_data"]["fingerprint"].startswith("640 records")
    assert settings["test_data"]["fingerprint"].startswith("100 records")


def test_tensorboard_reads_the_curves(logged, events):
    lines = metrics(logged)
    for tag, name, event in [
        ("train/loss", "loss", "iteration"),
        ("train/accuracy", "accuracy", "iteration"),
        ("train/learning_rate", "learning_rate", "iteration"),
        ("speed/images_per_second", "images_per_second", "iteration"),
        ("test/accuracy", "accuracy", "test"),
        ("test/loss", "loss", "test"),
    ]:
        expected = [(line["total_iterations"], line[name]) for line in of_event(lines, event)]
        got = [(point.step, point.value) for point in events.Scalars(tag)]
        assert [step for step, _ in got] == [step for step, _ in expected]
        np.testing.assert_allclose([v for _, v in got], [v for _, v in expected], rtol=1e-6)


def test_tensorboard_reads_the_graph(events):
    nodes = {node.name: node for node in events.Graph().node}
    types = {node.op for node in nodes.values()}
    assert {"ImageInput", "Conv", "FC", "Blob"} <= types
    for node in nodes.values():
        for name in node.input:
            assert name.split(":")[0] in nodes, f"{node.name} reads {name}, which no node makes"
    (conv,) = (node for node in nodes.values() if node.op == "Conv" and "conv1" in node.name)
    assert conv.attr["kernel"].i == 5 or list(conv.attr["kernels"].list.i) == [5, 5]


def test_tensorboard_reads_the_first_images(events):
    tags = events.Tags()["images"]
    assert len(tags) == 8
    for tag in tags:
        (image,) = events.Images(tag)
        assert (image.width, image.height, image.step) == (28, 28, 1)
        pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        assert pixels.shape == (28, 28) and pixels.dtype == np.uint8
        # write_idx draws a bar over the rows from 2 * label + 4; --mirror moves no row.
        label = int(tag.split("_")[-1])
        rows = pixels[:, 4:24].mean(axis=1)
        assert [*np.flatnonzero(rows > 150)] == [*range(2 * label + 4, 2 * label + 8)]


def test_tensorboard_reads_the_histograms(events):
    tags = events.Tags()["histograms"]
    assert "parameters/conv1_w" in tags
    shapes = {"conv1_w": 20 * 25, "conv2_w": 50 * 20 * 25}
    for name, size in shapes.items():
        points = events.Histograms("parameters/" + name)
        assert [point.step for point in points] == [8, 16]
        for point in points:
            values = point.histogram_value
            assert values.num == sum(values.bucket) == size
            assert len(values.bucket) == len(values.bucket_limit) == 64
            assert values.bucket_limit == sorted(values.bucket_limit)
            assert values.min < 0 < values.max == values.bucket_limit[-1]


def test_a_damaged_event_file_is_noticed(logged, tmp_path):
    """The checksums are right: one changed bit and TensorBoard refuses the record."""
    (path,) = (logged / "logs").glob("events.out.tfevents.*")
    good = path.read_bytes()
    assert len([*event_file_loader.RawEventFileLoader(str(path)).Load()]) > 20
    bad = bytearray(good)
    bad[14] ^= 1  # in the text of the first record
    copy = tmp_path / path.name
    copy.write_bytes(bad)
    assert [*event_file_loader.RawEventFileLoader(str(copy)).Load()] == []


def test_the_files_change_no_bit_of_the_training(databases, tmp_path):
    digests = []
    for name, flags in {"with": {"log_histograms_every": 1}, "without": {"log_dir": None}}.items():
        folder = tmp_path / name
        folder.mkdir()
        train(databases, folder, log_every=1, **flags)
        (model,) = folder.glob("*.mdl")
        digests.append(hashlib.sha256(model.read_bytes()).digest())
    assert digests[0] == digests[1]


def test_nothing_is_dropped_into_the_current_directory(databases, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    flags = {"log_csv": None, "epoch_size": 64}
    assert run("resnet50_trainer", *training(databases, models, **flags), cwd=here).returncode == 0
    assert [*here.iterdir()] == []
    done = run("resnet50_trainer", *training(databases, models, log_dir="logs", **flags), cwd=here)
    assert done.returncode == 0, done.output
    assert [path.name for path in here.iterdir()] == ["logs"]
    names = sorted(path.name.split(".")[0] for path in (here / "logs").iterdir())
    assert names == ["events", "memory", "metrics", "predictions", "settings"]


def test_a_test_of_a_model_leaves_its_results(logged, databases, tmp_path):
    (model,) = logged.glob("*_2.mdl")
    train(databases, tmp_path, evaluate="true", train_data=None, load_model_path=model,
          image_scale=28)
    (line,) = metrics(tmp_path)
    last = of_event(metrics(logged), "test")[-1]
    assert line["event"] == "test" and line["images"] == 100
    assert [line["loss"], line["accuracy"]] == pytest.approx([last["loss"], last["accuracy"]])
    accumulator = EventAccumulator(str(tmp_path / "logs")).Reload()
    (accuracy,) = accumulator.Scalars("test/accuracy")
    assert accuracy.value == pytest.approx(last["accuracy"])


def test_a_test_of_a_checkpoint_is_at_its_iteration(databases, tmp_path):
    flags = {"checkpoint_every": 5, "save_model_name": "m"}
    train(databases, tmp_path, **flags)
    before = len(metrics(tmp_path))
    train(databases, tmp_path, evaluate="true", train_data=None, resume="true",
          epoch_size=None, num_epochs=None, **flags)
    (line,) = metrics(tmp_path)[before:]
    assert (line["event"], line["total_iterations"]) == ("test", 20)


def test_each_start_keeps_its_settings(databases, tmp_path):
    folder = tmp_path / "logs"
    flags = {"checkpoint_every": 5, "save_model_name": "m", "resume": "auto"}
    for epochs in (1, 2, 3):
        train(databases, tmp_path, epoch_size=64, **{**flags, "num_epochs": epochs})
    names = ["settings-1.json", "settings-2.json", "settings.json"]
    assert sorted(path.name for path in folder.glob("settings*")) == names
    kept = [json.loads((folder / name).read_text()) for name in names]
    assert [each["flags"]["num_epochs"] for each in kept] == ["1", "2", "3"]
    assert kept[0]["run"]["began_at_iteration"] == 0 < kept[2]["run"]["began_at_iteration"]
    assert run("doppio", "report", folder, "--output", tmp_path / "a.html").returncode == 0


def test_two_runs_in_one_folder(logged, databases, shards, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    flags = {"log_dir": tmp_path / "logs", "log_every": 1}
    first = shards.start(*training(databases, tmp_path / "a", epoch_size=1_000_000, **flags))
    wait_for_line(first, "Finished iteration")
    before = (tmp_path / "logs" / "settings.json").read_bytes()
    files = list((tmp_path / "logs").glob("events*"))
    (model,) = logged.glob("*_2.mdl")
    tests_only = {"evaluate": "true", "train_data": None, "load_model_path": model}
    for other in ({}, tests_only):
        second = run("resnet50_trainer", *training(databases, tmp_path / "b", **flags, **other))
        assert second.returncode == 77, second.output
        for text in (str(first.pid), str(tmp_path / "logs"), "give this run another path"):
            assert text in last_line(second.output), second.output[-1000:]
    assert (tmp_path / "logs" / "settings.json").read_bytes() == before
    assert list((tmp_path / "logs").glob("events*")) == files
    first.kill()
    first.wait()
    third = run("resnet50_trainer", *training(databases, tmp_path / "b", epoch_size=64, **flags))
    assert third.returncode == 0, third.output
    assert "has the records of an earlier run" in third.output


def test_the_csv_has_caffe2s_name_where_the_records_are(databases, tmp_path):
    train(databases, tmp_path, log_csv="auto", epoch_size=64)
    (csv,) = (tmp_path / "logs").glob("*.log")
    assert csv.name.startswith("lenet_gpu1_b64_L10_lr0.02_v2_")
    comment, header, *rows = csv.read_text().splitlines()
    assert comment.startswith("# ") and "batch_size=64" in comment
    assert header.split(",")[:2] == ["time_spent", "cumulative_time_spent"] and len(rows) == 2


def test_only_shard_0_writes_and_counts_all_shards(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, batch_size=16, log_every=1, epoch_size=320, num_shards=2,
            shard_id=shard, run_id="logs", log_dir=tmp_path / f"logs{shard}"))
    for status, output in shards.wait():
        assert status == 0, output
    assert not (tmp_path / "logs1").exists()
    (tmp_path / "logs0").rename(tmp_path / "logs")
    lines = metrics(tmp_path)
    assert lines[0]["num_shards"] == 2 and lines[0]["run_id"] == "logs"
    assert len(of_event(lines, "iteration")) == 10
    assert of_event(lines, "epoch")[0]["images"] == 320


def test_a_resumed_run_appends(databases, tmp_path):
    flags = {"checkpoint_every": 5, "log_every": 1, "save_model_name": "m", "num_epochs": 1}
    train(databases, tmp_path, max_iterations=5, **flags)
    train(databases, tmp_path, resume="true", **flags)
    lines = metrics(tmp_path)
    assert [line["total_iterations"] for line in of_event(lines, "start")] == [0, 5]
    assert [line["total_iterations"] for line in of_event(lines, "iteration")] == [*range(1, 11)]
    assert len([*(tmp_path / "logs").glob("events.*")]) == 2


def test_a_line_that_was_cut_off_takes_no_other_with_it(databases, tmp_path):
    flags = {"checkpoint_every": 5, "log_every": 1, "save_model_name": "m", "num_epochs": 1}
    train(databases, tmp_path, max_iterations=5, **flags)
    path = tmp_path / "logs" / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    train(databases, tmp_path, resume="true", **flags)
    whole = []
    for line in path.read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except json.JSONDecodeError:
            whole.append({"event": "torn"})
    assert [line["event"] for line in whole].count("torn") == 1
    assert [line["total_iterations"] for line in of_event(whole, "start")] == [0, 5]


@pytest.mark.parametrize("value, words", [
    ({"log_dir": "/proc/nothing"}, ["--log_dir", "/proc/nothing"]),
    ({"log_dir": "file"}, ["--log_dir", "file", "Not a directory"]),
])
def test_a_folder_that_cannot_be_made(value, words, databases, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("resnet50_trainer", *training(databases, tmp_path, **value), cwd=tmp_path)
    assert done.returncode == 73
    for word in words:
        assert word in last_line(done.output)


@pytest.mark.parametrize("flags, text", [
    ({"log_histograms_every": 5}, "--log_histograms_every needs --log_dir"),
    ({"log_histograms_every": -1, "log_dir": "x"}, "must not be negative"),
])
def test_flags_that_do_not_fit(flags, text, databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), cwd=tmp_path)
    assert done.returncode == 64 and text in last_line(done.output)
    assert not (tmp_path / "x").exists()


def test_training_goes_on_when_the_disk_is_full(databases, tmp_path):
    """The graph alone is larger than the limit."""
    done = run("resnet50_trainer", *training(
        databases, tmp_path, log_dir=tmp_path / "logs", log_every=1, save_model_name="",
        epoch_size=640, log_worst_images=0), file_kib=4)
    assert done.returncode == 0, done.output
    assert done.output.count("Training goes on without it") == 3  # events, metrics, memory
    assert math.isfinite(json.loads(
        (tmp_path / "logs" / "metrics.jsonl").read_text().splitlines()[0])["time"])
