// Checks class labels, for loss operators.
#pragma once

#include <cstdint>

#include "caffe2/core/logging.h"

namespace caffe2 {

// Returns the label. Throws EnforceNotMet, naming row, label and the number of classes, if it is
// out of range.
inline int64_t CheckLabel(int label, int64_t row, int64_t num_classes) {
  CAFFE_ENFORCE(label >= 0 && label < num_classes, "label ", label, " of row ", row,
                " is out of range for ", num_classes, " classes");
  return label;
}

}  // namespace caffe2
