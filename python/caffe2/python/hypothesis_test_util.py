"""Property-based tests of operators with hypothesis.

    class TestRelu(hu.HypothesisTestCase):
        @given(X=hu.tensor(), **hu.gcs)
        def test_relu(self, X, gc, dc):
            op = core.CreateOperator("Relu", ["X"], ["Y"])
            self.assertReferenceChecks(gc, op, [X], lambda X: [np.maximum(X, 0)])
            self.assertDeviceChecks(dc, op, [X], [0])
            self.assertGradientChecks(gc, op, [X], 0, [0])

gc is one device option, dc the list of all device options.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import numpy as np
from hypothesis.strategies import SearchStrategy
from numpy.typing import DTypeLike

from caffe2.proto import caffe2_pb2
from caffe2.python import core, device_checker, gradient_checker, test_util, workspace
from caffe2.python._core.gradients import GradientOps
from caffe2.python.gradient_checker import InputDevices

# function(size, is_sorted=...) -> arrays of segments.
SegmentStrategy = Callable[..., SearchStrategy[np.ndarray]]

# No deadline, which would fail at random: the first run of an operator takes longer. Caffe2's tests
# filter many examples, and share methods with @given between classes.
hypothesis.settings.register_profile("caffe2", deadline=None, max_examples=20, print_blob=True,
                                     suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("caffe2")

cpu_do = caffe2_pb2.DeviceOption()
cuda_do = caffe2_pb2.DeviceOption(device_type=caffe2_pb2.CUDA)
hip_do = caffe2_pb2.DeviceOption(device_type=caffe2_pb2.HIP)
gpu_do = cuda_do
_gpu_options = [gpu_do] if workspace.has_gpu_support else []
device_options = [cpu_do, *_gpu_options]
# Also every further GPU.
expanded_device_options = [cpu_do] + [
    caffe2_pb2.DeviceOption(device_type=caffe2_pb2.CUDA, device_id=i)
    for i in range(workspace.NumGpuDevices())]


def _devices(options):
    """The arguments gc and dc of a test on these device options; without one, the test does not
    run."""
    return {"gc": st.sampled_from(options) if options else st.nothing(), "dc": st.just(options)}


def device_checker_device_options() -> SearchStrategy[list[caffe2_pb2.DeviceOption]]:
    """A strategy: the list of all device options."""
    return st.just(device_options)


def gradient_checker_device_option() -> SearchStrategy[caffe2_pb2.DeviceOption]:
    """A strategy: one of the device options."""
    return st.sampled_from(device_options)


def to_float32(x: float) -> float:
    """The number rounded to float32, as a float."""
    return float(np.float32(x))


gcs = _devices(device_options)
gcs_cpu_only = _devices([cpu_do])
gcs_gpu_only = gcs_cuda_only = _devices(_gpu_options)
gcs_no_hip = gcs


def is_sandcastle() -> bool:
    """True in Facebook's continuous integration."""
    return False


def is_travis() -> bool:
    """True in the continuous integration of Travis."""
    return False


def floats(min_value: float | None = None, max_value: float | None = None, allow_nan: bool = False,
           allow_infinity: bool = False, width: Literal[16, 32, 64] = 32,
           **kwargs: Any) -> SearchStrategy[float]:
    """st.floats of float32 numbers. The bounds are rounded; default: ±1e3, or none where NaN or
    infinity is allowed."""
    if not allow_nan and not allow_infinity:
        min_value = -1e3 if min_value is None else min_value
        max_value = 1e3 if max_value is None else max_value
    if width == 32:
        min_value, max_value = (None if bound is None else float(np.float32(bound))
                                for bound in (min_value, max_value))
    return st.floats(min_value=min_value, max_value=max_value, allow_nan=allow_nan,
                     allow_infinity=allow_infinity, width=width, **kwargs)


def dims(min_value: int = 1, max_value: int = 5) -> SearchStrategy[int]:
    """Sizes of dimensions, from min_value to max_value."""
    return st.integers(min_value=min_value, max_value=max_value)


