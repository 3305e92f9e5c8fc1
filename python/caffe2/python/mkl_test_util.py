"""Device options of tests of MKL. There is no separate MKL device: operators of the CPU use
oneDNN."""

import hypothesis.strategies as st

from caffe2.proto import caffe2_pb2
from caffe2.python import hypothesis_test_util as hu

cpu_do = hu.cpu_do
gpu_do = hu.gpu_do
mkl_do = caffe2_pb2.DeviceOption(device_type=caffe2_pb2.MKLDNN)
device_options = hu.device_options

gcs = hu.gcs
gcs_cpu_only = hu.gcs_cpu_only
gcs_gpu_only = hu.gcs_gpu_only
gcs_mkl_only: dict = {"gc": st.nothing(), "dc": st.just([])}
gcs_cpu_mkl = hu.gcs_cpu_only
