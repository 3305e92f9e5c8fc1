#include <google/protobuf/text_format.h>

#include <cmath>

#include "caffe2/graph/gradient.h"
#include "operators/recurrent/recurrent_network.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int kSteps = 4, kBatch = 3, kUnits = 2;

NetDef StepNet(const std::vector<OperatorDef>& ops, const std::vector<std::string>& outputs) {
  NetDef net;
  net.set_name("step");
  for (const OperatorDef& op : ops) *net.add_op() = op;
  for (const std::string& output : outputs) net.add_external_output(output);
  return net;
}

// The LSTM that caffe2.python.rnn_cell builds: gates_t = h_prev W^T + b + input_t.
NetDef LstmStep(bool drop_states) {
  return StepNet({Op("FC", {"h_prev", "w", "b"}, {"gates"}, {MakeArgument("axis", 2)}),
                  Op("Sum", {"gates", "input_t"}, {"gates"}),
                  Op("LSTMUnit", {"h_prev", "c_prev", "gates", "lengths", "timestep"}, {"h", "c"},
                     {MakeArgument("drop_states", drop_states)})},
                 {"h", "c"});
}

NetDef BackwardStep(const NetDef& step) {
  LossGradients outer;
  for (const std::string& output : step.external_output()) {
    outer.emplace_back(output, output + "_grad");
  }
  NetDef net;
  net.set_name("backward_step");
  for (const OperatorDef& op : GetBackwardPass(step, outer).ops) *net.add_op() = op;
  return net;
}

using Strings = std::vector<std::string>;
using Ints = std::vector<int>;

// A recurrent network with states h and c, of which the outputs are h_all, h_last, c_all, c_last.
OperatorDef LstmOp(const NetDef& step, const Ints& outputs_with_grads) {
  return Op(
      "RecurrentNetwork", {"x", "h_0", "c_0", "w", "b", "lengths"},
      {"h_all", "h_last", "c_all", "c_last", "scratch"},
      {MakeArgument("step_net", step), MakeArgument("backward_step_net", BackwardStep(step)),
       MakeArgument("recurrent_states", Strings{"h_states", "c_states"}),
       MakeArgument("initial_recurrent_state_ids", Ints{1, 2}),
       MakeArgument("link_internal", Strings{"h_prev", "h", "c_prev", "c", "input_t"}),
       MakeArgument("link_external", Strings{"h_states", "h_states", "c_states", "c_states", "x"}),
       MakeArgument("link_offset", Ints{0, 1, 0, 1, 0}),
       MakeArgument("alias_src", Strings{"h_states", "h_states", "c_states", "c_states"}),
       MakeArgument("alias_dst", Strings{"h_all", "h_last", "c_all", "c_last"}),
       MakeArgument("alias_offset", Ints{1, -1, 1, -1}),
       MakeArgument("backward_link_internal",
                    Strings{"h_grad", "h_prev_grad", "c_grad", "c_prev_grad", "gates_grad"}),
       MakeArgument("backward_link_external", Strings{"h_states_grad", "h_states_grad",
                                                      "c_states_grad", "c_states_grad", "x_grad"}),
       MakeArgument("backward_link_offset", Ints{1, 0, 1, 0, 0}), MakeArgument("param", Ints{3, 4}),
       MakeArgument("param_grads", Strings{"w_grad", "b_grad"}),
       MakeArgument("outputs_with_grads", outputs_with_grads)});
}

