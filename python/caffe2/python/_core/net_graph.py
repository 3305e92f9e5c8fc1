"""Nets as graphs with Graphviz attributes; public through caffe2.python.net_drawer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python._core.graph_svg import drawing_of

# A function that makes a node: its name and attributes.
NodeProducer = Callable[..., tuple[str, dict[str, Any]]]

OP_STYLE = {"shape": "box", "color": "#0F9D58", "style": "filled", "fontcolor": "#FFFFFF"}
BLOB_STYLE = {"shape": "octagon"}


def _quote(text):
    return json.dumps(str(text), ensure_ascii=False)


def _attributes(attributes):
    pairs = ", ".join(f"{key}={_quote(value)}" for key, value in attributes.items())
    return f" [{pairs}]" if pairs else ""


class Graph:
    """A directed graph in the language of Graphviz."""

    def __init__(self, name: str, rankdir: str = "LR") -> None:
        self.name = name
        self.rankdir = rankdir
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[tuple[str, str]] = []
        self.edge_attributes: list[dict[str, Any]] = []  # of the edge with the same index

    def add_node(self, node_id: str, **attributes: Any) -> None:
        """Adds a node with Graphviz attributes."""
        self.nodes[node_id] = attributes

    def add_edge(self, source: str, target: str, **attributes: Any) -> None:
        """Adds an edge between two nodes, with Graphviz attributes."""
        self.edges.append((source, target))
        self.edge_attributes.append(attributes)

    def to_string(self) -> str:
        """The graph as text."""
        lines = [f"digraph {_quote(self.name)} {{", f"rankdir={self.rankdir};"]
        lines += [f"{_quote(node)}{_attributes(a)};" for node, a in self.nodes.items()]
        lines += [
            f"{_quote(source)} -> {_quote(target)}{_attributes(attributes)};"
            for (source, target), attributes in zip(self.edges, self.edge_attributes)]
        return "\n".join([*lines, "}"]) + "\n"

    def create(self, format: str) -> bytes:
        """The picture as bytes. Formats other than "svg" are drawn by Graphviz's program `dot`:
        raises RuntimeError if it is missing or fails."""
        if format == "svg":
            return self.create_svg()
        try:
            drawn = subprocess.run(["dot", "-T" + format], input=self.to_string().encode(),
                                   capture_output=True, check=True)
        except FileNotFoundError:
            raise RuntimeError(f"{format} needs the program dot: install Graphviz") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"dot failed: {error.stderr.decode()}") from None
        return drawn.stdout

    def create_png(self) -> bytes:
        """The picture as PNG, bytes."""
        return self.create("png")

    def create_svg(self) -> bytes:
        """The picture as SVG, bytes."""
        return drawing_of(self.name, self.nodes, self.edges, self.edge_attributes,
                          downwards=self.rankdir == "TB").encode()

    def write(self, path: str, format: str = "raw") -> None:
        """Writes text ("raw") or a picture ("svg", "png")."""
        data = self.to_string().encode() if format == "raw" else self.create(format)
        with open(path, "wb") as file:
            file.write(data)

    def write_dot(self, path: str) -> None:
        """Writes the graph as Graphviz text."""
        self.write(path)

    def write_png(self, path: str) -> None:
        """Writes the picture as PNG."""
        self.write(path, "png")

    def write_svg(self, path: str) -> None:
        """Writes the picture as SVG."""
        self.write(path, "svg")


def operators_of(operators_or_net: Any) -> tuple[Sequence[caffe2_pb2.OperatorDef], str]:
    """(operators, name) of a NetDef, a Net or a list of OperatorDefs."""
    net = operators_or_net.Proto() if hasattr(operators_or_net, "Proto") else operators_or_net
    if isinstance(net, caffe2_pb2.NetDef):
        return net.op, net.name
    return net, "net"


def _op_label(op, index):
    label = f"{op.name} ({op.type})" if op.name else op.type
    return f"{label}#{index}"


def GetOpNodeProducer(append_output: bool = True, **kwargs: Any) -> NodeProducer:
    """A function (OperatorDef, index) -> (node name, attributes)."""

    def produce(op, index):
        label = _op_label(op, index)
        if append_output:
            label = " ".join([label, *op.output])
        return label, {**OP_STYLE, **kwargs}

    return produce


def GetBlobNodeProducer(**kwargs: Any) -> NodeProducer:
    """A function (node name, label) -> (node name, attributes)."""
    def produce(node_name, label):
        return node_name, {"label": label, **kwargs}

    return produce


def GetPydotGraph(operators_or_net: Any, name: str | None = None, rankdir: str = "LR",
                  op_node_producer: NodeProducer | None = None,
                  blob_node_producer: NodeProducer | None = None) -> Graph:
    """The graph of operators and blobs. A blob that is written again is a node of its own."""
    produce_blob = blob_node_producer or GetBlobNodeProducer(**BLOB_STYLE)
    operators, net_name = operators_of(operators_or_net)
    produce = op_node_producer or GetOpNodeProducer(append_output=False)
    graph = Graph(name or net_name, rankdir)
    current: dict[str, str] = {}
    produced = [produce(op, index) for index, op in enumerate(operators)]
    taken = {node for node, _ in produced}

    def blob_node(blob, version):
        wanted = f"blob {blob}" + (f" {version}" if version else "")
        while wanted in taken:  # by a blob whose name ends as if it had a version, or an operator
            wanted += "'"
        taken.add(wanted)
        node, attributes = produce_blob(wanted, blob)
        graph.add_node(node, **attributes)
        return node

    versions: dict[str, int] = {}
    for op, (op_node, attributes) in zip(operators, produced):
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


def svg_of(operators_or_net: Any) -> str:
    """The graph of operators and blobs as SVG text."""
    return GetPydotGraph(operators_or_net, rankdir="TB").create_svg().decode()
