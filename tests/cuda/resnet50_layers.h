// The convolutions of ResNet-50 (v1.5), and the device to plan them for.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/convolution.h"

namespace caffe2::cuda::testing {

// As cuDNN describes one. Part of the program, which runs on other machines, too.
inline std::string H200() {
  return R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
 "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
 "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
 "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
 "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
 "supportCoopLaunch": 1, "totalGlobalMem": 150754820096, "smClockRateKHz": 1980000,
 "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "cudaDeviceId": 0, "deviceVer": 900,
 "driverVer": 13000, "deviceName": "NVIDIA H200"})";
}

// As cuDNN 9.19 described this one.
inline std::string H100() {
  return R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
 "regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
 "maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
 "maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,
 "pciDeviceId":6,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":85017493504,
 "smClockRateKHz":1980000,"memClockRateKHz":2619000,"l2CacheSize":52428800,"cudaDeviceId":0,
 "deviceVer":900,"driverVer":13000,"deviceName":"NVIDIA H100 80GB HBM3"})";
}

struct Layer {
  int64_t channels, filters, size, kernel, stride;
};

inline const std::vector<Layer>& Layers() {
  static const std::vector<Layer> layers = {
      {3, 64, 224, 7, 2},     {64, 64, 56, 1, 1},    {64, 64, 56, 3, 1},    {64, 256, 56, 1, 1},
      {256, 64, 56, 1, 1},    {256, 128, 56, 1, 1},  {128, 128, 56, 3, 2},  {128, 512, 28, 1, 1},
      {256, 512, 56, 1, 2},   {512, 128, 28, 1, 1},  {128, 128, 28, 3, 1},  {512, 256, 28, 1, 1},
      {256, 256, 28, 3, 2},   {256, 1024, 14, 1, 1}, {512, 1024, 28, 1, 2}, {1024, 256, 14, 1, 1},
      {256, 256, 14, 3, 1},   {1024, 512, 14, 1, 1}, {512, 512, 14, 3, 2},  {512, 2048, 7, 1, 1},
      {1024, 2048, 14, 1, 2}, {2048, 512, 7, 1, 1},  {512, 512, 7, 3, 1}};
  return layers;
}

inline ConvProblem ProblemOf(const Layer& layer, TypeMeta type, bool channels_last, int64_t batch) {
  const int64_t pad = layer.kernel / 2, out = (layer.size - 1) / layer.stride + 1;
  ConvProblem problem;
  problem.x = {batch, layer.channels, layer.size, layer.size};
  problem.filter = {layer.filters, layer.channels, layer.kernel, layer.kernel};
  problem.y = {batch, layer.filters, out, out};
  problem.stride = {layer.stride, layer.stride};
  problem.dilation = {1, 1};
  problem.pad_begin = problem.pad_end = {pad, pad};
  problem.channels_last = channels_last;
  problem.type = type;
  return problem;
}

}  // namespace caffe2::cuda::testing
