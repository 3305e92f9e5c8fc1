"""Imports the C++ library for the modules of this package: ``from caffe2.python import
_import_c_extension``."""

from caffe2.python._core import process_end
from caffe2.python.caffe2_pybind11_state import *  # noqa: F403
from caffe2.python.caffe2_pybind11_state import num_cuda_devices
from caffe2.python.predictor_class import Predictor  # noqa: F401 - C.Predictor, as in Caffe2

has_cuda_support = has_gpu_support = num_cuda_devices() > 0
has_hip_support = False

process_end.watch()
