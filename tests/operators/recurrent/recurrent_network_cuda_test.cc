// Recurrent networks whose steps are launched one behind another on a device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "caffe2/core/net.h"
#include "caffe2/graph/gradient.h"
#include "operators/recurrent/recurrent_network.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int kBatch = 3, kUnits = 4;

NetDef NetOf(const std::string& name, const std::vector<OperatorDef>& ops) {
  NetDef net;
  net.set_name(name);
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

OperatorDef OnHostDevice(OperatorDef op) {
  op.mutable_device_option()->set_device_type(CPU);
  return op;
}

// s[t + 1] = tanh((s[t] + x[t]) / 2), the half of which an operator of the host forms.
NetDef HalfOnHostStep() {
  return NetOf(
      "step",
      {OnCuda(Op("Add", {"prev", "input_t"}, {"sum"})),
       OnCuda(Op("CopyGPUToCPU", {"sum"}, {"sum_on_host"})),
       OnHostDevice(Op("Scale", {"sum_on_host"}, {"half_on_host"}, {MakeArgument("scale", 0.5f)})),
       OnCuda(Op("CopyCPUToGPU", {"half_on_host"}, {"half"})),
       OnCuda(Op("Tanh", {"half"}, {"next"}))});
}

// A network of one state, of which the output `all` is what the steps write.
OperatorDef OneStateOp(const NetDef& step, const Strings& further_inputs = {},
                       const NetDef& backward = NetDef()) {
  Strings inputs{"x", "first"};
  inputs.insert(inputs.end(), further_inputs.begin(), further_inputs.end());
  std::vector<Argument> arguments{MakeArgument("step_net", step),
                                  MakeArgument("recurrent_states", Strings{"states"}),
                                  MakeArgument("initial_recurrent_state_ids", Ints{1}),
                                  MakeArgument("link_internal", Strings{"prev", "next", "input_t"}),
                                  MakeArgument("link_external", Strings{"states", "states", "x"}),
                                  MakeArgument("link_offset", Ints{0, 1, 0}),
                                  MakeArgument("alias_src", Strings{"states"}),
                                  MakeArgument("alias_dst", Strings{"all"}),
                                  MakeArgument("alias_offset", Ints{1})};
  if (backward.op_size() != 0) {
    arguments.push_back(MakeArgument("backward_step_net", backward));
    arguments.push_back(
        MakeArgument("backward_link_internal", Strings{"next_grad", "prev_grad", "input_t_grad"}));
    arguments.push_back(
        MakeArgument("backward_link_external", Strings{"states_grad", "states_grad", "x_grad"}));
    arguments.push_back(MakeArgument("backward_link_offset", Ints{1, 0, 0}));
    arguments.push_back(MakeArgument("outputs_with_grads", Ints{0}));
  }
  return OnCuda(Op("RecurrentNetwork", inputs, {"all", "scratch"}, arguments));
}

NetDef BackwardStep(const NetDef& step) {
  NetDef net;
  net.set_name("backward_step");
  for (const OperatorDef& op : GetBackwardPass(step, {{"next", "next_grad"}}).ops) {
    *net.add_op() = op;
  }
  return net;
}

void FeedOnDevice(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                  uint64_t seed) {
  FeedRandom(ws, "values", dims, seed);
  BlobGetMutableTensor(ws->CreateBlob(name), Device{CUDA, 0})->CopyFrom(Fetch(*ws, "values"));
}

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

// s[1] to s[T], from what the workspace holds.
std::vector<double> StatesOf(const Workspace& ws) {
  const auto x = OnHost<float>(ws, "x"), first = OnHost<float>(ws, "first");
  std::vector<double> states;
  for (size_t i = 0; i < x.size(); ++i) {
    const double before = i < first.size() ? first[i] : states[i - first.size()];
    states.push_back(std::tanh((before + x[i]) / 2));
  }
  return states;
}

// Of the sum of the weighted states, with respect to the sequence.
std::vector<double> SequenceGradient(const std::vector<double>& states,
                                     const std::vector<float>& weights, size_t row) {
  std::vector<double> gradient(states.size());
  for (size_t i = states.size(); i-- > 0;) {
    const double later = i + row < states.size() ? gradient[i + row] : 0;
    gradient[i] = (weights[i] + later) * (1 - states[i] * states[i]) / 2;
  }
  return gradient;
}

TEST(RecurrentNetworkCudaTest, OperatorsOfTheHostInsideOfSteps) {
  NEED_CUDA();
  const NetDef step = HalfOnHostStep();
  NetDef net = NetOf("net", {OneStateOp(step, {}, BackwardStep(step))});
  for (const OperatorDef& op : GetBackwardPass(net, {{"all", "all_grad"}}).ops) *net.add_op() = op;
  Workspace ws;
  for (const int steps : {5, 8, 2}) {
    FeedOnDevice(&ws, "x", {steps, kBatch, kUnits}, 1);
    FeedOnDevice(&ws, "first", {kBatch, kUnits}, 2);
    FeedOnDevice(&ws, "all_grad", {steps, kBatch, kUnits}, 3);
    if (ws.GetNet("net") == nullptr) ws.CreateNet(net);
    ASSERT_TRUE(ws.RunNet("net"));
    const std::vector<double> states = StatesOf(ws);
    ExpectNear(OnHost<float>(ws, "all"), states);
    ExpectNear(OnHost<float>(ws, "x_grad"),
               SequenceGradient(states, OnHost<float>(ws, "all_grad"), kBatch * kUnits));
  }
}

// The links, the sequence and the states lie on the host; a part of each step runs on a device.
TEST(RecurrentNetworkCudaTest, NetworkOfTheHostWithStepsOnADevice) {
  NEED_CUDA();
  const NetDef step =
      NetOf("step", {OnHostDevice(Op("Add", {"prev", "input_t"}, {"sum"})),
                     OnCuda(Op("CopyCPUToGPU", {"sum"}, {"sum_there"})),
                     OnCuda(Op("Scale", {"sum_there"}, {"half"}, {MakeArgument("scale", 0.5f)})),
                     OnCuda(Op("Tanh", {"half"}, {"next_there"})),
                     OnCuda(Op("CopyGPUToCPU", {"next_there"}, {"next"}))});
  Workspace ws;
  FeedRandom(&ws, "x", {6, kBatch, kUnits}, 1);
  FeedRandom(&ws, "first", {kBatch, kUnits}, 2);
  ASSERT_TRUE(ws.RunNetOnce(NetOf("net", {OnHostDevice(OneStateOp(step))})));
  ExpectNear(FetchValues<float>(ws, "all"), StatesOf(ws));
}

// Where devices lag behind the host, nothing is computed when the operator has started its steps.
TEST(RecurrentNetworkCudaTest, StepsAreNotWaitedFor) {
  NEED_CUDA();
  if (!IsEmulated() || std::getenv("CUDA_EMULATION_ASYNC") == nullptr) {
    GTEST_SKIP() << "the device does not wait to be waited for";
  }
  const NetDef step =
      NetOf("step", {OnCuda(Op("Add", {"prev", "input_t"}, {"sum"})),
                     OnCuda(Op("Scale", {"sum"}, {"half"}, {MakeArgument("scale", 0.5f)})),
                     OnCuda(Op("Tanh", {"half"}, {"next"}))});
  Workspace ws;
  FeedOnDevice(&ws, "x", {6, kBatch, kUnits}, 1);
  FeedOnDevice(&ws, "first", {kBatch, kUnits}, 2);
  const auto op = CreateOperator(OneStateOp(step), &ws);
  ASSERT_TRUE(StartOperator(op.get()));
  const Tensor& all = Fetch(ws, "all");
  EXPECT_TRUE(std::isnan(all.data<float>()[0]));  // memory that is emulated can be read
  op->Finish();
  ExpectNear(OnHost<float>(ws, "all"), StatesOf(ws));
}

// What a kernel of a step finds names the operator and the net that waited.
TEST(RecurrentNetworkCudaTest, ErrorsOfKernelsInSteps) {
  NEED_CUDA();
  const NetDef step = NetOf("step", {OnCuda(Op("Gather", {"table", "indices"}, {"rows"})),
                                     OnCuda(Op("Add", {"prev", "rows"}, {"next"}))});
  OperatorDef network = OneStateOp(step, {"table", "indices"});
  Workspace ws;
  FeedOnDevice(&ws, "x", {3, 1, kUnits}, 1);
  FeedOnDevice(&ws, "first", {1, kUnits}, 2);
  FeedOnDevice(&ws, "table", {2, kUnits}, 3);
  const auto feed_index = [&ws](int64_t index) {
    Feed<int64_t>(&ws, "index", {1, 1}, {index});
    BlobGetMutableTensor(ws.CreateBlob("indices"), Device{CUDA, 0})->CopyFrom(Fetch(ws, "index"));
  };
  feed_index(7);
  ws.CreateNet(NetOf("net", {network}));
  try {
    ws.RunNet("net");
    ADD_FAILURE() << "index 7 of 2 rows was taken";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("index 7 at position 0 is out of range for 2 rows"), text.npos) << text;
    EXPECT_NE(text.find("(operator Gather with output rows)"), text.npos) << text;
    EXPECT_NE(text.find("(net net)"), text.npos) << text;
  }
  feed_index(1);
  ASSERT_TRUE(ws.RunNet("net"));
  std::vector<double> expected;
  const auto table = OnHost<float>(ws, "table"), first = OnHost<float>(ws, "first");
  for (int i = 0; i < 3 * kUnits; ++i) {
    expected.push_back(table[kUnits + i % kUnits] + (i < kUnits ? first[i] : expected[i - kUnits]));
  }
  ExpectNear(OnHost<float>(ws, "all"), expected);
}

}  // namespace
}  // namespace caffe2::testing
