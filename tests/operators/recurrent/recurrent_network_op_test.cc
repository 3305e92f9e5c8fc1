#include <google/protobuf/text_format.h>

#include <cmath>

#include "caffe2/graph/gradient.h"
#include "operators/recurrent/recurrent_network.h"
#include "tests/operators/op_test.h"
#include "tests/operators/recurrent/recurrent_test_util.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// h [T, N, D] of the same LSTM, by plain loops.
std::vector<float> LstmReference(const Workspace& ws, bool drop_states, std::vector<float>* c_all) {
  const auto x = FetchValues<float>(ws, "x"), h_0 = FetchValues<float>(ws, "h_0"),
             c_0 = FetchValues<float>(ws, "c_0"), w = FetchValues<float>(ws, "w"),
             b = FetchValues<float>(ws, "b");
  const auto lengths = FetchValues<int32_t>(ws, "lengths");
  const int steps = static_cast<int>(Fetch(ws, "x").size(0));
  std::vector<float> h_all;
  std::vector<double> h(kLstmBatch * kLstmUnits), c(c_0.begin(), c_0.end());
  for (int i = 0; i < kLstmBatch * kLstmUnits; ++i) h[i] = h_0[i % kLstmUnits];
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> before = h;
    for (int n = 0; n < kLstmBatch; ++n) {
      for (int j = 0; j < kLstmUnits; ++j) {
        double gate[4];
        for (int k = 0; k < 4; ++k) {
          const int row = k * kLstmUnits + j;
          gate[k] = x[(t * kLstmBatch + n) * 4 * kLstmUnits + row] + b[row];
          for (int i = 0; i < kLstmUnits; ++i)
            gate[k] += before[n * kLstmUnits + i] * w[row * kLstmUnits + i];
        }
        double &cell = c[n * kLstmUnits + j], &hidden = h[n * kLstmUnits + j];
        if (t >= lengths[n]) {
          if (drop_states) cell = hidden = 0;
          continue;
        }
        cell = Sigmoid(gate[1]) * cell + Sigmoid(gate[0]) * std::tanh(gate[3]);
        hidden = Sigmoid(gate[2]) * std::tanh(cell);
      }
    }
    h_all.insert(h_all.end(), h.begin(), h.end());
    c_all->insert(c_all->end(), c.begin(), c.end());
  }
  return h_all;
}

void ExpectLstm(const Workspace& ws, bool drop_states) {
  std::vector<float> c;
  const std::vector<float> h = LstmReference(ws, drop_states, &c);
  const int64_t steps = Fetch(ws, "x").size(0), row = kLstmBatch * kLstmUnits;
  ExpectTensor(ws, "h_all", {steps, kLstmBatch, kLstmUnits}, h);
  ExpectTensor(ws, "c_all", {steps, kLstmBatch, kLstmUnits}, c);
  ExpectTensor(ws, "h_last", {1, kLstmBatch, kLstmUnits}, {h.end() - row, h.end()});
  ExpectTensor(ws, "c_last", {1, kLstmBatch, kLstmUnits}, {c.end() - row, c.end()});
}

TEST(RecurrentNetworkTest, LstmEqualsLoops) {
  for (const bool drop_states : {false, true}) {
    Workspace ws;
    FeedLstm(&ws);
    // The workspaces of the steps are no tensor, so inference is complete but for them.
    RunOp(&ws, LstmOp(LstmStep(drop_states), {0}), true);
    ExpectLstm(ws, drop_states);
  }
}

// Lengths of sequences may change from run to run.
TEST(RecurrentNetworkTest, NetRunsSequencesOfAnyLength) {
  Workspace ws;
  FeedLstm(&ws);
  NetDef net;
  net.set_name("net");
  *net.add_op() = LstmOp(LstmStep(false), {0});
  *net.add_op() = Op("ReduceBackMean", {"h_all"}, {"mean"}, {MakeArgument("num_reduce_dim", 3)});
  AddGradientOperators(&net, {{"mean", ""}});
  ws.CreateNet(net);
  std::vector<float> first;
  for (const int steps : {kLstmSteps, 2, 7, 1, kLstmSteps}) {
    FeedLstm(&ws, steps);
    ASSERT_TRUE(ws.RunNet("net"));
    ExpectLstm(ws, false);
    EXPECT_EQ(Fetch(ws, "x_grad").sizes(), Fetch(ws, "x").sizes());
    if (first.empty()) first = FetchValues<float>(ws, "w_grad");
  }
  EXPECT_EQ(FetchValues<float>(ws, "w_grad"), first);  // to the bit
}

