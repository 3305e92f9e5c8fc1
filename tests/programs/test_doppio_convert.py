"""`doppio convert`, `inspect` and `quantize`: how the program starts the Python package. What the
package does is tested in tests/python/test_convert.py."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from model_files import model, net, op
from PIL import Image

from conftest import BIN, last_line, run, training

PACKAGE = BIN.parent / "python" / "caffe2"
needs_package = pytest.mark.skipif(
    importlib.util.find_spec("google.protobuf") is None
    or not list(PACKAGE.glob("python/caffe2_pybind11_state*.so")),
    reason="the build has no Python package",
)


def doppio(*words, **variables):
    return run("doppio", *words, env={"DOPPIO_PYTHON": sys.executable, **variables})


@pytest.fixture
def pixels(tmp_path):
    """A model that takes pictures of 8 x 8 grey pixels."""
    path = tmp_path / "model.mdl"
    path.write_bytes(model(init=[op("ConstantFill", [], ["data"], shape=[1, 8, 8], value=0.0)]))
    return path


@needs_package
def test_convert_and_inspect(pixels, tmp_path):
    done = doppio("convert", pixels, tmp_path / "pair")
    nets = [tmp_path / "pair" / name for name in ("init_net.pb", "predict_net.pb")]
    assert (done.returncode, done.output) == (0, f"wrote {nets[0]} and {nets[1]}\n")
    done = doppio("convert", tmp_path / "pair", tmp_path / "again.onnx", "--input_shape", "8,8")
    assert (done.returncode, done.output) == (0, f"wrote {tmp_path / 'again.onnx'}\n")
    assert sorted(path.name for path in (tmp_path / "pair").iterdir()) == [
        "init_net.pb",
        "predict_net.pb",
    ]
    for words in ((pixels,), (tmp_path / "pair", "--input_shape", "8,8")):
        done = doppio("inspect", *words)
        assert done.returncode == 0, done.output
        assert ["Softmax", "softmax", "1x64", "0", "64"] in [
            line.split() for line in done.output.splitlines()
        ]


@needs_package
@pytest.mark.parametrize("name", ["net.onnx", "net.mdl"])
def test_a_folder_with_the_name_of_a_file_stays_empty(name, pixels, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    done = doppio("convert", pixels, folder)
    end = folder.suffix
    assert (done.returncode, done.output) == (73, f"doppio convert: {folder} is a folder: name a "
                                              "file, or for two nets a folder whose name does not "
                                              f"end in {end}\n")
    assert not list(folder.iterdir())


@needs_package
def test_their_errors_are_one_line_with_a_status(pixels, tmp_path):
    for words, status, line in (
        (("convert", pixels, tmp_path / "out.xyz"), 64, "doppio convert: .*out.xyz: the format"),
        (
            ("convert", tmp_path / "none.mdl", tmp_path / "out.mdl"),
            66,
            "doppio convert: cannot read .*none.mdl",
        ),
        (("inspect",), 64, r"doppio inspect: .*model \(see doppio inspect --help\)"),
    ):
        done = doppio(*words)
        assert done.returncode == status and re.match(f"{line}[^\n]*\n$", done.output), done.output
    for words, meant in (
        (("convert", "a.mdl", "b.onnx", "--batchsize", "3"), "batch_size"),
        (("inspect", "a.mdl", "--svgg=a.svg"), "svg"),
        (("quantize", "a.mdl", "--calibration_dta", "d"), "calibration_data"),
    ):
        done = doppio(*words)
        option = next(word for word in words if word.startswith("--")).partition("=")[0]
        assert done.returncode == 64
        assert done.output == (
            f"doppio {words[0]}: unknown option {option}; do you mean --{meant}? "
            f"(see doppio {words[0]} --help)\n"
        )
    done = doppio("convert", "--help")
    assert done.returncode == 0 and "usage: doppio convert" in done.output


@needs_package
def test_an_output_that_cannot_be_written_has_its_own_status(pixels, tmp_path):
    for words in (("inspect", pixels), ("inspect", pixels, "--json"),
                  ("convert", pixels, tmp_path / "a.onnx")):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BIN / "doppio", *words], stdout=full, stderr=subprocess.PIPE,
                                  text=True, env={**os.environ, "DOPPIO_PYTHON": sys.executable})
        assert (done.returncode, done.stderr) == (
            73, f"doppio {words[0]}: cannot write the output: No space left on device\n")


@needs_package
def test_predict_knows_the_images_of_a_converted_model(tmp_path):
    (tmp_path / "pair").mkdir()
    fill = op("GivenTensorFill", [], ["w"], shape=[1, 64], values=[1.0] * 64)
    scores = (op("Flatten", ["data"], ["flat"]), op("Mul", ["flat", "w"], ["scores"]),
              op("Softmax", ["scores"], ["softmax"]))
    (tmp_path / "pair" / "init_net.pb").write_bytes(net(fill))
    (tmp_path / "pair" / "predict_net.pb").write_bytes(
        net(*scores, inputs=["data", "w"], outputs=["softmax"]))
    done = doppio("convert", tmp_path / "pair", tmp_path / "a.mdl", "--input_shape", "1,8,8",
                  "--mean", "0", "--std", "255")
    assert done.returncode == 0, done.output
    Image.new("L", (20, 20), 90).save(tmp_path / "grey.png")
    done = run("predict", "--model", tmp_path / "a.mdl", tmp_path / "grey.png")
    assert done.returncode == 0, done.output
    # Its nets know them, too.
    doppio("convert", tmp_path / "a.mdl", tmp_path / "again")
    for words in (("--model", tmp_path / "again"),
                  ("--init_net", tmp_path / "again" / "init_net.pb",
                   "--predict_net", tmp_path / "again" / "predict_net.pb")):
        again = run("predict", *words, tmp_path / "grey.png")
        assert again.output == done.output and again.returncode == 0
    done = run("predict", "--model", tmp_path / "pair", tmp_path / "grey.png")
    assert done.returncode != 0
    assert "the model does not say what images it takes" in last_line(done.output)


@needs_package
@pytest.mark.parametrize("command, words", [
    ("inspect", ()), ("convert", ("out.mdl",)),
    ("quantize", ("--calibration_data", "none")),
])
def test_no_command_advises_a_flag_that_it_lacks(command, words, tmp_path):
    save = op("Save", ["data"], [], db=str(tmp_path / "written"), db_type="minidb", absolute_path=1)
    path = tmp_path / "stranger.mdl"
    for parts in ({"init": [op("ConstantFill", [], ["data"], shape=[1, 8, 8]), save]},
                  {"predict": [save]}):
        path.write_bytes(model(**parts))
        done = run("doppio", command, path, *words, env={"DOPPIO_PYTHON": sys.executable},
                   cwd=tmp_path)
        assert done.returncode == 65, done.output
        assert "operator Save" in done.output
        assert "trust_model" not in done.output


@needs_package
def test_a_trained_model_becomes_one_of_8_bits(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path))
    assert done.returncode == 0, done.output
    Image.new("L", (40, 40), 90).save(tmp_path / "grey.png")
    scores = []
    for name in ("model_1.mdl", "model_1_int8.mdl"):
        if "int8" in name:
            done = doppio(
                "quantize",
                tmp_path / "model_1.mdl",
                "--calibration_data",
                databases / "train_lmdb",
                "--num_images",
                20,
            )
            assert done.returncode == 0, done.output
            assert re.match(rf"wrote {tmp_path}/{name}: \d+ of \d+ operators", done.output)
        done = run("predict", "--model", tmp_path / name, "--top", 10, tmp_path / "grey.png")
        assert done.returncode == 0, done.output
        found = re.findall(r"^ *([\d.]+)  (\d)$", done.output, re.MULTILINE)
        scores.append({label: float(score) for score, label in found})
    assert len(scores[0]) == 10
    for label, score in scores[0].items():
        assert abs(scores[1][label] - score) < 0.1, scores
    done = doppio("quantize", tmp_path / "model_1.mdl", "--calibration_data", tmp_path / "none")
    assert done.returncode == 66
    assert re.match(
        r"doppio quantize: cannot read [^\n]*/none: [^\n]*\n$", done.output
    ), done.output
    flags = training(databases, tmp_path, load_model_path=tmp_path / "model_1_int8.mdl")
    for more in ([], ["--evaluate"], ["--finetune"]):
        done = run("resnet50_trainer", *flags, *more)
        assert done.returncode == 65
        assert "model_1_int8.mdl is a model of 8 bits, which trainers" in last_line(done.output)


def test_python_that_is_missing_is_named(tmp_path):
    done = doppio("convert", "a.mdl", "b.mdl", DOPPIO_PYTHON=tmp_path / "python9")
    assert done.returncode == 64
    assert re.match(
        r"doppio: convert: cannot start the Python interpreter \S+/python9 \(No such "
        r"file or directory\): .*DOPPIO_PYTHON\n$",
        done.output,
    ), done.output


def test_a_package_that_is_missing_is_named(tmp_path):
    bare = tmp_path / "python"  # without site packages, and without a place to look for ours
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    done = doppio("inspect", "a.mdl", DOPPIO_PYTHON=bare)
    assert done.returncode == 71
    assert re.match(
        r"doppio inspect: needs the Python package of Doppio, which \S+ cannot import "
        r"\(.*\): install it there with pip, .*DOPPIO_PYTHON\n$",
        done.output,
    ), done.output


def test_completion_knows_the_commands():
    done = run("doppio", "completion", "bash")
    assert done.returncode == 0
    assert " convert inspect quantize " in done.output
