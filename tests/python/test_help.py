"""What help(), notebooks and completion show of operators and nets."""

import inspect
import pydoc
import xml.etree.ElementTree

import numpy as np
import pytest

import caffe2
from caffe2.python import _import_c_extension as C
from caffe2.python import brew, core, model_helper, workspace


def test_the_version_is_that_of_the_project():
    major, minor, _ = caffe2.__version__.split(".")
    assert major.isdigit() and minor.isdigit()


def test_help_of_an_operator_shows_its_schema():
    net = core.Net("n")
    for method in (net.Conv, core.BlobReference("x", net).Conv):
        page = pydoc.plain(pydoc.render_doc(method))
        for argument in C.OpSchema.get("Conv").args:
            assert f"{argument.name}:" in page and f"{argument.name}=" in page
        for name, _ in (*C.OpSchema.get("Conv").input_desc, *C.OpSchema.get("Conv").output_desc):
            assert f"  {name}:" in page
    signature = str(inspect.signature(net.Conv))
    assert "kernel=...," in signature and "Ellipsis" not in signature
    assert net.Conv.__name__ == "Conv"
    assert list(inspect.signature(net.Conv).parameters)[:2] == ["inputs", "outputs"]


def test_help_begins_arguments_with_their_types():
    page = " ".join(pydoc.plain(pydoc.render_doc(core.Net("n").PadImage)).split())
    assert "mode: (constant, reflect or edge, default constant) What the pads hold" in page
    assert "value: (float, default 0) The value of the pads" in page
    assert "order: (NCHW or NHWC, default NCHW) The storage order." in page
    page = " ".join(core.Net("n").ConstantFill.__doc__.split())
    assert "shape: (list of int, each >= 0) Shape of the output" in page
    assert "dtype: (data type) The type of the output." in page
    assert "value: (of type dtype, default 0) The value." in page


def test_every_operator_has_help():
    net = core.Net("n")
    for operator in C.registered_operators():
        if "_ENGINE_" in operator:
            continue
        method = getattr(net, operator)
        assert inspect.signature(method) and method.__doc__.strip(), operator


def test_methods_still_add_operators():
    net = core.Net("n")
    y = net.Relu("x", "y")
    y.Sigmoid([], "z")
    assert [op.type for op in net.Proto().op] == ["Relu", "Sigmoid"]


def test_notebooks_draw_nets(monkeypatch):
    monkeypatch.setenv("PATH", "")  # no other program is needed
    model = model_helper.ModelHelper("drawn")
    brew.fc(model, "x", "y", 3, 4)
    for drawn in (model, model.net):
        root = xml.etree.ElementTree.fromstring(drawn._repr_svg_())
        assert root.tag.endswith("svg")
        assert "y" in {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_labels_of_numpys_default_type(dtype):
    rows = np.array([[1, 2, 3], [3, 2, 1], [0, 4, 1], [2, 2, 2]], np.float32)
    labels = np.array([2, 1, 1, 0], dtype)
    workspace.FeedBlob("rows", rows)
    workspace.FeedBlob("labels", labels)
    net = core.Net("losses")
    net.SoftmaxWithLoss(["rows", "labels"], ["p", "loss"])
    net.Accuracy(["p", "labels"], "accuracy")
    net.LabelCrossEntropy(["p", "labels"], "losses")
    net.AddGradientOperators(["loss"])
    workspace.RunNetOnce(net)
    p = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    losses = -np.log(p[np.arange(4), labels])
    np.testing.assert_allclose(workspace.FetchBlob("losses"), losses, rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob("loss"), losses.mean(), rtol=1e-5)
    np.testing.assert_allclose(
        workspace.FetchBlob("rows_grad"), (p - np.eye(3)[labels]) / 4, atol=1e-6)
    assert workspace.FetchBlob("accuracy") == np.float32(0.75)
