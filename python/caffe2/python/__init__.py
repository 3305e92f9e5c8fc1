"""Build, run, inspect and train NetDefs."""

from caffe2.python import _numpy_names

_numpy_names.restore()
