"""Checkers, hypothesis, guards and logs."""

import argparse
import ctypes
import subprocess
import sys
import threading
import types
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import caffe2.python.hypothesis_test_util as hu
import caffe2.python.serialized_test.serialized_test_util as serial
from caffe2.proto import caffe2_pb2
from caffe2.python import (
    core,
    dyndep,
    experiment_util,
    extension_loader,
    gradient_checker,
    lazy,
    lazy_dyndep,
    test_util,
    timeout_guard,
    transformations,
    workspace,
)
from caffe2.python.hip_test_util import run_in_hip
from caffe2.python.onnx.tests import test_utils
from caffe2.python.onnx.workspace import Workspace


class TestOperators(hu.HypothesisTestCase):
    def test_references_ask_for_inferred_shapes(self):
        def check(op, reference, **kwargs):
            self.assertReferenceChecks(hu.cpu_do, op, [np.int32([1, 0, 2])], reference,
                                       ensure_outputs_are_inferred=True, **kwargs)

        check(core.CreateOperator("Negative", "x", "y"), lambda x: (-x,))
        with pytest.raises(AssertionError, match="shape of y is not inferred"):
            check(core.CreateOperator("Unique", "x", "y"), lambda x: (np.unique(x),))

    @given(X=hu.tensor(elements=hu.floats(0.1, 1)), alpha=st.floats(0.5, 2), **hu.gcs)
    def test_scale(self, X, alpha, gc, dc):
        op = core.CreateOperator("Scale", ["X"], ["Y"], scale=alpha)
        self.assertReferenceChecks(
            gc, op, [X], lambda X: [X * np.float32(alpha)], output_to_grad="Y",
            grad_reference=lambda g, outputs, inputs: [g * np.float32(alpha)])
        self.assertDeviceChecks(dc, op, [X], [0])
        self.assertGradientChecks(gc, op, [X], 0, [0])

    @given(pair=hu.tensors(2), **hu.gcs_cpu_only)
    def test_wrong_expectations_fail(self, pair, gc, dc):
        op = core.CreateOperator("Add", ["X", "Z"], ["Y"])
        self.assertValidationChecks(
            gc, op, pair, lambda X, Z, Y: np.testing.assert_allclose(Y, X + Z))
        with self.assertRaises(AssertionError):
            self.assertReferenceChecks(gc, op, pair, lambda X, Z: [X + Z + 1])
        with self.assertRaises(AssertionError):
            self.assertRunOpRaises(gc, op, pair)

    @given(**hu.gcs_cpu_only)
    def test_bad_operators_raise(self, gc, dc):
        op = core.CreateOperator("Add", ["X", "Z"], ["Y"])
        values = [np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)]
        self.assertRunOpRaises(gc, op, values, exception=RuntimeError)

    @given(pair=hu.lengths_tensor(), segmented=hu.segmented_tensor(),
           sparse=hu.sparse_segmented_tensor())
    def test_strategies(self, pair, segmented, sparse):
        assert pair[1].sum() == len(pair[0]) and (pair[1] >= 0).all()
        assert len(segmented[0]) == len(segmented[1]) and (np.diff(segmented[1]) >= 0).all()
        assert len(sparse[1]) == len(sparse[2]) and sparse[1].max() < len(sparse[0])

    def test_workspace_of_the_test(self):
        self.ws.feed_blob("x", test_util.rand_array(2, 3))
        assert self.ws.fetch_blob("x").shape == (2, 3)


def test_gradient_checker_finds_wrong_gradients():
    op = core.CreateOperator("Sigmoid", ["x"], ["y"])
    wrong = ([core.CreateOperator("Scale", "y_grad", "x_grad", scale=2.0)], ["x_grad"])
    checker = gradient_checker.GradientChecker(0.05, 0.005)
    x = np.float32([0.3, -1])
    assert checker.CheckSimple(op, [x], 0, [0])[0]
    assert not checker.CheckSimple(op, [x], 0, [0], grad_ops=wrong)[0]


