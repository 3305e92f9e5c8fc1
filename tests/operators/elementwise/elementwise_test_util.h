// What the tests of elementwise operators share.
#pragma once

#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// std::vector<bool> has no data().
inline void FeedBools(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<int>& values) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(dims);
  std::copy(values.begin(), values.end(), tensor->mutable_data<bool>());
}

}  // namespace caffe2::testing
