"""Names that numpy removed and Caffe2's programs use."""

import subprocess
import sys

import numpy as np

from caffe2.python._core import numpy_names


def test_names_of_old_programs_are_there():
    assert np.asscalar(np.array([3], dtype=np.int64)) == 3
    assert np.zeros(2, dtype=np.float).dtype == np.float64
    assert np.array([True]).astype(np.bool).dtype == np.bool_
    assert np.zeros(1, dtype=np.int).dtype.kind == "i"
    assert np.array([b"a", None], dtype=np.object).dtype.kind == "O"


def test_only_what_is_missing_is_given_back(monkeypatch):
    def own(a):
        return a

    monkeypatch.setattr(np, "asscalar", own)
    monkeypatch.delattr(np, "unicode_")
    assert numpy_names.restore() == ["unicode_"]
    assert np.asscalar is own and np.unicode_ is np.str_
    assert numpy_names.restore() == []


def test_importing_the_package_is_enough_and_warns_of_nothing():
    program = "from caffe2.python import core; import numpy; print(numpy.asscalar(numpy.ones(1)))"
    out = subprocess.run([sys.executable, "-W", "error", "-c", program], check=True,
                         capture_output=True, text=True, timeout=60)
    assert out.stdout == "1.0\n" and not out.stderr
