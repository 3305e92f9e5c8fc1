#include "train/measured_forms.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe2/core/operator.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "tests/operators/bottleneck_net.h"

namespace caffe2 {
namespace {

class MeasuredFormsTest : public ::testing::Test {
 protected:
  MeasuredFormsTest() {
    std::string name = ::testing::TempDir() + "/forms.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~MeasuredFormsTest() override { std::filesystem::remove_all(folder_); }

  // A residual network for small images, fused as training starts from it.
  struct Model {
    Model() : helper("model", {.order = "NHWC"}) {
      NetworkOptions shape;
      shape.image_size = 8;
      shape.num_labels = 10;
      AddNetwork(&helper, "resnet20_cifar", "data", shape);
      FuseOperators(helper.net(), {});
      shapes = InferBlobShapesAndTypes({}, {helper.param_init_net()});
      shapes["data"] = CreateTensorShape({2, 8, 8, 3}, TensorProto::FLOAT);
    }
    // Fuses what `choose` says, and returns which answers it got.
    std::vector<std::optional<bool>> Fuse(const ChooseForm& choose) {
      std::vector<std::optional<bool>> answers;
      FuseConvolutionsWithNorms(helper.net(), ConvNormFusion::kNone, {}, [&](const FormSite& site) {
        answers.push_back(choose(site));
        return answers.back();
      });
      return answers;
    }
    ModelHelper helper;
    std::map<std::string, TensorShape> shapes;
  };
  MeasuredFormsOptions Options(const Model& model) const {
    return {.cache = PlanCache(folder_), .shapes = model.shapes, .share = nullptr};
  }
  static ChooseForm Asking(MeasuredForms* forms) {
    return [forms](const FormSite& site) { return (*forms)(site); };
  }
  // Makes all answers that are kept the same.
  void Keep(const std::string& answer) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::string key;
      std::ifstream file(entry.path());
      std::getline(file, key);
      file.close();
      std::ofstream(entry.path()) << key << "\n" << answer << "\n";
    }
  }

  std::string folder_;
};

TEST_F(MeasuredFormsTest, MeasuresEveryKindOfPlaceOnceAndKeepsTheAnswers) {
  Model model;
  MeasuredForms forms(Options(model));
  const auto answers = model.Fuse(Asking(&forms));
  EXPECT_GT(answers.size(), 19u) << "each convolution, at least";
  for (const auto& answer : answers) EXPECT_TRUE(answer.has_value());
  EXPECT_GT(forms.measured(), 3);
  EXPECT_LT(forms.measured(), static_cast<int>(answers.size())) << "layers repeat";
  // Another process takes what is kept; it is what decides.
  for (const std::string word : {"changed", "plain"}) {
    Keep(word);
    Model next;
    MeasuredForms again(Options(next));
    const auto kept = next.Fuse(Asking(&again));
    EXPECT_EQ(kept.front(), word == "changed");
    if (word == "plain") {
      EXPECT_EQ(again.measured(), 0);
    }
  }
}

TEST_F(MeasuredFormsTest, WhatIsNoAnswerIsMeasuredAgain) {
  Model model;
  MeasuredForms forms(Options(model));
  model.Fuse(Asking(&forms));
  for (const std::string damaged : {"", "no word"}) {
    Keep(damaged);
    Model next;
    MeasuredForms again(Options(next));
    next.Fuse(Asking(&again));
    EXPECT_GT(again.measured(), 0) << damaged;
  }
}

TEST_F(MeasuredFormsTest, NothingIsMeasuredWithoutAFolder) {
  Model model;
  MeasuredFormsOptions options = Options(model);
  options.cache = PlanCache("");
  MeasuredForms forms(options);
  for (const auto& answer : model.Fuse(Asking(&forms))) EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(forms.measured(), 0);
}

TEST_F(MeasuredFormsTest, UnknownShapesHaveNoAnswer) {
  Model model;
  model.shapes.erase("data");
  MeasuredForms forms(Options(model));
  EXPECT_EQ(model.Fuse(Asking(&forms)).front(), std::nullopt);
}

// Also the ends of blocks, with plain and with normalized shortcuts.
TEST_F(MeasuredFormsTest, FormsOfBottlenecksCanBeCompared) {
  ModelHelper helper("model", {.order = "NHWC"});
  testing::AddBottlenecks(&helper, "data", 8, 4);
  FuseOperators(helper.net(), {});
  MeasuredFormsOptions options{.cache = PlanCache(folder_), .share = nullptr};
  options.shapes = InferBlobShapesAndTypes({}, {helper.param_init_net()});
  options.shapes["data"] = CreateTensorShape({2, 6, 6, 8}, TensorProto::FLOAT);
  MeasuredForms forms(options);
  std::map<std::string, int> asked;
  FuseConvolutionsWithNorms(helper.net(), ConvNormFusion::kNone, {}, [&](const FormSite& site) {
    const std::string& type = site.changed.op(site.changed.op_size() - 1).type();
    EXPECT_TRUE(forms(site).has_value()) << type;
    ++asked[type];
    return true;  // so that what follows from it is asked for, too
  });
  EXPECT_EQ(asked["NormSumNormRelu"], 2);
  EXPECT_EQ(asked["NormSumNormReluConvStats"], 2);
  EXPECT_EQ(asked["NormSumReluConvStats"], 1);
}

// Shard 0 measures; what it says goes for shard 1, which must ask about the same places.
TEST_F(MeasuredFormsTest, ShardsGetTheAnswersOfTheFirst) {
  std::vector<std::string> said;
  Model first, second, third;
  MeasuredFormsOptions options = Options(first);
  options.share = [&said](const std::string& text) { return said.emplace_back(text); };
  MeasuredForms speaker(options);
  const auto answers = first.Fuse(Asking(&speaker));
  size_t heard = 0;
  options.measures = false;
  options.share = [&](const std::string& text) {
    EXPECT_EQ(text, "");
    return said.at(heard++);
  };
  MeasuredForms listener(options);
  EXPECT_EQ(second.Fuse(Asking(&listener)), answers);
  EXPECT_EQ(heard, said.size());
  EXPECT_EQ(listener.measured(), 0);
  std::string a, b;
  first.helper.net()->SerializeToString(&a);
  second.helper.net()->SerializeToString(&b);
  EXPECT_EQ(a, b);

  third.shapes["data"].set_dims(0, 4);
  options.shapes = third.shapes;
  heard = 0;
  MeasuredForms other(options);
  EXPECT_THROW(third.Fuse(Asking(&other)), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
