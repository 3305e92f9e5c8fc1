"""Operator tests whose generated inputs are the same in every run.

Caffe2 also compares outputs with recorded ones from archives. Here tests only compare with their
reference function; nothing is recorded or read.
"""

import unittest

import hypothesis

from caffe2.python import hypothesis_test_util as hu


def given(*strategies, **named_strategies):
    """hypothesis.given with the same examples in every run."""
    return lambda test: hypothesis.seed(0)(hypothesis.given(*strategies, **named_strategies)(test))


class SerializedTestCase(hu.HypothesisTestCase):
    """A HypothesisTestCase under the name that tests of recorded operators use."""


def testWithArgs():
    """Runs the tests of the program, as unittest.main."""
    unittest.main()
