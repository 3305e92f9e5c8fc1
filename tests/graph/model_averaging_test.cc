#include "caffe2/graph/model_averaging.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

using Values = std::vector<float>;

// Two replicas in one process and no other shard, whose parameters the test sets between averages.
class ModelAveragingTest : public ::testing::Test {
 protected:
  ModelAveragingTest() {
    options_.devices = {Device{}, Device{}};
    for (const char* name : {"cpu_0/w", "cpu_1/w", "cpu_0/w_m", "cpu_1/w_m"}) {
      TensorShape& shape = blobs_.shapes[name];
      shape.add_dims(2);
      shape.set_data_type(TensorProto::FLOAT);
    }
  }

  void Set(const std::string& name, const Values& values) {
    Tensor* tensor = BlobGetMutableTensor(ws_.CreateBlob(name), Device{});
    tensor->Resize(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), tensor->mutable_data<float>());
  }
  Values Get(const std::string& name) {
    const Tensor& tensor = ws_.GetBlob(name)->Get<Tensor>();
    return {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
  }

  NetDef Average(const ModelUpdate& update) {
    NetDef net;
    net.set_name("average");
    AddModelAveraging(&net, blobs_, update, options_);
    return net;
  }

  DataParallelOptions options_;
  AveragedBlobs blobs_{{{"cpu_0/w", "cpu_1/w"}}, {{"cpu_0/w_m", "cpu_1/w_m"}}, {}};
  Workspace ws_;
};

TEST_F(ModelAveragingTest, WithoutMomentumItIsTheMean) {
  Set("cpu_0/w", {1, 2});
  Set("cpu_1/w", {3, -2});
  Set("cpu_0/w_m", {0, 8});
  Set("cpu_1/w_m", {1, 0});
  const NetDef net = Average({});
  EXPECT_TRUE(ws_.RunNetOnce(net));
  for (const std::string scope : {"cpu_0/", "cpu_1/"}) {
    EXPECT_EQ(Get(scope + "w"), (Values{2, 0}));
    EXPECT_EQ(Get(scope + "w_m"), (Values{0.5f, 4}));
  }
}

// Three blocks against the recursion in double; the state of the optimizer has no momentum.
TEST_F(ModelAveragingTest, BlockMomentumFollowsItsFormula) {
  const ModelUpdate update{.momentum = 0.6f, .learning_rate = 0.8f};
  for (const char* name : {"cpu_0/w", "cpu_1/w", "cpu_0/w_m", "cpu_1/w_m"}) Set(name, {1, 2});
  NetDef init, model;
  AddBlockMomentum(&init, blobs_.params, options_);
  AddBlockModel(&model, blobs_.params, options_);
  ASSERT_TRUE(ws_.RunNetOnce(init));
  ASSERT_TRUE(ws_.RunNetOnce(model));
  EXPECT_EQ(Get(BlockMomentumOf("cpu_1/w")), (Values{0, 0}));
  const NetDef net = Average(update);
  double g[] = {1, 2}, v[] = {0, 0};
  for (int block = 0; block < 3; ++block) {
    const Values first = {0.5f + block, -1}, second = {2, 4.25f * block};
    Set("cpu_0/w", first);
    Set("cpu_1/w", second);
    Set("cpu_0/w_m", first);
    Set("cpu_1/w_m", second);
    ASSERT_TRUE(ws_.RunNetOnce(net));
    for (int i = 0; i < 2; ++i) {
      const double mean = (first[i] + second[i]) / 2;
      v[i] = 0.6 * v[i] + 0.8 * (mean - g[i]);
      g[i] += v[i];
      for (const std::string scope : {"cpu_0/", "cpu_1/"}) {
        EXPECT_NEAR(Get(scope + "w")[i], g[i], 1e-5) << block;
        EXPECT_NEAR(Get(BlockMomentumOf(scope + "w"))[i], v[i], 1e-5) << block;
        EXPECT_NEAR(Get(scope + "w_m")[i], mean, 1e-6) << block;
      }
    }
  }
}

}  // namespace
}  // namespace caffe2
