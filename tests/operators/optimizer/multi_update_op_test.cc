#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "caffe2/core/device_backend.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// n parameters of unequal sizes; the update written out in double precision.
struct UpdateReference {
  std::vector<std::vector<float>> grad, moment, param;

  UpdateReference(const std::vector<int64_t>& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      grad.push_back(RandomValues(sizes[i], 10 + i));
      moment.push_back(RandomValues(sizes[i], 20 + i));
      param.push_back(RandomValues(sizes[i], 30 + i));
    }
  }
  void Step(double lr, double momentum, bool nesterov, const std::vector<float>& decay) {
    for (size_t i = 0; i < grad.size(); ++i) {
      for (size_t j = 0; j < grad[i].size(); ++j) {
        const double old = moment[i][j];
        const double next = momentum * old + lr * (grad[i][j] + double{decay[i]} * param[i][j]);
        moment[i][j] = static_cast<float>(next);
        param[i][j] -= static_cast<float>(nesterov ? (1 + momentum) * next - momentum * old : next);
      }
    }
  }
};

OperatorDef MakeUpdate(int n, bool nesterov, const std::vector<float>& decay, bool flat) {
  std::vector<std::string> inputs, outputs;
  for (const char* role : {"g", "m"}) {
    for (int i = 0; i < n; ++i) inputs.push_back(role + std::to_string(i));
  }
  inputs.push_back("lr");
  for (int i = 0; i < n; ++i) inputs.push_back("p" + std::to_string(i));
  for (const char* role : {"m", "p"}) {
    for (int i = 0; i < n; ++i) outputs.push_back(role + std::to_string(i));
  }
  return Op("MultiMomentumSGDUpdate", inputs, outputs,
            {MakeArgument("momentum", 0.9f), MakeArgument("nesterov", nesterov ? 1 : 0),
             MakeArgument("weight_decay", decay), MakeArgument("flat", flat)});
}

const std::vector<int64_t> kSizes = {3, 64, 1, 130, 70};
const std::vector<float> kDecay = {0.1f, 0.f, 0.5f, 0.01f, 0.f};

class MultiMomentumSgdTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Nesterov, MultiMomentumSgdTest, ::testing::Bool());

TEST_P(MultiMomentumSgdTest, UpdatesEachParameter) {
  UpdateReference reference(kSizes);
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{0.3f});
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const std::string n = std::to_string(i);
    Feed(&ws, "g" + n, {kSizes[i]}, reference.grad[i]);
    Feed(&ws, "m" + n, {kSizes[i]}, reference.moment[i]);
    Feed(&ws, "p" + n, {kSizes[i]}, reference.param[i]);
  }
  for (int run = 0; run < 3; ++run) {
    RunOp(&ws, MakeUpdate(static_cast<int>(kSizes.size()), GetParam(), kDecay, false));
    reference.Step(0.3f, 0.9f, GetParam(), kDecay);
  }
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const std::string n = std::to_string(i);
    ExpectTensor(ws, "g" + n, {kSizes[i]}, reference.grad[i]);
    ExpectTensor(ws, "m" + n, {kSizes[i]}, reference.moment[i], 1e-5f, 1e-6f);
    ExpectTensor(ws, "p" + n, {kSizes[i]}, reference.param[i], 1e-5f, 1e-6f);
  }
}

// Gradients in 16 bits, which are widened as they are read.
TEST_P(MultiMomentumSgdTest, TakesHalfGradients) {
  UpdateReference reference(kSizes);
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{0.3f});
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const std::string n = std::to_string(i);
    std::vector<float16> rounded;
    for (float& value : reference.grad[i]) {
      rounded.push_back(ToFloat16(value));
      value = ToFloat(rounded.back());
    }
    Feed(&ws, "g" + n, {kSizes[i]}, rounded);
    Feed(&ws, "m" + n, {kSizes[i]}, reference.moment[i]);
    Feed(&ws, "p" + n, {kSizes[i]}, reference.param[i]);
  }
  const OperatorDef update = MakeUpdate(static_cast<int>(kSizes.size()), GetParam(), kDecay, false);
  RunOp(&ws, update);
  reference.Step(0.3f, 0.9f, GetParam(), kDecay);
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const std::string n = std::to_string(i);
    ExpectTensor(ws, "m" + n, {kSizes[i]}, reference.moment[i], 1e-5f, 1e-6f);
    ExpectTensor(ws, "p" + n, {kSizes[i]}, reference.param[i], 1e-5f, 1e-6f);
  }
  Feed(&ws, "g1", {kSizes[1]}, reference.grad[1]);
  ExpectThrows(&ws, update, "have one type");
}

