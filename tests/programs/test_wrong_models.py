"""Files of another kind than the model or checkpoint that a flag names: the error says what they
are and what to do."""

import re

import pytest
from model_files import field, load, model, net, op, tensor_blob

from conftest import last_line, run, training

ONNX = field(1, 8) + field(2, "pytorch") + field(7, b"")
SAFETENSORS = (16).to_bytes(8, "little") + b'{"w":{}}        '
FILES = {
    "photos.onnx": (ONNX, "an ONNX model", "doppio convert {path} photos.mdl"),
    "onnx.mdl": (ONNX, "an ONNX model",
                 "name it onnx.onnx, and convert it: doppio convert onnx.onnx onnx.mdl"),
    "w.safetensors": (SAFETENSORS, "a safetensors file", "doppio convert {path} w.mdl"),
    "w.pth": (b"PK\x03\x04" + bytes(60), "a file of PyTorch", "doppio convert {path} w.mdl"),
    "cat.jpg": (b"\xff\xd8\xff\xe0" + bytes(60), "a picture", "name an exported model (.mdl)"),
    "cat.png": (b"\x89PNG\r\n\x1a\n" + bytes(60), "a picture", "name an exported model (.mdl)"),
    "predict_net.pb": (net(op("Softmax", ["x"], ["y"])), "a net without parameters",
                       "name two nets as init_net.pb,predict_net.pb, or the folder that holds"),
}


def refused(done, path, what, advice):
    assert done.returncode == 65, done.output
    assert re.search(f": {re.escape(str(path))} is {what}.*: {re.escape(advice)}",
                     last_line(done.output)), done.output
    assert "has no epoch in its name" not in done.output


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_model(name, databases, tmp_path):
    content, what, advice = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    advice = advice.format(path=path)
    refused(run("predict", "--model", path, path), path, what, advice)
    flags = training(databases, tmp_path, load_model_path=path, save_model_name="")
    refused(run("resnet50_trainer", *flags), path, what, advice)


def test_folders_and_files_that_are_not_there(databases, tmp_path):
    done = run("predict", "--model", tmp_path, tmp_path)
    refused(done, tmp_path, "a folder", "name a file in it, or a folder with init_net.pb")
    for program, words in (("predict", ["--model", tmp_path / "none", tmp_path]),
                           ("resnet50_trainer", training(databases, tmp_path, save_model_name="",
                                                         load_model_path=tmp_path / "none"))):
        done = run(program, *words)
        assert done.returncode == 66, done.output
        assert last_line(done.output).endswith(f"cannot read {tmp_path}/none: No such file or "
                                               "directory")
        assert "has no epoch in its name" not in done.output


def test_models_and_checkpoints_are_told_apart(databases, tmp_path):
    flags = training(databases, tmp_path, checkpoint_every=1, max_iterations=2)
    done = run("resnet50_trainer", *flags)
    assert done.returncode == 0, done.output
    checkpoint = tmp_path / "model.checkpoint"
    done = run("predict", "--model", checkpoint, checkpoint)
    refused(done, checkpoint, "a checkpoint, not a model", "name a .mdl file, or continue")
    path = tmp_path / "exported.mdl"
    path.write_bytes(model())
    for flag in (["--resume"], ["--auto_resume"]):
        done = run("resnet50_trainer", *flags, *flag, "--checkpoint_path", path)
        refused(done, path, "a model, not a checkpoint",
                f"start from it with --load_model_path {path} and without --resume")
    assert path.read_bytes() == model()
    path.write_bytes(ONNX)
    done = run("resnet50_trainer", *flags, "--resume", "--checkpoint_path", path)
    refused(done, path, "an ONNX model, not a checkpoint", "name a file that a run has written")


def test_two_nets_are_a_model(tmp_path):
    picture = tmp_path / "grey.pgm"
    picture.write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    (tmp_path / "pair").mkdir()
    init, predict = tmp_path / "pair" / "init_net.pb", tmp_path / "pair" / "predict_net.pb"
    init.write_bytes(net(op("GivenTensorFill", [], ["w"], shape=[1, 64], values=[1.0] * 64)))
    predict.write_bytes(net(op("Flatten", ["data"], ["flat"]), op("Mul", ["flat", "w"], ["scores"]),
                            op("Softmax", ["scores"], ["softmax"]),
                            inputs=["data", "w"], outputs=["softmax"]))
    ways = [["--model", tmp_path / "pair"], ["--model", f"{init},{predict}"],
            ["--init_net", init, "--predict_net", predict]]
    outputs = set()
    for words in ways:
        done = run("predict", *words, "--image_size", 8, "--image_scale", 8, "--num_channels", 1,
                   picture)
        assert done.returncode == 0, done.output
        outputs.add(done.output)
    assert len(outputs) == 1


def test_trainers_start_from_two_nets(databases, tmp_path):
    (tmp_path / "pair").mkdir()
    for name in ("init_net.pb", "predict_net.pb"):
        (tmp_path / "pair" / name).write_bytes(net(op("ConstantFill", [], ["w"], shape=[1])))
    flags = training(databases, tmp_path, load_model_path=tmp_path / "pair", save_model_name="")
    done = run("resnet50_trainer", *flags)
    assert done.returncode == 65, done.output
    assert last_line(done.output).endswith(
        f"{tmp_path}/pair has no parameter conv1_w (the model may be of another network: now it is "
        "lenet with --num_channels 1)")


def test_speed_benchmark_times_a_model(tmp_path):
    path = tmp_path / "model.mdl"
    data = op("ConstantFill", [], ["data"], shape=[1, 1, 8, 8])
    scaled = [op("Flatten", ["data"], ["flat"]), op("Mul", ["flat", "w"], ["s"]),
              op("Softmax", ["s"], ["softmax"])]
    path.write_bytes(model(predict=scaled, init=[data], load=[load("w")], parameters=["w"],
                           blobs=tensor_blob("w", [1.0] * 64)))
    done = run("speed_benchmark", "--net", path, "--iter", 2)
    assert done.returncode == 0, done.output
    assert "Main runs finished" in done.output
