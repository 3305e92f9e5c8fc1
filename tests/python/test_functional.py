"""Operators as functions of arrays."""

import numpy as np
import pytest

from caffe2.python import core, workspace
from caffe2.python.functional import Functional, namedtupledict


def test_operators_are_functions():
    workspace.ResetWorkspace()
    x = np.array([[-1, 2], [3, -4]], np.float32)
    result = Functional.Relu(x)
    np.testing.assert_array_equal(result[0], np.maximum(x, 0))
    np.testing.assert_array_equal(result["output_0"], result.output_0)
    joined, lengths = Functional.Concat(x, x[:, :1], axis=1, device_option=core.DeviceOption(0))
    np.testing.assert_array_equal(joined, np.concatenate([x, x[:, :1]], axis=1))
    np.testing.assert_array_equal(lengths, [2, 1])
    first, second = Functional.Split(x, axis=1, num_output=2)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=1), x)
    updated = Functional.ScatterAssign(x, np.array([1]), np.zeros((1, 2), np.float32))
    np.testing.assert_array_equal(updated["input_0"], [[-1, 2], [0, 0]])
    np.testing.assert_array_equal(x[1], [3, -4])  # inputs are copied
    assert workspace.Blobs() == []


def test_wrong_numbers_are_refused():
    x = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="num_output must say"):
        Functional.Split(x)
    with pytest.raises(ValueError, match="Relu has 1 to 1 outputs, not 2"):
        Functional.Relu(x, num_output=2)
    with pytest.raises(ValueError, match="Relu has 1 to 1 inputs, not 2"):
        Functional.Relu(x, x)
    with pytest.raises(AttributeError, match="NoSuchOperator"):
        Functional.NoSuchOperator(x)


def test_named_tuples_by_name():
    values = namedtupledict("values", ["a", "0"])(1, 2)
    assert (values.a, values["0"], values[1], values["a"], len(values)) == (1, 2, 2, 1, 2)
    with pytest.raises(KeyError):
        values["b"]
