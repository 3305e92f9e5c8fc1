"""Exported models, and drawings of nets."""

import json
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2, metanet_pb2
from caffe2.python import brew, core, net_drawer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.predictor import (
    mobile_exporter,
    predictor_exporter,
    predictor_py_utils,
    serde,
)
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


def test_a_predictor_ends_a_model_that_computes_for_long():
    init, predict = core.Net("init"), core.Net("long")
    init.ConstantFill([], "matrix", shape=[1024, 1024])
    predict.AddExternalInput("matrix")
    predict.MatMul(["matrix", "matrix"], "product")
    predict.Proto().op.extend([predict.Proto().op[0]] * 20_000)
    predictor = workspace.Predictor(init, predict, max_run_seconds=1)
    with pytest.raises(RuntimeError, match=r"net long\w* has not ended within 1 s"):
        predictor.run([])
    init.Proto().op.extend(predict.Proto().op)
    with pytest.raises(RuntimeError, match=r"net init\w* has not ended within 1 s"):
        workspace.Predictor(init, predict, max_run_seconds=1)


def test_an_untrusted_model_is_refused_with_what_would_allow_it():
    init, predict = core.Net("init"), core.Net("printing")
    init.GivenTensorFill([], "w", shape=[1], values=[1.0])
    predict.AddExternalInput("w")
    predict.Print("w", [])
    with pytest.raises(RuntimeError, match="Print.* allow everything with trust_model=True"):
        workspace.Predictor(init.Proto(), predict.Proto())
    workspace.Predictor(init.Proto(), predict.Proto(), trust_model=True)
    bad = core.Net("bad")
    bad.GivenTensorFill([], "w", shape=[1], values=[float("nan")])
    with pytest.raises(RuntimeError, match="blob w .* allow everything with trust_model=True"):
        workspace.Predictor(bad.Proto(), core.Net("empty").Proto())


def test_predictor_follows_new_parameters():
    """Also those that it has folded into others or converted, like these of the layers."""
    model = ModelHelper("norm", arg_scope={"order": "NCHW"})
    brew.conv(model, "x", "conv", 3, 4, kernel=3, pad=1)
    brew.spatial_bn(model, "conv", "norm", 4, is_test=True)
    brew.relu(model, "norm", "y")
    brew.fc(model, "y", "scores", 4 * 8 * 8, 20)
    workspace.RunNetOnce(model.param_init_net)
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 3, 8, 8), np.float32)
    init_net, predict_net = mobile_exporter.Export(
        workspace, model.net, model.params + model.GetComputedParams())
    predictor = workspace.Predictor(init_net, predict_net)
    plain = workspace.Predictor(init_net, predict_net, optimize=False)

    def check(inputs):
        expected = plain.run(inputs)[0]
        np.testing.assert_allclose(predictor.run(inputs)[0], expected, rtol=1e-4, atol=1e-4)
        return expected

    last = check({"x": x})
    for blob in ("conv_w", "conv_b", "norm_s", "norm_b", "norm_rm", "scores_w", "scores_b"):
        fed = random.standard_normal(workspace.FetchBlob(blob).shape, np.float32)
        result = check({"x": x, blob: fed})
        assert not np.allclose(result, last, rtol=1e-3), blob
        last = check({"x": x})
        np.testing.assert_array_equal(last, result)


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


def test_parts_of_a_meta_net():
    utils, meta = predictor_py_utils, metanet_pb2.MetaNetDef()
    utils.AddNet(meta, net_name="n", net_def=core.Net("net"))
    utils.AddPlan(meta, plan_name="p", plan_def=core.Plan("plan"))
    assert utils.GetNetOriginal(meta, "n").name.startswith("net")
    assert utils.GetPlanOriginal(meta, "p").name.startswith("plan")
    utils.AddBlobs(meta, "inputs_b", ["z", "a"])
    utils.AddBlobs(meta, "inputs_a", ["a", "y"])
    utils.AddBlobs(meta, "outputs", ["o"])
    assert utils.GetBlobsByTypePrefix(meta, "inputs") == ["z", "a", "y"]
    for value in ("first", "second"):
        utils.AddApplicationSpecificInfo(meta, "key", value)
    assert utils.GetApplicationSpecificInfoDict(meta) == {"key": "first"}
    utils.SetBlobsOrder(meta, ["b", "a"])
    utils.SetPreLoadBlobs(meta, ["c"])
    utils.SetRequestOnlyEmbeddings(meta, ["d"])
    assert list(utils.GetBlobsOrder(meta)) == ["b", "a"]
    assert (list(meta.preLoadBlobs), list(meta.requestOnlyEmbeddings)) == (["c"], ["d"])
    data = serde.serialize_protobuf_struct(meta)
    assert serde.deserialize_protobuf_struct(data, metanet_pb2.MetaNetDef) == meta


