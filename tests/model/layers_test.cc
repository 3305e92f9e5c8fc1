#include "caffe2/model/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

// Against the formula: the cross entropy with 0.7 for the label and 0.1 more for each of 3 labels.
TEST(LayersTest, SmoothLabelsAreProbabilities) {
  ModelHelper model("m");
  const std::string smooth = brew::SmoothLabels(&model, "label", "smooth", 3, 0.3f);
  brew::SoftmaxWithLoss(&model, "scores", smooth, "softmax", "loss", /*label_prob=*/true);
  Workspace ws;
  const std::vector<float> scores = {1, 2, 4, 0, 0, 0};
  *ws.CreateBlob("scores")->GetMutable<Tensor>() = Tensor({2, 3}, scores);
  *ws.CreateBlob("label")->GetMutable<Tensor>() = Tensor({2}, std::vector<int32_t>{2, 0});
  ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
  ASSERT_TRUE(ws.RunNetOnce(*model.net()));
  const Tensor& labels = ws.GetBlob(smooth)->Get<Tensor>();
  ASSERT_EQ(labels.sizes(), (std::vector<int64_t>{2, 3}));
  const float expected[] = {0.1f, 0.1f, 0.8f, 0.8f, 0.1f, 0.1f};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(labels.data<float>()[i], expected[i], 1e-6) << i;
  const double sum = std::exp(1) + std::exp(2) + std::exp(4);
  double loss = std::log(3.);  // of the second row
  for (int i = 0; i < 3; ++i) loss -= expected[i] * (scores[i] - std::log(sum));
  EXPECT_NEAR(*ws.GetBlob("loss")->Get<Tensor>().data<float>(), loss / 2, 1e-5);
}

}  // namespace
}  // namespace caffe2
