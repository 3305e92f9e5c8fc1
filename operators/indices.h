// Checked row numbers.
#pragma once

#include "caffe2/core/logging.h"

namespace caffe2 {

// Throws unless all n indices are in [0, rows), naming the first that is not.
template <typename Index>
void CheckIndices(int64_t n, const Index* indices, int64_t rows) {
  for (int64_t i = 0; i < n; ++i) {
    CAFFE_ENFORCE(indices[i] >= 0 && indices[i] < rows, "index ", indices[i], " at position ", i,
                  " is out of range for ", rows, " rows");
  }
}

}  // namespace caffe2
