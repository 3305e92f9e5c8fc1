"""Nets under construction; public through caffe2.python.core."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import scope
from caffe2.python._core.arguments import MakeArgument
from caffe2.python._core.blob_reference import (
    BlobLike,
    BlobReference,
    ScopedBlobReference,
    ScopedName,
    rectify_blobs,
)
from caffe2.python._core.builders import NetBlock
from caffe2.python._core.constants import constant_filler
from caffe2.python._core.errors import (
    call_explained,
    creation_line,
    name_by_creation_lines,
    nets,
    operator_tracebacks,
)
from caffe2.python._core.gradients import (
    Gradient,
    GradientRegistry,
    GradientSlice,
    Losses,
    deduplicate_slices,
    gradient_in_net,
)
from caffe2.python._core.net_devices import NetDevices
from caffe2.python._core.net_graph import svg_of
from caffe2.python._core.net_rewrite import (
    RemapFunction,
    copy_net,
    remap_input,
    set_external_blobs,
)
from caffe2.python._core.operator_def import (
    CreateOperator,
    _register_python_op,
    check_complete,
)
from caffe2.python._core.operator_help import operator_method
from caffe2.python._core.operator_methods import OperatorMethods
from caffe2.python._core.operator_types import CheckOperatorType, registered_operators
from caffe2.python._core.records import (
    NewRecord,
    checked_record,
    names_of_blobs,
    record_by_prefix,
)
from caffe2.python._core.refused_calls import undone_if_refused
from caffe2.python._core.schema_fields import Field, Struct
from caffe2.python._core.ssa import select_operators
from caffe2.python._core.unique_names import UniqueNames

# Functions called with each operator that a net gets; workspace.StartImmediate adds one.
operator_observers: list[Callable[[caffe2_pb2.OperatorDef], object]] = []


class Net(NetDevices, OperatorMethods):
    """A NetDef under construction.

    Calling an operator type on it adds the operator: ``y = net.Relu(x, "y")``. `outputs` is
    a blob, a list of blobs, or the number of outputs; the default is one output, named after net
    and operator. The call returns a BlobReference, or a tuple of several. Inputs that the net does
    not define become external inputs.
    """

    _names = UniqueNames()

    @staticmethod
    def current_prefix() -> str:
        """The name of the current NetBuilder; "" outside of one."""
        builder = NetBlock.current(required=False)
        return builder.name if builder is not None else ""

    @classmethod
    def _reset_used_names(cls):
        cls._names.clear()

    def __init__(self, name_or_proto: str | caffe2_pb2.NetDef) -> None:
        """A new net of this name, or a copy of a NetDef. The name is made unique in this process:
        "train", "train_1", ..."""
        self._next_name_index = 0
        self._op_outputs: set[str] = set()
        self._external_input_map: set[str] = set()
        self._registered_blob_names: dict[str, None] = {}  # of NextBlob, the newest last
        self._next_indices: dict[str, int] = {}  # of NextName; all lower ones are taken
        self._attr_dict: dict[str, list[Any]] = {}
        self._input_record: Field | None = None
        self._output_record: Any = None
        if isinstance(name_or_proto, caffe2_pb2.NetDef):
            self._net = caffe2_pb2.NetDef()
            self._net.CopyFrom(name_or_proto)
            self._InvalidateLookupTables()
            self._set_next_name_index()
            name = Net._names.take(self._net.name)
        elif isinstance(name_or_proto, str):
            self._net = caffe2_pb2.NetDef()
            name = Net._names.take(name_or_proto)
        else:
            raise TypeError(f"a Net is made from a name or a NetDef, not {name_or_proto!r}")
        self._net.name = name
        operator_tracebacks[name] = {}
        nets[name] = self

    def _InvalidateLookupTables(self):
        """Call this after a change of Proto() that did not go through this class."""
        self._op_outputs = {blob for op in self._net.op for blob in op.output}
        self._external_input_map = set(self._net.external_input)
        self._next_indices = {}

    def _set_next_name_index(self):
        """Continues the numbers of automatic blob names."""
        prefix = self._net.name + "_blob_"
        for blob in self._op_outputs:
            if blob.startswith(prefix) and blob[len(prefix):].isdigit():
                self._next_name_index = max(self._next_name_index, int(blob[len(prefix):]) + 1)

    def _CheckLookupTables(self):
        """Raises AssertionError if Proto() was changed without _InvalidateLookupTables."""
        assert self._op_outputs >= {blob for op in self._net.op for blob in op.output}
        assert self._external_input_map >= set(self._net.external_input)

    # -- Inspection --------------------------------------------------------------------------------

    def Proto(self) -> caffe2_pb2.NetDef:
        """The NetDef itself, not a copy. After a change of its operators, call
        _InvalidateLookupTables."""
        return self._net

    def Name(self) -> str:
        """The name, unique in this process."""
        return self._net.name

    def __str__(self) -> str:
        return self._net.name

    def __repr__(self) -> str:
        return f"<Net {self._net.name}: {len(self._net.op)} operators>"

    def _repr_svg_(self) -> str:
        """The graph as SVG, for notebooks."""
        return svg_of(self)

    @property
    def external_inputs(self) -> list[BlobReference]:
        """References to the blobs that the net reads and does not write."""
        return [BlobReference(name, self) for name in self._net.external_input]

    @property
    def external_outputs(self) -> list[BlobReference]:
        """References to the blobs that are read after the net ran."""
        return [BlobReference(name, self) for name in self._net.external_output]

    def BlobIsDefined(self, blob: BlobLike) -> bool:
        """True if the blob is an external input or an operator writes it."""
        name = str(blob)
        return name in self._op_outputs or name in self._external_input_map

    def is_external_input(self, blob: BlobLike) -> bool:
        """True if the blob is declared as an external input."""
        return str(blob) in self._external_input_map

    def UsesBlob(self, blob: BlobLike) -> bool:
        """True if an operator reads the blob or it is an external input."""
        name = str(blob)
        return name in self._external_input_map or any(name in op.input for op in self._net.op)

    def UsedBlobNames(self) -> set[str]:
        """The set of names of blobs that operators read or write."""
        return {name for op in self._net.op for name in (*op.input, *op.output)}

    def GetBlobRef(self, blob_name: BlobLike) -> BlobReference:
        """The reference of a blob; raises KeyError unless the net defines it."""
        name = str(blob_name)
        if not self.BlobIsDefined(name):
            raise KeyError(f"net {self.Name()} has no blob {name}")
        return BlobReference(name, self)

    # -- Construction ------------------------------------------------------------------------------

    def _operator(self, op_type: str) -> Callable[..., Any]:
        CheckOperatorType(op_type, type(self))
        return operator_method(op_type, self._create_and_add)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *registered_operators()})

    def _CreateAndAddToSelf(self, op_type, inputs, outputs=None, **kwargs):
        return self._create_and_add(op_type, inputs, outputs, **kwargs)

    def _create_and_add(self, op_type, inputs=(), outputs=None, **kwargs):
        with undone_if_refused(self):
            op = self._create_operator(op_type, rectify_blobs(inputs), outputs, kwargs)
        self._ExtendOps([op])
        operator_tracebacks[self._net.name][len(self._net.op) - 1] = creation_line()
        for observe in operator_observers:
            observe(op)
        references = tuple(BlobReference(blob, self) for blob in op.output)
        if not references:
            return None
        return references[0] if len(references) == 1 else references

    def _create_operator(self, op_type, inputs, outputs, kwargs):
        for blob in inputs:
            if self.BlobIsDefined(blob):
                continue
            if blob.Net() is self:
                raise ValueError(
                    f"net {self.Name()} does not define its own blob {blob}; is it of another net "
                    "with the same name, or was its operator removed?")
            self.AddExternalInput(blob)  # now, so that outputs get other names
        if outputs is None:
            outputs = self.NextName(prefix=op_type)
        elif isinstance(outputs, (int, np.integer)):
            if outputs < 0:
                raise ValueError(f"operator {op_type}: {outputs} outputs")
            outputs = [self.NextName(prefix=op_type, output_id=i) for i in range(outputs)]
        op = CreateOperator(op_type, inputs, rectify_blobs(outputs, net=self), **kwargs)
        check_complete(op)
        return op

    def _declare_undefined(self, blobs):
        for blob in blobs:
            if not self.BlobIsDefined(blob):
                self.AddExternalInput(blob)

    def extend_ops(self, new_ops: Iterable[caffe2_pb2.OperatorDef]) -> None:
        """Appends OperatorDefs as they are. The caller declares with AddExternalInput the blobs
        that they read and no operator writes."""
        new_ops = list(new_ops)
        self._net.op.extend(new_ops)
        for op in new_ops:
            self._op_outputs.update(op.output)
    _ExtendOps = extend_ops  # Caffe2 has both names

    def AddExternalInput(self, *inputs: Any) -> Any:
        """Declares blobs that must exist before the net is made; returns their references.

        Strings are taken as they are, without the name scope. A record stands for the blobs of its
        columns, a schema for blobs with the names of its columns, a list for its elements.

        Raises AssertionError for a blob that is declared already, ValueError without blobs.
        """
        references = self._references("AddExternalInput", inputs)
        for reference in references:
            assert str(reference) not in self._external_input_map, (
                f"Net already contains an input named {reference}")
            self._external_input_map.add(str(reference))
            self._net.external_input.append(str(reference))
        return references[0] if len(references) == 1 else references

    def _references(self, what, blobs):
        return [BlobReference(name, self) for name in names_of_blobs(what, blobs)]

    def AddScopedExternalInputs(self, *inputs: BlobLike) -> Any:
        """AddExternalInput of names under the current name scope."""
        return self.AddExternalInput(*[ScopedBlobReference(str(blob)) for blob in inputs])

    AddExternalInputs = AddExternalInput

    def AddExternalOutput(self, *outputs: Any) -> Any:
        """Declares blobs, or the columns of records, that are read after the net ran."""
        references = self._references("AddExternalOutput", outputs)
        self._net.external_output.extend(map(str, references))
        return references[0] if len(references) == 1 else references

    AddExternalOutputs = AddExternalOutput

    def AddScopedExternalOutputs(self, *outputs: BlobLike) -> Any:
        """AddExternalOutput of names under the current name scope."""
        return self.AddExternalOutput(*[ScopedBlobReference(str(blob)) for blob in outputs])

    def NextBlob(self, prefix: str = "unnamed") -> BlobReference:
        """A reference to a new blob: `prefix`, or "<prefix>_auto_<n>" if the net has that."""
        name, index = str(prefix), 0
        while name in self._registered_blob_names or self.BlobIsDefined(name):
            name = f"{prefix}_auto_{index}"
            index += 1
        self._registered_blob_names[name] = None
        return BlobReference(name)

    def NextScopedBlob(self, prefix: str = "unnamed") -> BlobReference:
        """NextBlob under the current name scope."""
        return self.NextBlob(ScopedName(prefix))

    def NextName(self, prefix: str | None = None, output_id: int | None = None) -> str:
        """A new name for the output of an operator: "<net>/<prefix>[_<n>][:<output_id>]", or
        without a prefix "<net>_blob_<n>"."""
        if prefix is None:
            name = f"{self._net.name}_blob_{self._next_name_index}"
            self._next_name_index += 1
            return name
        base = f"{self._net.name}/{prefix}"
        suffix = "" if output_id is None else f":{output_id}"
        first = ScopedName(base + suffix)
        index = self._next_indices.get(first, 1)
        while self.BlobIsDefined(ScopedName(
                name := base + (f"_{index}" if index > 1 else "") + suffix)):
            index += 1
        self._next_indices[first] = index
        return name

    def Const(self, array: Any, blob_out: BlobLike | None = None,
              dtype: Any = None) -> BlobReference:
        """A blob that holds the array, of any shape, after each run of the net.

        float16 becomes float32, integers of 8 and 16 bits become int32, uint32 becomes int64, and
        float64 values are rounded to float32. Raises TypeError for other types than numbers, bool
        and strings, and for uint64.
        """
        filler, arguments = constant_filler(np.asarray(array, dtype))
        return self._create_and_add(
            filler, [], self.NextName() if blob_out is None else blob_out, arg=arguments)

    def Python(self, f: Callable[..., Any], grad_f: Callable[..., Any] | None = None,
               python_func_type: type | None = None, pass_workspace: bool = False,
               grad_output_indices: Sequence[int] | None = None,
               grad_input_indices: Sequence[int] | None = None) -> Callable[..., Any]:
        """A function that adds an operator calling ``f(inputs, outputs)`` when it runs:
        ``net.Python(f)(inputs, outputs)``. See core.CreatePythonOperator."""
        if python_func_type is not None:
            instance = python_func_type()
            f, grad_f = instance.forward, getattr(instance, "backward", None)
        token = _register_python_op(f, grad_f, pass_workspace)
        return functools.partial(
            self._create_and_add, "Python", token=token,
            grad_output_indices=grad_output_indices, grad_input_indices=grad_input_indices)

    def Print(self, *args: Any, **kwargs: Any) -> Any:
        """Adds an operator that prints a blob of any type when the net runs; see the operator
        Print."""
        return self._create_and_add("Print", args[0], args[1] if len(args) > 1 else [], **kwargs)

    def LogInfo(self, *msg_or_blobs: BlobReference | str) -> None:
        """Prints messages and blobs when the net runs."""
        for item in msg_or_blobs:
            self.Print(item if isinstance(item, BlobReference) else self.Const(str(item)), [])

    def PopulateProtoWithFileName(self) -> None:
        """Names each operator after the line that created it: "file:line:function"."""
        name_by_creation_lines(self._net)

    def insert_op_at_idx(self, op: caffe2_pb2.OperatorDef, op_idx: int) -> None:
        """Adds an operator before the operator of this index."""
        rest = list(caffe2_pb2.NetDef(op=self._net.op[op_idx:]).op)
        del self._net.op[op_idx:]
        self._net.op.extend([op, *rest])
        self._op_outputs.update(op.output)
        lines = operator_tracebacks[self.Name()]
        operator_tracebacks[self.Name()] = {
            i + (i >= op_idx): line for i, line in lines.items()}

    def reroute_tensor(self, tensor: BlobLike, new_producer: caffe2_pb2.OperatorDef,
                       can_modify: Sequence[caffe2_pb2.OperatorDef] | None = None) -> int:
        """Adds an operator after the writer of the blob `tensor`, and replaces `tensor` by its
        output.

        Args:
          tensor: a blob that one operator writes, or an external input.
          new_producer: an operator that reads it.
          can_modify: operators that read the new blob from now on; others keep the old one.

        The new blob also replaces `tensor` among the external outputs. Returns the number of
        changed operators. Raises ValueError if the new operator does not read `tensor`.
        """
        tensor, new_tensor = str(tensor), new_producer.output[0]
        if tensor not in new_producer.input:
            raise ValueError(f"{new_producer.type} does not read {tensor}")
        writers = {blob: i for i, op in enumerate(self._net.op) for blob in op.output}
        self._declare_undefined(new_producer.input)
        consumers = [op for op in self._net.op if op in (can_modify or ())]
        for op in consumers:
            remap_input(op, {tensor: new_tensor})
        self.insert_op_at_idx(
            new_producer, max(writers.get(blob, -1) for blob in new_producer.input) + 1)
        self._net.external_output[:] = [
            new_tensor if blob == tensor else blob for blob in self._net.external_output]
        return len(consumers)

    def AddGradientOperators(self, ys: Losses, skip: int = 0) -> dict[str, Gradient]:
        """Adds the operators that compute the gradients of the sum of the blobs `ys`.

        Args:
          ys: a list of blobs, or a dict blob -> blob of its gradient (None: ones).
          skip: how many operators to leave out, from the first on.

        Returns {blob name: BlobReference or GradientSlice} of every blob with a gradient.
        Raises RuntimeError, which names the operator, if one on the way has no gradient.
        """
        operators = self._net.op[skip:] if skip else self._net.op
        ops, gradients = GradientRegistry.GetBackwardPass(operators, ys, net_name=self.Name())
        self._ExtendOps(ops)
        for op in ops if operator_observers else ():
            for observe in operator_observers:
                observe(op)
        return {name: gradient_in_net(gradient, self) for name, gradient in gradients.items()}

    def AddArgument(self, arg_name: str, arg_value: Any) -> None:
        """Adds an argument to the net itself: a number, string, list of these, or message."""
        self._net.arg.append(MakeArgument(arg_name, arg_value))

    def DeduplicateGradientSlices(self, g: GradientSlice, aggregator: str = "sum") -> GradientSlice:
        """A GradientSlice of distinct indices, each with the "sum" or "mean" of its rows in `g`."""
        return deduplicate_slices(self, g, aggregator)

    # -- Copies ------------------------------------------------------------------------------------

    def Clone(self, name: str, blob_remap: Mapping[Any, Any] | None = None,
              op_id_mask: Sequence[int] | None = None,
              remap_funcs: Mapping[str, RemapFunction] | None = None, keep_schema: bool = True,
              update_external_list: bool = False) -> Net:
        """A copy under another name.

        Args:
          blob_remap: {old blob: new blob}.
          op_id_mask: indices of the operators to keep; default all.
          remap_funcs: {operator type: function(copy of the operator, "<name>/", blob_remap)} that
            renames in the arguments of copies, in place of the functions of DEFAULT_REMAP_FUNCS.
          update_external_list: derives the external inputs and outputs from the kept operators:
            blobs that they read before they write them, and blobs that they write and do not read.
        """
        kept = range(len(self._net.op)) if op_id_mask is None else op_id_mask
        remap = {str(old): str(new) for old, new in (blob_remap or {}).items()}
        proto = copy_net(self._net, name, remap, kept, remap_funcs)
        if update_external_list:
            set_external_blobs(proto)
        new_net = type(self)(proto)
        lines = operator_tracebacks[self.Name()]
        operator_tracebacks[new_net.Name()] = {
            new: lines.get(old, []) for new, old in enumerate(kept)}
        new_net._attr_dict.update(self._attr_dict)
        if keep_schema:
            new_net._input_record, new_net._output_record = self._input_record, self._output_record
        return new_net

    def ClonePartial(self, name: str, inputs: Mapping[Any, Any] | Sequence[BlobLike],
                     outputs: Sequence[BlobLike],
                     remap_funcs: Mapping[str, RemapFunction] | None = None
                     ) -> tuple[Net, list[BlobReference]]:
        """A copy of the operators that compute `outputs` from `inputs`, as (net, output blobs).

        The blobs that they write get "<name>/" before their names. Other blobs that they read keep
        their names and become external inputs of the copy.

        Args:
          inputs: a list of blobs, or a dict blob -> new name.
          outputs: a list of blobs.

        Raises AssertionError for an output that the net does not define, and if computing the
        outputs would also compute an input.
        """
        pairs = inputs.items() if isinstance(inputs, dict) else [(blob, blob) for blob in inputs]
        remap = {str(old): str(new) for old, new in pairs}
        undefined = [str(blob) for blob in outputs if not self.BlobIsDefined(blob)]
        assert not undefined, f"net {self.Name()} does not define {undefined}"
        kept, extra = select_operators(self, remap, outputs)
        for blob in {blob for index in kept for blob in self._net.op[index].output}:
            if blob not in remap and blob not in extra:
                remap[blob] = f"{name}/{blob}" if name else blob
        new_net = self.Clone(name, remap, kept, remap_funcs)
        proto = new_net.Proto()
        proto.external_input[:] = [str(new) for _, new in pairs] + extra
        proto.external_output[:] = [remap.get(str(blob), str(blob)) for blob in outputs]
        new_net._InvalidateLookupTables()
        return new_net, [BlobReference(blob, new_net) for blob in proto.external_output]

    def AppendNet(self, net: Net | caffe2_pb2.NetDef,
                  device_option: caffe2_pb2.DeviceOption | None = None) -> Net:
        """Adds the operators, inputs and outputs of another net (or NetDef); returns self."""
        proto = net.Proto() if isinstance(net, Net) else net
        operators = list(proto.op)
        if device_option is not None:
            operators = [type(op).FromString(op.SerializeToString()) for op in operators]
            for op in operators:
                op.device_option.CopyFrom(device_option)
        own = self.Name()
        lines = operator_tracebacks.get(proto.name, {})
        for index, line in lines.items():
            operator_tracebacks[own][len(self._net.op) + index] = line
        self._declare_undefined(proto.external_input)
        self._ExtendOps(operators)
        existing = set(self._net.external_output)
        self._net.external_output.extend(b for b in proto.external_output if b not in existing)
        return self

    # -- Records -----------------------------------------------------------------------------------

    def input_record(self) -> Field | None:
        """The record that set_input_record has set, or None."""
        return self._input_record

    def output_record(self) -> Field | None:
        """The record that set_output_record has set, or None."""
        return self._output_record

    def set_input_record(self, input_record: Field) -> Field:
        """Declares the blobs of a record as external inputs; a schema gets new blobs. Returns the
        record."""
        if not checked_record(input_record).has_blobs():
            with scope.NameScope(self.Name()):
                input_record = NewRecord(self, input_record)
        self._input_record = input_record
        self._declare_undefined(input_record.field_blobs())
        return input_record

    def set_output_record(self, record: Field) -> None:
        """Declares the blobs of a record as external outputs. Raises ValueError for a blob that the
        net does not compute."""
        for blob in checked_record(record).field_blobs():
            if not self.BlobIsDefined(blob):
                raise ValueError(f"net {self.Name()} does not compute {blob}")
        self._output_record = record
        for blob in record.field_blobs():
            if blob not in self.external_outputs:
                self.AddExternalOutput(blob)

    def recover_input_record_by_prefix(self, prefix: str) -> None:
        """Makes the external inputs that begin with `prefix` the input record. The rest of each
        name is the column's. Does nothing if there are none."""
        record = record_by_prefix(self.external_inputs, prefix)
        if record is not None:
            self.set_input_record(record)

    def recover_output_record_by_prefix(self, prefix: str) -> None:
        """Makes the external outputs that begin with `prefix` the output record. The rest of each
        name is the column's. Does nothing if there are none."""
        record = record_by_prefix(self.external_outputs, prefix)
        if record is not None:
            self.set_output_record(record)

    def AppendOutputRecordField(self, field_name: str, record: Field) -> None:
        """Adds a field to the output record. Raises ValueError if there is none."""
        if self._output_record is None:
            raise ValueError(f"net {self.Name()} has no output record")
        for blob in record.field_blobs():
            self.AddExternalOutput(blob)
        self._output_record += Struct((field_name, record))

    def add_attribute(self, name: str, obj: object) -> None:
        """Appends an object to a named list that travels with the net."""
        self._attr_dict.setdefault(name, []).append(obj)

    def get_attributes(self, name: str) -> list[Any]:
        """The objects of add_attribute under a name: a list."""
        return self._attr_dict.get(name, [])

    # -- Observers ---------------------------------------------------------------------------------

    def AddObserver(self, observer_type: str) -> Any:
        """Watches the net, which must have been created in the current workspace.

        Args:
          observer_type: TimeObserver, ProfileObserver or RunCountObserver.

        Returns an object with average_time() (ms), average_time_children() (ms) and debug_info().
        """
        return call_explained(C.add_observer_to_net, self.Name(), observer_type)

    def RemoveObserver(self, observer: Any) -> None:
        """Removes an observer, which must not be used any more."""
        C.remove_observer_from_net(self.Name(), observer)

    def NumObservers(self) -> int:
        """How many observers watch the created net."""
        return C.num_observers_on_net(self.Name())
