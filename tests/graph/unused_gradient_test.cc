#include "caffe2/graph/unused_gradient.h"

#include <algorithm>
#include <functional>

#include "caffe2/core/argument.h"
#include "caffe2/graph/gradient.h"
#include "caffe2/graph/gradient_sum.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;

// A net with its backward pass, whose input is "x".
class UnusedNet {
 public:
  using Builder = testing::ImageNetBuilder;
  explicit UnusedNet(const std::function<std::string(Builder*)>& layers) {
    builder_.Add("AveragedLoss", {layers(&builder_)}, "loss");
    gradients_ = AddGradientOperators(&net(), {{"loss", ""}});
  }

  NetDef& net() { return builder_.net(); }
  const std::string& input_gradient() const { return gradients_.at("x").dense; }
  // The gradients of the parameters, which updates would read.
  std::set<std::string> ParameterGradients() {
    std::set<std::string> names;
    for (const std::string& blob : net().external_input()) {
      if (blob != "x") names.insert(gradients_.at(blob).dense);
    }
    return names;
  }
  // The operator that writes the blob last; null if none does.
  OperatorDef* WriterOf(const std::string& blob) {
    for (int i = net().op_size() - 1; i >= 0; --i) {
      OperatorDef* op = net().mutable_op(i);
      if (std::count(op->output().begin(), op->output().end(), blob) != 0) return op;
    }
    return nullptr;
  }
  std::map<std::string, std::vector<float>> Run() {
    EXPECT_TRUE(ws_.RunNetOnce(net()));
    std::map<std::string, std::vector<float>> values;
    for (const std::string& name : ParameterGradients()) {
      values[name] = testing::ValuesOf(ws_, name);
    }
    return values;
  }

 private:
  Workspace ws_;
  testing::ImageNetBuilder builder_{&ws_, "NHWC", false};
  std::map<std::string, GradientWrapper> gradients_;
};

UnusedNet FullyConnected() {
  return UnusedNet([](UnusedNet::Builder* builder) {
    builder->Input("x", 2, 3, 2);
    builder->Add("Tanh", {"x"}, "y");
    return builder->Fc(builder->Relu(builder->Fc("y", "fc1", 12, 5), "fc1"), "fc2", 5, 4);
  });
}

UnusedNet Convolutions(bool bias) {
  return UnusedNet([bias](UnusedNet::Builder* builder) {
    const std::string x = builder->Input("x", 2, 3, 6);
    return builder->Conv(builder->Conv(x, "conv1", 3, 4, 3, 1, bias), "conv2", 4, 4, 3);
  });
}

// Only the gradient of the input goes; the others keep their bits.
void ExpectLess(UnusedNet plain, UnusedNet less, int removed) {
  EXPECT_EQ(RemoveUnusedGradients(&less.net(), less.ParameterGradients()), removed);
  EXPECT_NE(plain.WriterOf(plain.input_gradient()), nullptr);
  EXPECT_EQ(less.WriterOf(less.input_gradient()), nullptr);
  const auto expected = plain.Run();
  EXPECT_GE(expected.size(), 2u);
  EXPECT_EQ(less.Run(), expected);
}

TEST(UnusedGradientTest, FullyConnectedLayersKeepTheGradientsOfTheirParameters) {
  // The gradients of Tanh and of the first layer.
  ExpectLess(FullyConnected(), FullyConnected(), 2);
}

TEST(UnusedGradientTest, ConvolutionsKeepTheGradientsOfTheirParameters) {
  for (const bool bias : {false, true}) ExpectLess(Convolutions(bias), Convolutions(bias), 1);
}

TEST(UnusedGradientTest, WhatIsReadFromOutsideStays) {
  UnusedNet kept = FullyConnected(), output = FullyConnected();
  std::set<std::string> keep = kept.ParameterGradients();
  keep.insert(kept.input_gradient());
  EXPECT_EQ(RemoveUnusedGradients(&kept.net(), keep), 0);
  output.net().add_external_output(output.input_gradient());
  EXPECT_EQ(RemoveUnusedGradients(&output.net(), output.ParameterGradients()), 0);
}

TEST(UnusedGradientTest, WhatAnOperatorReadsStays) {
  UnusedNet net = Convolutions(true);
  OperatorDef* reader = net.net().add_op();
  reader->set_type("Relu");
  reader->add_input(net.input_gradient());
  reader->add_output("seen");
  EXPECT_EQ(RemoveUnusedGradients(&net.net(), net.ParameterGradients()), 0);
}

TEST(UnusedGradientTest, OnlyTheBackwardPassIsLookedAt) {
  UnusedNet net = FullyConnected();
  for (OperatorDef& op : *net.net().mutable_op()) op.clear_is_gradient_op();
  EXPECT_EQ(RemoveUnusedGradients(&net.net(), net.ParameterGradients()), 0);
}

// Without `keep` and updates nobody reads the gradients of the parameters, but only gradients of
// inputs are looked for.
TEST(UnusedGradientTest, GradientsOfParametersStay) {
  UnusedNet net = Convolutions(true);
  EXPECT_EQ(RemoveUnusedGradients(&net.net()), 1);
  EXPECT_EQ(CountType(net.net(), "ConvGradient"), 2);
  EXPECT_EQ(net.WriterOf(net.input_gradient()), nullptr);
  for (const std::string& name : net.ParameterGradients()) {
    EXPECT_NE(net.WriterOf(name), nullptr) << name;
  }
}

// A gradient that FuseGradientSums adds to an earlier one is read.
TEST(UnusedGradientTest, AddedGradientsStay) {
  UnusedNet net([](UnusedNet::Builder* builder) {
    const std::string x = builder->Input("x", 2, 4, 6);
    return builder->Sum(builder->Conv(x, "a", 4, 4, 3), builder->Conv(x, "b", 4, 4, 1), "sum");
  });
  ASSERT_EQ(FuseGradientSums(&net.net()), 1);
  EXPECT_EQ(RemoveUnusedGradients(&net.net(), net.ParameterGradients()), 0);
}

}  // namespace
}  // namespace caffe2