TEST(RecurrentNetworkTest, EmptySequence) {
  Workspace ws;
  FeedLstm(&ws, 0);
  const OperatorDef op = LstmOp(LstmStep(false), {1});
  RunOp(&ws, op, true);
  EXPECT_EQ(Fetch(ws, "h_all").sizes(), (std::vector<int64_t>{0, kLstmBatch, kLstmUnits}));
  ExpectTensor(ws, "c_last", {1, kLstmBatch, kLstmUnits}, FetchValues<float>(ws, "c_0"));
  Feed<float>(&ws, "h_last_grad", {1, kLstmBatch, kLstmUnits}, {1, 2, 3, 4, 5, 6});
  std::vector<GradientWrapper> g_output(5);
  g_output[1].dense = "h_last_grad";
  for (const OperatorDef& gradient : GetGradientForOp(op, g_output).ops) RunOp(&ws, gradient);
  ExpectTensor(ws, "w_grad", {4 * kLstmUnits, kLstmUnits},
               std::vector<float>(4 * kLstmUnits * kLstmUnits, 0.f));
  ExpectTensor(ws, "h_0_grad", {kLstmUnits}, {9, 12});
}

// Where several operators read the sequence, contributions get names of their own.
TEST(RecurrentNetworkTest, SequenceWithSeveralReaders) {
  std::vector<float> expected;
  for (const bool shared : {false, true}) {
    Workspace ws;
    FeedLstm(&ws);
    NetDef net;
    *net.add_op() = LstmOp(LstmStep(false), {0});
    *net.add_op() = Op("ReduceBackMean", {"h_all"}, {"mean"}, {MakeArgument("num_reduce_dim", 3)});
    LossGradients losses{{"mean", ""}};
    if (shared) {
      *net.add_op() = Op("SumElements", {"x"}, {"total"});
      losses.emplace_back("total", "");
    }
    AddGradientOperators(&net, losses);
    ASSERT_TRUE(ws.RunNetOnce(net));
    std::vector<float> gradient = FetchValues<float>(ws, "x_grad");
    if (!shared) {
      expected = gradient;
      for (float& value : expected) value += 1;
    } else {
      ExpectTensor(ws, "x_grad", Fetch(ws, "x").sizes(), expected);
    }
  }
}

TEST(RecurrentNetworkTest, ForwardOnlyKeepsTwoSteps) {
  Workspace ws;
  FeedLstm(&ws, 5);
  OperatorDef op = LstmOp(LstmStep(false), {0});
  SetArgument(&op, "backward_step_net", std::string());
  RunOp(&ws, op, true);
  ExpectLstm(ws, false);
  EXPECT_EQ(ws.GetBlob("scratch")->Get<ScratchWorkspaces>().steps.size(), 2u);
  std::vector<GradientWrapper> g_output(5);
  g_output[0].dense = "h_all_grad";
  EXPECT_THROW(GetGradientForOp(op, g_output), EnforceNotMet);
}

// Nets in text form, as old builders wrote them; a blob outside that is named like one inside.
TEST(RecurrentNetworkTest, TextNetAndNamesOutside) {
  Workspace ws;
  FeedLstm(&ws);
  Feed<float>(&ws, "gates", {1}, {42});
  OperatorDef op = LstmOp(LstmStep(false), {0});
  std::string text;
  NetDef step = LstmStep(false);
  step.set_type("rnn");
  step.add_external_input("declared_only");
  google::protobuf::TextFormat::PrintToString(step, &text);
  SetArgument(&op, "step_net", text);
  RunOp(&ws, op, true);
  ExpectLstm(ws, false);
  EXPECT_EQ(FetchValues<float>(ws, "gates"), std::vector<float>{42});
}

// Another network takes the workspaces over: nothing of the first is left in its way.
TEST(RecurrentNetworkTest, ChangedStepNet) {
  Workspace ws;
  FeedLstm(&ws);
  for (const bool drop_states : {true, false}) {
    RunOp(&ws, LstmOp(LstmStep(drop_states), {0}), true);
    ExpectLstm(ws, drop_states);
  }
}

