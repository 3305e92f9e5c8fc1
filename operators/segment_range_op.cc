// SortedSegmentRange{Sum, Mean, Max, LogSumExp, LogMeanExp}: reductions of runs of rows.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

// A reduction of x[0], x[stride], ... (n > 0 elements) to y, and the gradient of an element from
// itself, y and dy.
struct RangeSum {
  static float Reduce(int64_t n, int64_t stride, const float* x) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i * stride];
    return sum;
  }
  static float Gradient(int64_t, float, float, float dy) { return dy; }
};
struct RangeMean {
  static float Reduce(int64_t n, int64_t stride, const float* x) {
    return RangeSum::Reduce(n, stride, x) / static_cast<float>(n);
  }
  static float Gradient(int64_t n, float, float, float dy) { return dy / static_cast<float>(n); }
};
struct RangeMax {
  static float Reduce(int64_t n, int64_t stride, const float* x) {
    float most = x[0];
    for (int64_t i = 1; i < n; ++i) most = std::max(most, x[i * stride]);
    return most;
  }
  static float Gradient(int64_t, float x, float y, float dy) { return x == y ? dy : 0.f; }
};
struct RangeLogSumExp {
  // The maximum is taken out, so that nothing overflows.
  static float Reduce(int64_t n, int64_t stride, const float* x) {
    const float most = RangeMax::Reduce(n, stride, x);
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i * stride] - most);
    return most + std::log(sum);
  }
  static float Gradient(int64_t, float x, float y, float dy) { return dy * std::exp(x - y); }
};
struct RangeLogMeanExp {
  static float Reduce(int64_t n, int64_t stride, const float* x) {
    return RangeLogSumExp::Reduce(n, stride, x) - std::log(static_cast<float>(n));
  }
  static float Gradient(int64_t n, float x, float y, float dy) {
    return dy * std::exp(x - y) / static_cast<float>(n);
  }
};

template <class Reducer>
class SegmentRangeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE_GE(X.dim(), 1, "DATA must have rows");
    const Segments segments = Segments::FromSortedIds(Input(1), X.size(0));
    const int64_t width = X.size_from_dim(1);
    const float* x = X.data<float>();
    std::vector<int64_t> dims = X.sizes();
    dims[0] = segments.count();
    Tensor* Y = Output(0);
    Y->Resize(dims);
    float* y = Y->mutable_data<float>();
    segments.ForEach(width, [&](int64_t s) {
      const float* first = x + segments.entry(s, 0) * width;
      for (int64_t j = 0; j < width; ++j) {
        y[s * width + j] = Reducer::Reduce(segments.length(s), width, first + j);
      }
    });
    return true;
  }
};

template <class Reducer>
class SegmentRangeGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    CAFFE_ENFORCE_GE(X.dim(), 1, "DATA must have rows");
    const Segments segments = Segments::FromSortedIds(Input(3), X.size(0));
    const int64_t width = X.size_from_dim(1);
    CAFFE_ENFORCE(Y.numel() == segments.count() * width && dY.numel() == Y.numel(), "OUTPUT ",
                  ShapeString(Y.sizes()), " and gradient ", ShapeString(dY.sizes()), " for DATA ",
                  ShapeString(X.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->mutable_data<float>();
    segments.ForEach(width, [&](int64_t s) {
      const int64_t n = segments.length(s);
      for (int64_t at = segments.entry(s, 0) * width, k = 0; k < n * width; ++k, ++at) {
        const int64_t j = s * width + k % width;
        dx[at] = Reducer::Gradient(n, x[at], y[j], dy[j]);
      }
    });
    return true;
  }
};

void Describe(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .Input(0, "DATA", "Rows: a float tensor of at least one dimension.")
      .Input(1, "SEGMENT_IDS",
             "int32 or int64: the segment of each row; sorted, from 0, without gaps.")
      .Output(0, "OUTPUT", "One row for each segment; how many is known at run time only.");
}

void DescribeGradient(OpSchema& schema) {
  schema.NumInputs(4)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .SetDoc("The gradient of the operator of the same name.")
      .Input(0, "DATA", "As in the forward operator.")
      .Input(1, "OUTPUT", "That of the forward operator.")
      .Input(2, "dOUTPUT", "The gradient of the output.")
      .Input(3, "SEGMENT_IDS", "As in the forward operator.")
      .Output(0, "dDATA", "The gradient of DATA, shaped like it.");
}

}  // namespace

#define REGISTER_SEGMENT_RANGE(name, doc)                                                         \
  REGISTER_CPU_OPERATOR(SortedSegmentRange##name, SegmentRangeOp<Range##name>);                   \
  REGISTER_CPU_OPERATOR(SortedSegmentRange##name##Gradient, SegmentRangeGradientOp<Range##name>); \
  OPERATOR_SCHEMA(SortedSegmentRange##name).FillUsing(Describe).SetDoc(doc);                      \
  OPERATOR_SCHEMA(SortedSegmentRange##name##Gradient).FillUsing(DescribeGradient);                \
  REGISTER_GRADIENT(SortedSegmentRange##name, GradientRule<"I0 O0 GO0 I1 -> GI0">)

REGISTER_SEGMENT_RANGE(Sum, "Sums up the rows of each segment.");
REGISTER_SEGMENT_RANGE(Mean, "Averages the rows of each segment.");
REGISTER_SEGMENT_RANGE(Max, "Takes the largest element of each column over a segment's rows.");
REGISTER_SEGMENT_RANGE(LogSumExp, "log(sum of e^x) over each segment's rows, column by column.");
REGISTER_SEGMENT_RANGE(LogMeanExp, "log(mean of e^x) over each segment's rows, column by column.");
#undef REGISTER_SEGMENT_RANGE

}  // namespace caffe2
