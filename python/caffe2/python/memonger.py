"""Memory of nets: blobs that are not alive at the same time become one blob.

The functions return a new NetDef and do not change their argument. The library plans which blobs
share memory (caffe2/graph/memory_plan.h), for executors that run operators in definition order or
as if they did.
"""

from __future__ import annotations

import collections
import enum
import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.gradients import is_gradient_sum

log = logging.getLogger("memonger")

# When a blob is first written and last used (operator positions in the traversal), and its size.
LiveRange = collections.namedtuple("LiveRange", ["defined", "used", "size"])
# Blobs that share memory, one after the other.
Assignment = list[tuple[str, LiveRange]]
Optimization = collections.namedtuple("Optimization", ["net", "assignments", "blob_assignments"])
Statistics = collections.namedtuple("Statistics", ["baseline_nbytes", "optimized_nbytes"])

# The size of an element of a tensor in bytes.
_SIZES = {
    core.DataType.FLOAT: 4, core.DataType.DOUBLE: 8, core.DataType.FLOAT16: 2,
    core.DataType.INT8: 1, core.DataType.UINT8: 1, core.DataType.INT16: 2,
    core.DataType.UINT16: 2, core.DataType.INT32: 4, core.DataType.INT64: 8,
    core.DataType.BOOL: 1,
}


class AssignmentAlgorithm(enum.Enum):
    """The algorithms that assign blobs to memory: fast, or optimal."""
    GREEDY = 0
    DYNAMIC_PROGRAMMING = 1


def _proto_of(net):
    return net.Proto() if hasattr(net, "Proto") else net


def _shape_messages(blob_shapes):
    shapes = caffe2_pb2.TensorShapes()
    for name, dims in (blob_shapes or {}).items():
        shapes.shapes.add(name=str(name), dims=dims, data_type=core.DataType.FLOAT)
    return shapes.SerializeToString()


def _share(proto, candidates, namescope="", blob_shapes=None):
    """The net with shared blobs, named "<namescope>__m<n>_shared"."""
    serialized = proto.SerializeToString()
    shared_with = C.plan_shared_blobs(serialized, candidates, _shape_messages(blob_shapes))
    names = {}
    for owner in shared_with.values():
        names.setdefault(owner, f"{namescope}__m{len(names)}_shared")
    renamed = {blob: names[owner] for blob, owner in shared_with.items()}
    renamed.update(names)
    log.info("Memonger: %d blobs share the memory of %d", len(renamed), len(names))
    return caffe2_pb2.NetDef.FromString(C.rename_blobs(serialized, renamed))


def share_grad_blobs(net: core.Net, losses: Iterable[BlobLike], param_grads: Iterable[Any],
                     namescope: str, dont_share_blobs: Iterable[BlobLike] | None = None,
                     share_activations: bool = False,
                     blob_shapes: Mapping[str, Sequence[int]] | None = None) -> caffe2_pb2.NetDef:
    """Lets the gradients of a training net share memory.

    Args:
      net: a Net with gradients.
      losses: its losses, which keep their own memory.
      param_grads: the gradients of parameters, which keep their own memory, too.
      namescope: only blobs whose names begin with it share.
      dont_share_blobs: further blobs that keep their own memory.
      share_activations: blobs of the forward pass that the backward pass reads share, too, except
        in the last two layers with weights, whose blobs are usually fetched.
      blob_shapes: {blob: shape}; with it, blobs of similar size share.

    Returns a NetDef.
    """
    proto = _proto_of(net)
    own = {str(blob) for blob in (*losses, *(dont_share_blobs or ()))}
    for grad in param_grads:
        own.update(map(str, grad if isinstance(grad, core.GradientSlice) else [grad]))
    layers = [blob for op in proto.op for blob in op.output if blob + "_w" in op.input]
    own.update(layers[-2:])
    candidates = set()
    for op in proto.op:
        if op.is_gradient_op or is_gradient_sum(op):
            candidates.update(op.output)
            if share_activations:
                candidates.update(op.input)
    return _share(proto, {blob for blob in candidates - own if blob.startswith(namescope)},
                  namescope, blob_shapes)


