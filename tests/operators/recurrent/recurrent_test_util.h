// What the tests of recurrent networks and of their units share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "caffe2/graph/gradient.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

constexpr int kLstmSteps = 4, kLstmBatch = 3, kLstmUnits = 2;

inline NetDef StepNet(const std::vector<OperatorDef>& ops,
                      const std::vector<std::string>& outputs) {
  NetDef net;
  net.set_name("step");
  for (const OperatorDef& op : ops) *net.add_op() = op;
  for (const std::string& output : outputs) net.add_external_output(output);
  return net;
}

// The LSTM that caffe2.python.rnn_cell builds: gates_t = h_prev W^T + b + input_t.
inline NetDef LstmStep(bool drop_states) {
  return StepNet({Op("FC", {"h_prev", "w", "b"}, {"gates"}, {MakeArgument("axis", 2)}),
                  Op("Sum", {"gates", "input_t"}, {"gates"}),
                  Op("LSTMUnit", {"h_prev", "c_prev", "gates", "lengths", "timestep"}, {"h", "c"},
                     {MakeArgument("drop_states", drop_states)})},
                 {"h", "c"});
}

inline NetDef BackwardStep(const NetDef& step) {
  LossGradients outer;
  for (const std::string& output : step.external_output()) {
    outer.emplace_back(output, output + "_grad");
  }
  NetDef net;
  net.set_name("backward_step");
  for (const OperatorDef& op : GetBackwardPass(step, outer).ops) *net.add_op() = op;
  return net;
}

// A recurrent network with states h and c, of which the outputs are h_all, h_last, c_all, c_last.
inline OperatorDef LstmOp(const NetDef& step, const Ints& outputs_with_grads) {
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

inline void FeedLstm(Workspace* ws, int steps = kLstmSteps) {
  FeedRandom(ws, "x", {steps, kLstmBatch, 4 * kLstmUnits}, 1);
  FeedRandom(ws, "h_0", {kLstmUnits}, 2);                 // one for all of the batch
  FeedRandom(ws, "c_0", {1, kLstmBatch, kLstmUnits}, 3);  // as another network leaves it
  FeedRandom(ws, "w", {4 * kLstmUnits, kLstmUnits}, 4);
  FeedRandom(ws, "b", {4 * kLstmUnits}, 5);
  Feed<int32_t>(ws, "lengths", {kLstmBatch}, {steps, 1, steps - 1});
}

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr int kUnitRows = 3, kUnitWidth = 5;

inline void FeedTimestep(Workspace* ws, int t) { Feed<int32_t>(ws, "t", {1}, {t}); }

// Inputs of both units, at timestep 2 of sequences of lengths 3, 2 and 7: the second has ended.
inline void FeedUnit(Workspace* ws, int blocks) {
  FeedRandom(ws, "h_prev", {1, kUnitRows, kUnitWidth}, 1);
  FeedRandom(ws, "c_prev", {1, kUnitRows, kUnitWidth}, 2);
  FeedRandom(ws, "gates", {1, kUnitRows, blocks * kUnitWidth}, 3, -2, 2);
  Feed<int32_t>(ws, "lengths", {kUnitRows}, {3, 2, 7});
  FeedTimestep(ws, 2);
}

inline std::vector<float> Values(const Workspace& ws, const char* name) {
  return FetchValues<float>(ws, name);
}

}  // namespace caffe2::testing
