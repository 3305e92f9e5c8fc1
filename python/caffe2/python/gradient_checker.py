"""Compares gradients with difference quotients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, net_drawer, utils, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.gradients import Gradient, GradientOps

# {input of an operator: the device that it is fed to}
InputDevices = Mapping[str, caffe2_pb2.DeviceOption]


def getGradientForOp(op: caffe2_pb2.OperatorDef) -> GradientOps:
    """(gradient OperatorDefs, input gradients) of an operator. The gradient of an output "y" is
    "y_grad"."""
    return core.GradientRegistry.GetGradientForOp(op, [name + "_grad" for name in op.output])


def assert_inferred(operators: Sequence[caffe2_pb2.OperatorDef],
                    outputs: Iterable[BlobLike]) -> None:
    """Raises AssertionError unless the shapes and types of blobs that operators wrote in the
    current workspace equal the ones inferred from the blobs that were there before. The shapes of
    Split with a blob of lengths, as in the gradient of Concat, are not compared."""
    written: set[str] = set()
    by_data: set[str] = set()
    given: dict[str, Any] = {}
    for op in operators:
        if op.type == "Split" and len(op.input) > 1:
            by_data.update(op.output)
        given.update((name, workspace.FetchBlob(name)) for name in op.input if name not in written)
        written.update(op.output)
    given = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    shapes, types = workspace.InferShapesAndTypes(
        [caffe2_pb2.NetDef(op=operators)], {name: value.shape for name, value in given.items()},
        blob_types={name: _type_of(value) for name, value in given.items()})
    for name in map(str, outputs):
        if name in by_data and name not in shapes:
            continue
        assert name in shapes, f"the shape of {name} is not inferred"
        value = workspace.FetchBlob(name)
        assert list(value.shape) == list(shapes[name]), (
            f"{name} has the shape {list(value.shape)}, but {list(shapes[name])} is inferred")
        kind = _type_of(value)
        assert kind == types[name], (
            f"{name} has the type {caffe2_pb2.TensorProto.DataType.Name(kind)}, but "
            f"{caffe2_pb2.TensorProto.DataType.Name(types[name])} is inferred")


def _type_of(array):
    return utils.NumpyArrayToCaffe2Tensor(array).data_type


class _Function:
    """The loss 0.5 * sum(y^2) over outputs of operators, and its gradient at the inputs. Blobs are
    fed to `device`; an input with an entry in `input_devices` is fed to that device."""

    def __init__(self, forward, backward, inputs, gradients, outputs, device=None,
                 input_devices=None):
        self._device = device
        self._input_devices = input_devices or {}
        self._forward = forward
        self._backward = backward
        self._inputs = inputs
        self._gradients = gradients
        self._outputs = outputs

    def _feed(self, values):
        for name, value in zip(self._inputs, values):
            workspace.FeedBlob(name, value, self._input_devices.get(name, self._device))

    def loss(self, values):
        self._feed(values)
        workspace.RunOperatorsOnce(self._forward)
        outputs = (workspace.FetchBlob(name).astype(np.float64) for name in self._outputs)
        return sum(float((y**2).sum()) for y in outputs) / 2

    def gradient(self, values, index):
        self.loss(values)
        for name in self._outputs:
            workspace.FeedBlob(name + "_grad", workspace.FetchBlob(name), self._device)
        workspace.RunOperatorsOnce(self._backward)
        gradient = self._gradients[index]
        if not isinstance(gradient, core.GradientSlice):
            return workspace.FetchBlob(gradient)
        dense = np.zeros(values[index].shape, np.float64)
        rows = workspace.FetchBlob(gradient.indices)
        np.add.at(dense, rows, workspace.FetchBlob(gradient.values))
        return dense


def _estimate(loss, values, index, stepsize):
    """The gradient of loss(values) at values[index] by central differences."""
    values = [np.array(value, order="C") for value in values]
    flat = values[index].reshape(-1)
    estimate = np.zeros(flat.shape, np.float64)
    for i in range(flat.size):
        saved = flat[i]
        flat[i] = saved + stepsize
        plus = loss(values)
        flat[i] = saved - stepsize
        minus = loss(values)
        flat[i] = saved
        estimate[i] = (plus - minus) / (2 * stepsize)
    return estimate.reshape(values[index].shape)


def _check_index(name, index, what, count):
    if not -count <= index < count:
        raise IndexError(f"{name} is {index}, but there are {count} {what}")


class GradientChecker:
    """Checks the gradients of single operators.

    Args:
      stepsize: the step of the differences, absolute.
      threshold: the tolerance of an element, both absolute and relative.
      device_option: the device of the operators; default: their own.
      workspace_name: the workspace of the check; it is emptied unless it is the current one.
      input_device_options: {input: DeviceOption} of inputs that are on another device than the
        operator.
    """

    def __init__(self, stepsize: float, threshold: float,
                 device_option: caffe2_pb2.DeviceOption | None = None,
                 workspace_name: str = "gradient_check",
                 input_device_options: InputDevices | None = None) -> None:
        self._stepsize = stepsize
        self._threshold = threshold
        self._device_option = device_option
        self._workspace_name = workspace_name
        self._input_device_options = input_device_options or {}

    def GetLossAndGrad(self, op: caffe2_pb2.OperatorDef, grad_ops: Sequence[caffe2_pb2.OperatorDef],
                       inputs: Sequence[np.ndarray], input_names: Sequence[BlobLike],
                       input_to_check: int, grad_name: Gradient,
                       outputs_with_grads: Sequence[int]) -> tuple[float, np.ndarray]:
        """The loss 0.5 * sum(y^2) over some outputs, a float, and its gradient, an array.

        Args:
          op, grad_ops: the OperatorDef and its gradient OperatorDefs, run in the current workspace.
          inputs, input_names: arrays, and the blobs that they are fed to.
          input_to_check: the index of the input whose gradient is wanted; `grad_name` is its blob.
          outputs_with_grads: indices of the outputs that the loss is made of.
        """
        function = _Function([op], grad_ops, input_names, {input_to_check: grad_name},
                             [op.output[i] for i in outputs_with_grads], self._device_option,
                             self._input_device_options)
        return function.loss(inputs), function.gradient(inputs, input_to_check)

    def CheckSimple(
            self, op: caffe2_pb2.OperatorDef, inputs: Sequence[np.ndarray], input_to_check: int,
            outputs_with_grads: Sequence[int], grad_ops: GradientOps | None = None,
            input_device_options: InputDevices | None = None,
            ensure_outputs_are_inferred: bool = False) -> tuple[bool, np.ndarray, np.ndarray]:
        """Checks the gradient of an operator at one input.

        Args:
          op: the OperatorDef.
          inputs: arrays, one for each input.
          input_to_check: the index of the input whose gradient is checked.
          outputs_with_grads: indices of the outputs that the loss is made of.
          grad_ops: (gradient operators, gradients of the inputs); default: the registered ones.
          input_device_options: overrides the checker's own.
          ensure_outputs_are_inferred: raises AssertionError unless the shapes and types of the
            outputs of the gradient operators are inferred correctly.

        Returns (True if it agrees, gradient, estimate). Raises ValueError if the input has no
        gradient, IndexError for an index without an input or output.
        """
        _check_index("input_to_check", input_to_check, "inputs", min(len(op.input), len(inputs)))
        for i in outputs_with_grads:
            _check_index("outputs_with_grads", i, "outputs", len(op.output))
        if self._device_option is not None:
            op.device_option.CopyFrom(self._device_option)
        g_output = [None] * len(op.output)
        for i in outputs_with_grads:
            g_output[i] = op.output[i] + "_grad"
        backward, g_input = grad_ops or core.GradientRegistry.GetGradientForOp(op, g_output)
        if g_input[input_to_check] is None:
            raise ValueError(f"{op.type} has no gradient at input {input_to_check}")
        devices = (input_device_options or self._input_device_options
                   or core.InferOpBlobDevicesAsDict(op)[0])
        function = _Function([op], backward, list(op.input), g_input,
                             [op.output[i] for i in outputs_with_grads], self._device_option,
                             devices)
        is_own = self._workspace_name != workspace.CurrentWorkspace()
        with workspace.WorkspaceGuard(self._workspace_name):
            try:
                estimate = _estimate(function.loss, inputs, input_to_check, self._stepsize)
                gradient = function.gradient(inputs, input_to_check)
                if ensure_outputs_are_inferred:
                    assert_inferred([op, *backward], dict.fromkeys(
                        name for grad_op in backward for name in grad_op.output))
            finally:
                if is_own:
                    workspace.ResetWorkspace()
        if gradient.shape != estimate.shape:
            raise ValueError(f"the gradient of {op.type} has shape {gradient.shape}, its input "
                             f"{estimate.shape}")
        good = np.allclose(gradient, estimate, atol=self._threshold, rtol=self._threshold)
        return good, gradient, estimate


def _dense(gradient, like):
    """The value of a gradient; a GradientSlice as an array of the shape of the blob `like`."""
    if not isinstance(gradient, core.GradientSlice):
        return workspace.FetchBlob(gradient)
    dense = np.zeros_like(workspace.FetchBlob(like))
    np.add.at(dense, workspace.FetchBlob(gradient.indices), workspace.FetchBlob(gradient.values))
    return dense


class NetGradientChecker:
    """Checks the gradients of nets."""

    @staticmethod
    def CompareNets(nets: Sequence[core.Net], outputs: Sequence[Sequence[BlobLike]],
                    outputs_with_grad_ids: Sequence[int], inputs_with_grads: Sequence[BlobLike],
                    input_values: Mapping[BlobLike, np.ndarray] | None = None,
                    threshold: float = 0.0000001, print_net_images: bool = False) -> None:
        """Raises AssertionError unless nets have the same outputs and gradients.

        Args:
          nets: Nets over blobs of the current workspace.
          outputs: for each net the list of its outputs.
          outputs_with_grad_ids: indices of the outputs whose sum is differentiated.
          inputs_with_grads: blobs whose gradients are compared.
          input_values: {blob: array} to feed first.
          threshold: largest difference, absolute and relative.
          print_net_images: True to draw each net with its gradients to caffe2_net_<i><name>.png.
        """
        for name, value in (input_values or {}).items():
            workspace.FeedBlob(str(name), value)
        results = []
        for i, (net, net_outputs) in enumerate(zip(nets, outputs)):
            full = net.Clone(net.Name() + "_copy")
            gradients = full.AddGradientOperators([net_outputs[k] for k in outputs_with_grad_ids])
            for name in inputs_with_grads:
                assert str(name) in gradients, f"net {net.Name()} has no gradient of {name}"
            if print_net_images:
                net_drawer.GetPydotGraph(full).write_png(f"caffe2_net_{i}{full.Name()}.png")
            workspace.RunNetOnce(full)
            results.append((
                [workspace.FetchBlob(output) for output in net_outputs],
                [_dense(gradients[str(name)], str(name)) for name in inputs_with_grads]))
        for net, result in zip(nets[1:], results[1:]):
            for what, first, other in zip(("output", "gradient"), results[0], result):
                assert len(first) == len(other), f"net {net.Name()} has {len(other)} {what}s"
                for k, (expected, actual) in enumerate(zip(first, other)):
                    np.testing.assert_allclose(
                        actual, expected, rtol=threshold, atol=threshold,
                        err_msg=f"{what} {k} of net {net.Name()} and of {nets[0].Name()} differ")

    @staticmethod
    def Check(net: core.Net, outputs_with_grad: Sequence[core.BlobReference],
              input_values: Mapping[BlobLike, np.ndarray], input_to_check: BlobLike | None = None,
              step_size: float = 0.0001, threshold: float = 0.05,
              print_net: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Raises AssertionError unless the gradient of the sum of the outputs agrees with
        differences. Runs in the current workspace, which has the parameters of the net.

        Args:
          outputs_with_grad: blobs.
          input_values: {blob: array}.
          input_to_check: the input whose gradient is checked; default: the first.
        """
        names = [str(name) for name in input_values]
        index = 0 if input_to_check is None else names.index(str(input_to_check))
        outputs = [str(output) for output in outputs_with_grad]
        full = core.Net(net.Proto())
        gradients = full.AddGradientOperators(outputs)

        def total(values):
            for name, value in zip(names, values):
                workspace.FeedBlob(name, value)
            workspace.RunNetOnce(net)
            return sum(float(workspace.FetchBlob(y).astype(np.float64).sum()) for y in outputs)

        values = list(input_values.values())
        estimate = _estimate(total, values, index, step_size)
        total(values)
        workspace.RunNetOnce(full)
        gradient = _dense(gradients[names[index]], names[index])
        np.testing.assert_allclose(gradient, estimate, rtol=threshold, atol=threshold)
        return gradient, estimate
