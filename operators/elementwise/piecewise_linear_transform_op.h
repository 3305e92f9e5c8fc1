// PiecewiseLinearTransform: a piecewise linear function for each column of predictions. The host
// reads the functions. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <algorithm>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/host_list.h"
#include "operators/elementwise/piecewise_linear_functions.h"

namespace caffe2 {

// Inputs predictions, [bounds, slopes, intercepts].
template <class Context>
class PiecewiseLinearTransformOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PiecewiseLinearTransformOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        binary_(this->template GetSingleArgument<bool>("binary", false)),
        bounds_(this->template GetRepeatedArgument<float>("bounds")),
        slopes_(this->template GetRepeatedArgument<float>("slopes")),
        intercepts_(this->template GetRepeatedArgument<float>("intercepts")) {
    const bool given = !bounds_.empty();
    CAFFE_ENFORCE(given == !slopes_.empty() && given == !intercepts_.empty(),
                  "the arguments bounds, slopes and intercepts must be given together");
    CAFFE_ENFORCE(InputSize() == (given ? 1 : 4), "there must be ", given ? 1 : 4, " inputs ",
                  given ? "with" : "without",
                  " the arguments bounds, slopes and intercepts; found ", InputSize());
  }

  bool RunOnDevice() override {
    if (InputSize() == 4) {
      Read(1, &bounds_);
      Read(2, &slopes_);
      Read(3, &intercepts_);
    }
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2 || (binary_ && X.dim() == 1),
                  "the predictions must be a matrix, found shape ", ShapeString(X.sizes()));
    const int64_t rows = X.size(0), columns = X.size_from_dim(1);
    CAFFE_ENFORCE(!binary_ || columns == 1 || columns == 2,
                  "binary predictions must have one or two columns, found shape ",
                  ShapeString(X.sizes()));
    const int64_t pieces = CheckFunctions(binary_ ? 1 : columns);
    const float* x = X.data<float>();
    Tensor lists[3] = {Tensor(CPU), Tensor(CPU), Tensor(CPU)};
    const PiecewiseLinear functions{pieces, ListFor(bounds_, &lists[0], &context_),
                                    ListFor(slopes_, &lists[1], &context_),
                                    ListFor(intercepts_, &lists[2], &context_)};
    Output(0)->ResizeLike(X);
    auto* y = Output(0)->template mutable_data<float>();
    if (binary_) {
      ForEach(rows, PiecewiseEvents{functions, columns, x, y}, &context_);
    } else {
      ForEach(rows * columns, PiecewiseElements{functions, columns, x, y}, &context_);
    }
    return true;
  }

 private:
  void Read(int i, std::vector<float>* values) const {
    Tensor copy(CPU);
    const Tensor& list = OnHost(this->template Input<Tensor>(i), &copy);
    const float* data = list.data<float>();
    values->assign(data, data + list.numel());
  }
  // The number of pieces of each of `columns` functions.
  int64_t CheckFunctions(int64_t columns) const {
    const auto total = static_cast<int64_t>(slopes_.size());
    const int64_t pieces = columns == 0 ? 0 : total / columns;
    CAFFE_ENFORCE(
        slopes_.size() == intercepts_.size() && pieces > 0 && pieces * columns == total &&
            static_cast<int64_t>(bounds_.size()) == total + columns,
        "there must be as many slopes as intercepts, and one more bound, for each of the ", columns,
        " functions: found ", bounds_.size(), " bounds, ", slopes_.size(), " slopes and ",
        intercepts_.size(), " intercepts");
    for (int64_t c = 0; c < columns; ++c) {
      const float* bounds = bounds_.data() + c * (pieces + 1);
      CAFFE_ENFORCE(std::is_sorted(bounds, bounds + pieces + 1), "the bounds of function ", c,
                    " must be sorted");
    }
    return pieces;
  }

  bool binary_;
  std::vector<float> bounds_, slopes_, intercepts_;
};

}  // namespace caffe2
