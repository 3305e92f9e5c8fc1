"""Static quantization: a quantized model computes what the model computes, but for the width of
levels; and wrong input is refused in one line, with nothing written."""

import collections
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image
from test_convert import write_images

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python.convert import convert_command, formats, progress, quantize_command
from caffe2.python.convert.calibration import Preparation, count_images, image_batches
from caffe2.python.convert.errors import ConvertError
from caffe2.python.convert.model import Model
from caffe2.python.convert.net_pair import init_net_of
from caffe2.python.quantize import quantize, quantize_model

RNG = np.random.RandomState(5)
X = RNG.uniform(-1, 1, (6, 3, 8, 8)).astype(np.float32)


def small_model():
    net = core.Net("small")
    net.AddExternalInput("x", "w", "b", "w2", "fw", "fb")
    net.Conv(["x", "w", "b"], "c", kernel=3, pad=1)
    net.Relu("c", "c")
    net.MaxPool("c", "p", kernel=2, stride=2)
    net.Conv(["p", "w2"], "d", kernel=3)
    net.FC(["d", "fw", "fb"], "scores")
    net.AddExternalOutput("scores")
    shapes = {"w": (8, 3, 3, 3), "b": (8,), "w2": (6, 8, 3, 3), "fw": (5, 24), "fb": (5,)}
    rng = np.random.RandomState(3)
    values = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    return Model(
        net.Proto(),
        values,
        ["x"],
        ["scores"],
        {"x": [0, 3, 8, 8]},
        {"mean": "128", "std": "128", "image_size": "8", "image_scale": "8"},
    )


def predictor(init, predict):
    return workspace.Predictor(init.SerializeToString(), predict.SerializeToString())


def assert_near(found, expected, tolerance=0.04):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("ranges", ["mse", "minmax"])
def test_predictions_stay_within_the_width_of_levels(ranges):
    model = small_model()
    init = init_net_of(model)
    (expected,) = predictor(init, model.net).run([X])
    init8, predict8 = quantize(init, model.net, [{"x": X[:3]}, {"x": X[3:]}], ranges)
    assert {op.type for op in predict8.op if "Int8" not in op.type} <= {"NCHW2NHWC", "NHWC2NCHW"}
    both = predictor(init8, predict8)
    assert_near(both.run([X])[0], expected)
    assert_near(both.run([X[:1]])[0], expected[:1])


def test_wrong_arguments_are_explained():
    model = small_model()
    for batches, words in (
        ([], "no examples"),
        ([{"x": X[:, :2]}], "2"),
        ([{"x": np.full_like(X, np.nan)}], "element 0 must be finite, found nan .*blob x"),
    ):
        with pytest.raises(ConvertError, match=words):
            quantize_model(model, batches)
    with pytest.raises(ConvertError, match="unknown method.*median"):
        quantize_model(model, [{"x": X}], "median")
    model.net.op[0].type = "Convolute"
    with pytest.raises(ConvertError, match="Convolute"):
        quantize_model(model, [{"x": X}])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """In the current folder: model.mdl, and images.minidb with pixels."""
    monkeypatch.chdir(tmp_path)
    formats.write(small_model(), "model.mdl")
    images = [RNG.randint(0, 256, (8, 8, 3)).astype(np.uint8) for _ in range(12)]
    write_images("images.minidb", images)
    return tmp_path


def run_command(*words):
    return quantize_command.main([str(word) for word in words], "doppio quantize")


