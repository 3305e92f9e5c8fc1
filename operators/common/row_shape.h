// Shape inference of operators that work on rows, where a row is everything from an axis on.
#pragma once

#include <vector>

#include "caffe2/core/operator_schema.h"

namespace caffe2 {

// The dimensions of X before the argument `axis` (default 1; negative values count from the end);
// their product is the number of rows. Throws EnforceNotMet if X has no such axis.
inline std::vector<int64_t> DimsOfRows(const OperatorDef& def, const TensorShape& x) {
  std::vector<int64_t> dims = GetDimsVector(x);
  const int ndim = static_cast<int>(dims.size());
  const int axis = ArgumentHelper(def).GetSingleArgument<int>("axis", 1);
  CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "axis ", axis, " is out of range for ",
                ShapeString(dims));
  dims.resize(axis < 0 ? axis + ndim : axis);
  return dims;
}

}  // namespace caffe2