def optimize_inference_for_dag(net: core.Net, input_blobs: Iterable[BlobLike],
                               namescope: str = "") -> caffe2_pb2.NetDef:
    """Lets the blobs of a net without gradients share memory, except its inputs and outputs.

    Raises ValueError if the net has gradients, RuntimeError for an operator that its schema
    rejects.
    """
    proto = _proto_of(net)
    for op in proto.op:
        C.verify_operator(op.SerializeToString())
    if any(op.is_gradient_op for op in proto.op):
        raise ValueError(f"net {proto.name} has gradients; see share_grad_blobs")
    written = {blob for op in proto.op for blob in op.output if blob.startswith(namescope)}
    return _share(proto, written - {str(blob) for blob in input_blobs}, namescope)


def optimize_inference_fast(net: caffe2_pb2.NetDef,
                            static_blobs: Iterable[BlobLike]) -> caffe2_pb2.NetDef:
    """Lets all blobs of a NetDef share memory, except `static_blobs`."""
    written = {blob for op in net.op for blob in op.output}
    return _share(net, written - {str(blob) for blob in static_blobs})


def release_blobs_when_used(netproto: caffe2_pb2.NetDef, dont_free_blobs: Iterable[BlobLike],
                            selector_fun: Callable[[str], bool] | None = None) -> caffe2_pb2.NetDef:
    """A copy of the net that frees each blob after its last use.

    Args:
      dont_free_blobs: blobs to keep. External outputs, blobs that no operator reads and blobs with
        an Alias are kept, too.
      selector_fun: function(blob) -> whether it may be freed; default: always.
    """
    kept = {str(blob) for blob in dont_free_blobs} | set(netproto.external_output)
    kept |= set(netproto.external_input)
    kept |= {op.input[0] for op in netproto.op if op.type in ("Alias", "AliasWithName")}
    written = {blob for op in netproto.op for blob in op.output}
    last_use, read = {}, set()
    for index, op in enumerate(netproto.op):
        read.update(op.input)
        for blob in (*op.input, *op.output):
            last_use[blob] = index
    freed = collections.defaultdict(list)
    for blob, index in last_use.items():
        if blob in written & read - kept and (selector_fun is None or selector_fun(blob)):
            freed[index].append(blob)
    result = caffe2_pb2.NetDef()
    result.CopyFrom(netproto)
    result.ClearField("op")
    for index, op in enumerate(netproto.op):
        result.op.add().CopyFrom(op)
        for blob in sorted(freed[index]):
            reference = core.BlobReference(blob)
            result.op.append(core.CreateOperator(
                "Free", [reference], [reference], device_option=op.device_option))
    return result


def estimate_memory_usage(protos: Iterable[caffe2_pb2.NetDef], shapes: Mapping[str, Sequence[int]],
                          types: Mapping[str, int],
                          devicescope: caffe2_pb2.DeviceOption) -> tuple[int, int, dict[str, int]]:
    """(total bytes, peak bytes, {operator type: bytes}) that nets allocate for blobs.

    Args:
      protos: NetDefs in the order they run; Free operators give memory back.
      shapes, types: {blob: shape} and {blob: DataType}, from workspace.InferShapesAndTypes. Blobs
        that they lack are not counted.
      devicescope: a DeviceOption; only operators on it are counted.
    """
    def nbytes(blob):
        if blob not in shapes or blob not in types:
            log.warning("the size of %s is not known", blob)
            return 0
        return int(np.prod(shapes[blob])) * _SIZES.get(types[blob], 0)

    total = current = most = 0
    by_type: dict[str, int] = collections.defaultdict(int)
    alive: set[str] = set()
    operators = [(op, op.device_option if op.HasField("device_option") else proto.device_option)
                 for proto in protos for op in proto.op]
    for op, device in operators:
        if not core.device_option_equal(device, devicescope):
            continue
        for blob in op.output:
            if op.type == "Free":
                current -= nbytes(blob) if blob in alive else 0
                alive.discard(blob)
            elif blob not in alive:
                alive.add(blob)
                total += nbytes(blob)
                current += nbytes(blob)
                by_type[op.type] += nbytes(blob)
        most = max(most, current)
    return total, most, by_type


# -- Assignments in steps --------------------------------------------------------------------------


class InterferenceGraph:
    """Operators, as nodes 0 to n - 1, with edges to the operators that must run later."""

    def __init__(self, size: int) -> None:
        self.successors: list[set[int]] = [set() for _ in range(size)]
        self.predecessors: list[set[int]] = [set() for _ in range(size)]

    def edges(self) -> list[tuple[int, int]]:
        """Pairs (first, second), sorted."""
        return [(i, after) for i, all_after in enumerate(self.successors)
                for after in sorted(all_after)]

    def add_edge(self, first: int, second: int) -> None:
        """Orders operator `first` before operator `second`."""
        self.successors[first].add(second)
        self.predecessors[second].add(first)


