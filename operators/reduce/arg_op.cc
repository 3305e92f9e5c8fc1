#include "operators/reduce/arg_op.h"

namespace caffe2 {

using ArgMax = ArgOp<CPUContext, true>;
using ArgMin = ArgOp<CPUContext, false>;
REGISTER_CPU_OPERATOR(ArgMax, ArgMax);
REGISTER_CPU_OPERATOR(ArgMin, ArgMin);

namespace {

void ArgSchema(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const ArgumentHelper arguments(def);
        std::vector<int64_t> dims = GetDimsVector(in[0]);
        const int ndim = static_cast<int>(dims.size());
        int axis = arguments.GetSingleArgument<int>("axis", -1);
        CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "argument axis (", axis,
                      ") is out of range for shape ", ShapeString(dims));
        if (axis < 0) axis += ndim;
        if (arguments.GetSingleArgument<int>("keepdims", 1) != 0) {
          dims[axis] = 1;
        } else {
          dims.erase(dims.begin() + axis);
        }
        return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::INT64)};
      })
      .Arg<int>("axis", "(default -1) The axis.")
      .Arg<int>("keepdims", "(default 1) 1 keeps the axis with size 1, 0 removes it.")
      .Input(0, "X", "A tensor of numbers.")
      .Output(0, "indices", "int64 positions along the axis.");
}

}  // namespace

OPERATOR_SCHEMA(ArgMax).FillUsing(ArgSchema).SetDoc(
    "The position of the largest element along an axis, the first of equal ones.");
OPERATOR_SCHEMA(ArgMin).FillUsing(ArgSchema).SetDoc(
    "The position of the smallest element along an axis, the first of equal ones.");
SHOULD_NOT_DO_GRADIENT(ArgMax);
SHOULD_NOT_DO_GRADIENT(ArgMin);

}  // namespace caffe2
