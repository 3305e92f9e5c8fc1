// Nets whose runs of CUDA operators are recorded as graphs (caffe2/cuda/graph_net.cc).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/net.h"
#include "caffe2/core/random.h"
#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// Graphs are recorded in the third run. Values, random numbers and shapes that change afterwards
// must be seen all the same; `simple` tells what is right.
TEST(CudaGraphNetTest, FollowsValuesRandomNumbersAndShapes) {
  NEED_CUDA();
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  net.mutable_device_option()->set_random_seed(7);
  *net.add_op() = Op("CopyCPUToGPU", {"host"}, {"x"});
  *net.add_op() = Op("FC", {"x", "w", "b"}, {"fc"});
  *net.add_op() = Op("Relu", {"fc"}, {"fc"});
  *net.add_op() = Op("Dropout", {"fc"}, {"dropped", "mask"}, {MakeArgument("ratio", 0.5f)});
  *net.add_op() = Op("Scale", {"dropped"}, {"scaled"}, {MakeArgument("scale", 3.f)});
  *net.add_op() = Op("FCGradient", {"x", "w", "scaled"}, {"w_grad", "b_grad"});
  *net.add_op() = Op("Softmax", {"scaled"}, {"y"});
  Workspace expected, actual;
  for (Workspace* ws : {&expected, &actual}) {
    FeedRandom(ws, "host", {4, 5}, 1);
    for (const auto& [name, dims] :
         {std::pair{"w", std::vector<int64_t>{3, 5}}, {"b", std::vector<int64_t>{3}}}) {
      FeedRandom(ws, "values", dims, dims.size());
      ws->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {name})));
    }
    net.set_name("net");
    net.set_type(ws == &actual ? "cuda_graph" : "simple");
    ws->CreateNet(net);
  }
  for (int run = 0; run < 9; ++run) {
    for (Workspace* ws : {&expected, &actual}) {
      FeedRandom(ws, "host", {run < 6 ? 4 : 6, 5}, 10 + run);
      ASSERT_TRUE(ws->RunNet("net"));
    }
    for (const char* name : {"y", "w_grad", "b_grad"}) {
      Tensor wanted(CPU), found(CPU);
      wanted.CopyFrom(Fetch(expected, name));
      found.CopyFrom(Fetch(actual, name));
      ASSERT_EQ(wanted.sizes(), found.sizes()) << run;
      for (int64_t i = 0; i < wanted.numel(); ++i) {
        EXPECT_EQ(wanted.data<float>()[i], found.data<float>()[i]) << name << " in run " << run;
      }
    }
  }
}

// The iteration and the rate are computed on the host in the middle of the net, and Dropout draws
// numbers: one graph holds all the rest, and follows them.
TEST(CudaGraphNetTest, WholeIterationsWithOptimizersAreOneGraph) {
  NEED_CUDA();
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  net.mutable_device_option()->set_random_seed(3);
  const auto add_on_host = [&net](OperatorDef op) {
    op.mutable_device_option()->set_device_type(CPU);
    *net.add_op() = op;
  };
  *net.add_op() = Op("FC", {"x", "w", "b"}, {"fc"});
  *net.add_op() = Op("Dropout", {"fc"}, {"dropped", "mask"}, {MakeArgument("ratio", 0.3f)});
  *net.add_op() = Op("FCGradient", {"x", "w", "dropped"}, {"w_grad", "b_grad"});
  add_on_host(Op("Iter", {"iter"}, {"iter"}));
  add_on_host(Op("LearningRate", {"iter"}, {"lr"},
                 {MakeArgument("policy", std::string("exp")), MakeArgument("base_lr", -0.1f),
                  MakeArgument("gamma", 0.7f)}));
  *net.add_op() = Op("Adam", {"w", "m1", "m2", "w_grad", "lr", "iter"}, {"w", "m1", "m2"});
  *net.add_op() = Op("MomentumSGDUpdate", {"b_grad", "m", "lr", "b"}, {"b_grad", "m", "b"},
                     {MakeArgument("momentum", 0.9f)});
  Workspace expected, actual;
  for (Workspace* ws : {&expected, &actual}) {
    for (const auto& [name, dims] : std::map<std::string, std::vector<int64_t>>{{"x", {4, 5}},
                                                                                {"w", {3, 5}},
                                                                                {"b", {3}},
                                                                                {"m1", {3, 5}},
                                                                                {"m2", {3, 5}},
                                                                                {"m", {3}}}) {
      if (name[0] == 'm') {
        Feed(ws, "values", dims, std::vector<float>(name == "m" ? 3 : 15, 0.f));
      } else {
        FeedRandom(ws, "values", dims, name[0]);
      }
      ws->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {name})));
    }
    Feed(ws, "iter", {1}, std::vector<int64_t>{0});
    net.set_name("net");
    net.set_type(ws == &actual ? "cuda_graph" : "simple");
    ws->CreateNet(net);
  }
  const LogLines log;
  for (int run = 0; run < 7; ++run) {
    // A counter that jumps, as when a checkpoint is loaded.
    for (Workspace* ws : {&expected, &actual}) {
      if (run == 5) *ws->GetBlob("iter")->GetMutable<Tensor>()->mutable_data<int64_t>() = 40;
      ASSERT_TRUE(ws->RunNet("net"));
    }
    for (const char* name : {"w", "b", "m1", "m2", "m", "dropped"}) {
      EXPECT_EQ(OnHost<float>(expected, name), OnHost<float>(actual, name))
          << name << " in run " << run;
    }
  }
  EXPECT_TRUE(log.Contain("net net: 5 of 7 operators recorded in 1 CUDA graphs"));
  EXPECT_FALSE(log.Contain("not recorded"));
}

