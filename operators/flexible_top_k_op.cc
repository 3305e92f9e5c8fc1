// FlexibleTopK: the largest elements of each row, a number of its own for each.
#include <algorithm>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

// The rows of X, and how many elements of each are asked for; throws unless each row has them.
Segments ReadCounts(const Tensor& X, const Tensor& k) {
  CAFFE_ENFORCE_GE(X.dim(), 1, "X must have an axis");
  const Segments counts = Segments::FromLengths(k);
  CAFFE_ENFORCE_EQ(counts.count(), X.size_to_dim(X.dim() - 1), "elements of k, for X ",
                   ShapeString(X.sizes()));
  for (int64_t r = 0; r < counts.count(); ++r) {
    CAFFE_ENFORCE(counts.length(r) > 0 && counts.length(r) <= X.size(X.dim() - 1), "k of row ", r,
                  " is ", counts.length(r), ", for X ", ShapeString(X.sizes()));
  }
  return counts;
}

class FlexibleTopKOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Segments counts = ReadCounts(X, Input(1));
    const int64_t width = X.size(X.dim() - 1);
    const float* x = X.data<float>();
    Output(0)->Resize(counts.size());
    Output(1)->Resize(counts.size());
    float* value = Output(0)->mutable_data<float>();
    int64_t* index = Output(1)->mutable_data<int64_t>();
    std::vector<int64_t> order(width);
    for (int64_t r = 0; r < counts.count(); ++r, x += width) {
      const int64_t n = counts.length(r);
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + n, order.end(), [x](int64_t a, int64_t b) {
        return x[a] > x[b] || (x[a] == x[b] && a < b);
      });
      for (int64_t i = 0; i < n; ++i) {
        *index++ = order[i];
        *value++ = x[order[i]];
      }
    }
    return true;
  }
};

class FlexibleTopKGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &d_values = Input(2), &indices = Input(3);
    const Segments counts = ReadCounts(X, Input(1));
    const int64_t width = X.size(X.dim() - 1);
    CAFFE_ENFORCE(d_values.numel() == counts.size() && indices.numel() == counts.size(),
                  "gradient ", ShapeString(d_values.sizes()), " and indices ",
                  ShapeString(indices.sizes()), " for ", counts.size(), " values");
    const float* dy = d_values.data<float>();
    const int64_t* index = indices.data<int64_t>();
    CheckIndices(indices.numel(), index, width);
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    std::fill_n(dx, X.numel(), 0.f);
    for (int64_t r = 0; r < counts.count(); ++r, dx += width) {
      for (int64_t i = 0; i < counts.length(r); ++i) dx[*index++] = *dy++;
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(FlexibleTopK, FlexibleTopKOp);
REGISTER_CPU_OPERATOR(FlexibleTopKGradient, FlexibleTopKGradientOp);
OPERATOR_SCHEMA(FlexibleTopK)
    .NumInputs(2)
    .NumOutputs(2)
    .SetDoc(
        "The largest elements of each row (along the last axis), in descending order, as many as k "
        "says for the row. How many there are is known at run time only.")
    .Input(0, "X", "A float tensor of at least one axis.")
    .Input(1, "k", "int32 or int64, one for each row, from 1 to the length of a row.")
    .Output(0, "Values", "One-dimensional: the values, row by row.")
    .Output(1, "Indices", "int64: their positions in their rows.");
OPERATOR_SCHEMA(FlexibleTopKGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of FlexibleTopK.")
    .Input(0, "X", "As in the forward operator; its shape counts.")
    .Input(1, "k", "As in the forward operator.")
    .Input(2, "dValues", "The gradient of the values.")
    .Input(3, "Indices", "The second output of the forward operator.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(FlexibleTopK, GradientRule<"I0 I1 GO0 O1 -> GI0">);

}  // namespace caffe2
