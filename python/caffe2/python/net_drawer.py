"""Nets as Graphviz graphs: operators are boxes, blobs are round.

The functions return a Graph, which has the methods of pydot's graphs that scripts use. Writing PNG
or PDF runs Graphviz's program `dot`; SVG needs no other program. As a program:
python -m caffe2.python.net_drawer --input net.pb --output net.svg
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python._core.messages import TryReadProtoWithClass
from caffe2.python._core.net_graph import (
    BLOB_STYLE,
    OP_STYLE,
    GetBlobNodeProducer,
    GetOpNodeProducer,
    GetPydotGraph,
    Graph,
    GraphEdge,
    GraphNode,
    NodeProducer,
    operators_of,
)

__all__ = [
    "BLOB_STYLE", "OP_STYLE", "GetBlobNodeProducer", "GetGraphInJson", "GetGraphPngSafe",
    "GetOpNodeProducer", "GetOperatorMapForPlan", "GetPlanGraph", "GetPydotGraph",
    "GetPydotGraphMinimal", "Graph", "GraphEdge", "GraphNode", "NodeProducer", "operators_of",
]

logger = logging.getLogger(__name__)

def GetPydotGraphMinimal(operators_or_net: Any, name: str | None = None,
                         rankdir: str = "LR", minimal_dependency: bool = False,
                         op_node_producer: NodeProducer | None = None) -> Graph:
    """The graph of operators alone, with an edge from the writer of a blob to each reader. With
    `minimal_dependency`, an operator has at most one edge from each other operator, and inputs
    older than its latest input are left out."""
    operators, net_name = operators_of(operators_or_net)
    produce = op_node_producer or GetOpNodeProducer(append_output=True)
    graph = Graph(name or net_name, rankdir)
    writer: dict[str, tuple[int, str]] = {}
    for index, op in enumerate(operators):
        node, attributes = produce(op, index)
        graph.add_node(node, **attributes)
        sources = list(dict.fromkeys(writer[blob] for blob in op.input if blob in writer))
        if minimal_dependency and sources:
            sources = [max(sources)]
        for _, source in sources:
            graph.add_edge(source, node)
        for blob in op.output:
            writer[blob] = (index, node)
    return graph


def GetOperatorMapForPlan(
        plan_def: caffe2_pb2.PlanDef) -> dict[str, Sequence[caffe2_pb2.OperatorDef]]:
    """{"<plan>_<net>": operators} of a PlanDef; nets without a name are "network_<index>"."""
    return {f"{plan_def.name}_{net.name or f'network_{i}'}": net.op
            for i, net in enumerate(plan_def.network)}


def GetPlanGraph(plan_def: caffe2_pb2.PlanDef, name: str | None = None,
                 rankdir: str = "TB") -> Graph:
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


def GetGraphPngSafe(func: Callable[..., Graph], *args: Any, **kwargs: Any) -> bytes:
    """The PNG, bytes, of the graph that a function makes of the arguments. If that fails, logs the
    error and returns an empty picture."""
    try:
        return func(*args, **kwargs).create_png()
    except Exception as error:
        logger.error("Failed to draw graph: %s", error)
        return _empty_png()


def GetGraphInJson(operators_or_net: Any,
                   output_filepath: str | os.PathLike[str]) -> None:
    """Writes {"nodes": [...], "edges": [...]} of the full graph."""
    graph = GetPydotGraph(operators_or_net)
    with open(output_filepath, "w", encoding="utf-8") as file:
        json.dump({"nodes": [{"id": node, **a} for node, a in graph.nodes.items()],
                   "edges": [{"source": s, "target": t} for s, t in graph.edges]}, file)


def main() -> None:
    """Draws the NetDef of a file."""
    parser = argparse.ArgumentParser(description="Draws a NetDef.")
    parser.add_argument("--input", required=True, help="NetDef file, binary or text")
    parser.add_argument("--output", required=True, help="file to write: .dot, .svg, .png or .pdf")
    parser.add_argument("--minimal", action="store_true", help="operators only")
    parser.add_argument("--rankdir", default="LR", help="direction: LR or TB")
    options = parser.parse_args()
    with open(options.input, "rb") as file:
        net = TryReadProtoWithClass(caffe2_pb2.NetDef, file.read())
    make = GetPydotGraphMinimal if options.minimal else GetPydotGraph
    extension = options.output.rsplit(".", 1)[-1]
    make(net, rankdir=options.rankdir).write(
        options.output, "raw" if extension == "dot" else extension)


if __name__ == "__main__":
    main()
