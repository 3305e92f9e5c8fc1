// SparseNormalize: bounds or sets the norm of some rows of a parameter.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

template <class Context>
class SparseNormalizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseNormalizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        only_above_(this->template GetSingleArgument<bool>("use_max_norm", true)),
        norm_(this->template GetSingleArgument<float>("norm", 1.f)) {
    CAFFE_ENFORCE_GE(norm_, 0, "the argument norm");
  }

  bool RunOnDevice() override {
    const Tensor& param = Input(0);
    CAFFE_ENFORCE_GE(param.dim(), 1, "the parameter must have rows");
    const std::vector<int64_t> rows = ReadIndices(Input(1), param.size(0));
    const int64_t width = param.size_from_dim(1);
    float* p = Output(0)->template mutable_data<float>();
    for (const int64_t row : rows) {
      float* x = p + row * width;
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += double{x[i]} * x[i];
      const double norm = std::sqrt(squares);
      if (norm == 0 || (only_above_ && norm <= norm_)) continue;
      const auto factor = static_cast<float>(norm_ / norm);
      for (int64_t i = 0; i < width; ++i) x[i] *= factor;
    }
    return true;
  }

 private:
  bool only_above_;
  float norm_;
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseNormalize, SparseNormalizeOp<CPUContext>);
OPERATOR_SCHEMA(SparseNormalize)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Scales rows of a parameter to the Euclidean norm `norm`; by default only those above "
        "it. Rows of zeros stay.")
    .Arg("use_max_norm", "(bool, default 1) 0: shorter rows are scaled too.")
    .Arg("norm", "(float >= 0, default 1) The norm.")
    .Input(0, "param", "The float parameter; updated.")
    .Input(1, "indices", "int32 or int64: the rows.")
    .Input(2, "grad", "Optional, not read: kept for the form of sparse optimizers.")
    .Output(0, "output_param", "The parameter, in place.");
SHOULD_NOT_DO_GRADIENT(SparseNormalize);

}  // namespace caffe2
