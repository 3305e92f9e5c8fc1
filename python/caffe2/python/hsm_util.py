"""Trees of classes for the operators HSoftmax and HSoftmaxSearch."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.proto import hsm_pb2


def create_node_with_words(words: Iterable[int], name: str = "node") -> hsm_pb2.NodeProto:
    """A NodeProto over leaves: `words` are their ids, integers."""
    return hsm_pb2.NodeProto(name=name, word_ids=words)


def create_node_with_nodes(nodes: Iterable[hsm_pb2.NodeProto],
                           name: str = "node") -> hsm_pb2.NodeProto:
    """A NodeProto over copies of other nodes."""
    return hsm_pb2.NodeProto(name=name, children=nodes)


def create_hierarchy(tree_proto: hsm_pb2.TreeProto) -> hsm_pb2.HierarchyProto:
    """The HierarchyProto of a TreeProto: for each word the path to it, for HSoftmax's argument
    `hierarchy` (serialized). Numbers the children of all nodes, from the root down, and writes the
    number of a node's first child into its `offset`."""
    hierarchy = hsm_pb2.HierarchyProto(size=0)
    _add_paths(tree_proto.root_node, [], hierarchy)
    return hierarchy


def _add_paths(node, above, hierarchy):
    """Adds the paths to the words below a node; `above` is the path to it, PathNodeProtos."""
    length = len(node.children) + len(node.word_ids)
    node.offset = hierarchy.size
    hierarchy.size += length

    def through(target):
        step = hsm_pb2.PathNodeProto(index=node.offset, length=length, target=target)
        return [*above, step]

    for target, child in enumerate(node.children):
        _add_paths(child, through(target), hierarchy)
    for target, word in enumerate(node.word_ids, len(node.children)):
        hierarchy.paths.add(word_id=word, path_nodes=through(target))
