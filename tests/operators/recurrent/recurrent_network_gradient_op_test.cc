#include "caffe2/graph/gradient.h"
#include "operators/recurrent/recurrent_network.h"
#include "tests/operators/op_test.h"
#include "tests/operators/recurrent/recurrent_test_util.h"

namespace caffe2::testing {
namespace {

TEST(RecurrentNetworkTest, Gradient) {
  for (const bool drop_states : {false, true}) {
    for (const Ints& outputs : {Ints{0}, Ints{1}, Ints{0, 1, 2, 3}}) {
      Workspace ws;
      FeedLstm(&ws);
      GradientOptions options;
      options.outputs_with_gradient = outputs;
      CheckGradient(&ws, LstmOp(LstmStep(drop_states), outputs), {0, 1, 2, 3, 4}, options);
    }
  }
}

std::vector<float> GradientOfWeights(OperatorDef op, Workspace* ws) {
  FeedLstm(ws);
  NetDef net;
  *net.add_op() = op;
  *net.add_op() = Op("ReduceBackMean", {"h_all"}, {"mean"}, {MakeArgument("num_reduce_dim", 3)});
  AddGradientOperators(&net, {{"mean", ""}});
  EXPECT_TRUE(ws->RunNetOnce(net));
  return FetchValues<float>(*ws, "w_grad");
}

TEST(RecurrentNetworkTest, RecomputesBlobs) {
  const NetDef step = LstmStep(false);
  Workspace keeping, recomputing;
  OperatorDef op = LstmOp(step, {0});
  const std::vector<float> expected = GradientOfWeights(op, &keeping);
  SetArgument(&op, "recompute_blobs_on_backward", Strings{"gates"});
  NetDef backward;
  backward.set_name("backward_step");
  *backward.add_op() = step.op(0);
  *backward.add_op() = step.op(1);
  const NetDef gradient = BackwardStep(step);
  for (const OperatorDef& gradient_op : gradient.op()) *backward.add_op() = gradient_op;
  SetArgument(&op, "backward_step_net", backward);
  EXPECT_EQ(GradientOfWeights(op, &recomputing), expected);

  auto keeps = [](const Workspace& ws) {
    const auto& scratch = ws.GetBlob("scratch")->Get<ScratchWorkspaces>();
    const std::vector<std::string> blobs = scratch.steps[0]->LocalBlobs();
    return std::count(blobs.begin(), blobs.end(), "gates") == 1;
  };
  EXPECT_TRUE(keeps(keeping));
  EXPECT_FALSE(keeps(recomputing));
}

}  // namespace
}  // namespace caffe2::testing
