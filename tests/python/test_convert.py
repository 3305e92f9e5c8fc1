"""Models from format to format: what a model computes stays the same, and wrong input is refused in
one line."""

import os
import subprocess
import sys

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core
from caffe2.python.convert import convert_command, formats, inspect_command
from caffe2.python.convert.errors import ConvertError
from caffe2.python.convert.files import whole_file
from caffe2.python.convert.layers import layers_of
from caffe2.python.convert.model import Model
from caffe2.python.onnx.helper import fill_operator


def predict(model, x):
    ws = C.Workspace()
    for name, value in {**model.values, model.inputs[0]: x}.items():
        ws.feed_blob(name, value)
    ws.run(model.net)
    return ws.fetch_blob(model.outputs[0])


def small_model():
    net = core.Net("small")
    net.AddExternalInput("x", "w", "b", "fw", "fb")
    net.Conv(["x", "w", "b"], "c", kernel=3, stride=2)
    net.Relu("c", "c")
    net.FC(["c", "fw", "fb"], "scores")
    net.Softmax("scores", "y")
    net.AddExternalOutput("y")
    rng = np.random.RandomState(3)
    values = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in {
        "w": (4, 3, 3, 3), "b": (4,), "fw": (5, 36), "fb": (5,)}.items()}
    return Model(net.Proto(), values, ["x"], ["y"], {"x": [0, 3, 7, 8]}, {"mean": "1,2,3"})


def write_images(path, images):
    """Writes a database of arrays of pixels."""
    database = C.create_db("minidb", str(path), C.Mode.new)
    transaction = database.new_transaction()
    for i, pixels in enumerate(images):
        protos = caffe2_pb2.TensorProtos()
        protos.protos.add(dims=pixels.shape, data_type=caffe2_pb2.TensorProto.BYTE,
                          byte_data=pixels.tobytes())
        protos.protos.add(data_type=caffe2_pb2.TensorProto.INT32, int32_data=[0])
        transaction.put(f"{i:08}", protos.SerializeToString())
    transaction.commit()
    del transaction
    database.close()


X = np.random.RandomState(4).uniform(-1, 1, (2, 3, 7, 8)).astype(np.float32)


def convert(*words):
    return convert_command.main([str(word) for word in words], "convert")


def error_of(capsys, *words, command=convert_command):
    """(exit status, the one line that a failing command prints)."""
    capsys.readouterr()  # what commands before it wrote
    status = command.main([str(word) for word in words], "convert")
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("convert: ") and err.count("\n") == 1, err
    return status, err


def inspect(capsys, *words):
    assert inspect_command.main([str(word) for word in words], "inspect") == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("target", ["b.mdl", "pair", "i.pb,p.pb", "i.pbtxt,p.PBTXT"])
