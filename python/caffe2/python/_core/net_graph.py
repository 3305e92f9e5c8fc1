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
_DIRECTIONS = ("LR", "TB", "RL", "BT")


def _quote(text):
    return json.dumps(str(text), ensure_ascii=False)


def _attributes(attributes):
    pairs = ", ".join(f"{key}={_quote(value)}" for key, value in attributes.items())
    return f" [{pairs}]" if pairs else ""


class _Part:
    """A part of a Graph, with the methods of pydot's nodes and edges."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self._attributes = attributes

    def get_attributes(self) -> dict[str, Any]:
        """The Graphviz attributes; a change changes the graph."""
        return self._attributes

    def get(self, name: str) -> Any:
        """An attribute, or None."""
        return self._attributes.get(name)

    def set(self, name: str, value: Any) -> None:
        """Sets an attribute."""
        self._attributes[name] = value


class GraphNode(_Part):
    """A node of a Graph."""

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        super().__init__(attributes)
        self._name = name

    def get_name(self) -> str:
        """The name, without quotes."""
        return self._name

    def get_label(self) -> str | None:
        """The text in the picture, or None if it is the name."""
        return self.get("label")


class GraphEdge(_Part):
    """An edge of a Graph."""

    def __init__(self, source: str, target: str, attributes: dict[str, Any]) -> None:
        super().__init__(attributes)
        self._ends = (source, target)

    def get_source(self) -> str:
        """The name of the node where it begins."""
        return self._ends[0]

    def get_destination(self) -> str:
        """The name of the node where it ends."""
        return self._ends[1]


class Graph:
    """A directed graph in the language of Graphviz, with methods of pydot.Dot."""

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

    def get_name(self) -> str:
        """The name of the graph."""
        return self.name

    def get_rankdir(self) -> str:
        """The direction of the edges: "LR", "TB", "RL" or "BT"."""
        return self.rankdir

    def set_rankdir(self, rankdir: str) -> None:
        """Sets the direction of the edges. Raises ValueError for another one than get_rankdir
        names."""
        if rankdir not in _DIRECTIONS:
            raise ValueError(f"rankdir {rankdir!r} is not one of {', '.join(_DIRECTIONS)}")
        self.rankdir = rankdir

    def get_node_list(self) -> list[GraphNode]:
        """All nodes."""
        return [GraphNode(name, attributes) for name, attributes in self.nodes.items()]

    def get_node(self, name: str) -> list[GraphNode]:
        """The nodes of this name: one or none."""
        return [node for node in self.get_node_list() if node.get_name() == name]

    def get_edge_list(self) -> list[GraphEdge]:
        """All edges."""
        return [GraphEdge(*ends, attributes)
                for ends, attributes in zip(self.edges, self.edge_attributes)]

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
            raise RuntimeError(f"{format} needs the program dot: install Graphviz; svg needs no "
                               "other program") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"dot failed: {error.stderr.decode()}") from None
        return drawn.stdout

    def create_png(self) -> bytes:
        """The picture as PNG, bytes."""
        return self.create("png")

    def create_pdf(self) -> bytes:
        """The picture as PDF, bytes."""
        return self.create("pdf")

    def create_svg(self) -> bytes:
        """The picture as SVG, bytes."""
        return drawing_of(self.name, self.nodes, self.edges, self.edge_attributes,
                          downwards=self.rankdir == "TB").encode()

    def write(self, path: str, format: str = "raw") -> None:
        """Writes text ("raw") or a picture ("svg", "png", "pdf")."""
        data = self.to_string().encode() if format == "raw" else self.create(format)
        with open(path, "wb") as file:
            file.write(data)

    def write_dot(self, path: str) -> None:
        """Writes the graph as Graphviz text."""
        self.write(path)

    def write_raw(self, path: str) -> None:
        """Writes the graph as Graphviz text."""
        self.write(path)

    def write_pdf(self, path: str) -> None:
        """Writes the picture as PDF."""
        self.write(path, "pdf")

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
