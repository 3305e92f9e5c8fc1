"""Exported models, models of Caffe2 itself, and drawings of nets."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2, metanet_pb2
from caffe2.python import brew, core, net_drawer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.predictor import mobile_exporter, predictor_exporter, predictor_py_utils
from caffe2.python.predictor.predictor_constants import predictor_constants as constants


def small_model():
    model = ModelHelper("small")
    brew.softmax(model, brew.fc(model, "x", "fc", 3, 2), "softmax")
    workspace.RunNetOnce(model.param_init_net)
    return model


def test_exported_model_predicts_the_same():
    model = small_model()
    x = np.float32([[1, 2, 3]])
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(model.net)
    expected = workspace.FetchBlob("softmax")
    init_net, predict_net = mobile_exporter.Export(workspace, model.net, model.params)
    assert list(predict_net.external_output) == ["softmax"]
    workspace.ResetWorkspace()
    predictor = workspace.Predictor(init_net.SerializeToString(), predict_net.SerializeToString())
    np.testing.assert_array_equal(predictor.run([x])[0], expected)
    np.testing.assert_array_equal(predictor.run({"x": x})[0], expected)
    assert workspace.Blobs() == []
    with pytest.raises(ValueError, match="no inputs"):
        predictor.run({"z": x})
    with pytest.raises(ValueError, match="2 values"):
        predictor.run([x, x])


@pytest.mark.parametrize("values", [
    np.float32([[1.5]]), np.float64([1e300]), np.int32([1, 2]), np.int64([2**40]),
    np.array([True, False]), np.array([b"a", b"bc"], dtype=object)])
def test_exported_tensors(values):
    net = caffe2_pb2.NetDef()
    mobile_exporter.add_tensor(net, "t", values)
    if values.dtype == np.float64:
        # Arguments hold floats: the range of double is lost, as in Caffe2.
        assert net.op[0].type == "GivenTensorDoubleFill"
        return
    workspace.RunNetOnce(net)
    fetched = workspace.FetchBlob("t")
    assert fetched.dtype == values.dtype and fetched.tolist() == values.tolist()


def test_blob_lists_of_models_are_replaced():
    meta = metanet_pb2.MetaNetDef()
    predictor_py_utils.AddBlobs(meta, "inputs", ["a", "b"])
    predictor_py_utils.ReplaceBlobs(meta, "inputs", ["c"])
    assert predictor_py_utils.GetBlobs(meta, "inputs") == ["c"]
    with pytest.raises(KeyError, match="outputs"):
        predictor_py_utils.ReplaceBlobs(meta, "outputs", ["c"])


def test_models_are_loaded_to_the_device_scope(tmp_path):
    model = small_model()
    meta = predictor_exporter.PredictorExportMeta(
        model.net, model.params, ["x"], ["softmax"], {"x": [1, 3], "softmax": [1, 2]})
    path = str(tmp_path / "model")
    predictor_exporter.save_to_db("minidb", path, meta)
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU, 1)):
        loaded = predictor_exporter.load_from_db(path, "minidb")
    init_net = predictor_py_utils.GetNet(loaded, constants.GLOBAL_INIT_NET_TYPE)
    assert {op.device_option.device_id for op in init_net.op} == {1}


def test_export_refuses():
    with pytest.raises(TypeError, match="complex64"):
        mobile_exporter.add_tensor(caffe2_pb2.NetDef(), "t", np.zeros(1, np.complex64))
    model = small_model()
    model.AddGradientOperators(["softmax"])
    with pytest.raises(ValueError, match="gradients"):
        mobile_exporter.Export(workspace, model.net, model.params)


def test_predictor_in_one_file(tmp_path):
    model = small_model()
    x = np.float32([[1, 2, 3]])
    workspace.FeedBlob("x", x)
    workspace.RunNetOnce(model.net)
    expected = workspace.FetchBlob("softmax")
    path = str(tmp_path / "model.minidb")
    meta = predictor_exporter.PredictorExportMeta(
        model.net, model.params, ["x"], ["softmax"], shapes={"x": (1, 3)})
    predictor_exporter.save_to_db("minidb", path, meta)
    workspace.ResetWorkspace()
    net = predictor_exporter.prepare_prediction_net(path, "minidb")
    workspace.FeedBlob("x", x)
    workspace.RunNet(net)
    np.testing.assert_array_equal(workspace.FetchBlob("softmax"), expected)
    with pytest.raises(ValueError, match="disjoint"):
        predictor_exporter.PredictorExportMeta(model.net, ["x"], ["x"], [])


def data_file(*parts):
    path = pathlib.Path(os.environ.get("CAFFE2_TEST_DATA", "."), *parts)
    if not path.exists():
        pytest.skip(f"CAFFE2_TEST_DATA has no {'/'.join(parts)}")
    return path


def model_of_caffe2(folder, init="init_net.pb", predict="predict_net.pb"):
    """Predictor of two files, with their operators on the CPU."""
    nets = []
    for file in (init, predict):
        net = caffe2_pb2.NetDef.FromString(data_file("caffe2_models", folder, file).read_bytes())
        for op in net.op:
            op.ClearField("device_option")
        nets.append(net)
    return workspace.Predictor(*nets)


@pytest.mark.parametrize("files, shape, output_shape", [
    (["squeezenet"], (1, 3, 227, 227), (1, 1000, 1, 1)),
    (["squeezenet", "init_net.pb", "predict_net_named.pb"], (1, 3, 227, 227), (1, 1000, 1, 1)),
    (["resnet32_cifar10"], (2, 3, 32, 32), (2, 10)),
    (["lenet_mnist"], (2, 1, 28, 28), (2, 10)),
    (["mtcnn_pnet"], (1, 3, 64, 48), (1, 2, 27, 19)),
    (["segmentation_mobilenet", "mobileNetInit.pb", "mobileNetPredict.pb"], (1, 3, 224, 224),
     (1, 2, 29, 29)),
    (["super_resolution_onnx"], (1, 1, 224, 224), (1, 1, 672, 672)),
])
def test_models_of_caffe2_run(files, shape, output_shape):
    predictor = model_of_caffe2(*files)
    image = np.random.default_rng(0).random(shape, np.float32)
    result = predictor.run([image])[0]
    assert result.shape == output_shape and np.isfinite(result).all()
    if files[0] not in ("segmentation_mobilenet", "super_resolution_onnx"):  # softmax ends them
        np.testing.assert_allclose(result.reshape(len(result), -1).sum(axis=1), 1, rtol=1e-4)


def test_a_style_model_of_caffe2_paints_a_picture():
    predictor = model_of_caffe2("style_crayon", "crayon_init.pb", "crayon_predict.pb")
    row, column = np.mgrid[0:60, 0:80]
    picture = np.stack([4 * row, 3 * column, row + column, 0 * row], -1)[None].astype(np.uint8)
    styled = predictor.run([picture])[0]
    assert styled.shape == picture.shape and styled.dtype == np.uint8
    assert (styled[..., 3] == 255).all() and styled[..., :3].std() > 10
    assert np.array_equal(predictor.run([picture])[0], styled)  # the same noise again


@pytest.mark.parametrize("folder, scale, right", [
    ("lenet_mnist", 256, 9570), ("lenet_mnist_onnx", 255, 9904)])
def test_models_of_caffe2_are_as_right_as_elsewhere(folder, scale, right):
    """How many of MNIST's 10,000 test images: what another evaluator of these models counted."""
    predictor = model_of_caffe2(folder)
    images = gzip.decompress(data_file("mnist", "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress(data_file("mnist", "t10k-labels-idx1-ubyte.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(10, 1000, 1, 28, 28)
    expected = np.frombuffer(labels, np.uint8, offset=8).reshape(10, 1000)
    counted = sum(
        int((predictor.run([np.float32(part) / scale])[0].argmax(axis=1) == truth).sum())
        for part, truth in zip(pixels, expected))
    assert abs(counted - right) <= 3


def test_drawings(tmp_path):
    net = core.Net("drawn")
    net.Relu("x", "y")
    net.Relu("y", "y")
    graph = net_drawer.GetPydotGraph(net)
    assert set(graph.nodes) == {"blob x", "Relu#0", "blob y", "Relu#1", "blob y 1"}
    assert graph.edges[-1] == ("Relu#1", "blob y 1")
    minimal = net_drawer.GetPydotGraphMinimal(net.Proto().op, minimal_dependency=True)
    assert minimal.edges == [("Relu#0 y", "Relu#1 y")]
    net_drawer.GetGraphInJson(net, tmp_path / "net.json")
    assert len(json.loads((tmp_path / "net.json").read_text())["edges"]) == 4
    (tmp_path / "net.pb").write_bytes(net.Proto().SerializeToString())
    subprocess.run([sys.executable, "-m", "caffe2.python.net_drawer", "--input",
                    tmp_path / "net.pb", "--output", tmp_path / "net.dot"], check=True)
    assert "digraph" in (tmp_path / "net.dot").read_text()
    if shutil.which("dot"):
        assert b"<svg" in graph.create_svg()
    else:
        with pytest.raises(RuntimeError, match="Graphviz"):
            graph.create_svg()
