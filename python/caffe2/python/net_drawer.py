"""Nets as Graphviz graphs: operators are boxes, blobs are ovals.

The functions return a Graph, which has the methods of pydot's graphs that scripts use. Writing SVG
or PNG runs the program `dot`. As a program: python -m caffe2.python.net_drawer --input net.pb
--output net.svg
"""

import argparse
import json
import logging
import struct
import subprocess
import zlib

from caffe2.proto import caffe2_pb2
from caffe2.python import utils

logger = logging.getLogger(__name__)

OP_STYLE = {"shape": "box", "color": "#0F9D58", "style": "filled", "fontcolor": "#FFFFFF"}
BLOB_STYLE = {"shape": "octagon"}


def _quote(text):
    return json.dumps(str(text), ensure_ascii=False)


def _attributes(attributes):
    pairs = ", ".join(f"{key}={_quote(value)}" for key, value in attributes.items())
    return f" [{pairs}]" if pairs else ""


class Graph:
    """A directed graph in the language of Graphviz."""

    def __init__(self, name, rankdir="LR"):
        self.name = name
        self.rankdir = rankdir
        self.nodes = {}
        self.edges = []
        self.edge_attributes = []  # of the edge with the same index

    def add_node(self, node_id, **attributes):
        """Adds a node with Graphviz attributes."""
        self.nodes[node_id] = attributes

    def add_edge(self, source, target, **attributes):
        """Adds an edge between two nodes, with Graphviz attributes."""
        self.edges.append((source, target))
        self.edge_attributes.append(attributes)

    def to_string(self):
        """The graph as text."""
        lines = [f"digraph {_quote(self.name)} {{", f"rankdir={self.rankdir};"]
        lines += [f"{_quote(node)}{_attributes(a)};" for node, a in self.nodes.items()]
        lines += [
            f"{_quote(source)} -> {_quote(target)}{_attributes(attributes)};"
            for (source, target), attributes in zip(self.edges, self.edge_attributes)]
        return "\n".join([*lines, "}"]) + "\n"

    def create(self, format):
        """The picture as bytes. Raises RuntimeError if `dot` is missing or fails."""
        try:
            drawn = subprocess.run(["dot", "-T" + format], input=self.to_string().encode(),
                                   capture_output=True, check=True)
        except FileNotFoundError:
            raise RuntimeError("drawing needs the program dot: install Graphviz") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"dot failed: {error.stderr.decode()}") from None
        return drawn.stdout

    def create_png(self):
        """The picture as PNG, bytes."""
        return self.create("png")

    def create_svg(self):
        """The picture as SVG, bytes."""
        return self.create("svg")

    def write(self, path, format="raw"):
        """Writes text ("raw") or a picture ("svg", "png")."""
        data = self.to_string().encode() if format == "raw" else self.create(format)
        with open(path, "wb") as file:
            file.write(data)

    def write_dot(self, path):
        """Writes the graph as Graphviz text."""
        self.write(path)

    def write_png(self, path):
        """Writes the picture as PNG."""
        self.write(path, "png")

    def write_svg(self, path):
        """Writes the picture as SVG."""
        self.write(path, "svg")


def _operators(operators_or_net):
    """(operators, name) of a NetDef, a Net or a list of OperatorDefs."""
    net = operators_or_net.Proto() if hasattr(operators_or_net, "Proto") else operators_or_net
    if isinstance(net, caffe2_pb2.NetDef):
        return net.op, net.name
    return net, "net"


def _op_label(op, index):
    label = f"{op.name} ({op.type})" if op.name else op.type
    return f"{label}#{index}"


def GetOpNodeProducer(append_output=True, **kwargs):
    """A function (OperatorDef, index) -> (node name, attributes)."""

    def produce(op, index):
        label = _op_label(op, index)
        if append_output:
            label = " ".join([label, *op.output])
        return label, {**OP_STYLE, **kwargs}

    return produce


def GetBlobNodeProducer(**kwargs):
    """A function (node name, label) -> (node name, attributes)."""
    def produce(node_name, label):
        return node_name, {"label": label, **kwargs}

    return produce


def GetPydotGraph(operators_or_net, name=None, rankdir="LR", op_node_producer=None,
                  blob_node_producer=None):
    """The graph of operators and blobs. A blob that is written again is a node of its own."""
    produce_blob = blob_node_producer or GetBlobNodeProducer(**BLOB_STYLE)
    operators, net_name = _operators(operators_or_net)
    produce = op_node_producer or GetOpNodeProducer(append_output=False)
    graph = Graph(name or net_name, rankdir)
    current = {}

    def blob_node(blob, version):
        node, attributes = produce_blob(f"blob {blob}" + (f" {version}" if version else ""), blob)
        graph.add_node(node, **attributes)
        return node

    versions = {}
    for index, op in enumerate(operators):
        op_node, attributes = produce(op, index)
        graph.add_node(op_node, **attributes)
        for blob in op.input:
            if blob not in current:
                current[blob] = blob_node(blob, 0)
            graph.add_edge(current[blob], op_node)
        for blob in op.output:
            versions[blob] = versions.get(blob, -1 if blob not in current else 0) + 1
            current[blob] = blob_node(blob, versions[blob])
            graph.add_edge(op_node, current[blob])
    return graph