OperatorDef OneStateOp(const NetDef& step, const Strings& inputs, int window = 1) {
  return Op(
      "RecurrentNetwork", inputs, {"all", "scratch"},
      {MakeArgument("step_net", step), MakeArgument("recurrent_states", Strings{"states"}),
       MakeArgument("initial_recurrent_state_ids", Ints{1}),
       MakeArgument("link_internal", Strings{"prev", "next", "input_t"}),
       MakeArgument("link_external", Strings{"states", "states", "x"}),
       MakeArgument("link_offset", Ints{0, window, 0}),
       MakeArgument("link_window", Ints{window, 1, 1}),
       MakeArgument("alias_src", Strings{"states"}), MakeArgument("alias_dst", Strings{"all"}),
       MakeArgument("alias_offset", Ints{window})});
}

TEST(RecurrentNetworkTest, WindowOfTwoStates) {
  Workspace ws;
  Feed<float>(&ws, "x", {8, 1, 1}, std::vector<float>(8));
  Feed<float>(&ws, "first", {2, 1, 1}, {0, 1});
  RunOp(
      &ws,
      OneStateOp(StepNet({Op("ReduceFrontSum", {"prev"}, {"next"})}, {"next"}), {"x", "first"}, 2),
      true);
  ExpectTensor(ws, "all", {8, 1, 1}, {1, 2, 3, 5, 8, 13, 21, 34});  // Fibonacci
}

// Steps draw different random numbers, and a second run others than the first.
TEST(RecurrentNetworkTest, RandomNumbersOfSteps) {
  OperatorDef fill = Op("UniformFill", {"prev"}, {"next"});
  fill.mutable_device_option()->set_random_seed(7);
  NetDef net;
  net.set_name("net");
  *net.add_op() = OneStateOp(StepNet({fill}, {"next"}), {"x", "first"});
  net.mutable_op(0)->mutable_device_option()->set_random_seed(7);
  std::vector<float> values[2];
  for (auto& run : values) {
    Workspace ws;
    Feed<float>(&ws, "x", {3, 1, 1}, std::vector<float>(3));
    Feed<float>(&ws, "first", {1}, {0});
    ws.CreateNet(net);
    for (int i = 0; i < 2; ++i) {
      ws.RunNet("net");
      for (float value : FetchValues<float>(ws, "all")) run.push_back(value);
    }
  }
  EXPECT_EQ(values[0], values[1]);
  std::sort(values[0].begin(), values[0].end());
  EXPECT_EQ(std::unique(values[0].begin(), values[0].end()), values[0].end());
}

// The gradient operator for gradients of all four views must throw.
void ExpectGradientThrows(Workspace* ws, const OperatorDef& op, const std::string& text) {
  OperatorDef all = op;
  SetArgument(&all, "outputs_with_grads", Ints{0, 1, 2, 3});
  RunOp(ws, all, true);
  std::vector<GradientWrapper> g_output(5);
  for (int i = 0; i < 4; ++i) g_output[i].dense = all.output(i);
  ExpectThrows(ws, GetGradientForOp(all, g_output).ops[0], text);
}

