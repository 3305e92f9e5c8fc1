"""Optimizers solve small regressions, and keep the state they say."""

import unittest

import numpy as np
import pytest

from caffe2.python import brew, core, optimizer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import Initializer, PseudoFP16Initializer
from caffe2.python.optimizer_test_util import LRModificationTestBase, OptimizerTestBase


@pytest.fixture(autouse=True)
def first_instances():
    optimizer.reset_optimizer_instance_count()


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


class TestMomentumSgd(_Keeps, LRModificationTestBase, unittest.TestCase):
    shared = True

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_sgd(model, base_learning_rate=0.1, momentum=0.1, **kwargs)


class TestAdagrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    _num_steps = 8000  # after 2000 the ratio of norms leaves weights 0.2 away

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adagrad(model, base_learning_rate=1.0, lars=0.5, **kwargs)


class TestRowWiseAdagrad(_Keeps, LRModificationTestBase, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adagrad(model, base_learning_rate=1.0, rowWise=True, **kwargs)


class TestRowWiseAdagradWithCounter(_Keeps, unittest.TestCase):
    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adagrad(
            model, base_learning_rate=1.0, rowWise=True, counter_halflife=5, **kwargs)

    def check_optimizer(self, built):
        sparse = self._testMethodName == "testSparse"
        self.shared = sparse
        super().check_optimizer(built)
        if sparse:
            last = workspace.FetchBlob("table_prev_update_iter")
            counts = workspace.FetchBlob("table_update_counter")
            self.assertEqual(last.max(), self._num_steps)
            self.assertTrue((counts >= 1).all() and counts.dtype == np.float64)


class TestRAdam(_Keeps, LRModificationTestBase, unittest.TestCase):
    shared = True

    def build_optimizer(self, model, **kwargs):
        return optimizer.build_adam(model, base_learning_rate=0.1, enableRAdam=True, **kwargs)


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


class TestYellowFin(_Keeps, unittest.TestCase):
    shared = True

    def build_optimizer(self, model):
        return optimizer.build_yellowfin(model, base_learning_rate=0.1)


def test_dense_models_of_tests_may_be_half():
    model, _, data, label = TestSgd()._createDense(core.DataType.FLOAT16)
    optimizer.build_multi_precision_sgd(model, 0.1)
    workspace.RunNetOnce(model.param_init_net)
    assert data.dtype == workspace.FetchBlob("fc_w").dtype == np.float16
    assert label.dtype == workspace.FetchBlob("fc_w_fp32").dtype == np.float32
    types = [op.type for op in model.net.Proto().op]
    assert types.count("HalfToFloat") == 1 + 2 and types.count("FloatToHalf") >= 2


def half_model():
    model = ModelHelper("half")
    with brew.arg_scope([brew.fc], WeightInitializer=PseudoFP16Initializer,
                        BiasInitializer=PseudoFP16Initializer):
        y = brew.fc(model, model.net.FloatToHalf("x", "x_fp16"), "y", 3, 2)
    y = model.net.HalfToFloat(y, "y_fp32")
    loss = model.net.AveragedLoss(model.net.SquaredL2Distance([y, "label"], "distance"), "loss")
    model.AddGradientOperators([loss])
    return model


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("build, arguments, decay", [
    (optimizer.build_fp16_sgd, {"weight_decay": 0.5}, 0.5),
    (optimizer.build_multi_precision_sgd, {}, 0.0),
])
def test_half_parameters_are_updated_in_float32(build, arguments, decay, momentum):
    model = half_model()
    build(model, 0.1, momentum=momentum, nesterov=0, **arguments)
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
    # The initial values are random: a weight near 0 has lost digits, and one between two float16
    # may round to either, so the update is compared in float32 and the rounding with the update.
    updated = workspace.FetchBlob("y_w_fp32")
    expected = master - 0.1 * (grad + decay * master)
    np.testing.assert_allclose(updated, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(workspace.FetchBlob("y_w"), updated.astype(np.float16))


def test_deduplication_needs_a_known_aggregator():
    net = core.Net("rows")
    with pytest.raises(ValueError, match="must be sum or mean, not median"):
        net.DeduplicateGradientSlices(core.GradientSlice("i", "v"), "median")


def regression():
    """A model whose weight [1, 2] is trained on data and label; with gradients."""
    model = ModelHelper("averaged")
    out = brew.fc(model, "data", "fc", 2, 1, ("ConstantFill", {"value": 0.5}), ("ConstantFill", {}))
    distance = model.net.SquaredL2Distance([out, "label"], "distance")
    model.AddGradientOperators([model.net.AveragedLoss(distance, "loss")])
    workspace.FeedBlob("data", np.float32([[1, 2], [3, -1]]))
    workspace.FeedBlob("label", np.float32([[4], [-2]]))
    return model


def weights_of_steps(model, steps):
    """fc_w before the first step and after each of them."""
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    weights = [workspace.FetchBlob("fc_w")]
    for _ in range(steps):
        workspace.RunNet(model.net)
        weights.append(workspace.FetchBlob("fc_w"))
    return np.stack(weights)


def test_adagrad_keeps_averages():
    model = regression()
    optimizer.build_adagrad(
        model, 0.5, swa_options={"swa_avg_start_it": 2, "swa_avg_end_it": 4},
        ema_options={"ema_start": 1, "ema_alpha": 0.75})
    weights = weights_of_steps(model, 6)
    np.testing.assert_allclose(
        workspace.FetchBlob("fc_w_swa"), weights[2:5].mean(0), rtol=1e-5)
    average = weights[1]
    for weight in weights[2:]:
        average = 0.75 * average + 0.25 * weight
    np.testing.assert_allclose(workspace.FetchBlob("fc_w_ema"), average, rtol=1e-5)


def test_swa_feeds_back():
    model = regression()
    optimizer.build_adagrad(model, 0.5, swa_options={
        "swa_avg_start_it": 1, "swa_feedback_start_it": 3, "swa_feedback_step": 10})
    weights = weights_of_steps(model, 3)
    np.testing.assert_array_equal(weights[3], workspace.FetchBlob("fc_w_swa"))
    assert (weights[3] != weights[2]).all()


def test_teachers_have_averages_of_their_own():
    model = regression()
    built = optimizer.DecayAdagradOptimizer(0.5, ema_options={"ema_teacher_alpha": 0.0})
    built.set_mapping_for_param2ema_teacher_param({"fc_w": "teacher/fc_w"})
    for param, grad in model.param_to_grad.items():
        built(model.net, model.param_init_net, param, grad)
    weights = weights_of_steps(model, 2)
    np.testing.assert_array_equal(workspace.FetchBlob("teacher/fc_w"), weights[2])
    assert not workspace.HasBlob("fc_w_ema")


def test_vectors_do_not_decay():
    model = regression()
    optimizer.build_adagrad(model, 0.5, weight_decay=0.25)
    decays = {op.input[0]: arg.f for op in model.net.Proto().op if op.type == "Adagrad"
              for arg in op.arg if arg.name == "weight_decay"}
    assert decays == {"fc_w": 0.25, "fc_b": 0.0}


def test_a_dedicated_counter_of_the_learning_rate():
    model = regression()
    optimizer.build_adagrad(model, 0.5, policy="step", stepsize=3, gamma=0.1,
                            use_dedicated_lr_iteration_counter=True,
                            ema_options={"ema_alpha": 0.5})
    weights_of_steps(model, 3)
    assert workspace.FetchBlob("optimizer_iteration") == [3]
    assert workspace.FetchBlob("optimizer_iteration_lr") == [3]
    rates = [op.input[0] for op in model.net.Proto().op if op.type == "LearningRate"]
    averages = {op.input[2] for op in model.net.Proto().op if op.type == "EMA"}
    assert rates == ["optimizer_iteration_lr"] and averages == {"optimizer_iteration"}


def gathered_tables(*names):
    """A model whose loss adds slopes [n, 2] times the sum of rows `ids` of tables [4, 2] of ones;
    with gradients."""
    model = ModelHelper("gathered")
    tables = [model.create_param(name, [4, 2], Initializer("ConstantFill", value=1.0))
              for name in names]
    both = model.net.Sum([model.net.Gather([table, "ids"], table + "_rows") for table in tables],
                         "rows")
    loss = model.net.SumElements(model.net.Mul([both, "slopes"], "products"), "loss")
    model.AddGradientOperators([loss])
    return model


@pytest.mark.parametrize("nesterov", [0, 1])
def test_momentum_of_tables_that_share_a_gradient(nesterov):
    model = gathered_tables("left", "right")
    assert len(set(model.param_to_grad.values())) == 1
    optimizer.build_sgd(model, 0.1, momentum=0.5, nesterov=nesterov)
    workspace.RunNetOnce(model.param_init_net)
    ids, slopes = np.array([2, 0, 2]), np.float32([[1, 2], [3, -4], [-5, 6]])
    workspace.FeedBlob("ids", ids)
    workspace.FeedBlob("slopes", slopes)
    workspace.RunNetOnce(model.net)
    table, momentum = np.ones((4, 2)), np.zeros((4, 2))
    for row, grad in zip(ids, slopes):
        previous = momentum[row].copy()
        momentum[row] = 0.5 * previous + 0.1 * grad
        table[row] -= 1.5 * momentum[row] - 0.5 * previous if nesterov else momentum[row]
    for name in ("left", "right"):
        np.testing.assert_allclose(workspace.FetchBlob(name), table, rtol=1e-6)
        np.testing.assert_allclose(workspace.FetchBlob(name + "_momentum"), momentum, rtol=1e-6)
    np.testing.assert_array_equal(workspace.FetchBlob(model.param_to_grad["left"].values), slopes)


def test_smart_decay_makes_up_for_steps_without_a_gradient():
    model = gathered_tables("table")
    optimizer.build_adam(model, 0.1, beta1=0.8, beta2=0.9, epsilon=1e-3, use_smart_decay=True)
    workspace.RunNetOnce(model.param_init_net)
    rng = np.random.default_rng(7)
    table, first, second = np.ones((4, 2)), np.zeros((4, 2)), np.zeros((4, 2))
    missed, seen = np.zeros((4, 2)), np.zeros(4)
    for step, ids in enumerate([[0, 1], [1], [3, 1], [], [0, 3], [0, 1]]):
        slopes = rng.standard_normal((len(ids), 2)).astype(np.float32)
        workspace.FeedBlob("ids", np.array(ids, np.int64))
        workspace.FeedBlob("slopes", slopes)
        workspace.RunNetOnce(model.net)
        # A row without a gradient has one of zero; where it moves to shows when it is seen again,
        # with the divisor of then.
        grad = np.zeros((4, 2))
        grad[ids] = slopes
        first = 0.8 * first + 0.2 * grad
        second = 0.9 * second + 0.1 * grad**2
        missed += first
        for row in ids:
            table[row] -= 0.1 * missed[row] / (np.sqrt(second[row]) + 1e-3)
            missed[row] = 0
            seen[row] = step + 2  # Adam counts from 1, one more than the counter of iterations
        np.testing.assert_allclose(workspace.FetchBlob("table"), table, rtol=1e-4)
        np.testing.assert_array_equal(workspace.FetchBlob("table_last_seen"), seen)
    for name, moment in (("first", first), ("second", second)):
        np.testing.assert_allclose(workspace.FetchBlob(f"table_{name}_moment")[ids], moment[ids],
                                   rtol=1e-4)
    assert workspace.FetchBlob("table_last_seen").dtype == np.int64
    assert (table[2] == 1).all() and (workspace.FetchBlob("table")[2] == 1).all()


@pytest.mark.parametrize("make, message", [
    (lambda: optimizer.AdagradOptimizer(lars=0.5, weight_decay=0.1), "lars and weight_decay"),
    (lambda: optimizer.AdagradOptimizer(swa_options={"avg_start": 1}), "unknown options"),
    (lambda: optimizer.AdamOptimizer(rowWise=True, enableRAdam=True), "enableRAdam"),
    (lambda: optimizer.AdamOptimizer(rowWise=True, use_smart_decay=True), "use_smart_decay"),
])
def test_arguments_that_contradict(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_rates_are_not_negative_and_zero_updates_nothing():
    model = regression()
    before = len(model.net.Proto().op)
    optimizer.build_adam(model, 0)
    assert len(model.net.Proto().op) == before
    with pytest.raises(ValueError, match="-0.1 is negative"):
        optimizer.build_adagrad(model, -0.1)


def test_state_has_the_names_of_caffe2():
    made = set()
    for build in (optimizer.build_storm, optimizer.build_rms_prop):
        model = regression()
        build(model, 0.1)
        made |= {blob for op in model.param_init_net.Proto().op for blob in op.output}
    assert {"fc_w_moment", "fc_w_grad_sq_sum", "fc_w_mean_squares", "fc_w_momentum"} <= made


def test_instances_are_counted():
    assert optimizer._optimizer_instance_count["SgdOptimizer"] == 0
    model = regression()
    devices = optimizer._get_param_to_device(model)
    assert "fc_w" in devices
    optimizer.build_sgd(model, 0.1)
    assert optimizer._optimizer_instance_count["SgdOptimizer"] == 1