def test_gradient_checks_ask_for_inferred_shapes():
    op = core.CreateOperator("Sigmoid", ["x"], ["y"])
    nonzero = [core.CreateOperator("Cast", "y_grad", "mask", to=core.DataType.BOOL),
               core.CreateOperator("BooleanMask", ["y_grad", "mask"], ["x_grad"])]
    checker = gradient_checker.GradientChecker(0.05, 0.005)
    x = np.float32([0.3, -1])
    assert checker.CheckSimple(op, [x], 0, [0], ensure_outputs_are_inferred=True)[0]
    checker.CheckSimple(op, [x], 0, [0], grad_ops=(nonzero, ["x_grad"]))
    with pytest.raises(AssertionError, match="shape of x_grad is not inferred"):
        checker.CheckSimple(op, [x], 0, [0], (nonzero, ["x_grad"]),
                            ensure_outputs_are_inferred=True)
    joined = core.CreateOperator("Concat", ["x", "w"], ["y", "sizes"], axis=0)
    assert checker.CheckSimple(joined, [x, x], 0, [0], ensure_outputs_are_inferred=True)[0]
    workspace.FeedBlob("a", np.float32([1]))
    workspace.FeedBlob("b", np.float32([1]))
    with pytest.raises(AssertionError, match=r"b has the shape \[1\], but \[1, 1\] is"):
        gradient_checker.assert_inferred(
            [core.CreateOperator("ExpandDims", "a", "b", dims=[0])], ["b"])
    with pytest.raises(AssertionError, match="b has the type FLOAT, but INT32 is"):
        gradient_checker.assert_inferred(
            [core.CreateOperator("Cast", "a", "b", to=core.DataType.INT32)], ["b"])


def test_gradient_checks_feed_the_device_and_keep_the_current_workspace(monkeypatch):
    places, feed = {}, workspace.FeedBlob

    def note(name, value, device_option=None):
        places[str(name)] = device_option
        return feed(name, value, device_option)

    monkeypatch.setattr(workspace, "FeedBlob", note)
    here = core.DeviceOption(caffe2_pb2.CPU, node_name="here")
    there = core.DeviceOption(caffe2_pb2.CPU, node_name="there")
    checker = gradient_checker.GradientChecker(
        0.05, 0.005, here, workspace.CurrentWorkspace(), {"b": there})
    workspace.FeedBlob("mine", np.float32([1]))
    op = core.CreateOperator("Mul", ["a", "b"], ["c"])
    assert checker.CheckSimple(op, [np.float32([1]), np.float32([2])], 0, [0])[0]
    assert (places["a"], places["b"], places["c_grad"]) == (here, there, here)
    assert workspace.HasBlob("mine")


def test_a_gradient_check_that_fails_empties_its_workspace():
    checker = gradient_checker.GradientChecker(0.05, 0.005, workspace_name="failing")
    with pytest.raises(RuntimeError, match="[Ss]hape|dimension"):
        checker.CheckSimple(core.CreateOperator("Add", ["a", "b"], ["c"]),
                            [np.ones(2, np.float32), np.ones(3, np.float32)], 0, [0])
    with workspace.WorkspaceGuard("failing"):
        assert workspace.Blobs() == []


def test_net_gradient_checker():
    net = core.Net("checked")
    net.Sigmoid(net.FC(["x", "w", "b"], "fc"), "y")
    values = {name: test_util.rand_array(*shape)
              for name, shape in {"x": (2, 3), "w": (4, 3), "b": (4,)}.items()}
    for name in values:
        gradient_checker.NetGradientChecker.Check(
            net, ["y"], values, input_to_check=name, step_size=0.01)


def test_timeout_guard():
    with timeout_guard.CompleteInTimeOrDie(5):
        pass
    late = subprocess.run(
        [sys.executable, "-c", "import time\nfrom caffe2.python import timeout_guard\n"
         "with timeout_guard.CompleteInTimeOrDie(0.1):\n  time.sleep(20)"],
        stderr=subprocess.PIPE, text=True, timeout=60)
    assert late.returncode != 0
    assert "did not finish in time" in late.stderr and "KeyboardInterrupt" in late.stderr



def test_benchmark_and_experiment_log(tmp_path, monkeypatch):
    op = core.CreateOperator("Relu", ["x"], ["y"])
    assert len(hu.runOpBenchmark(hu.cpu_do, op, [np.ones(3, np.float32)], iterations=4)) == 4
    monkeypatch.chdir(tmp_path)
    log = experiment_util.ModelTrainerLog("run", argparse.Namespace(batch_size=3))
    log.log(10, 2, {"loss": 0.5, "accuracy": 1.0})
    log.log(30, 2, {"loss": 0.25, "accuracy": 1.0})
    lines = (tmp_path / log.filename).read_text().splitlines()
    assert lines[0] == "# Namespace(batch_size=3)"
    assert lines[1].split(",")[-3:] == ["inputs_per_sec", "accuracy", "loss"]
    assert lines[3].split(",")[2:5] == ["20", "30", "4"]