TEST(RecurrentNetworkTest, BadInput) {
  Workspace ws;
  FeedLstm(&ws);
  const OperatorDef op = LstmOp(LstmStep(false), {0});
  auto changed = [&op](const Argument& argument) {
    OperatorDef other = op;
    for (Argument& old : *other.mutable_arg()) {
      if (old.name() == argument.name()) old = argument;
    }
    return other;
  };
  ExpectThrows(&ws, changed(MakeArgument("step_net", std::string("no net"))),
               "step_net is not a NetDef");
  ExpectThrows(&ws, changed(MakeArgument("link_offset", Ints{0})), "link_internal has 5 blobs");
  ExpectThrows(&ws, changed(MakeArgument("alias_offset", Ints{0})), "alias_offset 1 entries");
  ExpectThrows(&ws, changed(MakeArgument("initial_recurrent_state_ids", Ints{1, 6})),
               "6 is none of 6 inputs");
  ExpectThrows(&ws, changed(MakeArgument("link_offset", Ints{0, 2, 0, 1, 0})),
               "rows 5 to 5 are not in a tensor of shape [5, 3, 2]");
  ExpectThrows(&ws, changed(MakeArgument("alias_offset", Ints{1, -9, 1, -1})), "alias_offset -9");
  ExpectThrows(&ws, Op("RecurrentNetwork", {"x"}, {"y", "scratch"}), "step_net");
  ExpectGradientThrows(
      &ws,
      changed(MakeArgument("backward_link_internal", Strings{"h_grad", "h_prev_grad", "c_grad",
                                                             "c_prev_grad", "input_t_grad"})),
      "no operator of net backward_step writes input_t_grad");
  ExpectGradientThrows(&ws, changed(MakeArgument("alias_offset", Ints{2, -1, -2, -1})),
                       "an output with alias_offset -2");
  OperatorDef all = op;
  SetArgument(&all, "outputs_with_grads", Ints{0});
  std::vector<GradientWrapper> g_output(5);
  g_output[0].dense = all.output(0);
  OperatorDef gradient = GetGradientForOp(all, g_output).ops[0];
  SetArgument(&gradient, "outputs_with_grads", Ints(100));
  ExpectThrows(&ws, gradient, "outputs_with_grads has 100 elements");
  Feed<float>(&ws, "c_0", {2, kLstmUnits}, {1, 2, 3, 4});
  ExpectThrows(&ws, op, "shape [2, 2] for a batch of 3");
  FeedLstm(&ws);
  FeedRandom(&ws, "x", {4}, 1);
  ExpectThrows(&ws, op, "[T, N, ...], found shape [4]");

  Feed<float>(&ws, "x", {3, 1, 1}, std::vector<float>(3));
  Feed<float>(&ws, "first", {1}, {0});
  ExpectThrows(
      &ws,
      OneStateOp(
          StepNet({Op("Concat", {"prev", "prev"}, {"next", "dims"}, {MakeArgument("axis", 2)})},
                  {"next"}),
          {"x", "first"}),
      "net step gave blob next the shape [1, 1, 2]");
}

// The network and its gradient, whose loss is the sum of h_all.
NetDef LstmNet() {
  NetDef net = StepNet({LstmOp(LstmStep(false), {0})}, {});
  net.set_name("lstm");
  for (const OperatorDef& op : GetBackwardPass(net, {{"h_all", "h_all_grad"}}).ops) {
    *net.add_op() = op;
  }
  return net;
}

// Places the operators of the net, and of the nets in their arguments, on the GPU.
NetDef PlacedOnCuda(NetDef net) {
  for (OperatorDef& op : *net.mutable_op()) {
    op = OnCuda(op);
    for (Argument& argument : *op.mutable_arg()) {
      if (argument.has_n()) *argument.mutable_n() = PlacedOnCuda(argument.n());
    }
  }
  return net;
}

TEST(RecurrentNetworkTest, NetOnCudaEqualsThatOfTheHost) {
  NEED_CUDA();
  Workspace host, device;
  for (const int steps : {kLstmSteps, kLstmSteps + 2, 1}) {
    FeedLstm(&host, steps);
    FeedRandom(&host, "h_all_grad", {steps, kLstmBatch, kLstmUnits}, 6);
    for (const char* name : {"x", "h_0", "c_0", "w", "b", "lengths", "h_all_grad"}) {
      BlobGetMutableTensor(device.CreateBlob(name), Device{CUDA, 0})->CopyFrom(Fetch(host, name));
    }
    ASSERT_TRUE(host.RunNetOnce(LstmNet()));
    ASSERT_TRUE(device.RunNetOnce(PlacedOnCuda(LstmNet())));
    for (const char* name :
         {"h_all", "c_last", "x_grad", "w_grad", "b_grad", "h_0_grad", "c_0_grad"}) {
      EXPECT_EQ(Fetch(device, name).GetDeviceType(), CUDA) << name;
      const std::vector<float> values = OnHost<float>(device, name);
      Feed(&device, "copy", Fetch(device, name).sizes(), values);
      ExpectTensor(device, "copy", Fetch(host, name).sizes(), FetchValues<float>(host, name), 1e-5f,
                   1e-5f);
    }
  }
  for (const char* type : {"RecurrentNetwork", "RecurrentNetworkGradient"}) NoteRan(type);
}

}  // namespace
}  // namespace caffe2::testing
