"""The C++ library as the modules here see it: ``from caffe2.python import _import_c_extension``."""

from caffe2.python import _process_end
from caffe2.python.caffe2_pybind11_state import *  # noqa: F403
from caffe2.python.caffe2_pybind11_state import num_cuda_devices

has_cuda_support = has_gpu_support = num_cuda_devices() > 0
has_hip_support = False

_process_end.watch()


def __getattr__(name):
    # A class in Python, built on the library: it cannot be imported before it.
    if name == "Predictor":
        from caffe2.python.predictor_class import Predictor

        return Predictor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
