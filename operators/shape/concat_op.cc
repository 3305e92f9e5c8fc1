#include "operators/shape/concat_split.h"

namespace caffe2 {

ConcatAxis::ConcatAxis(const ArgumentHelper& arguments)
    : add_axis(arguments.GetSingleArgument<bool>("add_axis", false)) {
  if (arguments.HasArgument("axis")) {
    axis = arguments.GetSingleArgument<int>("axis", -1);
    return;
  }
  const std::string order = arguments.GetSingleArgument<std::string>("order", "NCHW");
  CAFFE_ENFORCE(order == "NCHW" || order == "NHWC", "argument order must be NCHW or NHWC, found ",
                order);
  axis = order == "NCHW" ? 1 : 3;
}

int ConcatAxis::Canonical(int joined_dims) const {
  CAFFE_ENFORCE(axis >= -joined_dims && axis < joined_dims, "axis ", axis, " is out of range for ",
                joined_dims, " dimensions");
  return axis < 0 ? axis + joined_dims : axis;
}

std::vector<int64_t> JoinedShape(const std::vector<std::vector<int64_t>>& pieces,
                                 const ConcatAxis& concat) {
  std::vector<int64_t> shape = pieces[0];
  const int dims = static_cast<int>(shape.size());
  const int axis = concat.Canonical(dims + concat.add_axis);
  int64_t joined = 0;
  for (size_t k = 0; k < pieces.size(); ++k) {
    bool fits = pieces[k].size() == shape.size();
    for (int d = 0; fits && d < dims; ++d) {
      fits = (d == axis && !concat.add_axis) || pieces[k][d] == shape[d];
    }
    CAFFE_ENFORCE(fits, "input ", k, " of shape ", ShapeString(pieces[k]),
                  " cannot be joined to input 0 of shape ", ShapeString(pieces[0]), " along axis ",
                  axis);
    joined += concat.add_axis ? 1 : pieces[k][axis];
  }
  if (concat.add_axis) {
    shape.insert(shape.begin() + axis, joined);
  } else {
    shape[axis] = joined;
  }
  return shape;
}

namespace {

class GetConcatGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (GradOut(0).IsEmpty()) return {};
    std::vector<std::string> grads;
    for (int k = 0; k < Def().input_size(); ++k) grads.push_back(GI(k));
    return SingleGradientDef("Split", "", std::vector<std::string>{GO(0), O(1)}, grads);
  }
};

std::vector<TensorShape> InferConcat(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<std::vector<int64_t>> pieces;
  for (const TensorShape& shape : in) pieces.push_back(GetDimsVector(shape));
  return {
      CreateTensorShape(JoinedShape(pieces, ConcatAxis(ArgumentHelper(def))), in[0].data_type()),
      CreateTensorShape({static_cast<int64_t>(in.size())}, TensorProto::INT32)};
}

void DescribeConcat(OpSchema& schema) {
  schema.NumInputs(1, std::numeric_limits<int>::max())
      .NumOutputs(2)
      .TensorInferenceFunction(InferConcat)
      .Arg<int>("axis",
                "Axis along which the inputs are joined; may be negative. Default: the channels of "
                "`order`.")
      .Arg<bool>("add_axis", "1: the inputs are stacked along a new axis. Default 0.")
      .ArgOrder("(default NCHW) Used if `axis` is not given.")
      .Input(0, "X1",
             "The first tensor; more may follow. They must have one type and differ in the size of "
             "the axis only.")
      .Output(0, "concat_result", "The joined tensor.")
      .Output(1, "split_info", "int32, in host memory: the size of each input along the axis.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Concat, ConcatOp<CPUContext>);
REGISTER_CPU_OPERATOR(DepthConcat, ConcatOp<CPUContext>);
OPERATOR_SCHEMA(Concat).FillUsing(DescribeConcat).SetDoc("Joins tensors along an axis.");
OPERATOR_SCHEMA(DepthConcat)
    .FillUsing(DescribeConcat)
    .SetDoc("The older name of Concat: joins tensors along an axis.");
REGISTER_GRADIENT(Concat, GetConcatGradient);
REGISTER_GRADIENT(DepthConcat, GetConcatGradient);

}  // namespace caffe2