def test_names_of_the_parts_of_a_model():
    helper = predictor_exporter.get_predictor_exporter_helper("small")
    assert helper.predict_net_name() == constants.PREDICT_NET_TYPE + "_small"
    assert helper.train_plan_name() == constants.TRAIN_PLAN_TYPE + "_small"
    plan = predictor_exporter.PredictorExportMeta(
        core.Plan("plan"), [], [], [], trainer_prefix="gpu")
    assert isinstance(plan.predict_net, caffe2_pb2.PlanDef)
    assert plan.train_init_plan_name() == "gpu_" + constants.TRAIN_INIT_PLAN_TYPE
    assert plan.train_plan_name() == "gpu_" + constants.TRAIN_PLAN_TYPE
    with pytest.raises(TypeError, match="not a PlanDef"):
        predictor_exporter.get_meta_net_def(plan)
    with pytest.raises(ValueError, match="not all different"):
        predictor_exporter.PredictorExportMeta(core.Net("n"), [], ["x", "x"], [])


def test_nets_of_a_model_have_its_shapes_and_its_number():
    model = small_model()
    model.net.Proto().arg.add(name="model_id", i=7)
    ws = workspace.C.Workspace()
    ws.feed_blob("softmax", np.zeros((4, 2), np.float32), None)
    meta = predictor_exporter.PredictorExportMeta(
        model.net, model.params, ["x"], ["softmax"], {"x": (1, 3)}, num_workers=3)
    loaded = predictor_exporter.get_meta_net_def(meta, ws, db_type="manifold_db")
    get = predictor_py_utils.GetNet
    init, shared, predict = (get(loaded, key) for key in (
        constants.PREDICT_INIT_NET_TYPE, constants.GLOBAL_INIT_NET_TYPE,
        constants.PREDICT_NET_TYPE))
    shapes = {op.output[0]: list(arg.ints) for op in init.op for arg in op.arg
              if arg.name == "shape"}
    assert shapes == {"x": [1, 3], "softmax": [4, 2]}
    assert len(shared.op) == 0
    assert predict.num_workers == 3
    assert list(predict.external_input) == ["x", *map(str, model.params)]
    for net in (init, shared, predict):
        assert predictor_py_utils.GetArgumentByName(net, "model_id").i == 7
    assert predictor_py_utils.GetArgumentByName(init, "other") is None
    workspace.FeedBlob("softmax", np.zeros((5, 2), np.float32))
    default = predictor_exporter.get_meta_net_def(meta)
    assert [5, 2] in [list(arg.ints) for op in get(default, constants.PREDICT_INIT_NET_TYPE).op
                      for arg in op.arg if arg.name == "shape"]
    assert [op.type for op in get(default, constants.GLOBAL_INIT_NET_TYPE).op] == ["Load"]


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


def test_plans_are_drawn():
    nets = [core.Net(name) for name in ("read", "train", "report")]
    nets[1].Relu("x", "y")
    plan = core.Plan("drawn_plan")
    plan.AddStep(core.execution_step("first", nets[0], num_iter=2))
    plan.AddStep(core.execution_step("both", [
        core.execution_step("trains", nets[1]), core.execution_step("reports", nets[2])],
        concurrent_substeps=True, should_stop_blob=core.BlobReference("done")))
    operators = net_drawer.GetOperatorMapForPlan(plan.Proto())
    names = [net.name for net in plan.Proto().network]
    assert list(operators) == [f"{plan.Proto().name}_{name}" for name in names]
    assert [op.type for op in operators[f"{plan.Proto().name}_{nets[1].Name()}"]] == ["Relu"]
    graph = net_drawer.GetPlanGraph(plan.Proto(), name="steps")
    labels = {node: style["label"].split("\n") for node, style in graph.nodes.items()}
    edges = {(labels[source][0], labels[target][0]): attributes
             for (source, target), attributes in zip(graph.edges, graph.edge_attributes)}
    dashed = {"style": "dashed", "arrowhead": "dot"}
    assert edges == {
        ("first", nets[0].Name()): dashed, ("first", "both"): {}, ("both", "trains"): dashed,
        ("both", "reports"): dashed, ("trains", nets[1].Name()): dashed,
        ("reports", nets[2].Name()): dashed}
    assert ["both", "until done", "concurrent"] in labels.values()
    assert 'style="dashed"' in graph.to_string() and "rankdir=TB" in graph.to_string()


