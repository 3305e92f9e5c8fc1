#include <cmath>

#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, StormCorrectsItsMomentum) {
  Feed<float>(&ws, "s", {1}, {0.7f});
  const auto p = FetchValues<float>(ws, "p"), m = FetchValues<float>(ws, "m");
  const auto g = FetchValues<float>(ws, "g");
  const Floats dense = Dense(g);
  double sum = 0.7;
  for (const float value : g) sum += double{value} * value;
  const double rate = -0.1 * std::pow(0.2 + sum, -1.0 / 3), alpha = 3 * rate * rate;
  std::vector<float> p_dense, m_dense, p_rows = p, m_rows = m;
  for (size_t i = 0; i < p.size(); ++i) {
    m_dense.push_back(static_cast<float>(dense[i] + (1 - alpha) * (m[i] - dense[i])));
    p_dense.push_back(static_cast<float>(p[i] + rate * m_dense[i]));
    const bool updated = i / 3 == 3 || i / 3 == 1;
    if (updated) m_rows[i] = m_dense[i];
    if (updated) p_rows[i] = p_dense[i];
  }
  Feed(&ws, "dense", {5, 3}, dense);
  const std::vector<Argument> args{MakeArgument("momentum", 3.f), MakeArgument("beta", 0.2f)};
  RunOp(&ws, Op("Storm", {"p", "m", "s", "dense", "lr"}, {"p1", "m1", "s1"}, args));
  ExpectTensor(ws, "p1", {5, 3}, p_dense);
  ExpectTensor(ws, "m1", {5, 3}, m_dense);
  ExpectTensor(ws, "s1", {1}, {static_cast<float>(sum)});
  RunOp(&ws, Op("SparseStorm", {"p", "m", "s", "g", "i", "lr"}, {"p", "m", "s"}, args));
  ExpectTensor(ws, "p", {5, 3}, p_rows);
  ExpectTensor(ws, "m", {5, 3}, m_rows);
  ExpectTensor(ws, "s", {1}, {static_cast<float>(sum)});
  ExpectThrows(&ws, Op("Storm", {"p", "m", "v", "dense", "lr"}, {"p", "m", "v"}), "grad_sq_sum");
  ExpectThrows(&ws, Op("SparseStorm", {"p", "m", "s", "short", "i", "lr"}, {"p", "m", "s"}),
               "the gradient must have one row for each of the 2 indices: it has shape [2], the "
               "parameter [5, 3]");
}

// What these keep of a step does not outlive it: a recording may hold no such memory.
TEST_F(SparseOptimizerTest, CudaGraphsHoldStepsOfOneRate) {
  NEED_CUDA();
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  *net.add_op() = Op("Storm", {"p", "m", "one", "v", "lr"}, {"p", "m", "one"});
  *net.add_op() = Op("SparseStorm", {"p", "m", "one", "g", "i", "lr"}, {"p", "m", "one"});
  *net.add_op() = Op("Wngrad", {"p", "one", "v", "lr"}, {"p", "one"});
  *net.add_op() = Op("SparseWngrad", {"p", "one", "i", "g", "lr"}, {"p", "one"});
  Feed<float>(&ws, "one", {1}, {1});
  Workspace expected, actual;
  for (Workspace* each : {&expected, &actual}) {
    for (const char* name : {"p", "m", "v", "g", "i", "one", "lr"}) {
      each->CreateBlob("host")->GetMutable<Tensor>()->CopyFrom(Fetch(ws, name));
      each->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"host"}, {name})));
    }
    net.set_name("net");
    net.set_type(each == &actual ? "cuda_graph" : "simple");
    each->CreateNet(net);
  }
  const LogLines log;
  for (int run = 0; run < 5; ++run) {
    for (Workspace* each : {&expected, &actual}) ASSERT_TRUE(each->RunNet("net"));
    for (const char* name : {"p", "m", "one"}) {
      EXPECT_EQ(OnHost<float>(expected, name), OnHost<float>(actual, name)) << name << run;
    }
  }
  EXPECT_TRUE(log.Contain("net net: 4 of 4 operators recorded in 1 CUDA graphs"));
}

}  // namespace
}  // namespace caffe2::testing
