#include "operators/arg_op.h"

namespace caffe2 {

template <class Context, bool kMax>
template <typename T>
void ArgOp<Context, kMax>::Find(int64_t outer, int64_t n, int64_t inner, const T* x,
                                int64_t* indices) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const T* line = x + o * n * inner + i;
      int64_t best = 0;
      for (int64_t j = 1; j < n; ++j) {
        const auto value = Widen(line[j * inner]), extreme = Widen(line[best * inner]);
        if (kMax ? value > extreme : value < extreme) best = j;
      }
      indices[o * inner + i] = best;
    }
  }
}

REGISTER_CPU_OPERATOR(ArgMax, ArgOp<CPUContext, true>);
REGISTER_CPU_OPERATOR(ArgMin, ArgOp<CPUContext, false>);

namespace {

void ArgSchema(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const ArgumentHelper arguments(def);
        std::vector<int64_t> dims = GetDimsVector(in[0]);
        const int ndim = static_cast<int>(dims.size());
        int axis = arguments.GetSingleArgument<int>("axis", -1);
        CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "axis ", axis, " is out of range for ",
                      ShapeString(dims));
        if (axis < 0) axis += ndim;
        if (arguments.GetSingleArgument<int>("keepdims", 1) != 0) {
          dims[axis] = 1;
        } else {
          dims.erase(dims.begin() + axis);
        }
        return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::INT64)};
      })
      .Arg("axis", "(int, default -1) The axis.")
      .Arg("keepdims", "(int, default 1) 1 keeps the axis with size 1, 0 removes it.")
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
