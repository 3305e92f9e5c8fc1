"""`doppio inspect`: the layers, shapes and parameters of a model, as text, JSON and a picture."""

import json
import xml.etree.ElementTree

import numpy as np
import pytest
from test_convert import error_of, inspect, small_model

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python.convert import formats, inspect_command, layers
from caffe2.python.convert.model import Model
from caffe2.python.onnx.workspace import Workspace
from caffe2.python.predictor import predictor_exporter, predictor_py_utils, serde
from caffe2.python.predictor.predictor_constants import predictor_constants as keys


def test_inspect(tmp_path, capsys):
    model = small_model()
    model.info["class_names"] = "cat\ndog\n"
    formats.write(model, f"{tmp_path}/a.mdl")
    lines = [line.split() for line in inspect(capsys, tmp_path / "a.mdl").splitlines()]
    # Conv: 4 x 3 x 3 outputs of 3 x 3 x 3 products, and their bias; FC: 36 x 5 products.
    assert lines[0] == ["input", "x:", "Nx3x7x8"]
    conv, _, fc, softmax = lines[2:6]
    assert conv[:4] == ["Conv", "c", "1x4x3x3", "112"]
    assert int(conv[4].replace(",", "")) in (2 * 27 * 36, 2 * 27 * 36 + 36)
    assert fc[:4] == ["FC", "scores", "1x5", "185"] and softmax == ["Softmax", "y", "1x5", "0", "5"]
    assert lines[-2:] == [["class_names:", "cat,", "dog"], ["mean:", "1,2,3"]]
    two = json.loads(inspect(capsys, tmp_path / "a.mdl", "--json", "--batch_size", 2))
    assert two["parameters"] == 112 + 185 and two["outputs"] == ["y"]
    assert [layer["shape"] for layer in two["layers"]] == [
        [2, 4, 3, 3], [2, 4, 3, 3], [2, 5], [2, 5]]
    assert two["flops"] == sum(layer["flops"] for layer in two["layers"])


def test_inspect_a_net_without_parameters(tmp_path, capsys):
    (tmp_path / "predict.pb").write_bytes(small_model().net.SerializeToString())
    out = inspect(capsys, tmp_path / "predict.pb")
    assert "input x: ?" in out and "--input_shape" in out
    net = small_model().net
    net.external_input[:] = ["w", "b", "fb", "x", "fw"]  # as old model zoos have it
    (tmp_path / "predict.pb").write_bytes(net.SerializeToString())
    assert inspect(capsys, tmp_path / "predict.pb").startswith("input x: ?\n")
    del net.external_input[:]
    (tmp_path / "predict.pb").write_bytes(net.SerializeToString())
    assert inspect(capsys, tmp_path / "predict.pb").startswith("input x: ?\n")
    status, line = error_of(capsys, tmp_path / "none.pb", command=inspect_command)
    assert status == 66 and "none.pb" in line
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    status, line = error_of(capsys, tmp_path / "a.mdl", "--input_shape", "5,7,8",
                            command=inspect_command)
    assert status == 65 and "the shapes do not fit" in line


def predictor_without(part, path):
    """Writes an exported predictor that lacks a net, or the value of the parameter b."""
    model = small_model()
    ws = Workspace()
    with workspace.WorkspaceGuard(ws._name):
        for name, value in model.values.items():
            workspace.FeedBlob(name, value)
        export = predictor_exporter.PredictorExportMeta(
            model.net, sorted(model.values), ["x"], ["y"], shapes={"x": [1, 3, 7, 8]})
        meta = predictor_exporter.get_meta_net_def(export)
        if part == "b":
            load = predictor_py_utils.GetNet(meta, keys.GLOBAL_INIT_NET_TYPE).op[0]
            load.output.remove("b")
        nets = [entry for entry in meta.nets if part not in ("all", entry.key)]
        del meta.nets[:]
        meta.nets.extend(nets)
        workspace.FeedBlob(keys.META_NET_DEF, serde.serialize_protobuf_struct(meta))
        workspace.RunOperatorOnce(core.CreateOperator(
            "Save", [keys.META_NET_DEF, *sorted(model.values)], [], absolute_path=1, db=str(path),
            db_type="minidb"))


@pytest.mark.parametrize("part, why", [
    ("all", "is not an exported predictor: it has no net PREDICT_NET_TYPE"),
    (keys.PREDICT_NET_TYPE, "is not an exported predictor: it has no net PREDICT_NET_TYPE, only "
                            "PREDICT_INIT_NET_TYPE, GLOBAL_INIT_NET_TYPE"),
    (keys.GLOBAL_INIT_NET_TYPE, "is not an exported predictor: it has no net GLOBAL_INIT_NET_TYPE, "
                                "only PREDICT_INIT_NET_TYPE, PREDICT_NET_TYPE"),
    ("b", "lists the parameter b, but its init net does not load it"),
])
def test_a_predictor_without_a_part(part, why, tmp_path, capsys):
    path = tmp_path / "a.mdl"
    predictor_without(part, path)
    status, line = error_of(capsys, path, command=inspect_command)
    assert (status, line) == (65, f"convert: {path} {why}\n")


