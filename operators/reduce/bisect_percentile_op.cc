// BisectPercentile: percentiles of values in distributions that are arguments.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class BisectPercentileOp final : public Operator<CPUContext> {
 public:
  BisectPercentileOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        raw_(GetRepeatedArgument<float>("percentile_raw")),
        mapping_(GetRepeatedArgument<float>("percentile_mapping")),
        lower_(GetRepeatedArgument<float>("percentile_lower")),
        upper_(GetRepeatedArgument<float>("percentile_upper")) {
    CAFFE_ENFORCE(mapping_.size() == raw_.size() && lower_.size() == raw_.size() &&
                      upper_.size() == raw_.size(),
                  "percentile_raw, _mapping, _lower and _upper have ", raw_.size(), ", ",
                  mapping_.size(), ", ", lower_.size(), " and ", upper_.size(), " points");
    const auto points = static_cast<int64_t>(raw_.size());
    for (const int64_t length : GetRepeatedArgument<int64_t>("lengths")) {
      CAFFE_ENFORCE(length > 0 && length <= points - begin_.back(),
                    "the lengths must be positive and add up to the ", points, " points: length ",
                    length, " of feature ", begin_.size() - 1, " begins at point ", begin_.back());
      CheckSorted(begin_.back(), begin_.back() + length);
      begin_.push_back(begin_.back() + length);
    }
    CAFFE_ENFORCE(begin_.back() == points, "the lengths must add up to the ", points,
                  " points, but add up to ", begin_.back());
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const auto features = static_cast<int64_t>(begin_.size()) - 1;
    CAFFE_ENFORCE(X.dim() == 2 && X.size(1) == features, "raw_values must be N x ", features,
                  ", found shape ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      const int64_t feature = i % features;
      y[i] = PercentileOf(x[i], begin_[feature], begin_[feature + 1]);
    }
    return true;
  }

 private:
  void CheckSorted(int64_t begin, int64_t end) const {
    for (int64_t i = begin + 1; i < end; ++i) {
      CAFFE_ENFORCE(raw_[i - 1] < raw_[i], "the points of a feature must increase: point ", i,
                    " is ", raw_[i], " after ", raw_[i - 1]);
    }
  }

  // The percentile of x in the distribution of points [begin, end).
  float PercentileOf(float x, int64_t begin, int64_t end) const {
    const int64_t above =
        std::lower_bound(raw_.begin() + begin, raw_.begin() + end, x) - raw_.begin();
    if (above == end) return 1;
    if (raw_[above] == x) return mapping_[above];
    if (above == begin) return 0;
    const int64_t below = above - 1;
    const float slope = (lower_[above] - upper_[below]) / (raw_[above] - raw_[below]);
    return upper_[below] + slope * (x - raw_[below]);
  }

  std::vector<float> raw_, mapping_, lower_, upper_;
  std::vector<int64_t> begin_{0};  // of each feature's points, and one more
};

}  // namespace

REGISTER_CPU_OPERATOR(BisectPercentile, BisectPercentileOp);
OPERATOR_SCHEMA(BisectPercentile)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The percentile of each value in the distribution of its column. A distribution is a list "
        "of points in increasing order; the lists follow each other. A value that equals a point "
        "has the mapping of that point. Between two points, the percentile is interpolated from "
        "the upper percentile of the lower point to the lower percentile of the upper point. Below "
        "all points it is 0, above all points 1.")
    .ArgList<float>("percentile_raw", "The values of the points.", true)
    .ArgList<float>("percentile_mapping", "The percentile at each point.", true)
    .ArgList<float>("percentile_lower", "The percentile just below each point.", true)
    .ArgList<float>("percentile_upper", "The percentile just above each point.", true)
    .ArgList<int>("lengths", "(each > 0) The number of points of each column.", true)
    .Input(0, "raw_values", "A float matrix N x F.")
    .Output(0, "percentile", "Float N x F.")
    .CpuOnly(cpu_only::kMeasures);
SHOULD_NOT_DO_GRADIENT(BisectPercentile);

}  // namespace caffe2