def compute_interference_graph(ops: Sequence[caffe2_pb2.OperatorDef]) -> InterferenceGraph:
    """The graph of a list of operators: the writer of a blob before its readers, and these before
    the next writer."""
    graph = InterferenceGraph(len(ops))
    writers: dict[str, set[int]] = collections.defaultdict(set)
    readers: dict[str, set[int]] = collections.defaultdict(set)
    for i, op in enumerate(ops):
        for blob in (*op.input, *op.control_input):
            for before in writers[blob]:
                graph.add_edge(before, i)
            readers[blob].add(i)
        for blob in op.output:
            for before in (writers[blob] | readers[blob]) - {i}:
                graph.add_edge(before, i)
            writers[blob].add(i)
    return graph


def topological_sort_traversal(g: InterferenceGraph) -> list[int]:
    """Operators in an order in which they can run: the one that became ready last runs first, so
    that blobs are read soon after they are written."""
    missing = [len(before) for before in g.predecessors]
    ready = [i for i, count in enumerate(missing) if count == 0]
    order = []
    while ready:
        i = ready.pop()
        order.append(i)
        for after in sorted(g.successors[i]):
            missing[after] -= 1
            if missing[after] == 0:
                ready.append(after)
    if len(order) != len(missing):
        raise ValueError("the operators depend on each other in a cycle")
    return order


def topological_sort_traversal_longest_path(g: InterferenceGraph) -> list[int]:
    """Like topological_sort_traversal, but of the predecessors of an operator the longest chain
    runs first and short ones right before it, which keeps the lives of blobs short."""
    heights: dict[int, int] = {}
    for i in topological_sort_traversal(g):
        heights[i] = 1 + max((heights[before] for before in g.predecessors[i]), default=0)
    order, done = [], set()
    sinks = [i for i, after in enumerate(g.successors) if not after]
    stack = sorted(sinks, key=lambda i: (heights[i], -i))
    while stack:
        i = stack[-1]
        todo = [before for before in g.predecessors[i] if before not in done]
        if todo:
            stack += sorted(todo, key=lambda before: (heights[before], -before))
            continue
        stack.pop()
        if i not in done:
            done.add(i)
            order.append(i)
    return order


def compute_ranges(linearized_ops: Sequence[caffe2_pb2.OperatorDef],
                   blob_sizes: Mapping[str, int] | None = None) -> dict[str, LiveRange]:
    """{blob: LiveRange} of operators in the order they run. `defined` is None for blobs from
    outside, `used` for blobs that no operator reads."""
    ranges: dict[str, LiveRange] = {}
    for i, op in enumerate(linearized_ops):
        for blob in op.input:
            known = ranges.get(blob, LiveRange(None, None, None))
            ranges[blob] = known._replace(used=i)
        for blob in op.output:
            known = ranges.get(blob, LiveRange(None, None, None))
            if known.defined is None and known.used is None:
                known = known._replace(defined=i)
            ranges[blob] = known
    if blob_sizes is not None:
        ranges = {blob: known._replace(size=blob_sizes[blob]) for blob, known in ranges.items()}
    return ranges


def get_updated_ranges(ranges: Iterable[tuple[str, LiveRange]],
                       max_live: int | None = None) -> list[tuple[str, LiveRange]]:
    """Pairs (blob, LiveRange) whose gaps are filled: -1 for `defined`, `max_live` (default: one
    after the last use of any blob) for `used`, 1 for `size`."""
    if max_live is None:
        max_live = 1 + max((known.used for _, known in ranges if known.used is not None), default=0)
    filled = LiveRange(-1, max_live, 1)
    return [(blob, LiveRange(*(default if value is None else value
                               for value, default in zip(known, filled))))
            for blob, known in ranges]


def is_compatible(candidate_range: LiveRange, assignment: Assignment,
                  static_blobs: Container[str]) -> bool:
    """True if a blob may follow the blobs of an assignment, a list of (blob, LiveRange)."""
    name, last = assignment[-1]
    if name in static_blobs or None in (candidate_range.defined, last.defined, last.used):
        return False
    return candidate_range.defined > last.used


