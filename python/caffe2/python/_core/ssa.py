"""The versions of the blobs of a net, and which operators some blobs need; public through
caffe2.python.core.

The version of a blob is the number of times that it was written; version 0 is the content before
the net runs.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from caffe2.python._core.blob_reference import BlobLike

# For each operator its inputs and its outputs, each as (blob, version).
SSA = list[tuple[list[tuple[str, int]], list[tuple[str, int]]]]


def get_ssa(net: Any, blob_versions: Mapping[str, int] | None = None) -> tuple[SSA, dict[str, int]]:
    """The operators of a net with versions of their blobs: a list of (inputs, outputs), each a
    list of (blob, version), and the dict blob -> last version."""
    proto = net.Proto() if hasattr(net, "Proto") else net
    versions = collections.defaultdict(int, blob_versions or {})
    ssa = []
    for op in proto.op:
        inputs = [(str(blob), versions[str(blob)]) for blob in op.input]
        for blob in op.output:
            versions[str(blob)] += 1
        ssa.append((inputs, [(str(blob), versions[str(blob)]) for blob in op.output]))
    return ssa, versions


def get_undefined_blobs(ssa: SSA) -> set[str]:
    """The blobs that are read before they are written."""
    undefined = set()
    for inputs, _ in ssa:
        undefined |= {name for name, version in inputs if version == 0}
    return undefined


def get_op_ids_in_path(ssa: SSA, blob_versions: Mapping[str, int], inputs: Iterable[BlobLike],
                       outputs: Iterable[BlobLike]) -> list[int]:
    """Indices, in order, of the operators that make the last versions of the blobs `outputs`, where
    the last versions of `inputs` are given. `ssa` and `blob_versions` are get_ssa's."""
    given = {(str(blob), blob_versions[str(blob)]) for blob in inputs}
    producers = get_output_producers(ssa)
    wanted = [(str(blob), blob_versions[str(blob)]) for blob in outputs]
    used = set()
    while wanted:
        blob = wanted.pop()
        if blob not in given and blob in producers and producers[blob] not in used:
            used.add(producers[blob])
            wanted += ssa[producers[blob]][0]
    return sorted(used)


def get_output_producers(ssa: SSA) -> dict[tuple[str, int], int]:
    """{(blob, version): index of the operator that writes it}."""
    return {output: i for i, (_, outputs) in enumerate(ssa) for output in outputs}


def select_operators(net: Any, inputs: Iterable[BlobLike],
                     outputs: Iterable[BlobLike]) -> tuple[list[int], list[str]]:
    """The operators of a net that compute `outputs` from `inputs`.

    Returns (their indices in order, the other blobs that they read and do not write, sorted).
    Raises AssertionError if computing the outputs would also compute an input.
    """
    given = dict.fromkeys(map(str, inputs), 0)
    ssa, versions = get_ssa(net, given)
    kept = get_op_ids_in_path(ssa, versions, given, outputs)
    again = set(kept) & set(get_op_ids_in_path(ssa, versions, [], given))
    assert not again, (f"net {net.Name()} computes some of the inputs {sorted(given)} itself, in "
                       f"the operators {sorted(again)}")
    return kept, sorted(get_undefined_blobs([ssa[index] for index in kept]) - set(given))
