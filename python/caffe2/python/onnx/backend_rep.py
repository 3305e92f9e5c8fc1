"""ONNX models that are ready to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.backend import base

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core.errors import call_explained
from caffe2.python.onnx.helper import Inputs, named_outputs


class Caffe2Rep(base.BackendRep):
    """A model that is ready to run, in a workspace of its own."""

    def __init__(self, init_net: caffe2_pb2.NetDef, predict_net: caffe2_pb2.NetDef,
                 uninitialized: Sequence[str]) -> None:
        self.init_net, self.predict_net = init_net, predict_net
        self.uninitialized = uninitialized
        self.workspace = C.Workspace()
        self.workspace.run(init_net)
        for name in uninitialized:
            self.workspace.create_blob(name)
        self._net = self.workspace.create_net(predict_net)

    def run(self, inputs: Inputs | np.ndarray, **kwargs: Any) -> tuple[Any, ...]:
        """The named_outputs of the model.

        Args:
          inputs: {name: array}, arrays in the order of the inputs, or one array.

        Raises ValueError for a wrong number or name of inputs.
        """
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if not isinstance(inputs, dict):
            if len(inputs) > len(self.uninitialized):
                raise ValueError(f"{len(inputs)} values are too many for the inputs "
                                 f"{self.uninitialized}")
            inputs = dict(zip(self.uninitialized, inputs))
        unknown = set(inputs) - set(self.predict_net.external_input)
        if unknown:
            raise ValueError(f"{sorted(unknown)} are no inputs; there are {self.uninitialized}")
        for name, value in inputs.items():
            self.workspace.feed_blob(name, np.asarray(value))
        call_explained(self._net.run)
        names = self.predict_net.external_output
        return named_outputs(names, [self.workspace.fetch_blob(name) for name in names])
