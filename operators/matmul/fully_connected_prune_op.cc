#include "operators/matmul/fully_connected_prune_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

class GetFCPruneGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(
        "FCGradient_Prune", "",
        std::vector<std::string>{I(0), I(1), I(2), GO(0), I(4), I(5), I(6), I(7)},
        std::vector<std::string>{GI(1), GI(3), I(1), I(2), I(4), I(5), GI(0)});
  }
};

void DescribeState(OpSchema& schema) {
  schema.NumInputs(8)
      .Input(0, "X", "Float M x K; further axes are columns.")
      .Input(1, "W", "Float N x K.")
      .Input(2, "Mask", "Float, as W: 0 where a weight was pruned, else 1.")
      .Input(4, "Ag_dW", "Float, as W: the gradients since weights were pruned last.")
      .Input(5, "Mask_seq", "Float, as W: the positions of the weights that were pruned last.")
      .Input(6, "thres", "Float scalar: a weight is pruned if its summed gradient is nearer to 0.")
      .Input(7, "comp_lb",
             "Float scalar: no more weights are pruned if a smaller share of them is left.");
}

std::vector<TensorShape> InferPrune(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const PrunedShape s = PrunedShape::Of(GetDimsVector(in[0]), GetDimsVector(in[1]));
  std::vector<TensorShape> out{in[0].dims_size() > 1
                                   ? CreateTensorShape({s.m, s.n}, TensorProto::FLOAT)
                                   : CreateTensorShape({s.n}, TensorProto::FLOAT)};
  if (def.output_size() > 1) out.push_back(CreateTensorShape({}, TensorProto::FLOAT));
  return out;
}

REGISTER_CPU_OPERATOR(FC_Prune, FCPruneOp<CPUContext>);
OPERATOR_SCHEMA(FC_Prune)
    .NumOutputs(1, 2)
    .FillUsing(DescribeState)
    .TensorInferenceFunction(InferPrune)
    .SetDoc(
        "FC, Y = X W^T + b, whose gradient prunes weights: every 100 runs it sets the weights to "
        "zero, for good, whose gradients have nearly cancelled out since then.")
    .Input(3, "b", "Float, N: the bias.")
    .Output(0, "Y", "Float M x N.")
    .Output(1, "compress_rate", "Optional float scalar: the share of weights that are left.");
REGISTER_GRADIENT(FC_Prune, GetFCPruneGradient);

REGISTER_CPU_OPERATOR(FCGradient_Prune, FCPruneGradientOp<CPUContext>);
OPERATOR_SCHEMA(FCGradient_Prune)
    .NumOutputs(6, 7)
    .EnforceInplace({{1, 2}, {2, 3}, {4, 4}, {5, 5}})
    .FillUsing(DescribeState)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[1].dims_size() > 0, "W must have at least one axis, found a scalar");
      std::vector<TensorShape> out{in[1], CreateTensorShape({in[1].dims(0)}, TensorProto::FLOAT),
                                   in[1], in[2],
                                   in[4], in[5]};
      if (def.output_size() > 6) out.push_back(in[0]);
      return out;
    })
    .SetDoc("The gradient of FC_Prune, which prunes W.")
    .Input(3, "dY", "Gradient of Y.")
    .Output(0, "dW", "Gradient of W; 0 where it was pruned.")
    .Output(1, "db", "Gradient of b.")
    .Output(2, "W_out", "W, in place.")
    .Output(3, "Mask_out", "Mask, in place.")
    .Output(4, "Ag_dW_out", "Ag_dW, in place.")
    .Output(5, "Mask_seq_out", "Mask_seq, in place.")
    .Output(6, "dX", "Optional: gradient of X.");
NO_GRADIENT(FCGradient_Prune);

}  // namespace
}  // namespace caffe2
