// MaxPool and AveragePool with their gradients on the CPU.
#include "operators/pool/pool_op.h"

namespace caffe2 {
template <typename T>
void Pool(PoolKind kind, const PoolShape& shape, const T* x, T* y, CPUContext*) {
  Pool(kind, shape, x, y);
}
template <typename T>
void PoolGradient(PoolKind kind, const PoolShape& shape, const T* x, const T* y, const T* dy, T* dx,
                  CPUContext*) {
  PoolGradient(kind, shape, x, y, dy, dx);
}

OpSchema::Cost CostOfPool(const OperatorDef& def, const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {};
  const WindowArguments arguments{ArgumentHelper(def)};
  const ImageShape x = ImageShape::FromDims(GetDimsVector(inputs[0]), arguments.order());
  const std::vector<TensorShape> outputs = InferPool(def, inputs);
  OpSchema::Cost cost;
  cost.flops = static_cast<uint64_t>(NumelOf(outputs[0])) *
               static_cast<uint64_t>(CheckedNumel(ResolvePool(arguments, x).kernel));
  cost.bytes_read = NbytesOf(inputs[0]);
  cost.bytes_written = NbytesOf(outputs[0]);
  return cost;
}

namespace {

void PoolSchema(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .FillUsing(DescribeWindow)
      .Arg<bool>("global_pooling", "1: the window is the whole image. Default 0.")
      .Input(0, "X",
             "N x C x H x W (NCHW) or N x H x W x C (NHWC); 1 to 3 spatial axes; float or "
             "bfloat16, on CUDA devices also float16.")
      .Output(0, "Y",
              "N x C x H' x W' or N x H' x W' x C, of X's type, with H' = (H + pads - "
              "kernel) / stride + 1.")
      .TensorInferenceFunction(InferPool)
      .CostInferenceFunction(CostOfPool);
}

void MaxPoolSchema(OpSchema& schema) {
  schema.FillUsing(PoolSchema)
      .SetDoc("The maximum of every window; pads never win. Semantics and arguments are Caffe2's.");
}

void AveragePoolSchema(OpSchema& schema) {
  schema.FillUsing(PoolSchema)
      .Arg<bool>("count_include_pad",
                 "1: divide by the size of the whole window. Default 0: by the part of it that "
                 "lies inside the image.")
      .SetDoc("The average of every window. Semantics and arguments are Caffe2's.");
}

void PoolGradientSchema(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .FillUsing(DescribeWindow)
      .Arg<bool>("global_pooling", "As in the forward operator.")
      .Arg<bool>("count_include_pad", "As in the forward operator.")
      .Input(0, "X", "The forward operator's input.")
      .Input(1, "Y", "The forward operator's output.")
      .Input(2, "dY", "Gradient of Y, in its shape and type.")
      .Output(0, "dX", "Gradient of X, in its shape and type.")
      .IdenticalTypeAndShapeOfInput(0)
      .SetDoc(
          "Gradient of a pooling. The gradient of a maximum goes to every element that equals it, "
          "ties included, as in Caffe2. The gradient of an average goes to all elements in equal "
          "parts.");
}

class GetPoolGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "",
                             std::vector<std::string>{I(0), O(0), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

#define REGISTER_POOL(name, kind, schema)                                            \
  REGISTER_CPU_OPERATOR(name, PoolOp<CPUContext, PoolKind::kind>);                   \
  OPERATOR_SCHEMA(name).FillUsing(schema);                                           \
  REGISTER_GRADIENT(name, GetPoolGradient);                                          \
  REGISTER_CPU_OPERATOR(name##Gradient, PoolGradientOp<CPUContext, PoolKind::kind>); \
  OPERATOR_SCHEMA(name##Gradient).FillUsing(PoolGradientSchema);                     \
  NO_GRADIENT(name##Gradient)

REGISTER_POOL(MaxPool, kMax, MaxPoolSchema);
REGISTER_POOL(MaxPool1D, kMax, MaxPoolSchema);
REGISTER_POOL(MaxPool2D, kMax, MaxPoolSchema);
REGISTER_POOL(MaxPool3D, kMax, MaxPoolSchema);
REGISTER_POOL(AveragePool, kAverage, AveragePoolSchema);
REGISTER_POOL(AveragePool1D, kAverage, AveragePoolSchema);
REGISTER_POOL(AveragePool2D, kAverage, AveragePoolSchema);
REGISTER_POOL(AveragePool3D, kAverage, AveragePoolSchema);

}  // namespace
}  // namespace caffe2
