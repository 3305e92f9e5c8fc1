"""Helpers of unit tests."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import unittest
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python._core.blob_reference import BlobLike

_TestMethod = TypeVar("_TestMethod", bound=Callable[..., object])


def rand_array(*dims: int) -> np.ndarray:
    """Uniform float32 numbers in [-0.5, 0.5) of the given shape."""
    return np.array(np.random.rand(*dims) - 0.5, dtype=np.float32)


def randBlob(name: BlobLike, type: DTypeLike, *dims: int, **kwargs: float) -> None:
    """Feeds random numbers of an element type, uniform in [offset, offset + multiplier)."""
    offset, multiplier = kwargs.get("offset", 0), kwargs.get("multiplier", 1)
    workspace.FeedBlob(name, np.array(np.random.rand(*dims) * multiplier + offset, dtype=type))


def randBlobFloat32(name: BlobLike, *dims: int, **kwargs: float) -> None:
    """Feeds a blob with random floats in [0, 1) of a shape."""
    randBlob(name, np.float32, *dims, **kwargs)


def randBlobsFloat32(names: Iterable[BlobLike], *dims: int, **kwargs: float) -> None:
    """randBlobFloat32 of each of several blobs."""
    for name in names:
        randBlobFloat32(name, *dims, **kwargs)


def numOps(net: core.Net) -> int:
    """The number of operators of a net."""
    return len(net.Proto().op)


def caffe2_flatten(input: np.ndarray, axis: int = 1) -> np.ndarray:
    """The array with two dimensions, split at `axis`, as the operator Flatten returns it."""
    rows = int(np.prod(input.shape[:axis]))
    return input.reshape(rows, -1)


def str_compare(a: str | bytes, b: str | bytes, encoding: str = "utf8") -> bool:
    """True if two texts, str or bytes, are equal."""
    a, b = (x.decode(encoding) if isinstance(x, bytes) else x for x in (a, b))
    return a == b


def get_default_test_flags() -> list[str]:
    """The arguments of TestCase for core.GlobalInit."""
    return ["caffe2", "--caffe2_log_level=0"]


def caffe2_flaky(test_method: _TestMethod) -> _TestMethod:
    """Outermost decorator of a test that fails sometimes. It runs only in flaky test mode (see
    is_flaky_test_mode), in which other tests are skipped."""
    vars(test_method)["__caffe2_flaky__"] = True
    return test_method


def is_flaky_test_mode() -> bool:
    """True if the environment variable CAFFE2_RUN_FLAKY_TESTS is 1."""
    return os.getenv("CAFFE2_RUN_FLAKY_TESTS", "0") == "1"


class TestCase(unittest.TestCase):
    """Each test has an empty current workspace and `self.ws`, another one."""

    @classmethod
    def setUpClass(cls) -> None:
        """Initializes the library for all tests of the class."""
        workspace.GlobalInit(get_default_test_flags())
        core.SetEnginePref({}, {})

    def setUp(self) -> None:
        """Gives the test a workspace of its own, `ws`, and an empty global one. Skips
        flaky tests (caffe2_flaky), or in flaky test mode all others."""
        flaky = getattr(getattr(self, self._testMethodName), "__caffe2_flaky__", False)
        if flaky != is_flaky_test_mode():
            self.skipTest("a flaky test" if flaky else "flaky tests run alone")
        self.ws = C.Workspace()
        workspace.ResetWorkspace()

    def tearDown(self) -> None:
        """Empties the global workspace."""
        workspace.ResetWorkspace()

    def make_tempdir(self) -> pathlib.Path:
        """A new folder, a pathlib.Path, that is removed after the test."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="caffe2_test."))
        self.addCleanup(shutil.rmtree, folder)
        return folder
