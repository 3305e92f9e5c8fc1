// What the losses of detectors need on CUDA devices.
#pragma once

#include "operators/common/host_device_cuda.h"
#include "operators/common/rate_input_cuda.h"