// Tensors as views of blocks, on the device under test, and the same after one has moved away.
TEST_P(MultiMomentumSgdTest, OfFlatBlocks) {
  if (TestsCuda() && NumDevices(CUDA) == 0) GTEST_SKIP() << DeviceProblem(CUDA);
  const Device device{TestsCuda() ? CUDA : CPU, 0};
  UpdateReference reference(kSizes);
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{0.3f});
  const auto place = [&](const std::string& role, const std::vector<std::vector<float>>& values) {
    Tensor block(device);
    block.CopyFrom(Tensor({64 * 8}, std::vector<float>(64 * 8, 0.f)));
    int64_t offset = 0;
    for (size_t i = 0; i < kSizes.size(); ++i) {
      Tensor view = block.View(offset, {kSizes[i]});
      view.CopyFrom(Tensor({kSizes[i]}, values[i]));
      BlobGetMutableTensor(ws.CreateBlob(role + std::to_string(i)), device)->ShareData(view);
      offset += (kSizes[i] + 63) / 64 * 64;
    }
  };
  place("g", reference.grad);
  place("m", reference.moment);
  place("p", reference.param);
  OperatorDef update = MakeUpdate(static_cast<int>(kSizes.size()), GetParam(), kDecay, true);
  *update.mutable_device_option() = ToDeviceOption(device);
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(ws.RunOperatorOnce(update));
    reference.Step(0.3f, 0.9f, GetParam(), kDecay);
    if (run > 0) continue;
    Tensor moved(device);
    moved.CopyFrom(Fetch(ws, "p2"));
    BlobGetMutableTensor(ws.GetBlob("p2"), device)->ShareData(moved);
  }
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const std::string n = std::to_string(i);
    for (const char* role : {"m", "p"}) {
      Tensor host(CPU);
      host.CopyFrom(Fetch(ws, role + n));
      BlobGetMutableTensor(ws.CreateBlob(std::string("host_") + role + n), Device{})
          ->ShareData(host);
    }
    ExpectTensor(ws, "host_m" + n, {kSizes[i]}, reference.moment[i], 1e-5f, 1e-6f);
    ExpectTensor(ws, "host_p" + n, {kSizes[i]}, reference.param[i], 1e-5f, 1e-6f);
  }
}

// One element under the other rules, written out in double precision.
struct Element {
  double param, first, second;
};
Element StepOf(const std::string& type, Element e, double g, double decay, bool decoupled,
               double lr, int64_t t) {
  if (decoupled) {
    e.param += lr * decay * e.param;
  } else {
    g += decay * e.param;
  }
  if (type == "MultiAdam") {
    e.first = 0.8 * e.first + 0.2 * g;
    e.second = 0.9 * e.second + 0.1 * g * g;
    const double correction = std::sqrt(1 - std::pow(0.9, t)) / (1 - std::pow(0.8, t));
    e.param += lr * correction * e.first / (std::sqrt(e.second) + 1e-3);
  } else if (type == "MultiAdagrad") {
    e.first = 0.7 * e.first + g * g;
    e.param += lr * g / (std::sqrt(e.first) + 1e-3);
  } else {
    e.first += (1 - 0.6) * (g * g - e.first);
    e.second = 0.5 * e.second + lr * g / std::sqrt(1e-3 + e.first);
    e.param += e.second;
  }
  return e;
}

struct RuleCase {
  const char* type;
  int states;
  std::vector<Argument> arguments;
  bool decoupled = false;
};

RuleCase AdamCase(bool decoupled) {
  return {"MultiAdam",
          2,
          {MakeArgument("beta1", 0.8f), MakeArgument("beta2", 0.9f), MakeArgument("epsilon", 1e-3f),
           MakeArgument("decoupled_weight_decay", decoupled)},
          decoupled};
}

class MultiUpdateTest : public ::testing::TestWithParam<std::tuple<RuleCase, bool>> {};
INSTANTIATE_TEST_SUITE_P(
    Rules, MultiUpdateTest,
    ::testing::Combine(
        ::testing::Values(AdamCase(false), AdamCase(true),
                          RuleCase{"MultiAdagrad",
                                   1,
                                   {MakeArgument("decay", 0.7f), MakeArgument("epsilon", 1e-3f)}},
                          RuleCase{"MultiRmsProp",
                                   2,
                                   {MakeArgument("decay", 0.6f), MakeArgument("momentum", 0.5f),
                                    MakeArgument("epsilon", 1e-3f)}}),
        ::testing::Bool()));

