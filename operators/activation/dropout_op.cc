#include "operators/activation/dropout_op.h"

namespace caffe2 {

template <>
template <typename T>
void DropoutOp<CPUContext>::Drop(int64_t n, const T* x, uint64_t bound, bool* keep, T* y) {
  RandomGenerator& random = context_.random();
  const KeptElement value{scale()};
  for (int64_t i = 0; i < n; ++i) {
    keep[i] = random() >= bound;
    y[i] = Narrow<T>(value(Widen(x[i]), keep[i]));
  }
}

REGISTER_CPU_OPERATOR(Dropout, DropoutOp<CPUContext>);
REGISTER_CPU_OPERATOR(DropoutGrad, DropoutGradientOp<CPUContext>);

OPERATOR_SCHEMA(Dropout)
    .NumInputs(1)
    .NumOutputs(1, 2)
    .AllowInplace({{0, 0}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0]};
      if (def.output_size() > 1) {
        const bool is_test = ArgumentHelper(def).GetSingleArgument<int>("is_test", 0) != 0;
        out.push_back(is_test ? UnknownTensorShape()
                              : CreateTensorShape(GetDimsVector(in[0]), TensorProto::BOOL));
      }
      return out;
    })
    .SetDoc(
        "In training, zeroes each element with probability `ratio` and multiplies the others "
        "by 1 / (1 - ratio) (Srivastava et al., JMLR 2014); in test, copies. The random "
        "numbers are the operator's own, seeded by device_option.random_seed.")
    .Arg<float>("ratio", "(in [0, 1), default 0.5) The probability of a zero.")
    .ArgIsTest("(default 0) 1 copies X and writes no mask.")
    .Input(0, "X", "A float, float16 or bfloat16 tensor.")
    .Output(0, "Y", "The result, shaped like X; may overwrite X.")
    .Output(1, "mask", "bool, shaped like X: true where the element was kept. Needed in training.");
OPERATOR_SCHEMA(DropoutGrad)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The gradient of Dropout: dX = dY / (1 - ratio) where the mask is true, else 0; in "
        "test dX = dY.")
    .Arg<float>("ratio", "As in Dropout.")
    .ArgIsTest("As in Dropout.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "mask", "The mask; absent in test.")
    .Output(0, "dX", "The gradient of X; may overwrite dY.");

class GetDropoutGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{GO(0)};
    const bool is_test = ArgumentHelper(Def()).GetSingleArgument<int>("is_test", 0) != 0;
    if (!is_test) inputs.push_back(O(1));
    return SingleGradientDef("DropoutGrad", "", inputs, std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(Dropout, GetDropoutGradient);

}  // namespace caffe2
