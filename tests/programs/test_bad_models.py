"""Models from strangers: they must not end a program by a signal, nor reach beyond themselves."""

import math
import subprocess

import pytest
from model_files import PREDICT, load, model, net, op, tensor_blob

from conftest import BIN, LIMIT, last_line, run, training

TRUST = "--trust_model"


def check(done, *expected):
    assert 0 < done.returncode < 128, f"status {done.returncode}: {done.output[-2000:]}"
    for text in expected:
        assert text in last_line(done.output), done.output[-2000:]
    assert "terminate called" not in done.output


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "grey.pgm"
    path.write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    return path


@pytest.fixture
def predict(tmp_path, picture):
    """Runs predict with a model of these bytes."""
    def run_predict(content, *flags):
        path = tmp_path / "stranger.mdl"
        path.write_bytes(content)
        return run("predict", "--model", path, "--image_size", 8, "--image_scale", 8,
                   "--num_channels", 1, *flags, picture)
    return run_predict


def test_a_model_that_is_whole(predict):
    done = predict(model())
    assert done.returncode == 0, done.output


def test_outputs_that_no_operator_makes(predict, picture, tmp_path):
    check(predict(model(outputs=["absent"])), "absent")
    (tmp_path / "init.pbtxt").write_text('name: "init"')
    (tmp_path / "predict.pbtxt").write_text(
        'op { type: "Copy" input: "data" output: "y" } external_input: "data" '
        'external_output: "absent"')
    done = run("predict", "--init_net", tmp_path / "init.pbtxt", "--predict_net",
               tmp_path / "predict.pbtxt", "--image_size", 8, "--image_scale", 8,
               "--num_channels", 1, picture)
    check(done, "absent")


def test_names_cannot_control_the_terminal(predict, tmp_path):
    evil = "No\x1b]0;owned\x07\nOp"
    check(predict(model(predict=[op(evil, ["data"], ["softmax"])])), "No?]0;owned? Op")
    (tmp_path / "net.pb").write_bytes(net(op(evil, ["data"], ["y"]), inputs=["data"]))
    done = run("speed_benchmark", "--net", tmp_path / "net.pb")
    assert done.returncode != 0 and "\x1b" not in done.output + predict(model(
        predict=[op(evil, ["data"], ["softmax"])])).output


def test_masks_without_a_place(predict):
    """An argument asks for an output that is not there."""
    segments = [op("GivenTensorIntFill", [], ["lengths"], shape=[1], values=[1]),
                op("PackSegments", ["lengths", "data"], ["softmax"], return_presence_mask=1)]
    check(predict(model(predict=segments)), "return_presence_mask needs a second output")


def test_outputs_that_are_no_scores(predict):
    check(predict(model(predict=[op("Shape", ["data"], ["softmax"])])), "int64")
    check(predict(model(predict=[op("CreateMap", [], ["softmax"])])), "Tensor is needed")


def test_parameters_that_are_not_loaded(databases, predict, tmp_path):
    content = model(parameters=["conv1_w"])
    check(predict(content), "stranger.mdl", "conv1_w")
    flags = training(databases, tmp_path, load_model_path=tmp_path / "stranger.mdl")
    check(run("resnet50_trainer", *flags), "stranger.mdl", "conv1_w")


@pytest.mark.parametrize("program, flag", [("speed_benchmark", "--net"), ("run_plan", "--plan")])
def test_nets_without_a_bottom(program, flag, tmp_path):
    path = tmp_path / "deep.pbtxt"
    levels = 9000
    field = "network" if program == "run_plan" else ""
    inner = "op { arg { n { " * levels + "} } } " * levels
    path.write_text(f"{field} {{ {inner} }}" if field else inner)
    check(run(program, flag, path), "deep.pbtxt")


def writes(path):
    """Operators that write a file of their choice, and the blob that they need."""
    return {
        "Save": op("Save", ["data"], [], db=str(path), db_type="minidb", absolute_path=1),
        "Checkpoint": op("Checkpoint", ["data", "step"], [], db=str(path), db_type="minidb",
                         every=1, absolute_path=1),
        "Print": op("Print", ["data"], [], to_file=1),
        "Load": op("Load", [], ["data"], db="/etc/passwd", db_type="minidb", absolute_path=1),
        "CreateDB": op("CreateDB", [], ["reader"], db=str(path), db_type="minidb"),
        "ImageInput": op("ImageInput", [], ["data", "label"], db=str(path), db_type="minidb",
                         batch_size=1, crop=8),
        "FileStoreHandlerCreate": op("FileStoreHandlerCreate", [], ["store"], path=str(path)),
        "RedisStoreHandlerCreate": op("RedisStoreHandlerCreate", [], ["store"], host="127.0.0.1",
                                      port=1),
        "CreateTextFileReader": op("CreateTextFileReader", [], ["reader"], filename="/etc/passwd",
                                   field_types=[4]),
        "Python": op("Python", ["data"], ["y"], token="x"),
        "NoSuchOperator": op("NoSuchOperator", ["data"], ["y"]),
    }


@pytest.mark.parametrize("kind", writes(""))
@pytest.mark.parametrize("where", ["init", "load", "predict", "nested"])
def test_operators_that_reach_beyond_the_model(kind, where, predict, tmp_path):
    path = tmp_path / "written"
    bad = writes(path)[kind]
    data = op("ConstantFill", [], ["data"], shape=[1, 1, 8, 8])
    true = op("GivenTensorBoolFill", [], ["true"], shape=[1], values=[1])
    parts = {
        "init": {"init": [data, bad]},
        "load": {"load": [data, bad]},
        "predict": {"predict": [bad, *PREDICT]},
        "nested": {"predict": [true, op("If", ["true"], [], then_net=net(bad)), *PREDICT]},
    }[where]
    check(predict(model(**parts)), kind)
    assert not path.exists()


