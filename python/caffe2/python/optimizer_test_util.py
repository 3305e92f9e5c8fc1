"""Tests that every optimizer has to pass: mix the classes into a unittest.TestCase that defines
build_optimizer(model, **kwargs) and check_optimizer(optimizer)."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any

import numpy as np

from caffe2.python import brew, core, optimizer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import Initializer, PseudoFP16Initializer
from caffe2.python.optimizer import Optimizer


class OptimizerTestBase:
    """Regressions that the optimizer has to solve.

    Attributes that a test may set: _num_steps, the number of training steps; _skip_gpu, for an
    optimizer that can be built for parameters on a GPU, but not run.
    """

    _num_steps = 2000
    _skip_gpu = False

    def build_optimizer(self, model: ModelHelper, **kwargs: Any) -> Optimizer:
        """Adds the optimizer to a model and returns it. Tests define it."""
        raise NotImplementedError("a test of an optimizer defines build_optimizer")

    def check_optimizer(self, optimizer: Optimizer) -> None:
        """Checks properties of the optimizer. Tests define it."""
        raise NotImplementedError("a test of an optimizer defines check_optimizer")

    def _createDense(self, dtype=core.DataType.FLOAT):
        """(model, weights to find [5], data [20, 5], labels [20, 1]) of a regression, whose data
        and parameters are of a type, FLOAT or FLOAT16."""
        half = dtype == core.DataType.FLOAT16
        perfect_model = np.array([2, 6, 5, 0, 1]).astype(np.float32)
        np.random.seed(123)
        data = np.random.randint(2, size=(20, perfect_model.size)).astype(np.float32)
        label = np.dot(data, perfect_model)[:, np.newaxis].astype(np.float32)
        model = ModelHelper(name="test", arg_scope={"order": "NCHW"})
        initializer = PseudoFP16Initializer if half else Initializer
        out = brew.fc(model, "data", "fc", perfect_model.size, 1, ("ConstantFill", {}),
                      ("ConstantFill", {}), WeightInitializer=initializer,
                      BiasInitializer=initializer)
        if half:
            data, out = data.astype(np.float16), model.net.HalfToFloat(out, "fc_fp32")
        sq = model.net.SquaredL2Distance([out, "label"], "sq")
        loss = model.net.AveragedLoss(sq, "avg_loss")
        model.AddGradientOperators([loss])
        return model, perfect_model, data, label

    def testDense(self) -> None:
        """A linear model learns its weights."""
        model, perfect_model, data, label = self._createDense()
        built = self.build_optimizer(model)
        workspace.FeedBlob("data", data[:1])
        workspace.FeedBlob("label", label[:1])
        workspace.RunNetOnce(model.param_init_net)
        workspace.CreateNet(model.net, True)
        for _ in range(self._num_steps):
            row = np.random.randint(data.shape[0])
            workspace.FeedBlob("data", data[row:row + 1])
            workspace.FeedBlob("label", label[row:row + 1])
            workspace.RunNet(model.net.Proto().name)
        np.testing.assert_allclose(
            perfect_model[np.newaxis, :], workspace.FetchBlob("fc_w"), atol=1e-2)
        self.check_optimizer(built)

    @unittest.skipIf(not workspace.has_gpu_support, "no GPU support")
    def testGPUDense(self, dtype: int = core.DataType.FLOAT) -> None:
        """A model runs with its optimizer whose last layer is on the host and whose other layers
        are on a GPU; `dtype` is the type of its parameters."""
        with core.DeviceScope(core.DeviceOption(workspace.GpuDeviceType, 0)):
            model, _, data, label = self._createDense(dtype)
            out = "fc_fp32" if dtype == core.DataType.FLOAT16 else "fc"
            model.net.CopyGPUToCPU(out, "fc_cpu")
            workspace.FeedBlob("data", data[:1])
            workspace.FeedBlob("label", label[:1])
        brew.fc(model, "fc_cpu", "fc2", dim_in=1, dim_out=10, axis=0)
        self.build_optimizer(model)
        if self._skip_gpu:
            return
        workspace.RunNetOnce(model.param_init_net)
        workspace.CreateNet(model.net, True)
        workspace.RunNet(model.net.Proto().name)

    def testSparse(self) -> None:
        """Weights are rows of a table that Gather reads; every step trains one of them."""
        perfect_model = np.array([2, 6, 5, 0, 1]).astype(np.float32)
        model = ModelHelper(name="test_sparse")
        table = model.create_param(
            "table", [perfect_model.size, 1], Initializer("ConstantFill", value=0.0))
        rows = model.net.Gather([table, "indices"], "rows")
        loss = model.net.AveragedLoss(
            model.net.SquaredL2Distance([rows, "label"], "sq"), "avg_loss")
        model.AddGradientOperators([loss])
        try:
            built = self.build_optimizer(model)
        except ValueError as error:
            if "does not support the sparse gradient" not in str(error):
                raise
            return
        workspace.FeedBlob("indices", np.array([0], dtype=np.int32))
        workspace.FeedBlob("label", perfect_model[:1, np.newaxis])
        workspace.RunNetOnce(model.param_init_net)
        workspace.CreateNet(model.net, True)
        np.random.seed(123)
        for _ in range(self._num_steps):
            row = np.random.randint(perfect_model.size)
            workspace.FeedBlob("indices", np.array([row], dtype=np.int32))
            workspace.FeedBlob("label", perfect_model[row:row + 1, np.newaxis])
            workspace.RunNet(model.net.Proto().name)
        np.testing.assert_allclose(
            perfect_model[:, np.newaxis], workspace.FetchBlob("table"), atol=1e-2)
        self.check_optimizer(built)


if TYPE_CHECKING:
    class _Tests(OptimizerTestBase, unittest.TestCase):
        """What a test that mixes LRModificationTestBase in has, too."""
else:
    _Tests = object


class LRModificationTestBase(_Tests):
    """Tests of the factors of the learning rate, for optimizers whose build function takes
    max_gradient_norm and allow_lr_injection. Needs OptimizerTestBase."""

    def _gradient_ratio_reference(self, model, params, max_gradient_norm):
        sum_squared_norms = 0.0
        for param in params:
            grad = model.param_to_grad[param]
            values = grad.values if isinstance(grad, core.GradientSlice) else grad
            sum_squared_norms += np.linalg.norm(workspace.FetchBlob(values)) ** 2
        return max_gradient_norm / max(max_gradient_norm, np.sqrt(sum_squared_norms))

    def test_global_norm_based_gradient_clipping(self) -> None:
        """The rate falls as gradients grow beyond the bound."""
        model, _, data, label = self._createDense()
        built = self.build_optimizer(model, max_gradient_norm=1.0)
        params = [p for p in model.GetParams(top_scope=True) if p in model.param_to_grad]
        # The last operators are the updates, which may change gradients in place.
        workspace.FeedBlob("data", data[:1])
        workspace.FeedBlob("label", label[:1])
        workspace.RunNetOnce(model.param_init_net)
        self.assertIsNotNone(built._lr_multiplier)
        names = {str(model.param_to_grad[p]) for p in params}
        operators = model.net.Proto().op
        last_gradient = max(i for i, op in enumerate(operators) if op.is_gradient_op)
        first_update = next((i for i, op in enumerate(operators)
                             if i > last_gradient and names & set(op.output)), len(operators))
        workspace.RunNetOnce(model.net.Clone("before_updates", op_id_mask=range(first_update)))
        reference = self._gradient_ratio_reference(model, params, 1.0)
        ratio = workspace.FetchBlob("norm_clipped_grad_update/norm_ratio")
        np.testing.assert_almost_equal(ratio, reference, decimal=5)
        self.assertLess(reference, 1.0)

    def test_lr_injection(self) -> None:
        """The injected factor changes the rate."""
        model, _, data, label = self._createDense()
        built = self.build_optimizer(model, max_gradient_norm=1, allow_lr_injection=True)
        workspace.FeedBlob("data", data[:1])
        workspace.FeedBlob("label", label[:1])
        workspace.RunNetOnce(model.param_init_net)
        workspace.CreateNet(model.net, True)
        self.assertIsNotNone(built._lr_multiplier)
        self.assertEqual(optimizer.get_lr_injection(), 1)
        optimizer.set_lr_injection(0)
        self.assertEqual(optimizer.get_lr_injection(), 0)
        before = workspace.FetchBlob("fc_w")
        workspace.RunNet(model.net.Proto().name)
        self.assertEqual(workspace.FetchBlob("lr_multiplier"), 0)
        np.testing.assert_array_equal(workspace.FetchBlob("fc_w"), before)