def test_dyndep_says_which_file_it_ignores(capsys):
    dyndep.InitOpsLibrary("@/caffe2/caffe2/distributed:file_store_handler_ops")
    assert capsys.readouterr().out == ""  # its operators are in the library
    dyndep.InitOpsLibrary("@/caffe2/caffe2/fb:other_ops")
    assert "Ignoring @/caffe2/caffe2/fb:other_ops" in capsys.readouterr().out
    assert dyndep.GetImportedOpsLibraries() == set()
    assert workspace.CurrentWorkspace() == "default"


def test_lazy_libraries_are_loaded_when_an_operator_is_missed(tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    seen = []
    lazy_dyndep.SetErrorHandler(seen.append)
    try:
        lazy_dyndep.RegisterOpsLibrary(str(broken))
        assert core.IsOperator("Relu") and seen == []
        assert not core.IsOperator("NoSuchOperator")
        assert isinstance(seen[0], OSError)
        workspace.CreateNet(core.Net("nothing_pending"))
        assert len(seen) == 1

        def refuse(error):
            raise ValueError("refused") from error

        lazy_dyndep.SetErrorHandler(refuse)
        lazy_dyndep.RegisterOpsLibrary(str(broken))
        with pytest.raises(ValueError, match="refused"):
            core.RefreshRegisteredOperators()
        core.RefreshRegisteredOperators()  # the handler had its say
        lazy_dyndep.SetErrorHandler(None)
        lazy_dyndep.RegisterOpsLibrary(str(broken))
        for name in ("pending", "tried_again"):
            with pytest.raises(OSError, match="broken"):
                workspace.CreateNet(core.Net(name))
    finally:
        lazy_dyndep.SetErrorHandler(seen.append)
        core.RefreshRegisteredOperators()
        lazy_dyndep.SetErrorHandler(None)
    workspace.CreateNet(core.Net("nothing_pending_any_more"))
    assert str(broken) not in lazy_dyndep.GetImportedOpsLibraries()


def test_a_library_that_is_being_loaded_is_waited_for():
    loading, go_on, order = threading.Event(), threading.Event(), []

    def load():
        core.TriggerLazyImport()  # as if it looked for an operator itself
        loading.set()
        assert go_on.wait(30)
        order.append("loaded")

    def look():
        core.TriggerLazyImport()
        order.append("looked")

    core.RegisterLazyImport(load)
    threads = [threading.Thread(target=look) for _ in range(2)]
    threads[0].start()
    assert loading.wait(30)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert order == ["loaded", "looked", "looked"]


def test_arguments_are_looked_up_anew_after_a_library_was_loaded(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error", core.UnknownArgumentWarning)
        core.CreateOperator("LoadedLater", [], [], extent=1)  # the type has no schema
        extend = types.SimpleNamespace(name="extend", type="any", choices=[], description="",
                                       required=False)
        schema = types.SimpleNamespace(args=[extend])
        monkeypatch.setattr(core.C, "OpSchema", types.SimpleNamespace(get=lambda op_type: schema))
        core.RefreshRegisteredOperators()
        with pytest.raises(core.UnknownArgumentWarning, match="did you mean extend"):
            core.CreateOperator("LoadedLater", [], [], extent=1)
    monkeypatch.undo()
    core.RefreshRegisteredOperators()


def test_lazy_imports_are_those_of_core():
    calls = []
    lazy.RegisterLazyImport(lambda: calls.append(1))
    core.TriggerLazyImport()
    lazy.TriggerLazyImport()
    assert calls == [1]


def test_flags_of_dlopen_are_restored():
    before = sys.getdlopenflags()
    with pytest.raises(OSError, match="absent.so"):
        with extension_loader.DlopenGuard():
            assert sys.getdlopenflags() == before | ctypes.RTLD_GLOBAL
            ctypes.CDLL("absent.so")
    assert sys.getdlopenflags() == before


def test_transforms_change_nets_in_place():
    net = core.Net("twice_the_same")
    net.AddExternalInput("x")
    net.Sum([net.Sigmoid("x"), net.Sigmoid("x")], "y")
    net.AddExternalOutput("y")
    transformations.Transformer().CommonSubexpressionElimination(net)
    assert [op.type for op in net.Proto().op] == ["Sigmoid", "Sum"]
    with pytest.raises(AttributeError, match="Transformation Absent not found; there are"):
        transformations.Transformer().Absent(net)
    for function in (transformations.fuseConvBN, transformations.fuseNNPACKConvRelu,
                     transformations.optimizeForMKLDNN):
        with pytest.raises(NotImplementedError, match=f"{function.__name__} is not part"):
            function(net)


def test_workspaces_as_objects():
    first, second = Workspace(), Workspace()
    current = workspace.CurrentWorkspace()
    first.FeedBlob("object_x", np.float32([1, -2]))
    first.RunOperatorOnce(core.CreateOperator("Relu", ["object_x"], ["object_y"]))
    np.testing.assert_array_equal(first.FetchBlob("object_y"), [1, 0])
    assert not second.HasBlob("object_x") and not workspace.HasBlob("object_x")
    with pytest.raises(RuntimeError, match="absent"):
        second.FetchBlob("absent")
    with pytest.raises(AttributeError, match="NoFunction"):
        first.NoFunction()
    assert first.has_gpu_support == workspace.has_gpu_support
    assert workspace.CurrentWorkspace() == current
    assert first._name != second._name
    name = first._name
    del first
    with workspace.WorkspaceGuard(name):
        assert workspace.Blobs() == []
    known = workspace.Workspaces()
    for _ in range(3):
        again = Workspace()
        assert again._name == name and not again.Blobs()
        again.FeedBlob("object_x", np.float32([1]))
        del again
    assert workspace.Workspaces() == known


class TestOfBackends(test_utils.TestCase):
    def test_outputs_are_compared(self):
        ones = [np.ones(3, np.float32)]
        self.assertSameOutputs(ones, [np.ones(3, np.float32) + 1e-4], decimal=3)
        for other in ([], [np.ones(3)], [np.ones(3, np.float32) + 1e-4]):
            with self.assertRaises(AssertionError):
                self.assertSameOutputs(ones, other)

    def test_cases_are_added_by_name(self):
        self.add_test_case("test_added", lambda: 3)
        assert self.test_added() == 3
        for name, message in (("test_added", "there is a test"), ("added", "begin with test_")):
            with self.assertRaisesRegex(ValueError, message):
                self.add_test_case(name, print)

    def test_random_numbers_start_anew(self):
        assert np.random.rand() == np.random.RandomState(0).rand()


def test_inputs_are_filled_at_random():
    net = core.Net("filled")
    net.Concat(["x", "y"], ["joined", "split"], axis=0)
    net.Gather(["joined", "rows"], "gathered")
    types = [["float", "float"], ["float", "int64_t"]]
    workspace.FillRandomNetworkInputs(net, [[[2, 3], [4, 3]], [[6, 3], [5]]], types)
    assert workspace.FetchBlob("x").shape == (2, 3)
    assert workspace.FetchBlob("rows").dtype == np.int64
    assert not workspace.HasBlob("joined")
    workspace.RunNetOnce(net)
    assert workspace.FetchBlob("gathered").shape == (5, 3)
    with pytest.raises(RuntimeError, match="for each of the . operators, found 1 and"):
        workspace.FillRandomNetworkInputs(net, [[[2, 3], [4, 3]]], types)
    with pytest.raises(RuntimeError, match="Concat"):
        workspace.FillRandomNetworkInputs(net, [[[2, 3]], [[6, 3], [5]]], types)


def test_serialized_inputs_are_reproducible():
    seen = []

    @serial.given(X=hu.tensor(dtype=np.int64), bound=hu.floats(max_value=0.1), **hu.gcs)
    def collect(X, bound, gc, dc):
        assert (X >= 0).all() and np.float32(bound) == bound and -1e3 <= bound <= np.float32(0.1)
        assert not run_in_hip(gc, dc)
        seen.append((X.tobytes(), bound))

    collect()
    first = list(seen)
    seen.clear()
    collect()
    assert seen == first and len(set(first)) > 1


@given(values=hu.arrays([5], dtype=np.int32, elements=st.integers(0, 9), unique=True),
       unbounded=hu.floats(allow_nan=True, allow_infinity=True))
def test_strategies(values, unbounded):
    assert len(set(values.tolist())) == 5
    assert isinstance(unbounded, float)


def test_gradient_checks_take_arrays_of_any_layout():
    X = np.arange(1, 7, dtype=np.float32).reshape(2, 3).T
    checker = gradient_checker.GradientChecker(0.01, 0.005)
    good, gradient, estimate = checker.CheckSimple(
        core.CreateOperator("Sqr", "X", "Y"), [X], 0, [0])
    assert good and gradient.any()
    np.testing.assert_allclose(estimate, 2 * X**3, rtol=1e-2)


def test_gradient_checks_of_nets_use_the_parameters_there_are():
    workspace.FeedBlob("w", np.float32([2, 3]))
    net = core.Net("with_parameter")
    net.Mul(["x", "w"], "y")
    gradient, _ = gradient_checker.NetGradientChecker.Check(
        net, ["y"], {"x": np.float32([1, 1])}, step_size=0.1)
    np.testing.assert_array_equal(gradient, [2, 3])
