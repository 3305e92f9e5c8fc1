// Filter gradients on a second stream: the same bits as in line. The emulated side stream does its
// work only when a join waits for it, so that what is joined, overwritten or given back at the
// wrong place gives others.
#include "caffe2/core/net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/graph/side_stream.h"
#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kBatch = 2, kChannels = 8, kSize = 6;
constexpr int kLayers = 6;

OperatorDef Scaled(const std::string& from, const std::string& to) {
  return Op("Scale", {from}, {to}, {MakeArgument("scale", 0.75f)});
}

// What stands for a backward pass: gradients of convolutions of each kind in turn (ConvGradient
// with and without bias and sum, and the fused ones), images that die behind them, passes over
// memory between them, one of them in place, and readers of filter gradients on the way. With
// `visit_host` a copy to the host and back parts it.
NetDef BackwardPass(bool visit_host) {
  const std::vector<Argument> window = {MakeArgument<std::string>("order", "NHWC"),
                                        MakeArgument<int>("kernel", 1)};
  std::vector<Argument> no_bias = window;
  no_bias.push_back(MakeArgument<int>("no_bias", 1));
  NetDef net;
  net.set_name("backward");
  net.mutable_device_option()->set_device_type(CUDA);
  const auto add = [&net](const OperatorDef& op) { *net.add_op() = op; };
  for (int i = kLayers; i > 0; --i) {
    add(Scaled("image", MakeString("x", i)));
    if (i % 3 == 2) add(Scaled("image", MakeString("n", i)));
  }
  add(Scaled("gradient", MakeString("dy", kLayers)));
  for (int i = kLayers; i > 0; --i) {
    const std::string k = std::to_string(i), x = "x" + k, dy = "dy" + k, dw = "dw" + k,
                      dx = "dx" + k;
    if (i % 3 == 0) {
      add(Op("ConvGradient", {x, "w", dy}, {dw, "db" + k, dx}, window));
      add(Op("ConvGradient", {x, "w", dy, dx}, {"dw_again" + k, dx}, no_bias));
    } else if (i % 3 == 1) {
      add(Op("NormReluConvStatsGradient", {x, "norm", "w", dy}, {dw, dx, "dnorm" + k}, window));
    } else {
      add(Scaled("image", "also" + k));
      if (i == 2) {
        add(Op("NormSumNormReluConvStatsGradient",
               {x, "norm", "image", "norm", "w", dy, "n" + k, "also" + k},
               {dw, dx, "dnorm" + k, "dz_norm"}, window));
      } else {
        add(Op("NormSumReluConvStatsGradient", {x, "norm", "image", "w", dy, "n" + k, "also" + k},
               {dw, dx, "dnorm" + k}, window));
      }
    }
    add(Scaled(dx, "t" + k));
    add(Scaled("t" + k, "u" + k));
    if (i % 2 == 0) add(Scaled(dy, dy));
    if (visit_host && i == 4) {
      add(Op("CopyGPUToCPU", {"u" + k}, {"host"}));
      add(Op("CopyCPUToGPU", {"host"}, {"u" + k}));
    }
    add(Scaled("u" + k, MakeString("dy", i - 1)));
    if (i == 3) add(Op("Sum", {"dw3", "dw5"}, {"dw_sum"}));
  }
  return net;
}

std::vector<std::string> Results() {
  std::vector<std::string> blobs = {"dy0", "dy6",       "dw_sum",    "db3",
                                    "db6", "dw_again3", "dw_again6", "dz_norm"};
  for (int i = 1; i <= kLayers; ++i) {
    blobs.push_back(MakeString("dw", i));
    if (i % 3 != 0) blobs.push_back(MakeString("dnorm", i));
  }
  return blobs;
}

void FeedOnDevice(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                  uint64_t seed, const std::string& type) {
  FeedRandom(ws, "values", dims, seed + name[0], 0.5f, 1.5f);
  ws->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {"moved"})));
  ws->RunOperatorOnce(OnCuda(type == "float16" ? Op("FloatToHalf", {"moved"}, {name})
                                               : Op("Copy", {"moved"}, {name})));
}
// Others for each seed, in the same place.
void FeedInputs(Workspace* ws, const std::string& type, uint64_t seed = 0) {
  const std::vector<int64_t> image = {kBatch, kSize, kSize, kChannels};
  for (const char* name : {"image", "gradient"}) FeedOnDevice(ws, name, image, seed, type);
  FeedOnDevice(ws, "w", {kChannels, 1, 1, kChannels}, seed, "float");
  FeedOnDevice(ws, "norm", {6, kChannels}, seed, "float");
}

std::vector<float> ValuesOf(Workspace* ws, const std::string& name) {
  const bool narrow = Fetch(*ws, name).IsType<float16>();
  if (narrow) ws->RunOperatorOnce(OnCuda(Op("HalfToFloat", {name}, {"wide"})));
  return OnHost<float>(*ws, narrow ? "wide" : name);
}

void ShareMemory(const NetDef& net, const std::vector<std::string>& kept, Workspace* ws) {
  std::map<std::string, TensorShape> shapes;
  for (const std::string& name : ws->Blobs()) {
    shapes[name] = GetTensorShapeOfBlob(*ws->GetBlob(name));
  }
  const MemoryPlan plan = PlanMemory(net, InferBlobShapesAndTypes(shapes, {&net}),
                                     std::set<std::string>(kept.begin(), kept.end()));
  EXPECT_LT(plan.arena_bytes, plan.unplanned_bytes);
  ApplyMemoryPlan(plan, {CUDA, 0}, ws);
}

