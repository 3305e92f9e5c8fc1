#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/transpose.h"

namespace caffe2 {
namespace {

// The `axes` argument for a tensor of `dims` dimensions; without it they are reversed.
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

template <class Context>
class TransposeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TransposeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(this->template GetRepeatedArgument<int>("axes")) {}

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data() && X.dtype().copy() == nullptr, "cannot transpose ",
                  X.DebugString());
    const std::vector<int> axes = AxesFor(axes_, X.dim());
    Tensor* Y = Output(0);
    Y->Resize(Permuted(X.sizes(), axes));
    TransposeElements(X.sizes(), axes, X.itemsize(), X.raw_data(), Y->raw_mutable_data(X.dtype()));
    return true;
  }

 private:
  std::vector<int> axes_;
};

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
    .Arg("axes", "The permutation. Default: the dimensions are reversed.")
    .Input(0, "data", "A tensor of numbers or bools.")
    .Output(0, "transposed", "The permuted tensor.");
REGISTER_GRADIENT(Transpose, GetTransposeGradient);

}  // namespace caffe2