def _size(known):
    """Bytes of a LiveRange; where sizes are not known, all count the same."""
    return 1 if known.size is None else known.size


def _get_max_size(assignment):
    return max((_size(known) for _, known in assignment), default=0)


def get_memory_usage(assignments: Sequence[Assignment]) -> int:
    """Bytes of assignments whose ranges have sizes; else their number."""
    return sum(_get_max_size(assignment) for assignment in assignments)


def compute_assignments_greedy(
        ranges_sorted: Iterable[tuple[str, LiveRange]],
        init_assignments: list[Assignment] | None = None) -> list[Assignment]:
    """Appends each (blob, LiveRange), in the order of last use, to the assignment of the nearest
    size that is free, or to a new one."""
    assignments = init_assignments or []
    placed = {name for assignment in assignments for name, _ in assignment}
    for name, known in ranges_sorted:
        if name in placed:
            continue
        free = [a for a in assignments if is_compatible(known, a, ())]
        if free:
            min(free, key=lambda a: abs(_get_max_size(a) - _size(known))).append((name, known))
        else:
            assignments.append([(name, known)])
    return assignments


def compute_assignments_dp(ranges_sorted: Sequence[tuple[str, LiveRange]],
                           init_assignment: Iterable[Assignment] | None = None,
                           counter: list[int] | None = None) -> list[Assignment]:
    """The assignments with the least memory, by trying all; exponential in the number of blobs.

    `counter`: a list of one number, to which the number of tried assignments is added.
    """
    best: list[Assignment] = []
    best_bytes: int | None = None

    def extend(index, assignments, nbytes):
        nonlocal best, best_bytes
        if counter is not None:
            counter[0] += 1
        if best_bytes is not None and nbytes >= best_bytes:
            return
        if index == len(ranges_sorted):
            best, best_bytes = [list(assignment) for assignment in assignments], nbytes
            return
        blob = ranges_sorted[index]
        for i, assignment in enumerate(assignments):
            if is_compatible(blob[1], assignment, ()):
                larger = max(_size(blob[1]), _get_max_size(assignment))
                assignments[i] = [*assignment, blob]
                extend(index + 1, assignments, nbytes + larger - _get_max_size(assignment))
                assignments[i] = assignment
        assignments.append([blob])
        extend(index + 1, assignments, nbytes + _size(blob[1]))
        assignments.pop()

    first = [list(assignment) for assignment in init_assignment or []]
    extend(0, first, get_memory_usage(first))
    return best


def compute_assignments(ranges: Mapping[str, LiveRange], static_blobs: Collection[str],
                        algo: AssignmentAlgorithm) -> list[Assignment]:
    """Lists of (blob, LiveRange), each of which can share memory; static blobs have their own."""
    def last_use(item):
        known = item[1]
        return (float("inf") if known.used is None else known.used, known.defined or 0)

    ordered = sorted(ranges.items(), key=last_use)
    shared = [item for item in ordered if item[0] not in static_blobs]
    if algo == AssignmentAlgorithm.DYNAMIC_PROGRAMMING:
        assignments = compute_assignments_dp(shared)
    elif algo == AssignmentAlgorithm.GREEDY:
        assignments = compute_assignments_greedy(shared)
    else:
        raise ValueError(f"Invalid algo name {algo!r}")
    return assignments + [[item] for item in ordered if item[0] in static_blobs]


def verify_assignments(assignments: Iterable[Assignment]) -> None:
    """Raises ValueError if two blobs of one assignment are alive at the same time. Ranges must have
    no gaps, see get_updated_ranges."""
    for assignment in assignments:
        for (blob, known), (after, later) in zip(assignment, assignment[1:]):
            if known.used >= later.defined:
                raise ValueError(f"{after} is written at {later.defined}, but {blob} of the same "
                                 f"memory is used until {known.used}")


def compute_blob_assignments(assignments: Iterable[Assignment]) -> dict[str, str]:
    """{blob: the last blob of its assignment}, for assignments of several."""
    return {blob: assignment[-1][0] for assignment in assignments if len(assignment) > 1
            for blob, _ in assignment}


def apply_assignments(net: caffe2_pb2.NetDef, blob_assignments: Mapping[str, str]) -> None:
    """Renames blobs of a NetDef in place."""
    renamed: dict[str | bytes, str | bytes] = {
        str(old): str(new) for old, new in blob_assignments.items()}
    net.CopyFrom(caffe2_pb2.NetDef.FromString(C.rename_blobs(net.SerializeToString(), renamed)))