// Gradients that are scaled or not, decay, a copy of the second parameter; then a run that is
// skipped.
TEST_P(MultiUpdateTest, FollowsItsRule) {
  const auto& [rule, scaled] = GetParam();
  const std::vector<int64_t> sizes = {5, 70};
  const std::vector<double> decay = {0.25, 0};
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{-0.1f});
  Feed(&ws, "iter", {1}, std::vector<int64_t>{2});
  Feed(&ws, "scale", {1}, std::vector<float>{8.f});
  std::vector<std::string> inputs = {"g0", "g1"}, outputs;
  for (int s = 0; s < rule.states; ++s) {
    for (const int i : {0, 1}) {
      outputs.push_back("s" + std::to_string(s) + "_" + std::to_string(i));
      Feed(&ws, outputs.back(), {sizes[i]}, RandomValues(sizes[i], 5 + s, 0.1f, 1.f));
    }
  }
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  inputs.emplace_back("lr");
  if (rule.type == std::string("MultiAdam")) inputs.emplace_back("iter");
  inputs.insert(inputs.end(), {"p0", "p1", "found_inf"});
  if (scaled) inputs.emplace_back("scale");
  outputs.insert(outputs.end(), {"p0", "p1", "copy"});
  std::vector<Argument> arguments = rule.arguments;
  arguments.push_back(MakeArgument("weight_decay", std::vector<float>{0.25f, 0.f}));
  arguments.push_back(MakeArgument("copied", std::vector<int>{1}));
  arguments.push_back(MakeArgument<int>("copy_type", TensorProto::BFLOAT16));
  std::vector<std::vector<Element>> expected(2);
  for (const int i : {0, 1}) {
    const std::string n = std::to_string(i);
    FeedRandom(&ws, "g" + n, {sizes[i]}, 1 + i);
    FeedRandom(&ws, "p" + n, {sizes[i]}, 3 + i);
    const auto g = FetchValues<float>(ws, "g" + n), p = FetchValues<float>(ws, "p" + n),
               first = FetchValues<float>(ws, "s0_" + n),
               second = FetchValues<float>(ws, (rule.states > 1 ? "s1_" : "s0_") + n);
    for (int64_t k = 0; k < sizes[i]; ++k) {
      expected[i].push_back(StepOf(rule.type, {p[k], first[k], second[k]},
                                   scaled ? g[k] / 8.0 : g[k], decay[i], rule.decoupled, -0.1f, 3));
    }
  }
  for (const float found : {0.f, 1.f}) {
    Feed(&ws, "found_inf", {1}, std::vector<float>{found});
    RunOp(&ws, Op(rule.type, inputs, outputs, arguments));
    for (const int i : {0, 1}) {
      const std::string n = std::to_string(i);
      std::vector<float> p, first, second;
      for (const Element& e : expected[i]) {
        p.push_back(static_cast<float>(e.param));
        first.push_back(static_cast<float>(e.first));
        second.push_back(static_cast<float>(e.second));
      }
      ExpectTensor(ws, "p" + n, {sizes[i]}, p, 1e-5f, 1e-6f);
      ExpectTensor(ws, "s0_" + n, {sizes[i]}, first, 1e-5f, 1e-6f);
      if (rule.states > 1) ExpectTensor(ws, "s1_" + n, {sizes[i]}, second, 1e-5f, 1e-6f);
    }
    std::vector<bfloat16> copy;  // of a parameter that was compared above
    for (const float master : FetchValues<float>(ws, "p1")) copy.push_back(ToBFloat16(master));
    EXPECT_EQ(FetchValues<bfloat16>(ws, "copy"), copy);
  }
}

// A decay of 0 leaves parameters that are infinite as they are.
TEST(MultiAdamTest, DecouplesNoDecayOfInfiniteParameters) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr int64_t kSize = 33;
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{-0.1f});
  Feed(&ws, "iter", {1}, std::vector<int64_t>{2});
  Feed(&ws, "p", {kSize}, std::vector<float>(kSize, kInf));
  for (const char* name : {"g", "s", "t"}) Feed(&ws, name, {kSize}, std::vector<float>(kSize, 1));
  RunOp(&ws, Op("MultiAdam", {"g", "s", "t", "lr", "iter", "p"}, {"s", "t", "p"},
                {MakeArgument("decoupled_weight_decay", true)}));
  EXPECT_EQ(FetchValues<float>(ws, "p"), std::vector<float>(kSize, kInf));
}

TEST(MultiMomentumSgdErrorTest, NamesWhatDoesNotFit) {
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{0.3f});
  FeedRandom(&ws, "g0", {3}, 1);
  FeedRandom(&ws, "m0", {4}, 2);
  FeedRandom(&ws, "p0", {3}, 3);
  ExpectThrows(&ws, MakeUpdate(1, false, {0.f}, false),
               "momentum has shape [4], the parameter [3]");
  ExpectThrows(&ws, MakeUpdate(1, false, {0.f, 0.f}, false),
               "one weight_decay for each of the 1 parameters, found 2");
  OperatorDef copies_none = MakeUpdate(1, false, {0.f}, false);
  *copies_none.add_arg() = MakeArgument("copied", std::vector<int>{1});
  copies_none.add_output("copy");
  ExpectThrows(&ws, copies_none,
               "MultiMomentumSGDUpdate is to copy parameter 1, but has 1 parameters");
  OperatorDef copies_floats = MakeUpdate(1, false, {0.f}, false);
  *copies_floats.add_arg() = MakeArgument<int>("copy_type", TensorProto::FLOAT);
  ExpectThrows(&ws, copies_floats, "argument copy_type must be FLOAT16 or BFLOAT16, found 1");
  OperatorDef scaled = MakeUpdate(1, false, {0.f}, false);
  FeedRandom(&ws, "m0", {3}, 2);
  Feed(&ws, "found_inf", {1}, std::vector<float>{0});
  Feed(&ws, "scale", {0}, std::vector<float>{});
  scaled.add_input("found_inf");
  scaled.add_input("scale");
  ExpectThrows(&ws, scaled, "the scale must have one element, found 0");
}

}  // namespace
}  // namespace caffe2::testing
