// Flatten, FlattenToVec, ResizeLike.
#include "operators/shape/flatten_op.h"

namespace caffe2 {
namespace {

class GetFlattenGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ResizeLike", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

std::vector<TensorShape> InferFlatten(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const int axis =
      FlattenAxis(ArgumentHelper(def).GetSingleArgument<int>("axis", 1), in[0].dims_size());
  const std::vector<int64_t> dims = GetDimsVector(in[0]);
  return {CreateTensorShape(
      {CheckedNumel(dims.data(), axis), CheckedNumel(dims.data() + axis, dims.size() - axis)},
      in[0].data_type())};
}

}  // namespace

REGISTER_CPU_OPERATOR(Flatten, FlattenOp<CPUContext>);
REGISTER_CPU_OPERATOR(FlattenToVec, FlattenToVecOp<CPUContext>);
REGISTER_CPU_OPERATOR(ResizeLike, ResizeLikeOp<CPUContext>);

OPERATOR_SCHEMA(Flatten)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferFlatten)
    .SetDoc(
        "Reshapes a tensor to a matrix: the dimensions before `axis` become rows, the others "
        "columns.")
    .Arg<int>("axis", "First dimension of the columns; may be negative. Default 1.")
    .Input(0, "input", "A tensor of any type and shape.")
    .Output(0, "output", "The same elements as a matrix.");
OPERATOR_SCHEMA(FlattenToVec)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape({NumelOf(in[0])}, in[0].data_type())};
    })
    .SetDoc("Reshapes a tensor to one dimension.")
    .Input(0, "input", "A tensor of any type, of at least one dimension.")
    .Output(0, "output", "The same elements, one-dimensional.");
OPERATOR_SCHEMA(ResizeLike)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[1]), in[0].data_type())};
    })
    .SetDoc("Gives a tensor the shape of another tensor with as many elements.")
    .Input(0, "data", "A tensor of any type and shape.")
    .Input(1, "shape_tensor", "Gives the shape; its values are not read.")
    .Output(0, "output", "The elements of data in the shape of shape_tensor.");

REGISTER_GRADIENT(Flatten, GetFlattenGradient);
REGISTER_GRADIENT(FlattenToVec, GetFlattenGradient);
REGISTER_GRADIENT(ResizeLike, GetFlattenGradient);

}  // namespace caffe2