def test_trainers_do_not_obey_a_model(databases, tmp_path):
    path = tmp_path / "written"
    data = op("ConstantFill", [], ["data"], shape=[1, 1, 8, 8])
    (tmp_path / "stranger_1.mdl").write_bytes(model(init=[data, writes(path)["Save"]]))
    flags = training(databases, tmp_path, load_model_path=tmp_path / "stranger_1.mdl")
    check(run("resnet50_trainer", *flags), "Save", TRUST)
    assert not path.exists()


def test_advice_names_a_flag_only_where_there_is_one(predict, tmp_path):
    bad = writes(tmp_path / "written")["Save"]
    stranger = model(init=[op("ConstantFill", [], ["data"], shape=[1, 1, 8, 8]), bad])
    advice = "if you trust whoever made the model, allow everything with --trust_model"
    check(predict(stranger), "Save", advice)
    done = run("speed_benchmark", "--net", tmp_path / "stranger.mdl")
    check(done, "Save")
    assert "trust whoever" not in done.output


def test_a_model_that_is_trusted(predict, tmp_path):
    path = tmp_path / "written"
    data = op("ConstantFill", [], ["data"], shape=[1, 1, 8, 8])
    done = predict(model(init=[data, writes(path)["Save"]]), TRUST)
    assert done.returncode == 0, done.output
    assert path.exists()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_no_numbers(value, predict):
    content = model(load=[load("w")], parameters=["w"], blobs=tensor_blob("w", [1.0, value]))
    check(predict(content), "blob w", "element 1")
    assert predict(content, TRUST).returncode == 0


def test_weights_without_content(predict):
    blobs = tensor_blob("w", [0.0] * 9, storage=4)
    content = model(load=[load("w")], parameters=["w"], blobs=blobs)
    check(predict(content), '"w"', "NO_CONTENT")


def test_loops_without_end(predict):
    true = op("GivenTensorBoolFill", [], ["true"], shape=[1], values=[1])
    nothing = net(op("Copy", ["true"], ["copy"]))
    check(predict(model(predict=[true, op("While", ["true"], [], loop_net=nothing), *PREDICT])),
          "max_iterations")
    inner = nothing
    for _ in range(3):
        inner = net(op("While", ["true"], [], loop_net=inner))
    check(predict(model(predict=[true, op("If", ["true"], [], then_net=inner), *PREDICT])),
          "nested loops")


def test_models_that_are_too_large(predict):
    many = [op("Copy", ["data"], ["copy"])] * 100_001
    check(predict(model(predict=[*many, *PREDICT])), "operators")
    check(predict(model(init=[op("ConstantFill", [], ["big"], shape=[1 << 20, 1 << 20])])), "big")
    check(predict(model(init=[op("ConstantFill", [], ["big"], shape=[1 << 40, 1 << 40])])), "big")
    check(predict(model(predict=[op("Copy", ["data"], ["x" * 2000]), *PREDICT])), "name")
    deep = net(op("Copy", ["data"], ["copy"]))
    for _ in range(10):
        deep = net(op("If", ["data"], [], then_net=deep))
    check(predict(model(predict=[op("If", ["data"], [], then_net=deep), *PREDICT])), "nested nets")
    # Shape inference does not know how large it is.
    shape = op("GivenTensorInt64Fill", [], ["shape"], shape=[2], values=[1 << 20, 1 << 14])
    fill = op("ConstantFill", ["shape"], ["big"], input_as_shape=1)
    check(predict(model(predict=[shape, fill, *PREDICT])), "out of memory")


@pytest.mark.parametrize("content", [b"", b"\xff" * 200, model()[:40]])
def test_files_that_are_no_models(content, predict):
    check(predict(content), "stranger.mdl")


TOO_LONG = "has more than 1073741824 bytes"


@pytest.mark.parametrize("flags, error", [
    (["--model", "/dev/zero"], "no minidb database at /dev/zero"),
    (["--init_net", "init.pb", "--predict_net", "/dev/zero"], f"/dev/zero {TOO_LONG}"),
    (["--init_net", "/dev/zero", "--predict_net", "predict.pb"], f"/dev/zero {TOO_LONG}"),
], ids=["model", "predict_net", "init_net"])
def test_a_device_without_end(flags, error, picture, tmp_path):
    (tmp_path / "init.pb").write_bytes(net(op("ConstantFill", [], ["w"], shape=[1])))
    (tmp_path / "predict.pb").write_bytes(net(*PREDICT, inputs=["data"], outputs=["softmax"]))
    done = run("predict", *flags, "--image_size", 8, "--image_scale", 8, "--num_channels", 1,
               picture, cwd=tmp_path)
    check(done, error)


def test_a_picture_without_end(predict):
    done = predict(model(), "/dev/zero")
    assert done.returncode == 65
    assert f"it {TOO_LONG} (picture /dev/zero)" in done.output


def test_nets_from_pipes(picture, tmp_path):
    (tmp_path / "init.pb").write_bytes(net(op("ConstantFill", [], ["w"], shape=[1])))
    (tmp_path / "predict.pb").write_bytes(net(*PREDICT, inputs=["data"], outputs=["softmax"]))
    command = ('exec "$0" --init_net <(gzip < init.pb | zcat) --predict_net <(cat predict.pb) '
               '--image_size 8 --image_scale 8 --num_channels 1 grey.pgm')
    done = subprocess.run(["bash", "-c", command, BIN / "predict"], cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
    assert done.returncode == 0, done.stdout