def test_errors_do_not_name_the_sources(tmp_path, capsys):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    _, line = error_of(capsys, tmp_path / "a.mdl", "--input_shape", "1,7,8",
                       command=inspect_command)
    assert "the filter must have as many channels as a group of the input" in line
    assert "enforce" not in line and ".cc" not in line


def test_names_cannot_control_the_terminal(tmp_path, capsys):
    model = small_model()
    model.net.op[0].output[0] = model.net.op[1].input[0] = "c\x1b]0;owned\x07\n"
    model.info["class_names"] = "cat\x1b[31m"
    (tmp_path / "predict.pb").write_bytes(model.net.SerializeToString())
    out = inspect(capsys, tmp_path / "predict.pb")
    assert "\x1b" not in out and "c?]0;owned??" in out
    status, line = error_of(capsys, tmp_path / "none\x1b.pb", command=inspect_command)
    assert status == 66 and "none?.pb" in line


def test_the_picture(tmp_path, capsys, monkeypatch):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    monkeypatch.setenv("PATH", str(tmp_path))  # no other program is needed
    inspect(capsys, tmp_path / "a.mdl", "--svg", tmp_path / "a.svg")
    root = xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[texts.index("Conv") + 1] == "1 x 4 x 3 x 3" and "x" in texts
    assert "fw" not in texts  # a parameter


@pytest.mark.parametrize("fused", [False, True])
def test_running_statistics_are_no_parameters(fused, tmp_path, capsys):
    net = core.Net("normalized")
    net.AddExternalInput("x", "s", "b", "m", "v")
    normalize = net.SpatialBNRelu if fused else net.SpatialBN
    normalize(["x", "s", "b", "m", "v"], "y", is_test=1)
    values = {name: np.ones(3, np.float32) for name in "sbmv"}
    model = Model(net.Proto(), values, ["x"], ["y"], {"x": [0, 3, 4, 4]})
    formats.write(model, f"{tmp_path}/a.mdl")
    assert "1 operators, 6 parameters, 6 running statistics, " in inspect(
        capsys, tmp_path / "a.mdl")
    totals = json.loads(inspect(capsys, tmp_path / "a.mdl", "--json"))
    assert (totals["parameters"], totals["running_statistics"]) == (6, 6)
    assert totals["layers"][0]["running_statistics"] == 6
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    assert "running" not in inspect(capsys, tmp_path / "a.mdl")


def test_the_schemas_say_which_inputs_are_running_statistics():
    found = {}
    for name in workspace.RegisteredOperators():
        schema = C.OpSchema.get(name)
        for i, (_, text) in enumerate(schema.input_desc if schema else ()):
            if text.startswith(("Running mean", "Running variance")):
                found[name] = (*found.get(name, ()), i)
    assert found == layers._RUNNING


def test_operators_that_move_data_compute_nothing(tmp_path, capsys):
    assert layers._MOVERS <= set(workspace.RegisteredOperators())
    net = core.Net("moves")
    net.AddExternalInput("x")
    net.Dropout("x", ["dropped", "mask"], is_test=1)
    net.Transpose("dropped", "t", axes=[0, 2, 3, 1])
    net.Reshape("t", ["r", "old"], shape=[0, -1])
    net.ConstantFill("r", "f", value=1.0)
    net.Concat(["r", "f"], ["y", "lengths"], axis=1)
    net.Relu("y", "z")
    net.Dropout("z", ["again", "more"], ratio=0.5)
    model = Model(net.Proto(), {}, ["x"], ["again"], {"x": [0, 3, 4, 5]})
    formats.write(model, f"{tmp_path}/a.mdl")
    found = json.loads(inspect(capsys, tmp_path / "a.mdl", "--json"))["layers"]
    assert [layer["flops"] for layer in found[:-1]] == [0, 0, 0, 0, 0, 120]
    assert found[-1]["flops"] > 0  # in training it scales
    assert [layer["shape"] for layer in found[:3]] == [[1, 3, 4, 5], [1, 4, 5, 3], [1, 60]]


def test_a_predict_net_alone_says_that_the_init_net_is_missing(tmp_path, capsys):
    formats.write(small_model(), f"{tmp_path}/pair")
    for words, missing in (((), " --input_shape 3,224,224"), (("--input_shape", "3,7,8"), "")):
        out = inspect(capsys, tmp_path / "pair/predict_net.pb", *words)
        assert ("the shapes of filters are unknown without the init net: give both nets, "
                f"init_net.pb,predict_net.pb{missing}\n") in out
    assert "init net" not in inspect(capsys, tmp_path / "pair", "--input_shape", "3,7,8")
    net = core.Net("relu")  # has no filters
    net.AddExternalInput("x")
    net.Relu("x", "y")
    (tmp_path / "predict.pb").write_bytes(net.Proto().SerializeToString())
    assert "init net" not in inspect(capsys, tmp_path / "predict.pb", "--input_shape", "3")
