#include "operators/shape/transpose_op.h"

#include <numeric>

namespace caffe2 {
std::vector<int> AxesFor(const std::vector<int>& given, int dims) {
  std::vector<int> axes = given;
  if (axes.empty()) {
    axes.resize(dims);
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  CheckAxes(axes, dims);
  return axes;
}

std::vector<int64_t> Permuted(const std::vector<int64_t>& dims, const std::vector<int>& axes) {
  std::vector<int64_t> permuted;
  for (const int axis : axes) permuted.push_back(dims[axis]);
  return permuted;
}

template <>
void TransposeOp<CPUContext>::Permute(const std::vector<int64_t>& dims,
                                      const std::vector<int>& axes, size_t itemsize, const void* x,
                                      void* y) {
  TransposeElements(dims, axes, itemsize, x, y);
}

namespace {

// The gradient goes back through the inverse permutation.
class GetTransposeGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::vector<int> axes = ArgumentHelper(Def()).GetRepeatedArgument<int>("axes");
    std::vector<Argument> args;
    if (!axes.empty()) {
      CheckAxes(axes, static_cast<int>(axes.size()));
      std::vector<int> inverse(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) inverse[axes[i]] = static_cast<int>(i);
      args.push_back(MakeArgument("axes", inverse));
    }
    return SingleGradientDef("Transpose", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)}, args);
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Transpose, TransposeOp<CPUContext>);
OPERATOR_SCHEMA(Transpose)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const std::vector<int> axes =
          AxesFor(ArgumentHelper(def).GetRepeatedArgument<int>("axes"), in[0].dims_size());
      return std::vector<TensorShape>{
          CreateTensorShape(Permuted(GetDimsVector(in[0]), axes), in[0].data_type())};
    })
    .SetDoc("Permutes the dimensions: dimension i of the output is dimension axes[i] of the input.")
    .ArgList<int>("axes", "The permutation. Default: the dimensions are reversed.")
    .Input(0, "data", "A tensor of numbers or bools.")
    .Output(0, "transposed", "The permuted tensor.");
REGISTER_GRADIENT(Transpose, GetTransposeGradient);

}  // namespace caffe2
