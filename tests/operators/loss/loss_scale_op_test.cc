#include <cmath>
#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// More gradients than one kernel launch takes, of sizes from nothing to more than one block.
// `shift` says which of them are empty.
std::vector<std::string> FeedGradients(Workspace* ws, int shift) {
  std::vector<std::string> names;
  for (int i = 0; i < 70; ++i) {
    names.push_back("g" + std::to_string(i));
    FeedRandom(ws, names.back(), {i == 3 ? 5000 : (i + shift) % 7}, i + 1, -1e4f, 1e4f);
  }
  return names;
}

TEST(CheckFiniteAndUnscaleTest, DividesAllGradientsInPlace) {
  for (const int shift : {0, 1}) {  // every gradient has elements in one of them
    Workspace ws;
    const std::vector<std::string> names = FeedGradients(&ws, shift);
    Feed<float>(&ws, "scale", {1}, {1024.f});
    std::vector<std::vector<float>> before;
    for (const std::string& name : names) before.push_back(FetchValues<float>(ws, name));
    std::vector<std::string> in = {"scale"}, out = {"found_inf"};
    in.insert(in.end(), names.begin(), names.end());
    out.insert(out.end(), names.begin(), names.end());
    RunOp(&ws, Op("CheckFiniteAndUnscale", in, out));
    ExpectTensor(ws, "found_inf", {1}, {0.f});
    for (size_t i = 0; i < names.size(); ++i) {
      for (float& value : before[i]) value /= 1024.f;
      EXPECT_EQ(FetchValues<float>(ws, names[i]), before[i]) << names[i];
    }
  }
}

// Gradients apart and in one block, good and with one bad value in any of them.
TEST(CheckFiniteTest, OnlyReads) {
  for (const bool flat : {false, true}) {
    for (const int bad : {-1, 0, 1, 2}) {
      Workspace ws;
      Feed<float>(&ws, "scale", {1}, {0.5f});
      Tensor block({64 + 128 + 3}, std::vector<float>(64 + 128 + 3, 1.f));
      int64_t offset = 0;
      std::vector<std::vector<float>> before;
      for (const int64_t size : {10, 100, 3}) {
        const int i = static_cast<int>(before.size());
        before.push_back(RandomValues(size, i + 1));
        if (i == bad) before.back().back() = 2e38f;  // twice that is infinite
        Tensor view = block.View(offset, {size});
        view.CopyFrom(Tensor({size}, before.back()));
        BlobGetMutableTensor(ws.CreateBlob("g" + std::to_string(i)), Device{})->ShareData(view);
        offset += (size + 63) / 64 * 64;
      }
      RunOp(&ws, Op("CheckFinite", {"scale", "g0", "g1", "g2"}, {"found_inf", "used"},
                    {MakeArgument("flat", flat)}));
      ExpectTensor(ws, "found_inf", {1}, {bad >= 0 ? 1.f : 0.f});
      ExpectTensor(ws, "used", {1}, {0.5f});
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(FetchValues<float>(ws, "g" + std::to_string(i)), before[i]);
      }
    }
  }
}

TEST(CheckFiniteTest, TakesGradientsOfSeveralTypes) {
  for (const int bad : {-1, 0, 1, 2}) {
    Workspace ws;
    const auto value = [bad](int i) { return i == bad ? kInfinity : 1.f; };
    Feed<float>(&ws, "scale", {1}, {2.f});
    Feed<float16>(&ws, "g0", {2}, {ToFloat16(1.f), ToFloat16(value(0))});
    Feed<float>(&ws, "g1", {2}, {1.f, value(1)});
    Feed<bfloat16>(&ws, "g2", {2}, {ToBFloat16(1.f), ToBFloat16(value(2))});
    RunOp(&ws, Op("CheckFinite", {"scale", "g0", "g1", "g2"}, {"found_inf", "used"}));
    ExpectTensor(ws, "found_inf", {1}, {bad >= 0 ? 1.f : 0.f});
  }
}

TEST(CheckFiniteAndUnscaleTest, FindsOneBadValueWhereverItIs) {
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    for (const int position : {0, 2047, 4999}) {
      Workspace ws;
      Feed<float>(&ws, "scale", {1}, {2.f});
      FeedRandom(&ws, "a", {3}, 1);
      std::vector<float> values = RandomValues(5000, 2);
      values[position] = bad;
      Feed(&ws, "b", {5000}, values);
      RunOp(&ws, Op("CheckFiniteAndUnscale", {"scale", "a", "b"}, {"found_inf", "a", "b"}));
      ExpectTensor(ws, "found_inf", {1}, {1.f});
    }
  }
}

TEST(CheckFiniteAndUnscaleTest, Float16) {
  Workspace ws;
  Feed<float>(&ws, "scale", {1}, {4.f});
  Feed<float16>(&ws, "g", {2}, {ToFloat16(8.f), ToFloat16(-2.f)});
  RunOp(&ws, Op("CheckFiniteAndUnscale", {"scale", "g"}, {"found_inf", "g"}));
  ExpectTensor(ws, "found_inf", {1}, {0.f});
  EXPECT_EQ(FetchValues<float16>(ws, "g"),
            (std::vector<float16>{ToFloat16(2.f), ToFloat16(-0.5f)}));
  Feed<float16>(&ws, "g", {2}, {ToFloat16(1e6f), ToFloat16(1.f)});
  RunOp(&ws, Op("CheckFiniteAndUnscale", {"scale", "g"}, {"found_inf", "g"}));
  ExpectTensor(ws, "found_inf", {1}, {1.f});
}

