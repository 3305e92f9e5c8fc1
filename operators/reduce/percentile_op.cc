// Percentile: percentiles of values in given distributions.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

struct Point {
  float value, percentile;
};

// 0 below the first point, 1 above the last, interpolated between two.
float PercentileOf(float x, const Point* first, const Point* end) {
  const Point* above = std::lower_bound(
      first, end, x, [](const Point& point, float value) { return point.value < value; });
  if (above == end) return 1;
  if (above->value == x) return above->percentile;
  if (above == first) return 0;
  const Point& below = above[-1];
  const float share = (x - below.value) / (above->value - below.value);
  return below.percentile + share * (above->percentile - below.percentile);
}

class PercentileOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &map = Input(1);
    CAFFE_ENFORCE(
        X.dim() == 2 && map.dim() == 2 && map.size(1) == 2,
        "original_values must be N x F and value_to_pct n x 2: original_values has shape ",
        ShapeString(X.sizes()), ", value_to_pct ", ShapeString(map.sizes()));
    const Segments features = Segments::FromLengths(Input(2), map.size(0));
    CAFFE_ENFORCE(features.count() == X.size(1),
                  "there must be one length for each column of original_values, which has shape ",
                  ShapeString(X.sizes()), "; found ", features.count());
    const std::vector<Point> points = ReadPoints(map, features);
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < X.size(0); ++i) {
      for (int64_t f = 0; f < features.count(); ++f) {
        const Point* first = points.data() + features.entry(f, 0);
        *y++ = PercentileOf(*x++, first, first + features.length(f));
      }
    }
    return true;
  }

 private:
  static std::vector<Point> ReadPoints(const Tensor& map, const Segments& features) {
    std::vector<Point> points;
    const float* row = map.data<float>();
    for (int64_t i = 0; i < map.size(0); ++i) points.push_back({row[2 * i], row[2 * i + 1]});
    for (int64_t f = 0; f < features.count(); ++f) {
      CAFFE_ENFORCE(features.length(f) > 0, "feature ", f, " must have at least one point, found ",
                    features.length(f));
      for (int64_t k = 1; k < features.length(f); ++k) {
        const int64_t i = features.entry(f, k);
        CAFFE_ENFORCE(points[i - 1].value <= points[i].value, "the values of feature ", f,
                      " must be sorted");
      }
    }
    return points;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Percentile, PercentileOp);
OPERATOR_SCHEMA(Percentile)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The percentile of each value in the distribution of its column. A distribution is a "
        "sorted list of points (value, percentile). The result is interpolated between two points, "
        "0 below the first and 1 above the last.")
    .Input(0, "original_values", "A float matrix N x F.")
    .Input(1, "value_to_pct", "Float n x 2: the points of all columns, column by column.")
    .Input(2, "lengths", "int32 or int64: the number of points of each column, at least 1.")
    .Output(0, "percentile_values", "Float N x F.")
    .CpuOnly(cpu_only::kMeasures);
SHOULD_NOT_DO_GRADIENT(Percentile);

}  // namespace caffe2
