#include "operators/shape/shape_op.h"

namespace caffe2 {
namespace {

class FreeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    for (Blob* blob : Outputs()) blob->Reset();
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Shape, ShapeOp<CPUContext>);
REGISTER_CPU_OPERATOR(Size, SizeOp<CPUContext, SizeFunctor>);
REGISTER_CPU_OPERATOR(HasElements, HasElementsOp<CPUContext>);
REGISTER_CPU_OPERATOR(IsEmpty, SizeOp<CPUContext, IsEmptyFunctor>);
REGISTER_CPU_OPERATOR(Free, FreeOp);

OPERATOR_SCHEMA(Shape)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto dims =
          ChosenDims(GetDimsVector(in[0]), ArgumentHelper(def).GetRepeatedArgument<int>("axes"));
      return std::vector<TensorShape>{
          CreateTensorShape({static_cast<int64_t>(dims.size())}, TensorProto::INT64)};
    })
    .SetDoc("The shape of a tensor.")
    .ArgList<int>("axes", "The dimensions to return. Default: all.")
    .Input(0, "X", "A tensor of any type.")
    .Output(0, "shape", "int64, one-dimensional, in host memory.");
OPERATOR_SCHEMA(Size)
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::INT64)
    .SetDoc("The number of elements of a tensor.")
    .Input(0, "X", "A tensor of any type.")
    .Output(0, "size", "An int64 scalar, in host memory.");
OPERATOR_SCHEMA(HasElements)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("Whether any of the tensors has elements.")
    .Input(0, "tensor", "A tensor of any type; more may follow.")
    .Output(0, "has_elements", "A bool scalar, in host memory.");
OPERATOR_SCHEMA(IsEmpty)
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("Whether a tensor has no elements.")
    .Input(0, "tensor", "A tensor of any type.")
    .Output(0, "is_empty", "A bool scalar, in host memory.");
OPERATOR_SCHEMA(Free)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1, std::numeric_limits<int>::max())
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == outputs; })
    .EnforceOneToOneInplace()
    .SetDoc("Empties blobs, so that their memory can be used for something else.")
    .Input(0, "blob", "First of the blobs, which may hold anything.")
    .Output(0, "blob", "The same blobs, empty.");
SHOULD_NOT_DO_GRADIENT(Shape);
SHOULD_NOT_DO_GRADIENT(Size);
SHOULD_NOT_DO_GRADIENT(HasElements);
SHOULD_NOT_DO_GRADIENT(IsEmpty);
SHOULD_NOT_DO_GRADIENT(Free);

}  // namespace caffe2
