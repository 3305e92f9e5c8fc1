"""Copies of nets; part of core.Net."""

from caffe2.proto import caffe2_pb2
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python._core.errors import operator_tracebacks
from caffe2.python._core.gradients import get_op_ids_in_path, get_ssa, get_undefined_blobs
from caffe2.python._core.net_rewrite import DEFAULT_REMAP_FUNCS, set_external_blobs


class NetCopies:
    """How a net becomes another one, or part of one."""

    def Clone(self, name, blob_remap=None, op_id_mask=None, remap_funcs=None, keep_schema=True,
              update_external_list=False):
        """A copy under another name.

        Args:
          blob_remap: {old blob: new blob}.
          op_id_mask: indices of the operators to keep; default all.
          remap_funcs: {operator type: function(copy of the operator, "<name>/", blob_remap)} that
            renames in the arguments of copies, in place of those of DEFAULT_REMAP_FUNCS.
          update_external_list: True if external inputs and outputs shall be those of the kept
            operators: what they read and do not write before, what they write and do not read.
        """
        remap = {str(old): str(new) for old, new in (blob_remap or {}).items()}

        def renamed(blobs):
            return [remap.get(blob, blob) for blob in blobs]

        proto = self._net
        new_proto = caffe2_pb2.NetDef()
        new_proto.CopyFrom(proto)
        new_proto.name = name
        for field in ("op", "external_input", "external_output"):
            new_proto.ClearField(field)
        new_proto.external_input.extend(renamed(proto.external_input))
        new_proto.external_output.extend(renamed(proto.external_output))
        functions = {**DEFAULT_REMAP_FUNCS, **(remap_funcs or {})}
        prefix = name + "/" if name else ""
        kept = range(len(proto.op)) if op_id_mask is None else op_id_mask
        for index in kept:
            op = new_proto.op.add()
            op.CopyFrom(proto.op[index])
            op.ClearField("input")
            op.ClearField("output")
            op.input.extend(renamed(proto.op[index].input))
            op.output.extend(renamed(proto.op[index].output))
            if op.type in functions:
                functions[op.type](op, prefix, remap)
        if update_external_list:
            set_external_blobs(new_proto)
        new_net = type(self)(new_proto)
        operator_tracebacks[new_net.Name()] = {
            new: operator_tracebacks[self.Name()].get(old, []) for new, old in enumerate(kept)}
        new_net._attr_dict.update(self._attr_dict)
        if keep_schema:
            new_net._input_record, new_net._output_record = self._input_record, self._output_record
        return new_net

    def ClonePartial(self, name, inputs, outputs, remap_funcs=None):
        """A copy of the operators that compute `outputs` from `inputs`, as (net, output blobs).

        What they compute has names under "<name>/". Other external inputs keep their names and
        become external inputs of the copy.

        Args:
          inputs: a list of blobs, or a dict blob -> new name.
          outputs: a list of blobs.

        Raises AssertionError for an output that the net does not define, and where computing the
        outputs would compute an input anew.
        """
        pairs = inputs.items() if isinstance(inputs, dict) else [(blob, blob) for blob in inputs]
        remap = {str(old): str(new) for old, new in pairs}
        undefined = [str(blob) for blob in outputs if not self.BlobIsDefined(blob)]
        assert not undefined, f"net {self.Name()} does not define {undefined}"
        ssa, versions = get_ssa(self, dict.fromkeys(remap, 0))
        kept = get_op_ids_in_path(ssa, versions, remap, outputs)
        anew = set(kept) & set(get_op_ids_in_path(ssa, versions, [], remap))
        assert not anew, (f"net {self.Name()} would compute inputs of its clone anew in operators "
                          f"{sorted(anew)}")
        extra = sorted(get_undefined_blobs([ssa[index] for index in kept]) - set(remap))
        for blob in {blob for index in kept for blob in self._net.op[index].output}:
            if blob not in remap and blob not in extra:
                remap[blob] = f"{name}/{blob}" if name else blob
        new_net = self.Clone(name, remap, kept, remap_funcs)
        proto = new_net.Proto()
        proto.ClearField("external_input")
        proto.ClearField("external_output")
        proto.external_input.extend([str(new) for _, new in pairs] + extra)
        proto.external_output.extend(remap.get(str(blob), str(blob)) for blob in outputs)
        new_net._recreate_lookup_tables()
        return new_net, [BlobReference(blob, new_net) for blob in proto.external_output]

    def AppendNet(self, net, device_option=None):
        """Adds the operators, inputs and outputs of another net (or NetDef); returns self."""
        proto = net.Proto() if isinstance(net, NetCopies) else net
        operators = list(proto.op)
        if device_option is not None:
            operators = [type(op).FromString(op.SerializeToString()) for op in operators]
            for op in operators:
                op.device_option.CopyFrom(device_option)
        own = self.Name()
        lines = operator_tracebacks.get(proto.name, {})
        for index, line in lines.items():
            operator_tracebacks[own][len(self._net.op) + index] = line
        for blob in proto.external_input:
            if blob not in self._op_outputs and blob not in self._external_input_map:
                self.AddExternalInput(BlobReference(blob))
        self._ExtendOps(operators)
        existing = set(self._net.external_output)
        self._net.external_output.extend(b for b in proto.external_output if b not in existing)
        return self


def clone_and_bind_net(net, name, prefix, blob_remap=None, inputs=None, keep_schema=True):
    """A copy of a net whose own blobs get a prefix; `inputs` replace its input record's blobs."""
    remap = dict(blob_remap or {})
    if inputs is not None:
        remap.update(zip(map(str, net.input_record().field_blobs()),
                         map(str, inputs.field_blobs())))
    for op in net.Proto().op:
        for blob in op.output:
            remap.setdefault(blob, prefix + blob)
    return net.Clone(name, remap, keep_schema=keep_schema), remap