def apply_recurrent_blob_assignments(op: caffe2_pb2.OperatorDef,
                                     blob_assignments: Mapping[str, str],
                                     canonical_name: Callable[[str], str]) -> None:
    """Renames the outer blobs in the step nets of a RecurrentNetwork or its gradient, in place. The
    argument "<blob>.rename" holds the new name of a blob of the operator itself.

    Args:
      blob_assignments: {blob: new name}.
      canonical_name: function(blob) -> new name.
    """
    for argument in op.arg:
        if argument.name.endswith("step_net"):
            apply_assignments(argument.n, blob_assignments)
            inputs = argument.n.external_input
            inputs[:] = [canonical_name(blob) if blob in blob_assignments else blob
                         for blob in inputs]
    own = {*op.input, *op.output}
    for blob, renamed in blob_assignments.items():
        if blob in own:
            op.arg.add(name=f"{blob}.rename", s=str(renamed).encode())


def optimize_interference(
        net: caffe2_pb2.NetDef, static_blobs: Collection[str],
        ordering_function: Callable[[InterferenceGraph], list[int]] = topological_sort_traversal,
        blob_sizes: Mapping[str, int] | None = None,
        algo: AssignmentAlgorithm = AssignmentAlgorithm.GREEDY) -> Optimization:
    """Orders the operators of a NetDef and lets its blobs share memory.

    Args:
      static_blobs: blobs with memory of their own, such as parameters and fetched blobs.
      ordering_function: topological_sort_traversal, or the one with _longest_path.
      blob_sizes: {blob: bytes}, see collect_blob_sizes.
      algo: an AssignmentAlgorithm.

    Returns an Optimization: the new NetDef, and the assignments.
    """
    order = ordering_function(compute_interference_graph(net.op))
    optimized = caffe2_pb2.NetDef()
    optimized.CopyFrom(net)
    optimized.ClearField("op")
    optimized.op.extend(net.op[i] for i in order)
    static = {*map(str, static_blobs), *net.external_input, *net.external_output}
    assignments = compute_assignments(compute_ranges(optimized.op, blob_sizes), static, algo)
    blob_assignments = compute_blob_assignments(assignments)
    apply_assignments(optimized, blob_assignments)
    return Optimization(net=optimized, assignments=assignments, blob_assignments=blob_assignments)


def blob_nbytes(blob: BlobLike) -> int:
    """Bytes of a blob of the workspace; 0 if it has none."""
    if not workspace.HasBlob(blob):
        log.warning("there is no blob %s", blob)
        return 0
    return getattr(workspace.FetchBlob(blob), "nbytes", 0)


def collect_blob_sizes(net: caffe2_pb2.NetDef) -> dict[str, int]:
    """{blob: bytes}, after the NetDef has run."""
    return {blob: blob_nbytes(blob) for op in net.op for blob in (*op.input, *op.output)}


def compute_statistics(assignments: Iterable[Assignment]) -> Statistics:
    """Statistics: the bytes of all blobs in the workspace, without and with sharing."""
    sizes = [[blob_nbytes(blob) for blob, _ in assignment] for assignment in assignments]
    return Statistics(baseline_nbytes=sum(map(sum, sizes)),
                      optimized_nbytes=sum(map(max, sizes)))


def verify_inplace_blobs(net_a: caffe2_pb2.NetDef, net_b: caffe2_pb2.NetDef) -> bool:
    """True if the same operators of two NetDefs work in place."""
    def in_place(op):
        return {(i, o) for i, x in enumerate(op.input) for o, y in enumerate(op.output) if x == y}

    return len(net_a.op) == len(net_b.op) and all(
        in_place(a) == in_place(b) for a, b in zip(net_a.op, net_b.op))


def verify_graph_equality(net_a: caffe2_pb2.NetDef, net_b: caffe2_pb2.NetDef) -> bool:
    """True if two NetDefs have the same operators, and each reads the outputs of the same
    operators."""
    def sources(net):
        writer, found = {}, []
        for i, op in enumerate(net.op):
            found.append((op.type, [writer.get(blob) for blob in op.input]))
            writer.update({blob: (i, k) for k, blob in enumerate(op.output)})
        return found

    return sources(net_a) == sources(net_b)
