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

// Against the formula: the mean of -log(probability) with the weights 0.5 and 3 of labels 2 and 0.
TEST(LayersTest, EachLabelHasItsWeight) {
  ModelHelper model("m");
  const std::string weights = brew::ClassWeights(&model, "label", "weights", {3, 7, 0.5});
  brew::SoftmaxWithLoss(&model, "scores", "label", "softmax", "loss", /*label_prob=*/false,
                        weights);
  model.AddGradientOperators({{"loss", ""}});
  Workspace ws;
  const std::vector<float> scores = {1, 2, 4, 0, 0, 0};
  *ws.CreateBlob("scores")->GetMutable<Tensor>() = Tensor({2, 3}, scores);
  *ws.CreateBlob("label")->GetMutable<Tensor>() = Tensor({2}, std::vector<int32_t>{2, 0});
  ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
  ASSERT_TRUE(ws.RunNetOnce(*model.net()));
  const double sum = std::exp(1) + std::exp(2) + std::exp(4);
  const double loss = (0.5 * (std::log(sum) - 4) + 3 * std::log(3.)) / 3.5;
  EXPECT_NEAR(*ws.GetBlob("loss")->Get<Tensor>().data<float>(), loss, 1e-5);
  const float* gradient = ws.GetBlob("scores_grad")->Get<Tensor>().data<float>();
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(gradient[i], 0.5 / 3.5 * (std::exp(scores[i]) / sum - (i == 2)), 1e-6) << i;
    EXPECT_NEAR(gradient[3 + i], 3 / 3.5 * (1. / 3 - (i == 0)), 1e-6) << i;
  }
}

}  // namespace
}  // namespace caffe2
