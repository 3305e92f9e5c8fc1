"""Nets drawn as SVG."""

import re
import xml.etree.ElementTree

import pytest

from caffe2.python import brew, core, model_helper, net_drawer
from caffe2.python._core import graph_svg
from caffe2.python.models import resnet

SVG = "{http://www.w3.org/2000/svg}"


def nodes_of(picture):
    """{name: (rectangle, its lines of text)} of a picture; no two rectangles overlap, and all
    lines lead downwards."""
    root = xml.etree.ElementTree.fromstring(picture)
    assert root.tag == SVG + "svg"
    nodes, boxes = {}, []
    for group in root.iter(SVG + "g"):
        if group.get("class") == "node":
            rect = {key: float(group.find(SVG + "rect").get(key))
                    for key in ("x", "y", "width", "height")}
            name = group.find(SVG + "title").text
            assert name not in nodes
            nodes[name] = rect, [text.text for text in group.iter(SVG + "text")]
            boxes.append((rect["x"], rect["y"], rect["x"] + rect["width"],
                          rect["y"] + rect["height"]))
        else:
            heights = [float(y) for y in re.findall(r"[\d.-]+,([\d.-]+)", group[0].get("d"))]
            assert heights == sorted(heights) and heights[0] < heights[-1]
    boxes.sort(key=lambda box: box[1])
    for i, a in enumerate(boxes):
        for b in boxes[i + 1:]:
            if b[1] >= a[3]:
                break
            assert b[0] >= a[2] or a[0] >= b[2], (a, b)
    return nodes


def lenet():
    model = model_helper.ModelHelper("lenet", arg_scope={"order": "NCHW"})
    conv = brew.conv(model, "data", "conv1", 1, 20, 5)
    pool = brew.max_pool(model, conv, "pool1", kernel=2, stride=2)
    fc = brew.relu(model, brew.fc(model, pool, "fc3", 2880, 50), "fc3")
    brew.softmax(model, brew.fc(model, fc, "pred", 50, 10), "softmax")
    return model


def trained_lenet():
    model = lenet()
    loss = model.AveragedLoss(model.LabelCrossEntropy(["softmax", "label"], "xent"), "loss")
    model.AddGradientOperators([loss])
    return model


def resnet50():
    model = model_helper.ModelHelper("resnet50", arg_scope={"order": "NCHW"})
    resnet.create_resnet50(model, "data", 3, 1000, no_bias=True)
    return model


@pytest.mark.parametrize("make", [lenet, trained_lenet, resnet50])
def test_all_operators_and_blobs_are_in_the_picture(make):
    model = make()
    nodes = nodes_of(model._repr_svg_())
    texts = [lines[0] for _, lines in nodes.values()]
    for i, op in enumerate(model.net.Proto().op):
        assert texts.count(f"{op.type}#{i}") == 1
        for blob in (*op.input, *op.output):
            assert blob in texts
    assert len(nodes) == len(net_drawer.GetPydotGraph(model.net).nodes)


HOSTILE = ["<script>", 'a"b', "]]>", "&amp;", "&#0;", "\x00\x1b[31m", "two\nlines", "", " ",
           "x" * 3000, "\ud800", "日本語" * 5, "\u202eabc", "\\N", "--", "blob x 1", "blob x"]


def test_hostile_names():
    names = [name for name in HOSTILE if name != "\ud800"]  # protobuf refuses lone surrogates
    net = core.Net("<net> & \x01")
    for before, after in zip(names, names[1:]):
        net.Relu(before, after, name=after[:100])
    nodes = nodes_of(net._repr_svg_())
    assert len(nodes) == 2 * len(names) - 1
    texts = {text for _, lines in nodes.values() for text in lines}
    assert {"<script>", 'a"b', "]]>", "&amp;", "&#0;", "\ufffd\ufffd[31m", "two", "lines",
            "日本語" * 5, "\\N", "blob x 1"} <= texts
    assert max(rect["width"] for rect, _ in nodes.values()) < 800
    assert any("x" * 3000 in name for name in nodes)  # whole in the title


def test_hostile_attributes():
    drawn = graph_svg.drawing_of(
        "n", {name: {"label": name, "color": name, "fontcolor": name} for name in HOSTILE},
        [("", "--")], [{"style": '"><script>'}])
    assert len(nodes_of(drawn)) == len(HOSTILE)
    assert "<script" not in drawn


def test_blobs_named_like_other_nodes_stay_apart():
    net = core.Net("n")
    net.Relu("x 1", "y")
    net.Relu("x", "x")  # its second version would be named "blob x 1", too
    net.Relu("x", "x (Relu)#2", name="blob x")  # the operator is "blob x (Relu)#2"
    graph = net_drawer.GetPydotGraph(net)
    labels = [attributes.get("label") for attributes in graph.nodes.values()]
    assert sorted(filter(None, labels)) == ["x", "x", "x (Relu)#2", "x 1", "y"]
    assert len(graph.nodes) == 5 + 3 and len(graph.edges) == 6


def test_a_picture_from_left_to_right(tmp_path):
    graph = net_drawer.GetPydotGraph(lenet().net)  # LR is Caffe2's default
    graph.write_svg(tmp_path / "net.svg")
    text = (tmp_path / "net.svg").read_text()
    width, height = re.search(r'width="(\d+)" height="(\d+)"', text).groups()
    assert int(width) > 3 * int(height)
    root = xml.etree.ElementTree.fromstring(text)
    for group in root.iter(SVG + "g"):
        if group.get("class") == "edge":
            xs = [float(x) for x in re.findall(r"([\d.-]+),[\d.-]+", group[0].get("d"))]
            assert xs == sorted(xs) and xs[0] < xs[-1]


def test_attributes_show():
    graph = net_drawer.Graph("g", "TB")
    graph.add_node("a", label="one\ntwo", color="#112233", style="filled", fontcolor="#fefefe",
                   shape="box")
    graph.add_edge("a", "not added", style="dashed")
    nodes = nodes_of(graph.create_svg())
    assert nodes["a"][1] == ["one", "two"] and nodes["not added"][1] == ["not added"]
    text = graph.create_svg().decode()
    assert 'rx="0" fill="#112233" stroke="#112233"' in text and 'fill="#fefefe"' in text
    assert text.count("stroke-dasharray") == 1
