"""Operator tests whose generated inputs are the same in every run.

Caffe2 also compares outputs with recorded ones from archives. Here tests only compare with their
reference function; nothing is recorded or read.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import hypothesis

from caffe2.python import hypothesis_test_util as hu


def given(*strategies: Any,
          **named_strategies: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """hypothesis.given with the same examples in every run."""
    return lambda test: hypothesis.seed(0)(hypothesis.given(*strategies, **named_strategies)(test))


class SerializedTestCase(hu.HypothesisTestCase):
    """A HypothesisTestCase under the name that tests of recorded operators use."""


def testWithArgs() -> None:
    """Runs the tests of the program, as unittest.main."""
    unittest.main()
