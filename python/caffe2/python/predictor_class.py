"""Predictor: an init net and a predict net with a workspace of their own."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from caffe2.proto import caffe2_pb2
from caffe2.python._core.errors import call_explained
from caffe2.python._core.messages import TryReadProtoWithClass
from caffe2.python._core.workspace_class import Workspace
from caffe2.python.caffe2_pybind11_state import restrict_model


def _net(name, net):
    if isinstance(net, (bytes, str)):
        try:
            return TryReadProtoWithClass(caffe2_pb2.NetDef, net)
        except DecodeError as error:
            text = textwrap.shorten(repr(net), 60)
            raise DecodeError(f"{name} is {text}, which is no serialized NetDef ({error}); of a "
                              "file, give what it holds") from error
    proto = net.Proto() if hasattr(net, "Proto") else net
    if not isinstance(proto, caffe2_pb2.NetDef):
        raise TypeError(f"{name} is a NetDef, a Net or a serialized NetDef, not {net!r}")
    return proto


def _fed(inputs, init, is_small):
    """The inputs that users feed. An exported init net may fill them, too: with a constant, or with
    a tensor that `is_small`, and with given values the parameters."""
    constant = {blob for op in init.op if op.type == "ConstantFill" for blob in op.output}
    written = {blob for op in init.op for blob in op.output}
    return [blob for blob in inputs
            if blob not in written or blob in constant or is_small(blob)] or inputs


TRUST_SETTING = "trust_model=True"


def restricted(name: str, net: Any, trust_setting: str = "") -> Any:
    """A copy of a NetDef with limits on its loops.

    Args:
      trust_setting: for errors, the setting that lifts the limits; default: there is none.

    Raises RuntimeError if it has an operator that untrusted models may not use, or exceeds their
    limits of size (train/restrict_model.h).
    """
    limited = restrict_model(name, net.SerializeToString(), trust_setting)
    return caffe2_pb2.NetDef.FromString(limited)


class Predictor:
    """Runs `init_net` once and `predict_net` for each call.

    Args:
      init_net, predict_net: NetDefs, Nets, or serialized NetDefs.
      trust_model: allow every operator, also those that open files or run Python, and parameters
        that are not finite, without limits of size and time.
      optimize: fold batch normalization into filters, fuse operators, run nets in NCHW in
        NHWC between convolutions, and convert filters to the kernels' layout once. Results differ
        by rounding at most.
      max_run_seconds: without trust_model, a run of a net that takes longer fails before its next
        operator.

    The inputs are the external inputs of the predict net that the init net does not fill; if it
    fills them all, as in some exported models, each of them may be an input. The outputs are its
    external outputs, or, if it names none, the first output of its last operator.
    """

    def __init__(self, init_net: Any, predict_net: Any, trust_model: bool = False,
                 optimize: bool = True, max_run_seconds: float = 300) -> None:
        init, predict = _net("init_net", init_net), _net("predict_net", predict_net)
        if not trust_model:
            init = restricted("init_net", init, TRUST_SETTING)
            predict = restricted("predict_net", predict, TRUST_SETTING)
        self._workspace = Workspace()
        self._max_run_seconds = 0 if trust_model else max_run_seconds
        call_explained(self._workspace._run_net, init.SerializeToString(), self._max_run_seconds)
        written = {blob for op in init.op for blob in op.output}
        if not trust_model:
            self._workspace.check_finite(sorted(written), TRUST_SETTING)
        self._external = list(predict.external_input)
        self.inputs = [blob for blob in self._external if blob not in written] or self._external
        self._fed = _fed(self.inputs, init, self._is_small)
        self.outputs = list(predict.external_output)
        if not self.outputs and predict.op:
            self.outputs = list(predict.op[-1].output[:1])
        for blob in self.inputs:
            self._workspace.create_blob(blob)
        self._predict = caffe2_pb2.NetDef()
        self._predict.CopyFrom(predict)
        self._predict.name = predict.name or "predict"
        self._optimize = optimize
        self._create_net()

    def _create_net(self) -> None:
        net = self._predict
        self._constants: set[str] = set()
        if self._optimize:
            serialized, self._constants = self._workspace._optimize_for_inference(
                self._predict.SerializeToString(), set(self.outputs))
            net = caffe2_pb2.NetDef.FromString(serialized)
        self._net = self._workspace.create_net(net, overwrite=True)

    def _is_small(self, blob: str) -> bool:
        return np.size(self._workspace.fetch_blob(blob)) <= 1

    def run(self, inputs: Mapping[Any, Any] | Sequence[Any]) -> list[Any]:
        """A list of the outputs.

        Args:
          inputs: {blob: array}, or a list of arrays for the first of `self.inputs`. Parameters may
            be among them and keep their new values, unless the run fails; the net is then optimized
            again.

        Raises ValueError for other inputs, RuntimeError if the net fails.
        """
        if not isinstance(inputs, Mapping):
            if isinstance(inputs, (str, bytes, np.ndarray)) or not isinstance(inputs, Iterable):
                raise ValueError(f"the inputs are a {type(inputs).__name__}, must be a list of "
                                 f"arrays or a dict {{blob: array}} for {self._fed}")
            if len(inputs) > len(self.inputs):
                raise ValueError(f"{len(inputs)} values are too many for the inputs {self.inputs}")
            inputs = dict(zip(self.inputs, inputs))
        self._check_names([str(blob) for blob in inputs])
        parameters = self._constants & {str(blob) for blob in inputs}
        old_values = {blob: self._workspace.get_blob(blob).serialize(blob) for blob in parameters}
        try:
            for blob, value in inputs.items():
                self._workspace.feed_blob(blob, value)
            if parameters:
                self._create_net()
            self._net.run(self._max_run_seconds)
        except BaseException:  # also Ctrl-C
            if parameters:
                for blob, value in old_values.items():
                    self._workspace.get_blob(blob).deserialize(value)
                self._create_net()
            raise
        return [self._workspace.fetch_blob(blob) for blob in self.outputs]

    def _check_names(self, names: Sequence[str]) -> None:
        unknown = sorted(set(names) - set(self._external))
        if unknown:
            near = difflib.get_close_matches(unknown[0], self._external, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{unknown} are no inputs; there are {self._fed}{hint}")

    __call__ = run
