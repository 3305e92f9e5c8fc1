"""The base of tests of ONNX backends."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence

import numpy as np


class TestCase(unittest.TestCase):
    """A TestCase that seeds numpy before each test."""

    def setUp(self) -> None:
        """Seeds numpy."""
        np.random.seed(0)

    def assertSameOutputs(self, outputs1: Sequence[np.ndarray], outputs2: Sequence[np.ndarray],
                          decimal: int = 7) -> None:
        """Fails unless two lists of arrays agree: in length, element types and, up to this number
        of decimals, values."""
        self.assertEqual(len(outputs1), len(outputs2))
        for one, other in zip(outputs1, outputs2):
            self.assertEqual(one.dtype, other.dtype)
            np.testing.assert_almost_equal(one, other, decimal=decimal)

    def add_test_case(self, name: str, test_func: Callable[..., object]) -> None:
        """Adds a function as a test of this object. Raises ValueError for a name that does not
        begin with test_, or is taken."""
        if not name.startswith("test_"):
            raise ValueError(f"the name of a test must begin with test_, not {name}")
        if hasattr(self, name):
            raise ValueError(f"there is a test {name}")
        setattr(self, name, test_func)