// An operator that draws on the host, and one that reads a shape there, do not become part of a
// graph, and still follow what changes.
TEST(CudaGraphNetTest, NamesWhatStaysOutOfTheGraph) {
  NEED_CUDA();
  NetDef net;
  net.set_name("net");
  net.set_type("cuda_graph");
  net.mutable_device_option()->set_device_type(CUDA);
  *net.add_op() = Op("Scale", {"x"}, {"scaled"}, {MakeArgument("scale", 2.f)});
  *net.add_op() = Op("Reshape", {"scaled", "shape"}, {"y", "old_shape"});
  *net.add_op() =
      Op("UniformFill", {}, {"noise"}, {MakeArgument("shape", std::vector<int64_t>{2})});
  *net.add_op() = Op("Scale", {"y"}, {"z"}, {MakeArgument("scale", 2.f)});
  Workspace ws;
  FeedRandom(&ws, "values", {6}, 1);
  ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {"x"})));
  Feed(&ws, "shape", {2}, std::vector<int64_t>{2, 3});
  ws.CreateNet(net);
  const LogLines log;
  std::vector<float> last;
  for (int run = 0; run < 6; ++run) {
    const std::vector<int64_t> shape =
        run < 4 ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{3, 2};
    Feed(&ws, "shape", {2}, shape);
    ASSERT_TRUE(ws.RunNet("net"));
    EXPECT_EQ(Fetch(ws, "z").sizes(), shape);
    const std::vector<float> noise = OnHost<float>(ws, "noise");
    EXPECT_NE(noise, last) << "run " << run;
    last = noise;
  }
  EXPECT_TRUE(log.Contain("operator 1, Reshape: output 1 is not a tensor"));
  EXPECT_TRUE(log.Contain("operator 2, UniformFill: it has no CUDA version"));
}

// What a kernel finds in a graph names its operator, too, and is thrown once.
TEST(CudaGraphNetTest, ErrorsOfRecordedKernelsNameTheOperator) {
  NEED_CUDA();
  NetDef net;
  net.set_name("net");
  net.set_type("cuda_graph");
  net.mutable_device_option()->set_device_type(CUDA);
  *net.add_op() = Op("Scale", {"table"}, {"scaled"}, {MakeArgument("scale", 2.f)});
  *net.add_op() = Op("Gather", {"scaled", "indices"}, {"rows"});
  Workspace ws;
  FeedRandom(&ws, "values", {2, 3}, 1);
  ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {"table"})));
  for (int run = 0; run < 8; ++run) {
    const bool is_wrong = run % 2 == 1;
    Feed<int64_t>(&ws, "index", {1}, {is_wrong ? 7 : 1});
    ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"index"}, {"indices"})));
    if (run == 0) ws.CreateNet(net);
    std::string error;
    try {
      ws.RunNet("net");
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    EXPECT_EQ(!error.empty(), is_wrong) << error << " in run " << run;
    for (const char* text : {"index 7 at position 0", "(operator Gather with output rows)"}) {
      EXPECT_EQ(error.find(text) != std::string::npos, is_wrong) << error << " in run " << run;
    }
  }
}

// What one thread has the device do while another one records is no part of that graph. Shapes that
// change have both record again and again.
TEST(CudaGraphNetTest, ThreadsRecordBesideEachOther) {
  NEED_CUDA();
  const auto run_net = [](int thread) {
    NetDef net;
    net.set_name("net");
    net.set_type("cuda_graph");
    net.mutable_device_option()->set_device_type(CUDA);
    *net.add_op() = Op("CopyCPUToGPU", {"host"}, {"y"});
    for (int i = 0; i < 8; ++i) {
      *net.add_op() = Op("Scale", {"y"}, {"y"}, {MakeArgument("scale", 2.f)});
    }
    Workspace ws;
    Feed(&ws, "host", {1}, std::vector<float>{0.f});
    ws.CreateNet(net);
    for (int run = 0; run < 60; ++run) {
      const int64_t size = 1 + run / 5;
      const float value = 1.f * run + 100.f * thread;
      Feed(&ws, "host", {size}, std::vector<float>(size, value));
      ASSERT_TRUE(ws.RunNet("net"));
      EXPECT_EQ(OnHost<float>(ws, "y"), std::vector<float>(size, 256 * value)) << "run " << run;
    }
  };
  std::thread other(run_net, 1);
  run_net(0);
  other.join();
}

}  // namespace
}  // namespace caffe2::testing
