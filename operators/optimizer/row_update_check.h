// The check of what updates rows of a parameter, on any device.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// The elements of a row. Throws unless the parameter has rows and the gradient has one for each
// index; the values of the indices are not looked at.
inline int64_t CheckRowGradient(const Tensor& param, const Tensor& indices, const Tensor& grad) {
  CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
  const int64_t width = param.size_from_dim(1);
  CAFFE_ENFORCE_EQ(grad.numel(), indices.numel() * width, "gradient ", ShapeString(grad.sizes()),
                   " for ", indices.numel(), " rows of parameter ", ShapeString(param.sizes()));
  return width;
}

}  // namespace caffe2
