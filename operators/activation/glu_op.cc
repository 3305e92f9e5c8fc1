#include "operators/activation/glu_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Glu, GluOp<CPUContext>);
OPERATOR_SCHEMA(Glu)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int axis = ArgumentHelper(def).GetSingleArgument<int>("dim", -1);
      std::vector<TensorShape> out{in[0]};
      const int at = axis < 0 ? axis + in[0].dims_size() : axis;
      CAFFE_ENFORCE(at >= 0 && at < in[0].dims_size(), "argument dim (", axis,
                    ") is out of range for X of shape ", ShapeString(GetDimsVector(in[0])));
      out[0].set_dims(at, in[0].dims(at) / 2);
      return out;
    })
    .SetDoc(
        "The gated linear unit (Dauphin et al., ICML 2017): the first half of X along an axis "
        "times the sigmoid of the second.")
    .Arg<int>("dim", "(default -1) The axis.")
    .Input(0, "X", "A tensor of float, float16 or bfloat16; even along the axis.")
    .Output(0, "Y", "Half as long along the axis.");
SHOULD_NOT_DO_GRADIENT(Glu);

}  // namespace caffe2