struct Case {
  std::string executor, type;
  int most_open;
  bool visit_host;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.executor << ", " << c.type << ", " << c.most_open
             << (c.visit_host ? ", by way of the host" : "");
}

class SideStreamTest : public ::testing::TestWithParam<Case> {};

// Runs it five times on other inputs, which records; with an observer in the second.
void RunOften(NetDef net, const std::string& executor, const std::string& type, Workspace* ws) {
  net.set_type(executor);
  *net.add_arg() = MakeArgument("in_order", 1);
  NetBase* made = ws->CreateNet(net);
  for (int run = 0; run < 5; ++run) {
    FeedInputs(ws, type, 100 * run);
    const NetObserver* observer = nullptr;
    if (run == 1) observer = made->AttachObserver(std::make_unique<NetObserver>());
    ASSERT_TRUE(made->Run()) << "run " << run;
    if (observer != nullptr) made->DetachObserver(observer);
  }
}

TEST_P(SideStreamTest, GivesTheSameBits) {
  NEED_CUDA();
  const auto& [executor, type, most_open, visit_host] = GetParam();
  const NetDef in_line = BackwardPass(visit_host);
  NetDef aside = in_line;
  ASSERT_GE(UseSideStreams(&aside, most_open), kLayers);
  Workspace expected, found;
  FeedInputs(&expected, type);
  RunOften(in_line, "simple", type, &expected);
  FeedInputs(&found, type);
  ShareMemory(aside, Results(), &found);
  RunOften(aside, executor, type, &found);
  for (const std::string& name : Results()) {
    EXPECT_EQ(ValuesOf(&found, name), ValuesOf(&expected, name)) << name;
  }
  // Without a plan, memory goes to the pool and comes from it as operators run.
  Workspace unplanned;
  FeedInputs(&unplanned, type);
  RunOften(aside, executor, type, &unplanned);
  for (const std::string& name : Results()) {
    EXPECT_EQ(ValuesOf(&unplanned, name), ValuesOf(&expected, name)) << name;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* executor : {"simple", "dag", "cuda_graph"}) {
    for (const char* type : {"float", "float16"}) {
      for (const int most_open : {1, 2, 100}) {
        for (const bool visit_host : {false, true}) {
          cases.push_back({executor, type, most_open, visit_host});
        }
      }
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Executors, SideStreamTest, ::testing::ValuesIn(Cases()));

// A recording that is parted between fork and join has each of its graphs joined at its end.
TEST(SideStreamNetTest, RecordsForkAndJoinInOneGraphOrTwo) {
  NEED_CUDA();
  for (const bool visit_host : {false, true}) {
    NetDef net = BackwardPass(visit_host);
    UseSideStreams(&net, 100);
    Workspace ws;
    FeedInputs(&ws, "float16");
    const LogLines log;
    RunOften(net, "cuda_graph", "float16", &ws);
    const int recorded = net.op_size() - (visit_host ? 2 : 0);
    EXPECT_TRUE(
        log.Contain(MakeString("net backward: ", recorded, " of ", net.op_size(),
                               " operators recorded in ", visit_host ? 2 : 1, " CUDA graphs")));
  }
}

// A run that fails leaves nothing under way that would write memory which is then used otherwise.
TEST(SideStreamNetTest, AFailureBetweenForkAndJoinLeavesNothingUnderWay) {
  NEED_CUDA();
  for (const char* executor : {"simple", "dag", "cuda_graph"}) {
    NetDef net = BackwardPass(false);
    *net.add_op() = Scaled("image", "x");
    *net.add_op() =
        Op("ConvGradient", {"x", "w", "gradient"}, {"dw", "db", "dx"},
           {MakeArgument<std::string>("order", "NHWC"), MakeArgument<int>("kernel", 1)});
    *net.add_op() = Op("Sum", {"dx", "w"}, {"bad"});
    net.set_type(executor);
    UseSideStreams(&net);
    Workspace ws;
    FeedInputs(&ws, "float");
    ws.CreateNet(net);
    for (int run = 0; run < 4; ++run) {
      EXPECT_THROW(ws.RunNet("backward"), Error);
      ws.RunOperatorOnce(OnCuda(Op("Copy", {"w"}, {"dw"})));
      EXPECT_EQ(OnHost<float>(ws, "dw"), OnHost<float>(ws, "w")) << executor << ", run " << run;
    }
  }
}

// Whoever waits for one operator has all of it.
TEST(SideStreamNetTest, ALoneOperatorIsDoneWhenItHasRun) {
  NEED_CUDA();
  Workspace ws;
  FeedInputs(&ws, "float");
  std::vector<float> in_line;
  for (const bool aside : {false, true}) {
    ws.RunOperatorOnce(
        OnCuda(Op("ConvGradient", {"image", "w", "gradient"}, {"dw", "db", "dx"},
                  {MakeArgument<std::string>("order", "NHWC"), MakeArgument<int>("kernel", 1),
                   MakeArgument("side_stream", aside)})));
    if (!aside) in_line = OnHost<float>(ws, "dw");
    EXPECT_EQ(OnHost<float>(ws, "dw"), in_line);
    ws.RunOperatorOnce(OnCuda(Op("Copy", {"w"}, {"dw"})));
  }
}

}  // namespace
}  // namespace caffe2::testing
