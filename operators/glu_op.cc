// Glu: the gated linear unit.
#include <cmath>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

// Y = A s(B), where A and B are the halves of X along an axis.
class GluOp final : public Operator<CPUContext> {
 public:
  GluOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), axis_(GetSingleArgument<int>("dim", -1)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const int axis = X.canonical_axis_index(axis_);
    CAFFE_ENFORCE(X.size(axis) % 2 == 0, "axis ", axis, " of X ", ShapeString(X.sizes()),
                  " cannot be halved");
    std::vector<int64_t> dims = X.sizes();
    dims[axis] /= 2;
    const float* x = X.data<float>();
    Output(0)->Resize(dims);
    float* y = Output(0)->mutable_data<float>();
    const int64_t half = X.size_from_dim(axis) / 2;
    for (int64_t i = 0; i < X.size_to_dim(axis); ++i, x += 2 * half) {
      for (int64_t j = 0; j < half; ++j) *y++ = x[j] / (1 + std::exp(-x[j + half]));
    }
    return true;
  }

 private:
  int axis_;
};

}  // namespace

REGISTER_CPU_OPERATOR(Glu, GluOp);
OPERATOR_SCHEMA(Glu)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int axis = ArgumentHelper(def).GetSingleArgument<int>("dim", -1);
      std::vector<TensorShape> out{in[0]};
      const int at = axis < 0 ? axis + in[0].dims_size() : axis;
      CAFFE_ENFORCE(at >= 0 && at < in[0].dims_size(), "axis ", axis, " of ",
                    ShapeString(GetDimsVector(in[0])));
      out[0].set_dims(at, in[0].dims(at) / 2);
      return out;
    })
    .SetDoc(
        "The gated linear unit (Dauphin et al., ICML 2017): the first half of X along an axis "
        "times the sigmoid of the second.")
    .Arg("dim", "(int, default -1) The axis.")
    .Input(0, "X", "A float tensor; even along the axis.")
    .Output(0, "Y", "Half as long along the axis.");
SHOULD_NOT_DO_GRADIENT(Glu);

}  // namespace caffe2
