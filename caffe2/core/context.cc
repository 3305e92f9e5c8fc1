#include "caffe2/core/context.h"

namespace caffe2 {

BaseContext::BaseContext(const DeviceOption& option)
    : device_(ToDevice(option)),
      random_(option.has_random_seed() ? option.random_seed() : RandomSeed()) {}

BaseContext::~BaseContext() = default;

CPUContext::CPUContext() : CPUContext(DeviceOption()) {}

CPUContext::~CPUContext() = default;

}  // namespace caffe2
