#include "operators/shape/expand_squeeze_op.h"

namespace caffe2 {
namespace {

class GetInverseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::string& type = Def().type();
    const char* inverse = type == "ExpandDims" ? "Squeeze"
                          : type == "Squeeze"  ? "ExpandDims"
                                               : "MergeDim";
    return SingleGradientDef(inverse, "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};
// The number of merged rows is known from the input alone.
class GetMergeDimGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of MergeDim needs the shape of its input ", O(0),
                  ", but the operator overwrites it in place");
    return SingleGradientDef("ResizeLike", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

template <class Rule>
void DescribeNewShape(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{
            CreateTensorShape(Rule(ArgumentHelper(def))(GetDimsVector(in[0])), in[0].data_type())};
      })
      .Input(0, "data", "A tensor of any type.")
      .Output(0, "reshaped", "The same elements in the new shape.");
}

}  // namespace

REGISTER_CPU_OPERATOR(ExpandDims, NewShapeOp<CPUContext, ExpandRule>);
REGISTER_CPU_OPERATOR(Squeeze, NewShapeOp<CPUContext, SqueezeRule>);
REGISTER_CPU_OPERATOR(PrependDim, NewShapeOp<CPUContext, PrependRule>);
REGISTER_CPU_OPERATOR(MergeDim, NewShapeOp<CPUContext, MergeRule>);

OPERATOR_SCHEMA(ExpandDims)
    .FillUsing(DescribeNewShape<ExpandRule>)
    .SetDoc("Inserts dimensions of size 1.")
    .ArgList<int>("dims", "(each >= 0) Positions of the new dimensions in the output.");
OPERATOR_SCHEMA(Squeeze)
    .FillUsing(DescribeNewShape<SqueezeRule>)
    .SetDoc("Removes dimensions of size 1.")
    .ArgList<int>("dims", "(each >= 0) Positions of the dimensions to remove.");
OPERATOR_SCHEMA(PrependDim)
    .FillUsing(DescribeNewShape<PrependRule>)
    .SetDoc("Splits the first dimension into one of size `dim_size` and one of the quotient.")
    .Arg<int>("dim_size", "(> 0) Size of the new first dimension.");
OPERATOR_SCHEMA(MergeDim)
    .FillUsing(DescribeNewShape<MergeRule>)
    .SetDoc("Merges the first two dimensions.");
REGISTER_GRADIENT(ExpandDims, GetInverseGradient);
REGISTER_GRADIENT(Squeeze, GetInverseGradient);
REGISTER_GRADIENT(PrependDim, GetInverseGradient);
REGISTER_GRADIENT(MergeDim, GetMergeDimGradient);

}  // namespace caffe2
