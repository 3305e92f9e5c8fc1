// SparseToDense, EnsureDense.
#include "operators/sparse/gather_op.h"

namespace caffe2 {
namespace {

// The values get the rows of the dense gradient that their indices name.
class GetSparseToDenseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Gather", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(1)});
  }
};
// A sparse gradient becomes a dense one.
class GetEnsureDenseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (GradOut(0).IsDense()) {
      SetDense(0, GO(0));
      return {};
    }
    return SingleGradientDef("SparseToDense", "", std::vector<std::string>{GO_I(0), GO_V(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

std::vector<TensorShape> InferSparseToDense(const OperatorDef& def,
                                            const std::vector<TensorShape>& in) {
  const int64_t rows = ArgumentHelper(def).GetSingleArgument<int64_t>("output_first_dim", 0);
  if ((in.size() < 3 && rows == 0) || in[1].dims_size() == 0) return {UnknownTensorShape()};
  std::vector<TensorShape> out = {in[1]};
  out[0].set_dims(0, in.size() == 3 && in[2].dims_size() > 0 ? in[2].dims(0) : rows);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseToDense, SparseToDenseOp<CPUContext>);
REGISTER_CPU_OPERATOR(EnsureDense, CopyOp<CPUContext>);
OPERATOR_SCHEMA(SparseToDense)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction(InferSparseToDense)
    .SetDoc(
        "Makes a dense tensor of rows and their indices. Rows with the same index are added up; "
        "rows without an index are 0.")
    .Arg<int>("output_first_dim",
              "(>= 0) The number of rows. Default: the number of rows of data_to_infer_dim, or one "
              "more than the largest index.")
    .Input(0, "indices", "int32 or int64, one-dimensional.")
    .Input(1, "values", "float, double, int32 or int64; one row for each index.")
    .Input(2, "data_to_infer_dim", "Optional: a tensor with as many rows as the output gets.")
    .Output(0, "output", "The dense tensor.");
OPERATOR_SCHEMA(EnsureDense)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Passes on the input, and makes its gradient dense if it is sparse.")
    .Input(0, "input", "A tensor of any type and shape.")
    .Output(0, "output", "The same values.");
REGISTER_GRADIENT(SparseToDense, GetSparseToDenseGradient);
REGISTER_GRADIENT(EnsureDense, GetEnsureDenseGradient);

}  // namespace caffe2
