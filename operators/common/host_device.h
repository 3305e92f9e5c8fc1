// Functions that the host's compiler and nvcc compile alike.
#pragma once

#ifdef __CUDACC__
#define CAFFE2_HOST_DEVICE __host__ __device__
#else
#define CAFFE2_HOST_DEVICE
#endif
