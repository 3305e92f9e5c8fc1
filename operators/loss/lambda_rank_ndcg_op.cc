// LambdaRankNdcg: a loss of ranked lists (Wu et al., "Adapting boosting for information retrieval
// measures", 2010).
#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"
#include "operators/loss/ranking_loss_op.h"

namespace caffe2 {
namespace {

class GetLambdaRankNdcgGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0)};
    if (Def().input_size() > 2) inputs.push_back(I(2));
    inputs.push_back(O(1));
    inputs.push_back(GO(0));
    return SingleGradientDef("LambdaRankNdcgGradient", "", inputs, std::vector{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(LambdaRankNdcg, LambdaRankNdcgOp<CPUContext>);
REGISTER_CPU_OPERATOR(LambdaRankNdcgGradient, LambdaRankNdcgGradientOp<CPUContext>);
OPERATOR_SCHEMA(LambdaRankNdcg)
    .NumInputs(2, 3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      const std::vector<int64_t> lists =
          in.size() > 2 ? GetDimsVector(in[2]) : std::vector<int64_t>{1};
      return std::vector<TensorShape>{CreateTensorShape(lists, TensorProto::FLOAT), in[0]};
    })
    .SetDoc(
        "LambdaRank (Wu et al., 2010): for each list the sum over pairs of |change of discounted "
        "gain if the two are swapped| * log(1 + e^-(margin of the more relevant one)), divided by "
        "the ideal gain. As in Caffe2, the loss counts every pair twice and the gradient counts it "
        "once. On CUDA devices gains are float, and the gain of a relevance of 128 or more is "
        "infinite.")
    .Arg<bool>("use_ndcg_as_loss",
               "(default 0) 1: the loss is 1 minus the normalized gain; the gradient is the same.")
    .Arg<bool>("use_idcg_normalization", "(default 1) Divides by the ideal gain.")
    .Arg<bool>("use_exp_gain",
               "(default 1) With use_ndcg_as_loss, 0: the gain is the relevance; else 2^relevance.")
    .Input(0, "y", "Float scores, one-dimensional.")
    .Input(1, "r", "Their relevances, float.")
    .Input(2, "session_lengths",
           "Optional int32 or int64: lengths of the lists. Default: one list.")
    .Output(0, "loss", "Float: the loss of each list.")
    .Output(1, "dy", "Its gradient for the scores.");
OPERATOR_SCHEMA(LambdaRankNdcgGradient)
    .NumInputs(3, 4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The gradient of LambdaRankNdcg. Without lengths, later inputs have the next lower index.")
    .Input(0, "y", "As in the forward operator.")
    .Input(1, "session_lengths", "As in the forward operator.")
    .Input(2, "dy_cache", "The second output of the forward operator.")
    .Input(3, "dloss", "The gradient of the losses.")
    .Output(0, "dy", "The gradient of the scores.");
REGISTER_GRADIENT(LambdaRankNdcg, GetLambdaRankNdcgGradient);

}  // namespace caffe2
