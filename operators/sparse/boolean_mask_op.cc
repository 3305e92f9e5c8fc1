// BooleanMask, BooleanMaskLengths, BooleanUnmask: choose rows by a mask.
#include "operators/sparse/boolean_mask_op.h"

#include "operators/common/cpu_only.h"
#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

class BooleanMaskLengthsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &lengths = Input(0), &mask = Input(1);
    CAFFE_ENFORCE(lengths.dim() == 1 && mask.dim() == 1,
                  "lengths and mask must be one-dimensional: lengths has shape ",
                  ShapeString(lengths.sizes()), ", mask ", ShapeString(mask.sizes()));
    const T* length = lengths.data<T>();
    const bool* keep = mask.data<bool>();
    Tensor* Y = Output(0);
    Y->ResizeLike(lengths);
    T* y = Y->mutable_data<T>();
    int64_t at = 0;
    for (int64_t i = 0; i < lengths.numel(); ++i) {
      CAFFE_ENFORCE(length[i] >= 0 && length[i] <= mask.numel() - at, "length ", i,
                    " must be from 0 to ", mask.numel() - at,
                    ", the elements of the mask that are left, found ", length[i]);
      y[i] = static_cast<T>(std::count(keep + at, keep + at + length[i], true));
      at += length[i];
    }
    CAFFE_ENFORCE(at == mask.numel(),
                  "the lengths must add up to the size of the mask: they add up to ", at,
                  ", the mask has ", mask.numel(), " elements");
    return true;
  }
};

class GetBooleanMaskGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("BooleanMaskGradient", "", std::vector<std::string>{I(1), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BooleanMask, BooleanMaskOp<CPUContext>);
REGISTER_CPU_OPERATOR(BooleanMaskGradient, BooleanMaskGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(BooleanMaskLengths, BooleanMaskLengthsOp);
REGISTER_CPU_OPERATOR(BooleanUnmask, BooleanUnmaskOp<CPUContext>);
OPERATOR_SCHEMA(BooleanMask)
    .NumInputs(2)
    .NumOutputs(1, 2)
    .SetDoc(
        "The rows of data at which the mask is true. Their number is known at run time only. The "
        "gradient of the other rows is 0.")
    .Input(0, "data", "A tensor of any type with at least one dimension.")
    .Input(1, "mask", "Bool, one for each row.")
    .Output(0, "masked_data", "The rows that are kept.")
    .Output(1, "masked_indices", "Optional int64: the indices of these rows.");
OPERATOR_SCHEMA(BooleanMaskGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> shape = GetDimsVector(in[1]);
      if (!shape.empty()) shape[0] = in[0].dims(0);
      return std::vector<TensorShape>{CreateTensorShape(shape, in[1].data_type())};
    })
    .SetDoc("The gradient of BooleanMask: dY where the mask is true, else 0.")
    .Input(0, "mask", "Bool, one for each row.")
    .Input(1, "dY", "The gradient of the rows that were kept.")
    .Output(0, "dX", "The gradient of all rows.");
OPERATOR_SCHEMA(BooleanMaskLengths)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The length of each segment after BooleanMask: the number of true elements in it.")
    .Input(0, "lengths", "int32 or int64: the lengths before; they add up to the mask's size.")
    .Input(1, "mask", "Bool, one-dimensional.")
    .Output(0, "masked_lengths", "The lengths after.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(BooleanUnmask)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), in[1].data_type())};
    })
    .SetDoc(
        "Inverts several BooleanMask operators: each position takes the next value of the first "
        "mask that is true there. It is an error if no mask is true at a position or a value is "
        "left over.")
    .Input(0, "mask", "Bool, one-dimensional; further pairs of mask and values follow.")
    .Input(1, "values", "Values of any type, one for each position that takes one.")
    .Output(0, "unmasked", "The values, shaped like a mask.");
REGISTER_GRADIENT(BooleanMask, GetBooleanMaskGradient);
NO_GRADIENT(BooleanMaskLengths);
NO_GRADIENT(BooleanUnmask);

}  // namespace caffe2
