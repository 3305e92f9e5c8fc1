// Lists that the host made, for functors (host_device.h).
#pragma once

#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The elements where functors of the context read them: on the host those of `list`, which must
// live as long; on a device a copy, in `storage`, which is made there.
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
