"""Build, run, inspect and train NetDefs."""

from caffe2.python._core import numpy_names

numpy_names.restore()
