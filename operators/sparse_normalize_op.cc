// SparseNormalize, Float16SparseNormalize: bound or set the norm of some rows of a parameter.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/element_type.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

template <typename T, class Context>
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
    param.data<T>();  // throws for another type, which mutable_data would replace
    const std::vector<int64_t> rows = ReadIndices(Input(1), param.size(0));
    const int64_t width = param.size_from_dim(1);
    T* p = Output(0)->template mutable_data<T>();
    for (const int64_t row : rows) {
      T* x = p + row * width;
      double squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += double{Widen(x[i])} * Widen(x[i]);
      const double norm = std::sqrt(squares);
      if (norm == 0 || (only_above_ && norm <= norm_)) continue;
      const auto factor = static_cast<float>(norm_ / norm);
      for (int64_t i = 0; i < width; ++i) x[i] = Narrow<T>(Widen(x[i]) * factor);
    }
    return true;
  }

 private:
  bool only_above_;
  float norm_;
};

void SparseNormalizeSchema(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .EnforceInplace({{0, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Arg("use_max_norm", "(bool, default 1) 0: shorter rows are scaled too.")
      .Arg("norm", "(float >= 0, default 1) The norm.")
      .Input(1, "indices", "int32 or int64: the rows.")
      .Input(2, "grad", "Optional, not read: kept for the form of sparse optimizers.")
      .Output(0, "output_param", "The parameter, in place.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseNormalize, SparseNormalizeOp<float, CPUContext>);
REGISTER_CPU_OPERATOR(Float16SparseNormalize, SparseNormalizeOp<float16, CPUContext>);

OPERATOR_SCHEMA(SparseNormalize)
    .FillUsing(SparseNormalizeSchema)
    .SetDoc(
        "Scales rows of a parameter to the Euclidean norm `norm`; by default only those above "
        "it. Rows of zeros stay.")
    .Input(0, "param", "The float parameter; updated.");
SHOULD_NOT_DO_GRADIENT(SparseNormalize);

OPERATOR_SCHEMA(Float16SparseNormalize)
    .FillUsing(SparseNormalizeSchema)
    .SetDoc("SparseNormalize of float16: the norm is summed in double, each element rounded once.")
    .Input(0, "param", "The float16 parameter; updated.");
SHOULD_NOT_DO_GRADIENT(Float16SparseNormalize);

}  // namespace caffe2