def test_models_with_a_net_stay_the_same(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = small_model()
    formats.write(model, "a.mdl")
    assert convert("a.mdl", target) == 0
    assert convert(target, "c.mdl") == 0
    again = formats.read("c.mdl")
    assert (again.inputs, again.outputs) == (["x"], ["y"])
    np.testing.assert_array_equal(predict(again, X), predict(model, X))
    assert list(again.net.op) == list(model.net.op)
    assert again.info == model.info and list(again.net.arg) == list(model.net.arg)
    if target == "b.mdl":
        assert again.shapes == {"x": [1, 3, 7, 8]}
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_a_text_net_and_a_net_that_also_makes_its_input(tmp_path):
    model = small_model()
    init = caffe2_pb2.NetDef(name="init")
    init.op.extend(fill_operator(value, name) for name, value in model.values.items())
    init.op.extend([fill_operator(np.zeros((1, 3, 7, 8), np.float32), "x")])
    model.net.op[0].device_option.device_type = caffe2_pb2.CUDA
    init.op[0].device_option.device_type = caffe2_pb2.CUDA
    (tmp_path / "i.pbtxt").write_text(str(init))
    (tmp_path / "p.pbtxt").write_text(str(model.net))
    read = formats.read(f"{tmp_path}/i.pbtxt,{tmp_path}/p.pbtxt")
    assert read.inputs == ["x"] and read.shapes == {"x": [1, 3, 7, 8]}
    assert sorted(read.values) == sorted(model.values)


def test_a_placeholder_is_not_the_shape_of_the_input(tmp_path, capsys):
    model = small_model()
    init = caffe2_pb2.NetDef(name="init")
    init.op.extend(fill_operator(value, name) for name, value in model.values.items())
    init.op.add(type="ConstantFill", output=["x"]).arg.add(name="shape", ints=[1, 1])
    (tmp_path / "i.pb").write_bytes(init.SerializeToString())
    (tmp_path / "p.pb").write_bytes(model.net.SerializeToString())
    pair = f"{tmp_path}/i.pb,{tmp_path}/p.pb"
    read = formats.read(pair)
    assert read.inputs == ["x"] and read.shapes == {} and "x" not in read.values
    out = inspect(capsys, pair)
    assert out.startswith("input x: ?\n") and "give the shape of the input" in out
    status, line = error_of(capsys, pair, tmp_path / "a.onnx")
    assert status == 65 and "the shape of the input x is not known" in line


def test_a_net_of_one_batch_size_gets_a_hint(tmp_path, capsys):
    pytest.importorskip("onnx")
    net = core.Net("fixed")
    net.AddExternalInput("x")
    net.Reshape("x", ["y", "old_shape"], shape=[1, 3, 56])
    net.AddExternalOutput("y")
    formats.write(Model(net.Proto(), {}, ["x"], ["y"], {"x": [1, 3, 7, 8]}), f"{tmp_path}/a.mdl")
    status, line = error_of(capsys, tmp_path / "a.mdl", tmp_path / "a.onnx")
    assert status == 65 and line.endswith("the net takes batches of 1: give --batch_size 1\n")
    _, line = error_of(capsys, tmp_path / "a.mdl", tmp_path / "a.onnx", "--input_shape", "2,7,8")
    assert "--batch_size" not in line
    _, line = error_of(capsys, tmp_path / "a.mdl", tmp_path / "a.onnx", "--batch_size", 2)
    assert "cannot reshape" in line and "--batch_size" not in line
    assert convert(tmp_path / "a.mdl", tmp_path / "a.onnx", "--batch_size", 1) == 0


def test_onnx_both_ways(tmp_path):
    pytest.importorskip("onnx")
    model = small_model()
    formats.write(model, f"{tmp_path}/a.mdl")
    assert convert(tmp_path / "a.mdl", tmp_path / "a.onnx") == 0
    assert convert(tmp_path / "a.onnx", tmp_path / "b.mdl") == 0
    again = formats.read(f"{tmp_path}/b.mdl")
    assert again.info == model.info and again.shapes == {"x": [1, 3, 7, 8]}
    np.testing.assert_allclose(predict(again, X), predict(model, X), rtol=1e-5)
    assert formats.read(f"{tmp_path}/a.onnx").shapes == {"x": [0, 3, 7, 8]}
    assert convert(tmp_path / "a.mdl", tmp_path / "four.onnx", "--batch_size", 4) == 0
    assert formats.read(f"{tmp_path}/four.onnx").shapes == {"x": [4, 3, 7, 8]}


def test_onnx_keeps_a_softmax_over_several_axes(tmp_path):
    pytest.importorskip("onnx")
    net = core.Net("softmax")
    net.AddExternalInput("x", "w", "b")
    net.Conv(["x", "w", "b"], "c", kernel=3)
    net.Softmax("c", "y", axis=1)
    net.AddExternalOutput("y")
    values = {name: small_model().values[name] for name in "wb"}
    model = Model(net.Proto(), values, ["x"], ["y"], {"x": [0, 3, 7, 8]})
    formats.write(model, f"{tmp_path}/a.mdl")
    for source, target in (("a.mdl", "a.onnx"), ("a.onnx", "b.mdl"), ("b.mdl", "b.onnx")):
        assert convert(tmp_path / source, tmp_path / target) == 0
    again = formats.read(f"{tmp_path}/b.onnx")
    assert again.shapes == {"x": [0, 3, 7, 8]}
    np.testing.assert_allclose(predict(again, X), predict(model, X), rtol=1e-5)


def test_safetensors_of_any_net(tmp_path, capsys):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    model = small_model()
    formats.write(model, f"{tmp_path}/a.mdl")
    assert convert(tmp_path / "a.mdl", tmp_path / "a.safetensors") == 0
    values = safetensors.load_file(f"{tmp_path}/a.safetensors")
    assert {name: value.tolist() for name, value in values.items()} == {
        name: value.tolist() for name, value in model.values.items()}
    values["w"] = values["w"] * 2
    safetensors.save_file(values, f"{tmp_path}/twice.safetensors")
    words = (tmp_path / "twice.safetensors", tmp_path / "b.mdl")
    assert convert(*words, "--like", tmp_path / "a.mdl") == 0
    model.values["w"] = values["w"]
    np.testing.assert_array_equal(predict(formats.read(f"{tmp_path}/b.mdl"), X), predict(model, X))
    os.remove(tmp_path / "b.mdl")
    for change, why in (({"fb": np.zeros(6, np.float32)},
                         "fb has the shape (6,), the model that --like names has (5,)"),
                        ({"more": np.zeros(1, np.float32)}, "no parameter more")):
        safetensors.save_file({**values, **change}, f"{tmp_path}/twice.safetensors")
        status, line = error_of(capsys, *words, "--like", tmp_path / "a.mdl")
        assert status == 65 and why in line
    status, line = error_of(capsys, *words)
    assert status == 65 and "--like" in line
    (tmp_path / "twice.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0nonsense")
    status, line = error_of(capsys, *words)
    assert status == 65 and "twice.safetensors is not a safetensors file" in line
    assert not (tmp_path / "b.mdl").exists()


def test_colours_in_the_other_order(tmp_path, capsys):
    model = small_model()
    formats.write(model, f"{tmp_path}/a.mdl")
    assert convert(tmp_path / "a.mdl", tmp_path / "b.mdl", "--swap_channels") == 0
    swapped = formats.read(f"{tmp_path}/b.mdl")
    np.testing.assert_allclose(predict(swapped, np.ascontiguousarray(X[:, ::-1])),
                               predict(model, X), rtol=1e-5)
    model.values["w"] = model.values["w"][:, :2]
    formats.write(model, f"{tmp_path}/a.mdl")
    status, line = error_of(capsys, tmp_path / "a.mdl", tmp_path / "c.mdl", "--swap_channels")
    assert status == 65 and "w takes 2 channels, not 3" in line
    assert not (tmp_path / "c.mdl").exists()


def test_wrong_calls_and_files(tmp_path, capsys):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    good, target = tmp_path / "a.mdl", tmp_path / "out.mdl"
    (tmp_path / "junk.mdl").write_bytes(b"\x05\0\0\0nonsense" * 9)
    (tmp_path / "junk.pb").write_bytes(b"\xff\xfe" * 30)
    (tmp_path / "empty").touch()
    cut = tmp_path / "cut.mdl"
    cut.write_bytes(good.read_bytes()[:-50])
    for words, status, text in (
            ((), 64, "source, target"),
            ((good,), 64, "target"),
            ((good, target, "--bacth_size", 2), 64, "--bacth_size"),
            ((good, target, "--batch_size", 4), 64, "out.mdl has no batch size"),
            ((good, target, "--batch_size", 0), 64, "'0' is not a positive number"),
            ((good, target, "--batch_size", 99999999999), 64, "not a number from 1 to 2147483647"),
            ((good, target, "--batch_size", "9" * 5000), 64, "not a number from 1 to 2147483647"),
            ((good, target, "--input_shape", "3,x"), 64, "'x' is not a positive number"),
            ((good, target, "--input_shape", "data=3,7,8"), 64, "no input data, but x"),
            ((good, tmp_path / "out.txt"), 64, ".txt is not known; name model.mdl"),
            ((good, tmp_path / "out.pb"), 64, "init_net.pb,predict_net.pb"),
            ((tmp_path / "junk.pb", target), 64, "junk.pb alone has no parameters"),
            ((good, target, "--like", good), 64, "--like is only for parameters"),
            ((tmp_path / "none.mdl", target), 66, "No such file"),
            ((tmp_path / "none", target), 66, "no such file or folder"),
            ((tmp_path / "empty", target), 64, "empty: the format of files without an ending"),
            ((good, target, "--batch", 2), 64, "unknown option --batch; do you mean --batch_size"),
            ((tmp_path / "junk.mdl", target), 65, "junk.mdl is not an exported predictor"),
            ((cut, target), 65, "cut.mdl is not an exported predictor"),
            ((f"{tmp_path}/junk.pb,{tmp_path}/junk.pb", target), 65, "junk.pb is not a NetDef"),
            ((good, tmp_path / "no/folder/out.mdl"), 73, "cannot write"),
            ((good, tmp_path / "w.safetensors", "--names", "torchvision"), 65, "not a ResNet")):
        found, line = error_of(capsys, *words)
        assert (found, text in line) == (status, True), (words, found, line)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.mdl", "cut.mdl", "empty", "junk.mdl", "junk.pb"]


def test_a_model_of_images_says_how_they_become_its_input(tmp_path, capsys):
    net = core.Net("squares")
    net.AddExternalInput("x", "w", "b")
    net.AveragePool("x", "pooled", global_pooling=1)
    net.FC(["pooled", "w", "b"], "y")
    values = {"w": np.ones((2, 3), np.float32), "b": np.zeros(2, np.float32)}
    pair = tmp_path / "pair"
    formats.write(Model(net.Proto(), values, ["x"], ["y"]), str(pair))
    by_shape = {"image_size": "32", "image_scale": "36", "num_channels": "3", "order": "NCHW"}
    model = tmp_path / "a.mdl"
    assert convert(pair, model, "--input_shape", "3,32,32") == 0
    assert formats.read(str(model)).info == by_shape
    colours = {"mean": "104,117,123", "std": "57.5"}
    assert convert(model, tmp_path / "b.mdl", "--mean", colours["mean"], "--std", "57.5") == 0
    assert formats.read(str(tmp_path / "b.mdl")).info == {**by_shape, **colours}
    assert convert(tmp_path / "b.mdl", tmp_path / "c.mdl", "--input_shape", "3,224,224") == 0
    large = {"image_size": "224", "image_scale": "256"}
    assert formats.read(str(tmp_path / "c.mdl")).info == {**by_shape, **colours, **large}
    for words in (["--std", "0"], ["--std=-1"], ["--mean", "1,2"], ["--mean", "x"],
                  ["--std", "nan"], ["--mean", "1,inf,2"]):
        assert error_of(capsys, model, tmp_path / "b.mdl", *words)[0] == 64
    status, line = error_of(capsys, model, tmp_path / "a.pth", "--mean", "1")
    assert status == 64 and "only .mdl, .onnx and .safetensors files and nets" in line
    assert convert(tmp_path / "b.mdl", tmp_path / "b", "--mean", "7") == 0
    assert formats.read(str(tmp_path / "b")).info == {**by_shape, **colours, "mean": "7"}


@pytest.mark.parametrize("levels", [50, 9000])
def test_nets_without_a_bottom(levels, tmp_path, capsys):
    path = tmp_path / "deep.pbtxt"
    path.write_text("op { arg { n { " * levels + "} } } " * levels)
    for words, command in (((path,), inspect_command),
                           ((f"{path},{path}", tmp_path / "x.mdl"), convert_command)):
        status, line = error_of(capsys, *words, command=command)
        assert status == 65 and f"{path} is not a NetDef, is damaged, or has more than 100" in line


def test_ctrl_c_ends_a_command_without_a_word(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(formats, "read", interrupt)
    assert convert("a.mdl", "b.mdl") == 130
    assert inspect_command.main(["a.mdl"]) == 130
    assert tuple(capsys.readouterr()) == ("", "")


@pytest.mark.parametrize("values", [
    np.array([[1.5, -65504], [6e-8, np.inf]], np.float16), np.array([-32768, 32767], np.int16),
    np.array([0, 255, 10, 13], np.uint8), np.array([2**31 - 1, -2**31], np.int32),
    np.array([2**62, -1]), np.array([0.5, -1e30], np.float32), np.array([0.5, np.nan]),
    np.array([True, False]), np.zeros((0, 3), np.float16)], ids=lambda value: value.dtype.name)
def test_a_pair_keeps_the_types_of_parameters(tmp_path, values):
    net = core.Net("copies")
    net.AddExternalInput("x", "w")
    net.Copy("w", "y")
    pair = tmp_path / "pair"
    formats.write(Model(net.Proto(), {"w": values}, ["x"], ["y"]), str(pair))
    read = formats.read(str(pair)).values["w"]
    assert read.dtype == values.dtype and read.shape == values.shape
    np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("values", [np.array([1, -2], np.int8), np.array([1], np.uint16),
                                    np.array([0.1]), np.array([1e300])])
def test_types_that_a_pair_cannot_keep_are_refused(tmp_path, values):
    net = core.Net("copies")
    net.AddExternalInput("x", "w")
    net.Copy("w", "y")
    with pytest.raises(ConvertError, match="the parameter w: "):
        formats.write(Model(net.Proto(), {"w": values}, ["x"], ["y"]), str(tmp_path / "pair"))


def test_what_onnx_cannot_express(tmp_path, capsys):
    pytest.importorskip("onnx")
    model = small_model()
    model.shapes = {}
    formats.write(model, f"{tmp_path}/pair")
    words = (tmp_path / "pair", tmp_path / "a.onnx")
    status, line = error_of(capsys, *words)
    assert status == 65 and "--input_shape x=3,224,224" in line
    status, line = error_of(capsys, *words, "--input_shape", "3,9,9")
    assert status == 65 and "cannot run on one input of the shape x [3, 9, 9]" in line
    model.net.op[3].type = "LogSoftmaxOfMine"
    formats.write(model, f"{tmp_path}/pair")
    status, line = error_of(capsys, *words, "--input_shape", "3,7,8")
    assert status == 65 and "LogSoftmaxOfMine" in line
    (tmp_path / "junk.onnx").write_bytes(b"nonsense")
    status, line = error_of(capsys, tmp_path / "junk.onnx", tmp_path / "a.mdl")
    assert status == 65 and "junk.onnx is not an ONNX model" in line
    assert not (tmp_path / "a.onnx").exists() and not (tmp_path / "a.mdl").exists()


def test_a_stranger_s_net_writes_no_files(tmp_path, capsys):
    model = small_model()
    formats.write(model, f"{tmp_path}/pair")
    init = caffe2_pb2.NetDef.FromString((tmp_path / "pair/init_net.pb").read_bytes())
    save = init.op.add(type="Save", input=["w"])
    save.arg.add(name="db", s=f"{tmp_path}/stolen".encode())
    save.arg.add(name="db_type", s=b"minidb")
    save.arg.add(name="absolute_path", i=1)
    (tmp_path / "pair/init_net.pb").write_bytes(init.SerializeToString())
    status, line = error_of(capsys, tmp_path / "pair", tmp_path / "a.mdl")
    assert status == 65 and "Save" in line and not (tmp_path / "stolen").exists()


def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    for package, target in (("torch", "a.pth"), ("safetensors", "a.safetensors"),
                            ("onnx", "a.onnx")):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
        status, line = error_of(capsys, tmp_path / "a.mdl", tmp_path / target)
        assert status == 71 and f"pip install {package}" in line and sys.executable in line
        assert not (tmp_path / target).exists()


def test_a_file_that_cannot_be_written_whole_leaves_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(KeyError), whole_file(str(path)) as temporary:
        with open(temporary, "w") as file:
            file.write("half")
        raise KeyError
    assert [each.name for each in tmp_path.iterdir()] == ["a"] and path.read_text() == "before"


def test_a_device_stays_what_it_is(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(ConvertError, match="cannot write .*link: No space left"):
        with whole_file(str(link)) as temporary, open(temporary, "w") as file:
            file.write("whole")
    assert link.is_symlink()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(str(pipe)) as temporary, open(temporary, "w") as file:
        file.write("whole")
    assert os.read(reader, 100) == b"whole" and pipe.is_fifo()
    os.close(reader)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "pipe"]


def test_an_open_file_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("before ")
    with open(path, "a") as open_file:
        for name in (f"/dev/fd/{open_file.fileno()}", f"/proc/self/fd/{open_file.fileno()}"):
            with whole_file(name) as temporary, open(temporary, "w") as file:
                file.write("whole")
    assert path.read_text() == "before wholewhole"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_links_to_files_stay_links(tmp_path):
    (tmp_path / "file").write_text("before")
    link = tmp_path / "link"
    link.symlink_to("file")
    with whole_file(str(link)) as temporary, open(temporary, "w") as file:
        file.write("whole")
    assert link.is_symlink() and (tmp_path / "file").read_text() == "whole"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_a_link_of_a_stranger_in_a_shared_folder_is_replaced(tmp_path):
    tmp_path.chmod(0o1777)
    other, link = tmp_path / "other", tmp_path / "link"
    for target in (other, "/dev/full"):
        other.write_text("precious")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        os.lchown(link, 12345, 12345)
        with whole_file(str(link)) as temporary, open(temporary, "w") as file:
            file.write("whole")
        assert not link.is_symlink() and link.read_text() == "whole"
        assert other.read_text() == "precious"


def test_a_parameter_that_is_used_twice_counts_once():
    model = small_model()
    model.net.op.add(type="Sum", input=["w", "w"], output=["again"])
    assert [layer.parameters for layer in layers_of(model)] == [112, 0, 185, 0, 0]


def test_python_runs_the_command(tmp_path):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    for module in ("convert", "convert.inspect_command"):
        done = subprocess.run(
            [sys.executable, "-m", f"caffe2.python.{module}", "--help"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0 and "--input_shape" in done.stdout