def GetPydotGraphMinimal(operators_or_net, name=None, rankdir="LR",
                         minimal_dependency=False, op_node_producer=None):
    """The graph of operators alone, with an edge from the writer of a blob to each reader. With
    `minimal_dependency`, an operator has at most one edge from each other operator, and inputs
    older than its latest input are left out."""
    operators, net_name = _operators(operators_or_net)
    produce = op_node_producer or GetOpNodeProducer(append_output=True)
    graph = Graph(name or net_name, rankdir)
    writer = {}
    for index, op in enumerate(operators):
        node, attributes = produce(op, index)
        graph.add_node(node, **attributes)
        sources = dict.fromkeys(writer[blob] for blob in op.input if blob in writer)
        if minimal_dependency and sources:
            sources = [max(sources)]
        for _, source in sources:
            graph.add_edge(source, node)
        for blob in op.output:
            writer[blob] = (index, node)
    return graph


def GetOperatorMapForPlan(plan_def):
    """{"<plan>_<net>": operators} of a PlanDef; nets without a name are "network_<index>"."""
    return {f"{plan_def.name}_{net.name or f'network_{i}'}": net.op
            for i, net in enumerate(plan_def.network)}


def GetPlanGraph(plan_def, name=None, rankdir="TB"):
    """The graph of the steps of a PlanDef and their nets. Edges lead to the next step or net.
    Dashed edges lead from a step to its first substep or net, or to all its concurrent ones."""
    graph = Graph(name or plan_def.name, rankdir)

    def add(label, **style):
        node = f"{len(graph.nodes)} {label}"  # steps may have the same name
        graph.add_node(node, label=label, **style)
        return node

    def add_step(step):
        notes = [step.name]
        notes += [f"reports by {step.report_net}"] if step.report_net else []
        notes += [f"until {step.should_stop_blob}"] if step.should_stop_blob else []
        notes += [text for text, is_so in (("concurrent", step.concurrent_substeps),
                                           ("once", step.only_once)) if is_so]
        node = add("\n".join(notes), **OP_STYLE)
        inner = [add(net) for net in step.network] + [add_step(part) for part in step.substep]
        for part in inner if step.concurrent_substeps else inner[:1]:
            graph.add_edge(node, part, style="dashed", arrowhead="dot")
        if not step.concurrent_substeps:
            add_sequence(inner)
        return node

    def add_sequence(nodes):
        for source, target in zip(nodes, nodes[1:]):
            graph.add_edge(source, target)

    add_sequence([add_step(step) for step in plan_def.execution_step])
    return graph


def _empty_png():
    """A picture of one transparent pixel, bytes."""
    def chunk(kind, data):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">2I5B", 1, 1, 8, 6, 0, 0, 0)  # 1x1, 8 bits of red, green, blue and alpha
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(bytes(5))) + chunk(b"IEND", b""))


def GetGraphPngSafe(func, *args, **kwargs):
    """The PNG, bytes, of the graph that a function makes of the arguments. If that fails, logs the
    error and returns an empty picture."""
    try:
        return func(*args, **kwargs).create_png()
    except Exception as error:
        logger.error("Failed to draw graph: %s", error)
        return _empty_png()


def GetGraphInJson(operators_or_net, output_filepath):
    """Writes {"nodes": [...], "edges": [...]} of the full graph."""
    graph = GetPydotGraph(operators_or_net)
    with open(output_filepath, "w", encoding="utf-8") as file:
        json.dump({"nodes": [{"id": node, **a} for node, a in graph.nodes.items()],
                   "edges": [{"source": s, "target": t} for s, t in graph.edges]}, file)


def main():
    """Draws the NetDef of a file."""
    parser = argparse.ArgumentParser(description="Draws a NetDef.")
    parser.add_argument("--input", required=True, help="NetDef file, binary or text")
    parser.add_argument("--output", required=True, help="file to write: .dot, .svg or .png")
    parser.add_argument("--minimal", action="store_true", help="operators only")
    parser.add_argument("--rankdir", default="LR", help="direction: LR or TB")
    options = parser.parse_args()
    with open(options.input, "rb") as file:
        net = utils.TryReadProtoWithClass(caffe2_pb2.NetDef, file.read())
    make = GetPydotGraphMinimal if options.minimal else GetPydotGraph
    extension = options.output.rsplit(".", 1)[-1]
    make(net, rankdir=options.rankdir).write(
        options.output, "raw" if extension == "dot" else extension)


if __name__ == "__main__":
    main()
