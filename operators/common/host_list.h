// Passes lists from the host to functors (host_device.h).
#pragma once

#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The elements in memory of the context's device. On the host this is the memory of `list`, which
// must outlive the functors. On a device it is a copy in `storage`.
template <typename T, class Context>
const T* ListFor(const std::vector<T>& list, Tensor* storage, Context* context) {
  if (context->device().type == CPU) return list.data();
  *storage = Tensor(context->device());
  storage->Resize(static_cast<int64_t>(list.size() * sizeof(T)));
  auto* copy = reinterpret_cast<T*>(storage->mutable_data<uint8_t>());
  context->Copy(list.size(), list.data(), copy);
  return copy;
}

}  // namespace caffe2