def test_the_command_writes_a_model_that_predicts(files, capsys):
    assert run_command("model.mdl", "--calibration_data", "images.minidb", "--num_images", 25) == 0
    out, err = capsys.readouterr()
    assert "wrote model_int8.mdl: " in out
    assert err == (
        "note: images.minidb has 12 images, fewer than --num_images 25: all of them are taken\n"
    )
    assert (
        run_command(
            "model.mdl",
            "--calibration_data",
            "images.minidb",
            "--output",
            "pair",
            "--ranges",
            "minmax",
            "--per_tensor",
        )
        == 0
    )
    (expected,) = predictor(init_net_of(small_model()), small_model().net).run([X])
    for name in ("model_int8.mdl", "pair"):
        quantized = formats.read(name)
        assert quantized.info == small_model().info
        # The examples are not like X, some values of which are cut off.
        found = predictor(init_net_of(quantized), quantized.net).run([X])[0]
        assert_near(found, expected, tolerance=0.1)
    # A quantized model stays one from format to format.
    assert convert_command.main(["model_int8.mdl", "again"], "convert") == 0
    assert convert_command.main(["again", "again.mdl"], "convert") == 0
    for name, value in formats.read("model_int8.mdl").values.items():
        again = formats.read("again.mdl").values[name]
        np.testing.assert_array_equal(value.data, again.data)
        assert value[1:] == again[1:]
    capsys.readouterr()
    assert convert_command.main(["model_int8.mdl", "no.safetensors"], "convert") == 65
    assert "cannot hold a quantized model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, status, line",
    [
        (["model.mdl"], 64, "--calibration_data"),
        (["model.mdl", "--calibration_data", "none"], 66, "cannot read none"),
        (["model.mdl", "--calibration_data", "empty"], 66, "empty"),
        (["none.mdl", "--calibration_data", "images.minidb"], 66, "none.mdl"),
        (["model.mdl", "--calibration_data", "images.minidb", "--num_images", "0"], 64, "positive"),
        (
            ["model.mdl", "--calibration_data", "images.minidb", "--output", "out.onnx"],
            64,
            "out.onnx",
        ),
        (["model.mdl", "--calibration_data", "images.minidb", "--image_size", "7"], 65, "FC|fw"),
        (["model.mdl", "--calibration_data", "images.minidb", "--image_size", "9"], 66, "images"),
        (["model.mdl", "--calibration_data", "images.minidb", "--mean", "1,2"], 64, "--mean"),
        (["model.mdl", "--calibration_data", "images.minidb", "--std", "many"], 64, "std"),
        (["nan.mdl", "--calibration_data", "images.minidb"], 65, "nan"),
        (["i.pb,p.pb", "--calibration_data", "images.minidb"], 64, "--output"),
    ],
)
def test_errors_are_one_line_and_write_nothing(words, status, line, files, capsys):
    (files / "empty").mkdir()
    broken = small_model()
    broken.values["w"][0, 0, 0, 0] = np.nan
    formats.write(broken, "nan.mdl")
    before = sorted(os.listdir("."))
    assert run_command(*words) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("doppio quantize: ") and err.count("\n") == 1, err
    assert re.search(line, err), err
    assert sorted(os.listdir(".")) == before


@pytest.mark.parametrize("shape, model, changes", [
    ((4, 9, 3), "model.mdl", "enlarged"),
    ((8, 8, 1), "model.mdl", "given three equal channels"),
    ((9, 9, 3), "grey.mdl", "turned grey"),
    ((4, 4, 3), "grey.mdl", "enlarged and turned grey"),
    ((8, 9, 3), "model.mdl", ""),
    ((9, 8, 1), "grey.mdl", "")])
def test_images_that_do_not_fit_are_named(shape, model, changes, files, capsys):
    grey = small_model()
    grey.values["w"] = grey.values["w"][:, :1].copy()
    grey.shapes["x"] = [0, 1, 8, 8]
    grey.info["num_channels"] = "1"
    formats.write(grey, "grey.mdl")
    write_images("odd.minidb", [RNG.randint(0, 256, shape).astype(np.uint8) for _ in range(10)])
    assert run_command(model, "--calibration_data", "odd.minidb", "--num_images", 10) == 0
    channels = 1 if model == "grey.mdl" else 3
    expected = "" if not changes else (
        "note: 10 of odd.minidb's images do not fit the model: record 00000000 has height, width "
        f"and channels {shape}, the model takes (8, 8, {channels}), so it is {changes}\n")
    assert capsys.readouterr().err == expected


