#include <gtest/gtest.h>

#include "caffe2/core/device_backend.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// n parameters of unequal sizes; the update written out in double precision.
struct Reference {
  std::vector<std::vector<float>> grad, moment, param;

  Reference(const std::vector<int64_t>& sizes) {
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
  Reference reference(kSizes);
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

// Tensors as views of blocks, on the device under test, and the same after one has moved away.
TEST_P(MultiMomentumSgdTest, OfFlatBlocks) {
  if (TestsCuda() && NumDevices(CUDA) == 0) GTEST_SKIP() << DeviceProblem(CUDA);
  const Device device{TestsCuda() ? CUDA : CPU, 0};
  Reference reference(kSizes);
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

TEST(MultiMomentumSgdErrorTest, NamesWhatDoesNotFit) {
  Workspace ws;
  Feed(&ws, "lr", {1}, std::vector<float>{0.3f});
  FeedRandom(&ws, "g0", {3}, 1);
  FeedRandom(&ws, "m0", {4}, 2);
  FeedRandom(&ws, "p0", {3}, 3);
  ExpectThrows(&ws, MakeUpdate(1, false, {0.f}, false), "momentum [4] for parameter [3]");
  ExpectThrows(&ws, MakeUpdate(1, false, {0.f, 0.f}, false), "one weight_decay for each parameter");
}

}  // namespace
}  // namespace caffe2::testing
