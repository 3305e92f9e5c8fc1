"""Helpers of unit tests."""

import os
import pathlib
import shutil
import tempfile
import unittest

import numpy as np

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace


def rand_array(*dims):
    """Uniform float32 numbers in [-0.5, 0.5) of the given shape."""
    return np.array(np.random.rand(*dims) - 0.5, dtype=np.float32)


def randBlob(name, type, *dims, **kwargs):
    """Feeds random numbers of an element type, uniform in [offset, offset + multiplier)."""
    offset, multiplier = kwargs.get("offset", 0), kwargs.get("multiplier", 1)
    workspace.FeedBlob(name, np.array(np.random.rand(*dims) * multiplier + offset, dtype=type))


def randBlobFloat32(name, *dims, **kwargs):
    """Feeds a blob with random floats in [0, 1) of a shape."""
    randBlob(name, np.float32, *dims, **kwargs)


def randBlobsFloat32(names, *dims, **kwargs):
    """randBlobFloat32 of each of several blobs."""
    for name in names:
        randBlobFloat32(name, *dims, **kwargs)


def numOps(net):
    """The number of operators of a net."""
    return len(net.Proto().op)


def caffe2_flatten(input, axis=1):
    """The array with two dimensions, split at `axis`, as the operator Flatten returns it."""
    rows = int(np.prod(input.shape[:axis]))
    return input.reshape(rows, -1)


def str_compare(a, b, encoding="utf8"):
    """True if two texts, str or bytes, are equal."""
    a, b = (x.decode(encoding) if isinstance(x, bytes) else x for x in (a, b))
    return a == b


def get_default_test_flags():
    """The arguments of TestCase for core.GlobalInit."""
    return ["caffe2", "--caffe2_log_level=0"]


def caffe2_flaky(test_method):
    """Outermost decorator of a test that fails sometimes. It runs only in flaky test mode (see
    is_flaky_test_mode), in which other tests are skipped."""
    test_method.__caffe2_flaky__ = True
    return test_method


def is_flaky_test_mode():
    """True if the environment variable CAFFE2_RUN_FLAKY_TESTS is 1."""
    return os.getenv("CAFFE2_RUN_FLAKY_TESTS", "0") == "1"


class TestCase(unittest.TestCase):
    """Each test has an empty current workspace and `self.ws`, another one."""

    @classmethod
    def setUpClass(cls):
        """Initializes the library for all tests of the class."""
        workspace.GlobalInit(get_default_test_flags())
        core.SetEnginePref({}, {})

    def setUp(self):
        """Gives the test a workspace of its own, `ws`, and an empty global one. Skips
        flaky tests (caffe2_flaky), or in flaky test mode all others."""
        flaky = getattr(getattr(self, self._testMethodName), "__caffe2_flaky__", False)
        if flaky != is_flaky_test_mode():
            self.skipTest("a flaky test" if flaky else "flaky tests run alone")
        self.ws = C.Workspace()
        workspace.ResetWorkspace()

    def tearDown(self):
        """Empties the global workspace."""
        workspace.ResetWorkspace()

    def make_tempdir(self):
        """A new folder, a pathlib.Path, that is removed after the test."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="caffe2_test."))
        self.addCleanup(shutil.rmtree, folder)
        return folder