void FeedLstm(Workspace* ws, int steps = kSteps) {
  FeedRandom(ws, "x", {steps, kBatch, 4 * kUnits}, 1);
  FeedRandom(ws, "h_0", {kUnits}, 2);             // one for all of the batch
  FeedRandom(ws, "c_0", {1, kBatch, kUnits}, 3);  // as another network leaves it
  FeedRandom(ws, "w", {4 * kUnits, kUnits}, 4);
  FeedRandom(ws, "b", {4 * kUnits}, 5);
  Feed<int32_t>(ws, "lengths", {kBatch}, {steps, 1, steps - 1});
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// h [T, N, D] of the same LSTM, by plain loops.
std::vector<float> LstmReference(const Workspace& ws, bool drop_states, std::vector<float>* c_all) {
  const auto x = FetchValues<float>(ws, "x"), h_0 = FetchValues<float>(ws, "h_0"),
             c_0 = FetchValues<float>(ws, "c_0"), w = FetchValues<float>(ws, "w"),
             b = FetchValues<float>(ws, "b");
  const auto lengths = FetchValues<int32_t>(ws, "lengths");
  const int steps = static_cast<int>(Fetch(ws, "x").size(0));
  std::vector<float> h_all;
  std::vector<double> h(kBatch * kUnits), c(c_0.begin(), c_0.end());
  for (int i = 0; i < kBatch * kUnits; ++i) h[i] = h_0[i % kUnits];
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> before = h;
    for (int n = 0; n < kBatch; ++n) {
      for (int j = 0; j < kUnits; ++j) {
        double gate[4];
        for (int k = 0; k < 4; ++k) {
          const int row = k * kUnits + j;
          gate[k] = x[(t * kBatch + n) * 4 * kUnits + row] + b[row];
          for (int i = 0; i < kUnits; ++i) gate[k] += before[n * kUnits + i] * w[row * kUnits + i];
        }
        double &cell = c[n * kUnits + j], &hidden = h[n * kUnits + j];
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
  const int64_t steps = Fetch(ws, "x").size(0), row = kBatch * kUnits;
  ExpectTensor(ws, "h_all", {steps, kBatch, kUnits}, h);
  ExpectTensor(ws, "c_all", {steps, kBatch, kUnits}, c);
  ExpectTensor(ws, "h_last", {1, kBatch, kUnits}, {h.end() - row, h.end()});
  ExpectTensor(ws, "c_last", {1, kBatch, kUnits}, {c.end() - row, c.end()});
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
  for (const int steps : {kSteps, 2, 7, 1, kSteps}) {
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
  EXPECT_EQ(Fetch(ws, "h_all").sizes(), (std::vector<int64_t>{0, kBatch, kUnits}));
  ExpectTensor(ws, "c_last", {1, kBatch, kUnits}, FetchValues<float>(ws, "c_0"));
  Feed<float>(&ws, "h_last_grad", {1, kBatch, kUnits}, {1, 2, 3, 4, 5, 6});
  std::vector<GradientWrapper> g_output(5);
  g_output[1].dense = "h_last_grad";
  for (const OperatorDef& gradient : GetGradientForOp(op, g_output).ops) RunOp(&ws, gradient);
  ExpectTensor(ws, "w_grad", {4 * kUnits, kUnits}, std::vector<float>(4 * kUnits * kUnits, 0.f));
  ExpectTensor(ws, "h_0_grad", {kUnits}, {9, 12});
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
  Feed<float>(&ws, "c_0", {2, kUnits}, {1, 2, 3, 4});
  ExpectThrows(&ws, op, "shape [2, 2] for a batch of 3");
  FeedLstm(&ws);
  FeedRandom(&ws, "x", {4}, 1);
  ExpectThrows(&ws, op, "[T, N, ...], but has shape [4]");

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

TEST(RecurrentNetworkTest, BlobFetcher) {
  Workspace ws;
  FeedLstm(&ws, 2);
  RunOp(&ws, LstmOp(LstmStep(false), {0}), true);
  RunOp(&ws, Op("RecurrentNetworkBlobFetcher", {"scratch"}, {"names"}), true);
  const auto names = FetchValues<std::string>(ws, "names");
  EXPECT_EQ(names, (std::vector<std::string>{"rnn_c0", "rnn_c_prev0", "rnn_gates0", "rnn_h0",
                                             "rnn_h_prev0", "rnn_input_t0", "rnn_timestep0",
                                             "rnn_c1", "rnn_c_prev1", "rnn_gates1", "rnn_h1",
                                             "rnn_h_prev1", "rnn_input_t1", "rnn_timestep1"}));
  ExpectTensor(ws, "rnn_h1", {1, kBatch, kUnits}, FetchValues<float>(ws, "h_last"));
  EXPECT_EQ(FetchValues<int32_t>(ws, "rnn_timestep1"), std::vector<int32_t>{1});
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

// Places operators, and those of the nets in their arguments.
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
  for (const int steps : {kSteps, kSteps + 2, 1}) {
    FeedLstm(&host, steps);
    FeedRandom(&host, "h_all_grad", {steps, kBatch, kUnits}, 6);
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

TEST(RecurrentNetworkLinkTest, ApplyLink) {
  Workspace ws;
  Feed<float>(&ws, "outer", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  Feed<int32_t>(&ws, "t", {1}, {0});
  const OperatorDef op = Op("rnn_internal_apply_link", {"t", "outer"}, {"inner", "outer"},
                            {MakeArgument("offset", 1), MakeArgument("window", 2)});
  RunOp(&ws, op);
  ExpectTensor(ws, "inner", {2, 2}, {2, 3, 4, 5});
  Feed<int32_t>(&ws, "t", {1}, {1});
  RunOp(&ws, op);
  ExpectTensor(ws, "inner", {2, 2}, {4, 5, 6, 7});
  if (!TestsCuda()) {  // there, blobs here are copies
    BlobGetMutableTensor(ws.GetBlob("inner"), Device{})->mutable_data<float>()[0] = 9;
    ExpectTensor(ws, "outer", {4, 2}, {0, 1, 2, 3, 9, 5, 6, 7});
  }
  Feed<int32_t>(&ws, "t", {1}, {2});
  ExpectThrows(&ws, op, "rows 3 to 4 are not in a tensor of shape [4, 2]");
  Feed<int32_t>(&ws, "t", {1}, {-2});
  ExpectThrows(&ws, op, "rows -1 to 0");
}

TEST(RecurrentNetworkLinkTest, AccumulateGradientInput) {
  Workspace ws;
  Feed<float>(&ws, "outer", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "gradient", {3, 2}, {10, 10, 10, 10, 10, 10});
  Feed<int32_t>(&ws, "t", {1}, {1});
  const OperatorDef op = Op("rnn_internal_accumulate_gradient_input", {"t", "outer", "gradient"},
                            {"gradient"}, {MakeArgument("offset", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "gradient", {3, 2}, {10, 10, 10, 10, 13, 14});
  Feed<int32_t>(&ws, "t", {1}, {2});
  ExpectThrows(&ws, op, "row 2 of shape [2, 2]");
  Feed<float>(&ws, "outer", {2, 1}, {1, 2});
  ExpectThrows(&ws, op, "rows of different sizes");
}

}  // namespace
}  // namespace caffe2::testing
