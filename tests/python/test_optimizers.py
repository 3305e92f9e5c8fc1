"""Optimizers solve small regressions, and keep the state they say."""

import unittest

import numpy as np
import pytest

from caffe2.python import brew, core, optimizer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import PseudoFP16Initializer
from caffe2.python.optimizer_test_util import LRModificationTestBase, OptimizerTestBase


@pytest.fixture(autouse=True)
def first_instances():
    optimizer.reset_optimizer_instance_count()


def needs(*operators):
    missing = [op for op in operators if not core.IsOperator(op)]
    return pytest.mark.skipif(bool(missing), reason=f"no operator {missing}")


class _Keeps(OptimizerTestBase):
    """Whether the optimizer has state shared by all parameters, and of each."""

    shared, local = False, True

    def check_optimizer(self, built):
        state = built.get_auxiliary_parameters()
        self.assertEqual((bool(state.shared), bool(state.local)), (self.shared, self.local))
        for blob in (*state.shared, *state.local):
            self.assertTrue(workspace.HasBlob(blob))


class TestSgd(_Keeps, LRModificationTestBase, unittest.TestCase):
    shared, local = True, False

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_sgd(model, base_learning_rate=0.1, **kwargs)


@needs("SparseMomentumSGDUpdate")
class TestMomentumSgd(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_sgd(model, base_learning_rate=0.1, momentum=0.1, **kwargs)


@needs("SparseAdagrad")
class TestAdagrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    _num_steps = 8000  # after 2000 the ratio of norms leaves weights 0.2 away

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adagrad(model, base_learning_rate=1.0, lars=0.5, **kwargs)


@needs("RowWiseSparseAdagrad")
class TestRowWiseAdagrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adagrad(model, base_learning_rate=1.0, rowWise=True, **kwargs)


@needs("SparseFtrl")
class TestFtrl(_Keeps, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_ftrl(model, engine=None, alpha=1.0, beta=0.1, lambda1=0.0,
                                    lambda2=0.0, **kwargs)


class TestGFtrl(_Keeps, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_gftrl(model, engine="", alpha=1.0, beta=0.1, lambda1=0.0,
                                     lambda2=0.0, **kwargs)


class TestWngrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_wngrad(model, base_learning_rate=25.0, **kwargs)


class TestStorm(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_storm(model, base_learning_rate=2.0, **kwargs)


@needs("SparseAdam")
class TestAdam(_Keeps, LRModificationTestBase, unittest.TestCase):
    shared = True

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adam(model, base_learning_rate=0.1, **kwargs)

    def check_optimizer(self, built):
        super().check_optimizer(built)
        self.assertEqual(workspace.FetchBlob("optimizer_iteration"), [self._num_steps])


class TestRmsProp(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_rms_prop(model, base_learning_rate=0.02, epsilon=0.1, **kwargs)


class TestAdadelta(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adadelta(model, base_learning_rate=1.0, decay=0.995, **kwargs)


class TestDecayAdagrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_decay_adagrad(model, base_learning_rate=1.0, **kwargs)

    def check_optimizer(self, built):
        # The iteration is state where the gradient is dense.
        self.shared = self._testMethodName != "testSparse"
        super().check_optimizer(built)


@needs("YellowFin")
class TestYellowFin(_Keeps, unittest.TestCase):
    shared = True

    def build_optimizer(self, model):
        return optimizer.build_yellowfin(model, base_learning_rate=0.1)


def half_model():
    model = ModelHelper("half")
    with brew.arg_scope([brew.fc], WeightInitializer=PseudoFP16Initializer,
                        BiasInitializer=PseudoFP16Initializer):
        y = brew.fc(model, model.net.FloatToHalf("x", "x_fp16"), "y", 3, 2)
    y = model.net.HalfToFloat(y, "y_fp32")
    loss = model.net.AveragedLoss(model.net.SquaredL2Distance([y, "label"], "distance"), "loss")
    model.AddGradientOperators([loss])
    return model


def test_fp16_sgd_updates_in_float32():
    model = half_model()
    optimizer.build_fp16_sgd(model, 0.1, momentum=0.9, nesterov=0, weight_decay=0.5)
    workspace.RunNetOnce(model.param_init_net)
    master = workspace.FetchBlob("y_w_fp32")
    workspace.FeedBlob("x", np.eye(3, dtype=np.float32))
    workspace.FeedBlob("label", np.ones((3, 2), np.float32))
    # FC takes float32 and bfloat16 here: the gradient is fed.
    updates = [op for op in model.net.Proto().op
               if "y_w_grad" in (*op.input, *op.output) and op.type == "HalfToFloat"]
    assert len(updates) == 1
    first = list(model.net.Proto().op).index(updates[0])
    grad = np.float16([[1, 2, 3], [-1, 0, 0.5]])
    workspace.FeedBlob("y_w_grad", grad)
    workspace.FeedBlob("y_b_grad", np.zeros(2, np.float16))
    rates = [i for i, op in enumerate(model.net.Proto().op)
             if op.type in ("AtomicIter", "LearningRate")]
    workspace.RunNetOnce(model.net.Clone(
        "update", op_id_mask=[*rates, *range(first, len(model.net.Proto().op))]))
    expected = master - 0.1 * (grad + 0.5 * master)
    np.testing.assert_allclose(workspace.FetchBlob("y_w_fp32"), expected, rtol=1e-6)
    np.testing.assert_array_equal(workspace.FetchBlob("y_w"), expected.astype(np.float16))


def test_deduplication_needs_a_known_aggregator():
    net = core.Net("rows")
    with pytest.raises(ValueError, match="median is not supported"):
        net.DeduplicateGradientSlices(core.GradientSlice("i", "v"), "median")