# Bytes of a float -> its bits.
_FLOAT_WIDTHS: dict[int, Literal[16, 32, 64]] = {2: 16, 4: 32, 8: 64}


def elements_of_type(dtype: DTypeLike = np.float32,
                     filter_: Callable[[Any], bool] | None = None) -> SearchStrategy[Any]:
    """Numbers of an element type: floats in [-1, 1], integers from 0 on, booleans."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        elements: SearchStrategy[Any] = st.floats(
            min_value=-1.0, max_value=1.0, width=_FLOAT_WIDTHS[dtype.itemsize])
    elif dtype.kind == "b":
        elements = st.booleans()
    elif dtype.kind in "iu":
        elements = st.integers(min_value=0, max_value=int(np.iinfo(dtype).max))
    else:
        raise ValueError(f"no strategy for elements of {dtype}")
    return elements if filter_ is None else elements.filter(filter_)


def arrays(dims: int | Sequence[int], dtype: DTypeLike = np.float32,
           elements: SearchStrategy[Any] | None = None,
           unique: bool = False) -> SearchStrategy[np.ndarray]:
    """Arrays of a shape, of distinct elements if `unique`."""
    if elements is None:
        elements = elements_of_type(dtype)
    shape = dims if isinstance(dims, int) else tuple(dims)
    return hypothesis.extra.numpy.arrays(
        np.dtype(dtype), shape, elements=elements, fill=st.nothing(), unique=unique)


def _shapes(min_dim, max_dim, **kwargs):
    return st.lists(dims(**kwargs), min_size=min_dim, max_size=max_dim)


def tensor(min_dim: int = 1, max_dim: int = 4, dtype: DTypeLike = np.float32,
           elements: SearchStrategy[Any] | None = None, unique: bool = False,
           **kwargs: Any) -> SearchStrategy[np.ndarray]:
    """Arrays of min_dim to max_dim dimensions; min_value and max_value bound each."""
    return _shapes(min_dim, max_dim, **kwargs).flatmap(
        lambda shape: arrays(shape, dtype, elements, unique))


def tensor1d(min_len: int = 1, max_len: int = 64, dtype: DTypeLike = np.float32,
             elements: SearchStrategy[Any] | None = None) -> SearchStrategy[np.ndarray]:
    """Arrays of one dimension; see tensor."""
    return tensor(1, 1, dtype, elements, min_value=min_len, max_value=max_len)


def tensors(n: int, min_dim: int = 1, max_dim: int = 4, dtype: DTypeLike = np.float32,
            elements: SearchStrategy[Any] | None = None,
            **kwargs: Any) -> SearchStrategy[list[np.ndarray]]:
    """Lists of n arrays of one shape."""
    return _shapes(min_dim, max_dim, **kwargs).flatmap(
        lambda shape: st.lists(arrays(shape, dtype, elements), min_size=n, max_size=n))


def tensors1d(n: int, min_len: int = 1, max_len: int = 64, dtype: DTypeLike = np.float32,
              elements: SearchStrategy[Any] | None = None) -> SearchStrategy[list[np.ndarray]]:
    """Lists of arrays of one dimension and equal shape; see tensors."""
    return tensors(n, 1, 1, dtype, elements, min_value=min_len, max_value=max_len)


def segment_ids(size: int, is_sorted: bool) -> SearchStrategy[np.ndarray]:
    """int32 arrays of `size` segment numbers."""
    if size == 0:
        return st.just(np.empty([0], np.int32))
    if is_sorted:
        steps = st.lists(st.booleans(), min_size=size, max_size=size)
        return steps.map(lambda x: np.cumsum(x, dtype=np.int32) - np.int32(x[0]))
    numbers = st.integers(min_value=0, max_value=2 * size)
    return st.lists(numbers, min_size=size, max_size=size).map(lambda x: np.array(x, np.int32))


def lengths(size: int, min_segments: int | None = None, max_segments: int | None = None,
            **kwargs: Any) -> SearchStrategy[np.ndarray]:
    """int32 arrays of segment lengths that add up to `size`."""
    low = 0 if min_segments is None else min_segments
    high = size if max_segments is None else max_segments
    if low == high == 0:
        return st.just(np.empty([0], np.int32))
    ends = st.lists(st.integers(0, size), min_size=max(low - 1, 0), max_size=max(high - 1, 0))
    return ends.map(lambda cuts: np.diff([0, *sorted(cuts), size]).astype(np.int32))


def segmented_tensor(min_dim: int = 1, max_dim: int = 4, dtype: DTypeLike = np.float32,
                     is_sorted: bool = True, elements: SearchStrategy[Any] | None = None,
                     segment_generator: SegmentStrategy = segment_ids, allow_empty: bool = False,
                     **kwargs: Any) -> SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Pairs (array, segments of its rows)."""
    generator = functools.partial(segment_generator, is_sorted=is_sorted)
    least = 0 if allow_empty else 1
    shapes = st.tuples(st.integers(least, 5), _shapes(min_dim - 1, max_dim - 1, **kwargs))
    return shapes.flatmap(lambda s: st.tuples(
        arrays([s[0], *s[1]], dtype, elements), generator(s[0])))