def test_a_size_that_was_only_guessed_is_told(files, capsys):
    unknown = small_model()
    unknown.info.clear()
    unknown.shapes.clear()
    formats.write(unknown, "unknown")
    assert run_command("unknown", "--calibration_data", "images.minidb") == 65
    assert capsys.readouterr().err.endswith(
        "the model does not say the size of its images, so 227 was taken: give --image_size\n")
    assert run_command("unknown", "--calibration_data", "images.minidb", "--image_size", "8",
                       "--image_scale", "8") == 0


def grey_folder(path, level, count):
    path.mkdir(parents=True)
    for i in range(count):
        Image.new("RGB", (8, 8), (level, level, level)).save(path / f"{i}.png")


def levels_of(path):
    """{grey level: number} of the images that calibration takes of a data set."""
    how = Preparation(8, 8, 3, "NCHW", [0.0], [1.0])
    count = count_images(str(path), 1000)
    images = np.concatenate([
        batch["x"] for batch in image_batches(str(path), count, how, "x")])
    return collections.Counter(int(level) for level in images[:, 0, 0, 0])


@pytest.mark.parametrize("test", ["test", "val"])
def test_calibration_takes_the_training_part(test, tmp_path):
    for part, level in (("train", 10), (test, 200)):
        for name in ("cat", "dog"):
            grey_folder(tmp_path / "photos" / part / name, level, 3)
    Image.new("RGB", (8, 8), (90, 90, 90)).save(tmp_path / "photos" / "preview.png")
    assert levels_of(tmp_path / "photos") == {10: 6}
    assert levels_of(tmp_path / "photos" / test) == {200: 6}
    (tmp_path / "photos" / "preview.png").unlink()
    for name, top in (("a.tar", "."), ("b.tar", "photos")):
        with tarfile.open(tmp_path / name, "w") as archive:
            archive.add(tmp_path / "photos", arcname=top)
        assert levels_of(tmp_path / name) == {10: 6}
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        for part in ("train", test):
            archive.add(tmp_path / "photos" / part, arcname=part)
    assert levels_of(tmp_path / "c.tar") == {10: 6}


def test_calibration_takes_all_of_a_data_set_without_parts(tmp_path):
    for name, level in (("car", 10), ("train", 20), ("test", 30)):  # things on wheels
        grey_folder(tmp_path / "things" / name, level, 2)
    assert levels_of(tmp_path / "things") == {10: 2, 20: 2, 30: 2}
    grey_folder(tmp_path / "loose", 70, 4)
    assert levels_of(tmp_path / "loose") == {70: 4}


def test_the_command_shows_its_progress(files, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PAUSE", 0)
    assert run_command("model.mdl", "--calibration_data", "images.minidb") == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines[:-1]] == [
        "calibrating: 10 of 12 images (83 %)", "calibrating: 12 of 12 images (100 %)"]


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_shown_now_and_then(terminal, monkeypatch):
    """Each batch takes a second and a half of a clock that the test turns."""
    class Screen(io.StringIO):
        def isatty(self):
            return terminal

    now = [100.0]
    screen = Screen()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", screen)
    batches = [{"x": np.full((10, 1), i)} for i in range(20)]
    seen = []
    for batch in progress.with_progress("calibrating", iter(batches), 200):
        seen.append(batch["x"][0, 0])
        now[0] += 1.5
    assert seen == list(range(20))
    text = screen.getvalue()
    if terminal:
        assert text.count("\r\x1b[Kcalibrating: ") == 20 and "\n" not in text
        assert text.endswith("200 of 200 images (100 %), 7/s, 0 s left\r\x1b[K")
    else:
        assert text.splitlines() == [
            "calibrating: 70 of 200 images (35 %), 7/s, 20 s left",
            "calibrating: 140 of 200 images (70 %), 7/s, 9 s left"]