TEST(CheckFiniteAndUnscaleTest, Refuses) {
  Workspace ws;
  FeedRandom(&ws, "two", {2}, 1);
  Feed<float>(&ws, "scale", {1}, {4.f});
  FeedRandom(&ws, "g", {2}, 2);
  ExpectThrows(&ws, Op("CheckFiniteAndUnscale", {"two", "g"}, {"f", "g"}),
               "the loss scale must have one element, found 2");
  ExpectThrows(&ws, Op("CheckFiniteAndUnscale", {"scale", "g"}, {"f", "other"}), "in place");
}

TEST(UpdateLossScaleTest, GrowsAfterGoodStepsAndBacksOff) {
  Workspace ws;
  Feed<float>(&ws, "scale", {1}, {1024.f});
  Feed<int>(&ws, "steps", {1}, {0});
  const OperatorDef op = Op("UpdateLossScale", {"scale", "steps", "found_inf"}, {"scale", "steps"},
                            {MakeArgument("growth_interval", 3)});
  const std::vector<float> found = {0, 0, 0, 0, 1, 0, 0, 0};
  const std::vector<float> scales = {1024, 1024, 2048, 2048, 1024, 1024, 1024, 2048};
  for (size_t i = 0; i < found.size(); ++i) {
    Feed<float>(&ws, "found_inf", {1}, {found[i]});
    RunOp(&ws, op);
    ExpectTensor(ws, "scale", {1}, {scales[i]});
  }
}

TEST(UpdateLossScaleTest, StaysInRange) {
  for (const float found : {0.f, 1.f}) {
    Workspace ws;
    Feed<float>(&ws, "scale", {1}, {1.f});
    Feed<int>(&ws, "steps", {1}, {0});
    Feed<float>(&ws, "found_inf", {1}, {found});
    for (int i = 0; i < 60; ++i) {
      RunOp(&ws, Op("UpdateLossScale", {"scale", "steps", "found_inf"}, {"scale", "steps"},
                    {MakeArgument("growth_interval", 1)}));
    }
    ExpectTensor(ws, "scale", {1}, {found == 0 ? 0x1p24f : 0x1p-14f});
  }
}

TEST(UpdateLossScaleTest, Refuses) {
  Workspace ws;
  Feed<float>(&ws, "scale", {1}, {1.f});
  Feed<int>(&ws, "steps", {1}, {0});
  for (const Argument& bad :
       {MakeArgument("growth_interval", 0), MakeArgument("backoff_factor", 1.f),
        MakeArgument("growth_factor", 0.5f)}) {
    ExpectThrows(&ws, Op("UpdateLossScale", {"scale", "steps", "scale"}, {"a", "b"}, {bad}), "");
  }
}

// With found_inf, an update leaves parameters and state as they are, whatever the gradient is.
struct SkippedUpdate {
  const char* type;
  std::vector<std::string> inputs;   // without found_inf
  std::vector<std::string> outputs;  // "g..." is the step
};
class SkippedUpdateTest : public ::testing::TestWithParam<SkippedUpdate> {};

TEST_P(SkippedUpdateTest, KeepsStateInAndOutOfPlace) {
  const SkippedUpdate& update = GetParam();
  for (const bool in_place : {true, false}) {
    Workspace ws;
    Feed<float>(&ws, "lr", {1}, {0.1f});
    Feed<int64_t>(&ws, "iter", {1}, {7});
    Feed<float>(&ws, "g", {3}, {kInfinity, std::nanf(""), 1.f});
    FeedRandom(&ws, "m", {3}, 2, 0.1f, 1.f);
    FeedRandom(&ws, "v", {3}, 3, 0.1f, 1.f);
    FeedRandom(&ws, "p", {3}, 4);
    Feed<float>(&ws, "found_inf", {1}, {1.f});
    std::map<std::string, std::vector<float>> before;
    for (const char* name : {"m", "v", "p"}) before[name] = FetchValues<float>(ws, name);
    std::vector<std::string> inputs = update.inputs, outputs = update.outputs;
    inputs.emplace_back("found_inf");
    if (!in_place) {
      for (std::string& name : outputs) name += "_out";
    }
    RunOp(&ws, Op(update.type, inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<float> expected =
          update.outputs[i] == "g" ? std::vector<float>(3, 0.f) : before[update.outputs[i]];
      EXPECT_EQ(FetchValues<float>(ws, outputs[i]), expected) << update.type << " " << outputs[i];
    }
    // A zero changes nothing about the update.
    Feed<float>(&ws, "g", {3}, {1.f, 2.f, 3.f});
    Feed<float>(&ws, "found_inf", {1}, {0.f});
    RunOp(&ws, Op(update.type, inputs, outputs));
    EXPECT_NE(FetchValues<float>(ws, outputs.back()), before[update.outputs.back()]);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Updates, SkippedUpdateTest,
    ::testing::Values(SkippedUpdate{"MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}},
                      SkippedUpdate{
                          "FP32MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}},
                      SkippedUpdate{"Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p", "m", "v"}},
                      SkippedUpdate{"Adagrad", {"p", "m", "g", "lr"}, {"p", "m"}},
                      SkippedUpdate{"RmsProp", {"g", "v", "m", "lr"}, {"g", "v", "m"}}),
    [](const auto& info) { return info.param.type; });

}  // namespace
}  // namespace caffe2::testing
