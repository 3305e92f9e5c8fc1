// What is known of a tensor without its values: Shape, Size, HasElements, IsEmpty; and Free.
#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

// The sizes of the dimensions `axes` names, or of all.
std::vector<int64_t> ChosenDims(const std::vector<int64_t>& dims, const std::vector<int>& axes) {
  if (axes.empty()) return dims;
  std::vector<int64_t> chosen;
  for (const int axis : axes) {
    CAFFE_ENFORCE(axis >= 0 && axis < static_cast<int>(dims.size()), "axis ", axis,
                  " is out of range for shape ", ShapeString(dims));
    chosen.push_back(dims[axis]);
  }
  return chosen;
}

template <class Context>
class ShapeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ShapeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(this->template GetRepeatedArgument<int>("axes")) {}
  bool RunOnDevice() override {
    const std::vector<int64_t> dims = ChosenDims(Input(0).sizes(), axes_);
    Tensor* Y = this->OutputCPU(0);
    Y->Resize(static_cast<int64_t>(dims.size()));
    std::copy(dims.begin(), dims.end(), Y->template mutable_data<int64_t>());
    return true;
  }

 private:
  std::vector<int> axes_;
};

// Output: a scalar T that F::Value makes of the tensor's size.
template <class Context, class F>
class SizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SizeOp);
  bool RunOnDevice() override {
    const auto value = F::Value(Input(0).numel());
    Tensor* Y = this->OutputCPU(0);
    Y->Resize();
    *Y->template mutable_data<std::remove_const_t<decltype(value)>>() = value;
    return true;
  }
};
struct SizeFunctor {
  static int64_t Value(int64_t size) { return size; }
};
struct IsEmptyFunctor {
  static bool Value(int64_t size) { return size == 0; }
};

class HasElementsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    bool any = false;
    for (int i = 0; i < InputSize(); ++i) any = any || Input(i).numel() > 0;
    Output(0)->Resize();
    *Output(0)->mutable_data<bool>() = any;
    return true;
  }
};

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
REGISTER_CPU_OPERATOR(HasElements, HasElementsOp);
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
    .Arg("axes", "The dimensions wanted. Default: all.")
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
    .SetDoc("Whether one of some tensors has elements.")
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
