"""Build, run, inspect and train NetDefs."""

from caffe2.python._core import idle_threads, numpy_names

idle_threads.limit_spinning()
numpy_names.restore()
