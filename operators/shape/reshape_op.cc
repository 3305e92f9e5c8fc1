#include "operators/shape/reshape_op.h"

namespace caffe2 {

std::vector<int64_t> ResolveShape(const std::vector<int64_t>& old_shape,
                                  const std::vector<int64_t>& wanted) {
  const int64_t numel = CheckedNumel(old_shape);
  std::vector<int64_t> shape = wanted;
  int unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    // The dimensions of an empty tensor may be 0 themselves.
    if (shape[i] == 0 && numel != 0) {
      CAFFE_ENFORCE(i < old_shape.size(), "the new shape ", ShapeString(wanted),
                    " keeps dimension ", i, ", which the old shape ", ShapeString(old_shape),
                    " does not have");
      shape[i] = old_shape[i];
    } else if (shape[i] == -1) {
      CAFFE_ENFORCE(unknown == -1, "the new shape ", ShapeString(wanted), " has more than one -1");
      unknown = static_cast<int>(i);
      shape[i] = 1;
    }
  }
  const int64_t known = CheckedNumel(shape);
  if (unknown >= 0 && numel == 0) {
    shape[unknown] = 0;
  } else if (unknown >= 0) {
    CAFFE_ENFORCE(known != 0 && numel % known == 0, "cannot reshape ", ShapeString(old_shape),
                  " to ", ShapeString(wanted));
    shape[unknown] = numel / known;
  }
  CAFFE_ENFORCE(CheckedNumel(shape) == numel, "cannot reshape ", ShapeString(old_shape), " to ",
                ShapeString(wanted));
  return shape;
}

namespace {

class GetReshapeGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Reshape", "", std::vector<std::string>{GO(0), O(1)},
                             std::vector<std::string>{GI(0), MakeString("_", GI(0), "_dims")});
  }
};

std::vector<TensorShape> InferReshape(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out(2, UnknownTensorShape());
  const ArgumentHelper arguments(def);
  if (in.size() == 1 && arguments.HasArgument("shape")) {
    out[0] = CreateTensorShape(
        ResolveShape(GetDimsVector(in[0]), arguments.GetRepeatedArgument<int64_t>("shape")),
        in[0].data_type());
  }
  out[1] = CreateTensorShape({in[0].dims_size()}, TensorProto::INT64);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(Reshape, ReshapeOp<CPUContext>);
OPERATOR_SCHEMA(Reshape)
    .NumInputs(1, 2)
    .NumOutputs(2)
    .AllowInplace({{0, 0}})
    .TensorInferenceFunction(InferReshape)
    .SetDoc(
        "Gives a tensor another shape. A dimension of 0 keeps the old dimension at this place (or "
        "is 0 if data is empty). One dimension may be -1: it is computed from the number of "
        "elements.")
    .ArgList<int>("shape", "The new shape, unless it is an input.")
    .Input(0, "data", "A tensor of any type and shape.")
    .Input(1, "new_shape",
           "Optional: the new shape, one-dimensional int32 or int64, best in host memory.")
    .Output(0, "reshaped", "The same elements in the new shape.")
    .Output(1, "old_shape", "The shape of data, one-dimensional int64, in host memory.");
REGISTER_GRADIENT(Reshape, GetReshapeGradient);

}  // namespace caffe2