def data(*parts):
    path = pathlib.Path(os.environ.get("CAFFE2_TEST_DATA", "."), *parts)
    if "CAFFE2_TEST_DATA" not in os.environ or not path.exists():
        pytest.skip(f"CAFFE2_TEST_DATA has no {'/'.join(parts)}")
    return path


def cifar_images(name):
    """(images as ResNet-32 takes them, labels)."""
    raw = subprocess.run(
        ["zstd", "-dc", data("cifar10", name)], check=True, stdout=subprocess.PIPE
    ).stdout
    records = np.frombuffer(raw, np.uint8).reshape(-1, 3073)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32)[:, ::-1].astype(np.float32)
    mean = np.float32([113.865, 122.95, 125.307]).reshape(3, 1, 1)
    std = np.float32([66.7048, 62.0887, 62.9932]).reshape(3, 1, 1)
    return (pixels - mean) / std, records[:, 0]


def nets_of_caffe2(name):
    """The init and predict nets of a model of Caffe2's zoo."""
    folder = data("caffe2_models", name)
    return [
        caffe2_pb2.NetDef.FromString((folder / file).read_bytes())
        for file in ("init_net.pb", "predict_net.pb")
    ]


def photographs(tmp_path):
    """(300 photographs as SqueezeNet takes them, labels), in the order of labels.txt."""
    folder = data("imagenet_sample")
    lines = [line.split() for line in (folder / "labels.txt").read_text().splitlines()]
    path = str(tmp_path / "photographs.minidb")
    database = C.create_db("minidb", path, C.Mode.new)
    transaction = database.new_transaction()
    for i, (file, label, *_) in enumerate(lines):
        protos = caffe2_pb2.TensorProtos()
        protos.protos.add(
            data_type=caffe2_pb2.TensorProto.STRING, string_data=[(folder / file).read_bytes()]
        )
        protos.protos.add(data_type=caffe2_pb2.TensorProto.INT32, int32_data=[int(label)])
        transaction.put(f"{i:04}", protos.SerializeToString())
    transaction.commit()
    del transaction
    database.close()
    net = core.Net("photographs")
    reader = net.CreateDB([], "reader", db=path, db_type="minidb")
    net.ImageInput(
        reader,
        ["images", "labels"],
        batch_size=len(lines),
        scale=256,
        crop=227,
        mean_per_channel=[104.0, 117.0, 123.0],
        std_per_channel=[1.0, 1.0, 1.0],
        is_test=1,
        use_caffe_datum=0,
        order="NCHW",
    )
    workspace.RunNetOnce(net)
    return workspace.FetchBlob("images"), workspace.FetchBlob("labels")


def count_right(nets, images, labels):
    both = predictor(*nets)
    found = [both.run([images[i : i + 50]])[0] for i in range(0, len(images), 50)]
    return (np.concatenate(found).reshape(len(images), -1).argmax(1) == labels).sum()


def test_squeezenet_of_caffe2_classifies_as_well(tmp_path):
    """In 8 bits it loses at most 1 % of the images. Each half has the other one as examples."""
    nets = nets_of_caffe2("squeezenet")
    images, labels = photographs(tmp_path)
    right = 0
    for half, other in ((slice(0, 150), slice(150, 300)), (slice(150, 300), slice(0, 150))):
        right += count_right(quantize(*nets, [{"data": images[other]}]), images[half], labels[half])
    in_float = count_right(nets, images, labels)
    assert in_float >= 189 and len(labels) == 300  # 193 in an evaluator that is not ours
    assert right >= in_float - 3


def test_resnet32_of_caffe2_classifies_as_well():
    nets = nets_of_caffe2("resnet32_cifar10")
    examples, _ = cifar_images("data_batch_1_first3000.bin.zst")
    images, labels = cifar_images("test_batch_first1000.bin.zst")
    both = predictor(*quantize(*nets, [{"data": examples[:100]}]))
    found = np.concatenate(
        [both.run([images[i : i + 100]])[0].argmax(1) for i in range(0, 1000, 100)]
    )
    assert (found == labels).sum() >= 917 - 10  # 917 in float
