// SparseLpRegularizer: rows of a parameter that shrink.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

class SparseLpRegularizerOp final : public Operator<CPUContext> {
 public:
  SparseLpRegularizerOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        p_(GetSingleArgument<float>("p", 2)),
        lambda_(GetSingleArgument<float>("reg_lambda", 1e-5f)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "the argument p is ", p_, ", and must be 1 or 2");
    CAFFE_ENFORCE(lambda_ >= 0 && lambda_ < 1, "the argument reg_lambda is ", lambda_,
                  ", and must be in [0, 1)");
  }

  bool RunOnDevice() override {
    const Tensor& param = Input(0);
    CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
    const std::vector<int64_t> rows = ReadIndices(Input(1), param.size(0));
    const int64_t width = param.size_from_dim(1);
    float* p = UpdatedData<float>(Output(0));
    for (const int64_t row : rows) {
      for (float* x = p + row * width; x != p + (row + 1) * width; ++x) *x = Shrink(*x);
    }
    return true;
  }

 private:
  float Shrink(float x) const {
    if (p_ == 2) return x * (1 - lambda_);
    return std::abs(x) <= lambda_ ? 0.f : x - std::copysign(lambda_, x);
  }

  float p_, lambda_;
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseLpRegularizer, SparseLpRegularizerOp);
OPERATOR_SCHEMA(SparseLpRegularizer)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Shrinks some rows of a parameter: by the factor 1 - reg_lambda (p = 2), or by reg_lambda "
        "towards 0 (p = 1).")
    .Arg("p", "(float, default 2) 1 or 2: the norm whose regularization this is.")
    .Arg("reg_lambda", "(float from 0 to 1, default 1e-5) How much.")
    .Input(0, "param", "The float parameter; updated.")
    .Input(1, "indices", "int32 or int64: the rows; one that comes twice shrinks twice.")
    .Input(2, "grad", "Optional, not read: kept for the form of sparse optimizers.")
    .Output(0, "output_param", "The parameter, in place.");
SHOULD_NOT_DO_GRADIENT(SparseLpRegularizer);

}  // namespace caffe2