def lengths_tensor(min_segments: int | None = None, max_segments: int | None = None, *args: Any,
                   **kwargs: Any) -> SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Pairs (array, lengths of segments of its rows)."""

    def generator(size, is_sorted):
        return lengths(size, min_segments=min_segments, max_segments=max_segments)

    kwargs["segment_generator"] = generator
    return segmented_tensor(*args, **kwargs)


def sparse_segmented_tensor(
        min_dim: int = 1, max_dim: int = 4, dtype: DTypeLike = np.float32, is_sorted: bool = True,
        elements: SearchStrategy[Any] | None = None, allow_empty: bool = False,
        segment_generator: SegmentStrategy = segment_ids, itype: DTypeLike = np.int64,
        **kwargs: Any) -> SearchStrategy[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Triples (array, int64 row numbers, segments of these)."""
    least = 0 if allow_empty else 1
    shapes = st.tuples(_shapes(min_dim, max_dim, **kwargs), st.integers(least, 5))
    return shapes.flatmap(lambda s: st.tuples(
        arrays(s[0], dtype, elements),
        arrays([s[1]], itype, st.integers(0, s[0][0] - 1)),
        segment_generator(s[1], is_sorted=is_sorted)))


def sparse_lengths_tensor(
        **kwargs: Any) -> SearchStrategy[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A strategy: (data, indices, lengths of the segments)."""
    return sparse_segmented_tensor(
        segment_generator=lambda size, is_sorted: lengths(size), **kwargs)


@contextlib.contextmanager
def temp_workspace(name: str = "temp_ws") -> Iterator[None]:
    """An empty current workspace for the block."""
    with workspace.WorkspaceGuard(name):
        workspace.ResetWorkspace()
        yield
        workspace.ResetWorkspace()


def runOpBenchmark(device_option: caffe2_pb2.DeviceOption, op: caffe2_pb2.OperatorDef,
                   inputs: Sequence[Any], input_device_options: InputDevices | None = None,
                   iterations: int = 10) -> list[float]:
    """The milliseconds of each of `iterations` runs of an operator: a list."""
    with temp_workspace():
        _feed(op, inputs, device_option, input_device_options)
        op.device_option.CopyFrom(device_option)
        net = caffe2_pb2.NetDef(name="test_op_benchmark", op=[op])
        workspace.CreateNet(net)
        times = []
        for _ in range(iterations):
            begin = time.perf_counter()
            workspace.RunNet(net)
            times.append((time.perf_counter() - begin) * 1e3)
        return times


def runOpOnInput(device_option: caffe2_pb2.DeviceOption, op: caffe2_pb2.OperatorDef,
                 inputs: Sequence[Any],
                 input_device_options: InputDevices | None = None) -> list[Any]:
    """The outputs, a list, of a run of a copy of the operator on a device.

    `input_device_options`: {input: DeviceOption}; default: the device the operator reads it from.
    Raises ValueError if there are fewer values than inputs.
    """
    copy = caffe2_pb2.OperatorDef()
    copy.CopyFrom(op)
    copy.device_option.CopyFrom(device_option)
    if len(op.input) > len(inputs):
        raise ValueError(
                    f"{op.type} needs {len(op.input)} input values, found {len(inputs)}")
    with temp_workspace():
        _feed(copy, inputs, device_option,
              input_device_options or core.InferOpBlobDevicesAsDict(copy)[0])
        workspace.RunOperatorOnce(copy)
        return workspace.FetchBlobs(copy.output)


def _feed(op, inputs, device_option, input_device_options=None):
    options = input_device_options or {}
    for name, value in zip(op.input, inputs):
        workspace.FeedBlob(name, value, options.get(name, device_option))


class HypothesisTestCase(test_util.TestCase):
    """Assertions about operators. Each uses a workspace of its own."""

    def setUp(self) -> None:
        """Seeds numpy, so that a failure repeats."""
        super().setUp()
        np.random.seed(0)

    def assertDeviceChecks(self, device_options: Sequence[caffe2_pb2.DeviceOption],
                           op: caffe2_pb2.OperatorDef, inputs: Sequence[Any],
                           outputs_to_check: Sequence[int],
                           input_device_options: InputDevices | None = None,
                           threshold: float = 0.01) -> None:
        """Checks that the outputs, given by index, are the same on all devices."""
        checker = device_checker.DeviceChecker(threshold, device_options)
        self.assertTrue(checker.CheckSimple(op, inputs, outputs_to_check, input_device_options))

    def assertGradientChecks(self, device_option: caffe2_pb2.DeviceOption,
                             op: caffe2_pb2.OperatorDef, inputs: Sequence[Any],
                             outputs_to_check: int, outputs_with_grads: Sequence[int],
                             grad_ops: GradientOps | None = None, threshold: float = 0.005,
                             stepsize: float = 0.05,
                             input_device_options: InputDevices | None = None,
                             ensure_outputs_are_inferred: bool = False) -> None:
        """Checks that the gradient at input `outputs_to_check` agrees with difference quotients of
        the outputs `outputs_with_grads`."""
        checker = gradient_checker.GradientChecker(
            stepsize, threshold, device_option, "gradient_check_" + op.type, input_device_options)
        good, gradient, estimate = checker.CheckSimple(
            op, inputs, outputs_to_check, outputs_with_grads, grad_ops,
            ensure_outputs_are_inferred=ensure_outputs_are_inferred)
        self.assertEqual(gradient.shape, estimate.shape)
        self.assertTrue(good, f"gradient of {op.type} at input {outputs_to_check}:\n{gradient}\n"
                              f"by differences:\n{estimate}")

    def assertReferenceChecks(self, device_option: caffe2_pb2.DeviceOption,
                              op: caffe2_pb2.OperatorDef, inputs: Sequence[Any],
                              reference: Callable[..., Sequence[Any]],
                              input_device_options: InputDevices | None = None,
                              threshold: float = 1e-4, output_to_grad: str | None = None,
                              grad_reference: Callable[..., Sequence[Any]] | None = None,
                              atol: float | None = None,
                              outputs_to_check: Sequence[int] | None = None,
                              ensure_outputs_are_inferred: bool = False) -> list[Any]:
        """Checks that an operator and a Python function give the same outputs.

        Args:
          reference: function of the inputs -> tuple of outputs.
          output_to_grad: an output whose gradient is checked, too, against grad_reference.
          grad_reference: function (gradient of the output, outputs, inputs) -> tuple of gradients
            of the inputs: None for no gradient, (values, rows) for a sparse one.
          ensure_outputs_are_inferred: whether the shapes and types of the outputs must be inferred
            correctly.

        Returns the outputs.
        """
        op.device_option.CopyFrom(device_option)
        with temp_workspace():
            if len(op.input) > len(inputs):
                raise ValueError(
                    f"{op.type} needs {len(op.input)} input values, found {len(inputs)}")
            _feed(op, inputs, device_option, input_device_options)
            workspace.RunNetOnce(caffe2_pb2.NetDef(name="opnet", op=[op]))
            expected = reference(*inputs)
            if not isinstance(expected, (tuple, list)):
                raise TypeError("a reference returns a tuple or list of outputs")
            indices = range(len(op.output)) if outputs_to_check is None else outputs_to_check
            outputs = [workspace.FetchBlob(op.output[i]) for i in indices]
            for i, value, wanted in zip(indices, outputs, expected):
                self._assert_output(op.output[i], value, np.asarray(wanted), threshold, atol)
            if ensure_outputs_are_inferred:
                gradient_checker.assert_inferred([op], [op.output[i] for i in indices])
            if grad_reference is not None:
                if output_to_grad is None:
                    raise ValueError("a gradient reference needs output_to_grad")
                self._assert_gradients(op, inputs, expected, output_to_grad, grad_reference,
                                       threshold)
            return outputs

    def _assert_output(self, name, value, wanted, threshold, atol):
        if value.dtype.kind in "OSU" or wanted.dtype.kind in "OSU":
            self.assertEqual([_text(x) for x in value.ravel()], [_text(x) for x in wanted.ravel()])
            return
        np.testing.assert_allclose(value, wanted, rtol=threshold,
                                   atol=threshold if atol is None else atol,
                                   err_msg=f"output {name} is not matching the reference")

    def _assert_gradients(self, op, inputs, outputs, output_to_grad, grad_reference, threshold):
        gradient = np.asarray(np.random.rand(*np.shape(outputs[0])), dtype=np.float32)
        wrapped = [output_to_grad + "_grad" if o == output_to_grad else None for o in op.output]
        operators, g_input = core.GradientRegistry.GetGradientForOp(op, wrapped)
        workspace.FeedBlob(output_to_grad + "_grad", gradient, op.device_option)
        workspace.RunOperatorsOnce(operators)
        for blob, wanted in zip(g_input, grad_reference(gradient, outputs, inputs)):
            if wanted is None:
                continue
            if isinstance(blob, core.GradientSlice):
                wanted, rows = wanted
                np.testing.assert_array_equal(workspace.FetchBlob(blob.indices), rows)
                blob = blob.values
            np.testing.assert_allclose(workspace.FetchBlob(blob), wanted, rtol=threshold,
                                       atol=threshold)

    def assertValidationChecks(self, device_option: caffe2_pb2.DeviceOption,
                               op: caffe2_pb2.OperatorDef, inputs: Sequence[Any],
                               validator: Callable[..., object],
                               input_device_options: InputDevices | None = None,
                               as_kwargs: bool = True, init_net: core.Net | None = None) -> None:
        """Calls the validator, which asserts, with inputs and outputs (by name, or as two
        lists)."""
        op.device_option.CopyFrom(device_option)
        with temp_workspace():
            _feed(op, inputs, device_option, input_device_options)
            if init_net:
                workspace.RunNetOnce(init_net)
            workspace.RunOperatorOnce(op)
            outputs = [workspace.FetchBlob(name) for name in op.output]
            if as_kwargs:
                validator(**dict(zip([*op.input, *op.output], [*inputs, *outputs])))
            else:
                validator(inputs=inputs, outputs=outputs)

    def assertRunOpRaises(
            self, device_option: caffe2_pb2.DeviceOption, op: caffe2_pb2.OperatorDef,
            inputs: Sequence[Any], input_device_options: InputDevices | None = None,
            exception: type[BaseException] | tuple[type[BaseException], ...] = (Exception,),
            regexp: str | None = None) -> None:
        """Checks that the operator fails, with a message that matches the pattern."""
        op.device_option.CopyFrom(device_option)
        with temp_workspace():
            _feed(op, inputs, device_option, input_device_options)
            if regexp is None:
                self.assertRaises(exception, workspace.RunOperatorOnce, op)
            else:
                self.assertRaisesRegex(exception, regexp, workspace.RunOperatorOnce, op)


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