def test_parallel_edges_keep_their_attributes():
    graph = net_drawer.Graph("parallel")
    graph.add_edge("a", "b", color="red")
    graph.add_edge("a", "b")
    assert [line for line in graph.to_string().splitlines() if "->" in line] == [
        '"a" -> "b" [color="red"];', '"a" -> "b";']


def test_graphs_have_the_methods_of_pydot(tmp_path, monkeypatch):
    net = core.Net("drawn")
    net.Relu("x", "y")
    graph = net_drawer.GetPydotGraph(net, "named", rankdir="LR")
    assert graph.get_name() == "named" and graph.get_rankdir() == "LR"
    assert [(node.get_name(), node.get_label()) for node in graph.get_node_list()] == [
        ("Relu#0", None), ("blob x", "x"), ("blob y", "y")]
    assert [(edge.get_source(), edge.get_destination()) for edge in graph.get_edge_list()] == [
        ("blob x", "Relu#0"), ("Relu#0", "blob y")]
    graph.set_rankdir("BT")
    (node,) = graph.get_node("Relu#0")
    assert node.get("shape") == "box" and graph.get_node("Relu#1") == []
    node.set("shape", "circle")
    graph.get_edge_list()[1].get_attributes()["color"] = "red"
    graph.write_raw(tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text == graph.to_string() and "rankdir=BT;" in text
    assert '"Relu#0" [shape="circle", ' in text
    assert '"Relu#0" -> "blob y" [color="red"];' in text
    with pytest.raises(ValueError, match="rankdir 'up' is not one of LR, TB, RL, BT"):
        graph.set_rankdir("up")

    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "dot").write_text('#!/bin/sh\necho "$@"\n/bin/cat\n')  # shows what it gets
    (programs / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert graph.create_pdf().decode() == "-Tpdf\n" + text
    graph.write_pdf(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_text() == "-Tpdf\n" + text
    (programs / "dot").unlink()
    with pytest.raises(RuntimeError, match="pdf needs the program dot: install Graphviz"):
        graph.write_pdf(tmp_path / "b.pdf")
    assert not (tmp_path / "b.pdf").exists()


def test_failed_drawings_are_empty_pictures(caplog):
    def fail():
        raise KeyError("what went wrong")

    png = net_drawer.GetGraphPngSafe(fail)
    assert "what went wrong" in caplog.text
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, rest = {}, png[8:]
    while rest:
        length = int.from_bytes(rest[:4], "big")
        assert zlib.crc32(rest[4:8 + length]) == int.from_bytes(rest[8 + length:12 + length], "big")
        chunks[rest[4:8]], rest = rest[8:8 + length], rest[12 + length:]
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert chunks[b"IHDR"] == bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0])
    assert zlib.decompress(chunks[b"IDAT"]) == bytes(1 + 4)  # the filter, then one pixel


def test_drawings(tmp_path, monkeypatch):
    net = core.Net("drawn")
    net.Relu("x", "y")
    net.Relu("y", "y")
    graph = net_drawer.GetPydotGraph(net)
    assert set(graph.nodes) == {"blob x", "Relu#0", "blob y", "Relu#1", "blob y 1"}
    assert graph.edges[-1] == ("Relu#1", "blob y 1")
    coloured = net_drawer.GetPydotGraph(
        net, blob_node_producer=net_drawer.GetBlobNodeProducer(color="red"))
    assert coloured.nodes["blob y 1"] == {"label": "y", "color": "red"}
    minimal = net_drawer.GetPydotGraphMinimal(net.Proto().op, minimal_dependency=True)
    assert minimal.edges == [("Relu#0 y", "Relu#1 y")]
    net_drawer.GetGraphInJson(net, tmp_path / "net.json")
    assert len(json.loads((tmp_path / "net.json").read_text())["edges"]) == 4
    (tmp_path / "net.pb").write_bytes(net.Proto().SerializeToString())
    subprocess.run([sys.executable, "-m", "caffe2.python.net_drawer", "--input",
                    tmp_path / "net.pb", "--output", tmp_path / "net.dot"], check=True)
    assert "digraph" in (tmp_path / "net.dot").read_text()
    assert b"<svg" in graph.create_svg()
    if shutil.which("dot"):
        assert graph.create_png().startswith(b"\x89PNG")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="png needs .* Graphviz"):
        graph.create_png()
