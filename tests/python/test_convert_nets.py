"""doppio convert of init and predict nets: what they keep; and files that cannot be read or
written."""

import os
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import text_format
from test_convert import error_of, small_model, write_images

from caffe2.proto import caffe2_pb2
from caffe2.python import core
from caffe2.python.convert import formats
from caffe2.python.convert.model import Model


def test_nets_keep_what_the_model_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = small_model()
    model.info["class_names"] = 'cat\n\u00e4ff "x"\n'
    model.net.arg.add(name="application_info/own", i=3)  # no text, so an argument of the net
    for target in ("pair", "i.pbtxt,p.pbtxt", "p.pb,i.pb"):
        formats.write(model, target)
        again = formats.read(target)
        assert again.info == model.info and list(again.net.arg) == list(model.net.arg)
    net = caffe2_pb2.NetDef.FromString((tmp_path / "pair/predict_net.pb").read_bytes())
    arguments = {arg.name: arg.s.decode() for arg in net.arg if arg.HasField("s")}
    assert arguments == {"application_info/mean": "1,2,3",
                         "application_info/class_names": model.info["class_names"]}
    assert formats.read("pair/predict_net.pb").info == model.info
    assert 'name: "application_info/mean"' in (tmp_path / "p.pbtxt").read_text()
    text_format.Parse((tmp_path / "i.pbtxt").read_text(), caffe2_pb2.NetDef())


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_images_give_nets_the_shape_of_their_input(order, tmp_path):
    shape = [0, 3, 7, 7] if order == "NCHW" else [0, 7, 7, 3]
    net = core.Net("images")
    net.AddExternalInput("x")
    net.Relu("x", "y")
    info = {"image_size": "7", "num_channels": "3", "order": order}
    formats.write(Model(net.Proto(), {}, ["x"], ["y"], {"x": shape}, info), f"{tmp_path}/pair")
    assert formats.read(f"{tmp_path}/pair").shapes == {"x": shape}
    for size in ("-7", "large", "9" * 30):
        info["image_size"] = size
        formats.write(Model(net.Proto(), {}, ["x"], ["y"], {}, info), f"{tmp_path}/pair")
        assert formats.read(f"{tmp_path}/pair").shapes == {}


def test_two_nets_have_the_endings_of_nets(tmp_path, capsys):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    for target, name in (("x,y.mdl", "x"), ("x.pb,y.mdl", "y.mdl"), ("x.txt,y.pb", "x.txt")):
        first, second = target.split(",")
        status, line = error_of(capsys, tmp_path / "a.mdl",
                                f"{tmp_path}/{first},{tmp_path}/{second}")
        assert status == 64 and f"{tmp_path}/{name} does not end in .pb" in line
    assert [path.name for path in tmp_path.iterdir()] == ["a.mdl"]
    assert error_of(capsys, tmp_path / "a.mdl", "a.pb,b.pb,c.pb")[0] == 64


@pytest.mark.parametrize("package", ["torch", "safetensors", "onnx"])
def test_a_file_is_read_before_its_package_is_missed(package, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / f"a.{'pth' if package == 'torch' else package}"
    status, line = error_of(capsys, path, tmp_path / "b.mdl")
    assert status == 66 and f"cannot read {path}: No such file" in line
    path.touch()
    status, line = error_of(capsys, path, tmp_path / "b.mdl")
    assert status == 65 and line == f"convert: {path} is empty\n"
    path.write_text("nonsense")
    status, line = error_of(capsys, path, tmp_path / "b.mdl")
    assert status == 71 and f"pip install {package}" in line


def test_swapped_nets_are_named(tmp_path, capsys):
    formats.write(small_model(), f"{tmp_path}/pair")
    init, predict = f"{tmp_path}/pair/init_net.pb", f"{tmp_path}/pair/predict_net.pb"
    status, line = error_of(capsys, f"{predict},{init}", tmp_path / "a.mdl")
    assert (status, line) == (65, (
        f"convert: {predict} cannot make the parameters: it reads x, which it does not make. The "
        "init net comes first, then the predict net: the two may be swapped\n"))


_ON_A_FULL_DISK = """
import resource, sys
from caffe2.python.convert import convert_command, quantize_command
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
command = quantize_command if sys.argv[1] == "--quantize" else convert_command
sys.exit(command.main([word for word in sys.argv[1:] if word != "--quantize"], "convert"))
"""


@pytest.mark.parametrize("target", ["b.mdl", "b.onnx", "b.safetensors", "b.pth", "b", "b/c",
                                    "b.pb,c.pb", "quantized.mdl", "quantized"])
def test_a_full_disk_has_one_status(target, tmp_path):
    package = {"b.onnx": "onnx", "b.safetensors": "safetensors", "b.pth": "torch"}.get(target)
    if package:
        pytest.importorskip(package, reason=f"{package} is not installed")
    model = small_model()
    model.values.update(fw=np.ones((500, 36), np.float32), fb=np.ones(500, np.float32))
    formats.write(model, f"{tmp_path}/a.mdl")
    words = ["a.mdl", target]
    if "quantized" in target:
        pixels = np.random.RandomState(2).randint(0, 256, (8, 8, 3)).astype(np.uint8)
        write_images(tmp_path / "images.minidb", [pixels] * 3)
        net = core.Net("large")
        net.AddExternalInput("x", "fw", "fb")
        net.FC(["x", "fw", "fb"], "y")
        net.AddExternalOutput("y")
        values = {"fw": np.ones((90, 192), np.float32), "fb": np.ones(90, np.float32)}
        formats.write(Model(net.Proto(), values, ["x"], ["y"], {"x": [0, 3, 8, 8]}),
                      f"{tmp_path}/a.mdl")
        words = ["--quantize", "a.mdl", "--calibration_data", "images.minidb", "--output", target]
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run([sys.executable, "-c", _ON_A_FULL_DISK, *words], text=True, cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 73, done.stdout
    assert done.stdout.startswith("convert: cannot write ") and done.stdout.count("\n") == 1
    assert ".part" not in done.stdout
    assert sorted(os.listdir(tmp_path)) == before


def test_a_folder_that_was_there_stays_when_the_disk_is_full(tmp_path):
    model = small_model()
    model.values.update(fw=np.ones((500, 36), np.float32))
    formats.write(model, f"{tmp_path}/a.mdl")
    (tmp_path / "b").mkdir()
    done = subprocess.run([sys.executable, "-c", _ON_A_FULL_DISK, "a.mdl", "b"], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 73 and "cannot write b/init_net.pb: File too large" in done.stdout
    assert (tmp_path / "b").is_dir() and not os.listdir(tmp_path / "b")
