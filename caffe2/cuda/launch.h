// Launches kernels. Only nvcc can compile this file.
#pragma once

#include <cuda_runtime.h>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Throws Error, naming the kernel, if CUDA refuses the launch. Defined in runtime.cc, so that .cu
// files do not include logging.h.
void CheckLaunch(const char* name, int status);

template <typename... Parameters, typename... Arguments>
void Launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, Stream stream,
            Arguments... arguments) {
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
  CheckLaunch(name, cudaGetLastError());
}

}  // namespace caffe2::cuda
