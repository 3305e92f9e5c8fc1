// Moments and BatchMoments: means and variances, or mean squares, over some axes of a tensor.
#pragma once

#include "operators/conv/conv_pool_shape.h"
#include "operators/reduce/reduce_op.h"

namespace caffe2 {

using MomentsTypes = TensorTypes<float, double>;

// The axes to average over. With kCentred the second moment is about the mean, else about 0.
struct OverAxes : ReduceAxes {
  using ReduceAxes::ReduceAxes;
  static constexpr bool kCentred = true;
};
// All axes but the channels.
class OverBatch {
 public:
  static constexpr bool kCentred = false;
  explicit OverBatch(const ArgumentHelper& arguments) : order_(ReadStorageOrder(arguments)) {}
  std::vector<int64_t> KeptShape(const std::vector<int64_t>& shape) const {
    ImageShape image = ImageShape::FromDims(shape, order_);
    image.batch = 1;
    std::fill(image.spatial.begin(), image.spatial.end(), int64_t{1});
    return image.ToDims(order_);
  }
  std::vector<int64_t> OutputShape(const std::vector<int64_t>& shape) const {
    return {ImageShape::FromDims(shape, order_).channels};
  }

 private:
  StorageOrder order_;
};

// X -> the first and the second moment. An overload of MomentsTo, chosen by its last argument, does
// the work on the device. For each result it averages the elements of x that the plan maps to it,
// and their squares or, if `centred`, their squared distances from the mean.
template <class Context, class Over>
class MomentsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), over_(ArgumentHelper(def)) {}
  bool RunOnDevice() override { return MomentsTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), over_.KeptShape(X.sizes()));
    for (int i : {0, 1}) Output(i)->Resize(over_.OutputShape(X.sizes()));
    MomentsTo(Over::kCentred, plan, Output(0)->numel(), x, Output(0)->template mutable_data<T>(),
              Output(1)->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  Over over_;
};

// dfirst, dsecond, X and, if the second moment is about the mean, the mean -> dX:
//   dX = (dfirst + 2 (X - first) dsecond) / n
// MomentsGradientTo of the device computes it; `share` is 1 / n, and `mean` may be null.
template <class Context, class Over>
class MomentsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), over_(ArgumentHelper(def)) {}
  bool RunOnDevice() override { return MomentsTypes::Dispatch(this, Input(2).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(2);
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), over_.KeptShape(X.sizes()));
    const int64_t results = CheckedNumel(over_.OutputShape(X.sizes()));
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(i == 2 || Input(i).numel() == results, "input ", i, " has shape ",
                    ShapeString(Input(i).sizes()), ", which does not fit the moments of X ",
                    ShapeString(X.sizes()));
    }
    const T share = static_cast<T>(results) / static_cast<T>(std::max<int64_t>(1, X.numel()));
    const T *dfirst = Input(0).template data<T>(), *dsecond = Input(1).template data<T>();
    const T *x = X.data<T>(), *mean = nullptr;
    if constexpr (Over::kCentred) mean = Input(3).template data<T>();
    Output(0)->ResizeLike(X);
    MomentsGradientTo(plan, share, dfirst, dsecond, x, mean, Output(0)->template mutable_data<T>(),
                      &context_);
    return true;
  }

 private:
  Over over_;
};

}  // namespace caffe2
