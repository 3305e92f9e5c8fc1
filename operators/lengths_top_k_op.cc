// LengthsTopK: the k largest elements of each segment.
#include <algorithm>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

constexpr int32_t kNoElement = -1;

int64_t ReadK(const OperatorBase& op) {
  const auto k = op.GetSingleArgument<int64_t>("k", -1);
  CAFFE_ENFORCE_GT(k, 0, "the argument k");
  return k;
}

class LengthsTopKOp final : public Operator<CPUContext> {
 public:
  LengthsTopKOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), k_(ReadK(*this)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE_EQ(X.dim(), 1, "X ", ShapeString(X.sizes()), " must be one-dimensional");
    const Segments segments = Segments::FromLengths(Input(1), X.numel());
    const float* x = X.data<float>();
    Output(0)->Resize(segments.count(), k_);
    Output(1)->Resize(segments.count(), k_);
    float* value = Output(0)->mutable_data<float>();
    int32_t* index = Output(1)->mutable_data<int32_t>();
    std::fill_n(value, segments.count() * k_, 0.f);
    std::fill_n(index, segments.count() * k_, kNoElement);
    std::vector<int32_t> order;
    for (int64_t s = 0; s < segments.count(); ++s, value += k_, index += k_) {
      order.resize(segments.length(s));
      std::iota(order.begin(), order.end(), 0);
      const int64_t n = std::min<int64_t>(k_, segments.length(s));
      std::partial_sort(order.begin(), order.begin() + n, order.end(), [x](int32_t a, int32_t b) {
        return x[a] > x[b] || (x[a] == x[b] && a < b);
      });
      for (int64_t i = 0; i < n; ++i) {
        index[i] = order[i];
        value[i] = x[order[i]];
      }
      x += segments.length(s);
    }
    return true;
  }

 private:
  int64_t k_;
};

class LengthsTopKGradientOp final : public Operator<CPUContext> {
 public:
  LengthsTopKGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), k_(ReadK(*this)) {}
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    const Tensor &indices = Input(1), &d_values = Input(2);
    CAFFE_ENFORCE(indices.numel() == segments.count() * k_ && d_values.numel() == indices.numel(),
                  "indices ", ShapeString(indices.sizes()), " and gradient ",
                  ShapeString(d_values.sizes()), " for ", segments.count(), " segments");
    const int32_t* index = indices.data<int32_t>();
    const float* dy = d_values.data<float>();
    Output(0)->Resize(segments.size());
    float* dx = Output(0)->mutable_data<float>();
    std::fill_n(dx, segments.size(), 0.f);
    for (int64_t i = 0; i < indices.numel(); ++i) {
      if (index[i] == kNoElement) continue;
      const int64_t s = i / k_;
      CAFFE_ENFORCE(index[i] >= 0 && index[i] < segments.length(s), "index ", index[i],
                    " in segment ", s);
      dx[segments.entry(s, index[i])] = dy[i];
    }
    return true;
  }

 private:
  int64_t k_;
};

}  // namespace

REGISTER_CPU_OPERATOR(LengthsTopK, LengthsTopKOp);
REGISTER_CPU_OPERATOR(LengthsTopKGradient, LengthsTopKGradientOp);
OPERATOR_SCHEMA(LengthsTopK)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in[1].dims_size() != 1) {
        return std::vector<TensorShape>{UnknownTensorShape(), UnknownTensorShape()};
      }
      const std::vector<int64_t> dims{in[1].dims(0),
                                      ArgumentHelper(def).GetSingleArgument<int64_t>("k", -1)};
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::FLOAT),
                                      CreateTensorShape(dims, TensorProto::INT32)};
    })
    .SetDoc(
        "The k largest elements of each segment, in descending order; where it has fewer, the rest "
        "has value 0 and index -1.")
    .Arg("k", "(int > 0) How many.", true)
    .Input(0, "DATA", "Float, one-dimensional.")
    .Input(1, "LENGTHS", "int32 or int64: how many elements each segment has.")
    .Output(0, "TopKValue", "Segments x k: the values.")
    .Output(1, "TopKIndices", "int32: their positions in their segments.");
OPERATOR_SCHEMA(LengthsTopKGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .SetDoc("The gradient of LengthsTopK.")
    .Arg("k", "As in the forward operator.", true)
    .Input(0, "LENGTHS", "As in the forward operator.")
    .Input(1, "TopKIndices", "The second output of the forward operator.")
    .Input(2, "dTopKValue", "The gradient of the values.")
    .Output(0, "dDATA", "The gradient of DATA.");
REGISTER_GRADIENT(LengthsTopK, GradientRule<"I1 O1 GO0 -> GI0">);

}  // namespace caffe2
