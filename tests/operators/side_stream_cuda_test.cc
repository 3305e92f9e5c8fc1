// Filter gradients on a second stream: the same bits as in line, also where they are recorded. The
// emulated side stream does its work only when the join waits for it.
#include "caffe2/core/net.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kBatch = 2, kChannels = 8, kFilters = 16, kSize = 6;
const std::vector<Argument> kWindow = {MakeArgument<std::string>("order", "NHWC"),
                                       MakeArgument<int>("kernel", 1)};

OperatorDef WithArguments(OperatorDef op, const std::vector<Argument>& more) {
  for (const Argument& argument : more) *op.add_arg() = argument;
  return OnCuda(op);
}

// Every operator that has a side stream, in a net.
NetDef Gradients(bool side, const std::string& executor) {
  const std::vector<Argument> stream = {MakeArgument("side_stream", side)};
  NetDef net;
  net.set_name("gradients");
  net.set_type(executor);
  *net.add_op() =
      WithArguments(Op("ConvGradient", {"x", "w", "dy"}, {"dw", "db", "dx"}, kWindow), stream);
  *net.add_op() = WithArguments(Op("ConvGradient", {"x", "w", "dy", "dx"}, {"dw2", "dx"}, kWindow),
                                {stream[0], MakeArgument<int>("no_bias", 1)});
  *net.add_op() = WithArguments(
      Op("NormReluConvStatsGradient", {"x", "norm", "w", "dy"}, {"dw3", "g", "dnorm"}, kWindow),
      stream);
  *net.add_op() =
      WithArguments(Op("NormSumReluConvStatsGradient", {"x", "norm", "z", "w", "dy", "n", "dx"},
                       {"dw4", "g2", "dnorm2"}, kWindow),
                    stream);
  *net.add_op() = WithArguments(
      Op("NormSumNormReluConvStatsGradient", {"x", "norm", "z", "norm", "w", "dy", "n", "dx"},
         {"dw5", "g3", "dnorm3", "dz_norm"}, kWindow),
      stream);
  // Reads what both streams wrote.
  *net.add_op() = OnCuda(Op("Sum", {"dw", "dw2", "dw3", "dw4", "dw5"}, {"dw_sum"}));
  return net;
}

void FeedOnDevice(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                  uint64_t seed, const std::string& type) {
  FeedRandom(ws, "values", dims, seed, 0.5f, 1.5f);
  ws->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {"moved"})));
  ws->RunOperatorOnce(OnCuda(type == "float16" ? Op("FloatToHalf", {"moved"}, {name})
                                               : Op("Copy", {"moved"}, {name})));
}

class SideStreamTest : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(SideStreamTest, GivesTheSameBits) {
  NEED_CUDA();
  const auto& [executor, type] = GetParam();
  std::map<std::string, std::vector<float>> expected;
  for (const bool side : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> image = {kBatch, kSize, kSize, kChannels};
    for (const char* name : {"x", "z", "n"}) FeedOnDevice(&ws, name, image, name[0], type);
    FeedOnDevice(&ws, "dy", {kBatch, kSize, kSize, kFilters}, 5, type);
    FeedOnDevice(&ws, "w", {kFilters, 1, 1, kChannels}, 6, "float");
    FeedOnDevice(&ws, "norm", {6, kChannels}, 7, "float");
    ws.CreateNet(Gradients(side, executor));
    for (int run = 0; run < 5; ++run) ASSERT_TRUE(ws.RunNet("gradients"));
    for (const std::string name : {"dw", "db", "dx", "dw2", "dw3", "g", "dnorm", "dw4", "g2",
                                   "dnorm2", "dw5", "g3", "dnorm3", "dz_norm", "dw_sum"}) {
      const bool narrow = Fetch(ws, name).IsType<float16>();
      if (narrow) ws.RunOperatorOnce(OnCuda(Op("HalfToFloat", {name}, {"wide"})));
      const std::vector<float> values = OnHost<float>(ws, narrow ? "wide" : name);
      if (side) {
        EXPECT_EQ(values, expected[name]) << name;
      } else {
        expected[name] = values;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, SideStreamTest,
                         ::testing::Combine(::testing::Values("simple", "cuda_graph"),
                                            ::testing::Values("float", "float16")));

}  // namespace
}  // namespace caffe2::testing
