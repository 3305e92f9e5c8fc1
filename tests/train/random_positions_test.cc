#include "train/random_positions.h"

#include <gtest/gtest.h>

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

using Names = std::vector<std::string>;

OperatorDef* AddOp(NetDef* net, const std::string& type, const Names& inputs,
                   const Names& outputs) {
  OperatorDef* op = net->add_op();
  *op = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs);
  return op;
}

void AddDropout(NetDef* net, const std::string& x, const std::string& y) {
  OperatorDef* op = AddOp(net, "Dropout", {x}, {y, y + "_mask"});
  op->mutable_device_option()->set_random_seed(3 + net->op_size());
}

// Two operators draw into "y", one by itself and one in place; others stand around them.
NetDef DrawingNet(int others_before, int others_after) {
  NetDef net;
  net.set_name("drawing");
  for (int i = 0; i < others_before; ++i) AddOp(&net, "Copy", {"x"}, {MakeString("copy", i)});
  const int first = net.op_size();
  AddDropout(&net, "x", "y");
  AddDropout(&net, "y", "y");
  // The seeds do not depend on the other operators, as in training nets.
  for (int i = 0; i < 2; ++i) {
    net.mutable_op(first + i)->mutable_device_option()->set_random_seed(17 + i);
  }
  for (int i = 0; i < others_after; ++i) AddOp(&net, "Relu", {"y"}, {MakeString("relu", i)});
  return net;
}

class RandomPositionsTest : public ::testing::Test {
 protected:
  RandomPositionsTest() {
    Tensor* x = BlobGetMutableTensor(ws_.CreateBlob("x"), Device{});
    x->Resize(1000);
    std::fill_n(x->mutable_data<float>(), 1000, 1.f);
  }
  NetBase* Create(const NetDef& net) { return ws_.CreateNet(net, /*overwrite=*/true); }
  std::vector<float> RunOnce(NetBase* net) {
    EXPECT_TRUE(net->Run());
    const Tensor& y = ws_.GetBlob("y")->Get<Tensor>();
    return {y.data<float>(), y.data<float>() + y.numel()};
  }
  // What the net computes in the run after `state` was saved.
  ShardStateProto SaveAfterTwoRuns(std::vector<float>* third) {
    NetBase* net = Create(DrawingNet(1, 2));
    RunOnce(net);
    RunOnce(net);
    ShardStateProto state;
    SaveRandomPositions(*net, &state);
    *third = RunOnce(net);
    return state;
  }

  Workspace ws_;
};

TEST_F(RandomPositionsTest, ANetWithOtherOperatorsGoesOn) {
  std::vector<float> third;
  const ShardStateProto state = SaveAfterTwoRuns(&third);
  ASSERT_EQ(state.random_streams_size(), 2);
  EXPECT_EQ(state.random_streams(0).operator_name(), "Dropout y");
  EXPECT_EQ(state.random_streams(1).operator_name(), "Dropout y 2");
  for (const auto& [before, after] : {std::pair(1, 2), std::pair(0, 0), std::pair(4, 1)}) {
    NetBase* net = Create(DrawingNet(before, after));
    EXPECT_NE(RunOnce(net), third);
    RestoreRandomPositions(state, net);
    EXPECT_EQ(RunOnce(net), third) << before << " " << after;
  }
}

TEST_F(RandomPositionsTest, ListsOfEarlierVersionsAreRead) {
  std::vector<float> third;
  SaveAfterTwoRuns(&third);
  NetBase* net = Create(DrawingNet(1, 2));
  RunOnce(net);
  RunOnce(net);
  ShardStateProto list;
  for (const uint64_t position : net->RandomState()) list.add_random_position(position);
  NetBase* again = Create(DrawingNet(1, 2));
  RestoreRandomPositions(list, again);
  EXPECT_EQ(RunOnce(again), third);
  NetBase* smaller = Create(DrawingNet(0, 0));
  EXPECT_THROW(RestoreRandomPositions(list, smaller), IoError);
  // A net that has drawn nothing.
  ShardStateProto nothing;
  for (int i = 0; i < 37; ++i) nothing.add_random_position(0);
  const std::vector<float> first = RunOnce(smaller);
  RestoreRandomPositions(nothing, smaller);
  EXPECT_EQ(RunOnce(smaller), first);
}

TEST_F(RandomPositionsTest, AnOperatorThatIsMissingIsNamed) {
  std::vector<float> third;
  const ShardStateProto state = SaveAfterTwoRuns(&third);
  NetDef one = DrawingNet(1, 0);
  one.mutable_op()->RemoveLast();
  try {
    RestoreRandomPositions(state, Create(one));
    FAIL() << "restored";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("\"Dropout y 2\", which the net does not have"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(RandomPositionsTest, TheLastPositionIsTheLargestOfAll) {
  CheckpointProto checkpoint;
  EXPECT_EQ(LastRandomPosition(checkpoint), 0u);
  checkpoint.add_shard()->add_random_position(5);
  checkpoint.add_shard()->add_random_streams()->add_position(7);
  EXPECT_EQ(LastRandomPosition(checkpoint), 7u);
  checkpoint.mutable_shard(0)->add_random_position(9);
  EXPECT_EQ(LastRandomPosition(checkpoint), 9u);
}

}  // namespace
}  // namespace caffe2
