// The registration of collective operators of CUDA tensors.
#pragma once

#include "caffe2/cuda/context_cuda.h"

// Registers a class whose common world may be of any engine: the transport is chosen by the engine
// of CreateCommonWorld (common_world_op_cuda.cc).
#define REGISTER_CUDA_COLLECTIVE(type, ...)                    \
  REGISTER_CUDA_OPERATOR(type, __VA_ARGS__);                   \
  REGISTER_CUDA_OPERATOR_WITH_ENGINE(type, GLOO, __VA_ARGS__); \
  REGISTER_CUDA_OPERATOR_WITH_ENGINE(type, NCCL, __VA_ARGS__)
