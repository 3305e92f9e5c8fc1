#include "train/not_finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "caffe2/core/operator_gradient.h"
#include "caffe2/graph/memory_plan.h"
#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

OperatorDef NewOp(const std::string& type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<Argument>& args = {}) {
  return GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
}

NetDef NewNet(const std::vector<OperatorDef>& ops) {
  NetDef net;
  net.set_name("net");
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

OperatorDef FillOp(const std::string& blob, float value) {
  return NewOp("ConstantFill", {}, {blob},
               {MakeArgument("shape", std::vector<int64_t>{4}), MakeArgument("value", value)});
}

TEST(NotFiniteTest, NamesTheFirstOutput) {
  const NetDef net = NewNet({FillOp("x", -1), NewOp("Sqr", {"x"}, {"y"}),
                             NewOp("Log", {"x"}, {"z"}), NewOp("Exp", {"z"}, {"u"})});
  Workspace ws;
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_EQ(DescribeNotFinite(net, {"x"}, ws),
            "the first output that is not finite, of those still in memory, is z of operator 2, Log"
            "; the last finite one before it is y of operator 1, Sqr");
  EXPECT_EQ(
      DescribeNotFinite(net, {"x", "u", "z"}, ws),
      "the first output that is not finite, of those still in memory, is z of operator 2, Log"
      "; the last finite one before it is y of operator 1, Sqr; parameter u is not finite now");
  EXPECT_EQ(DescribeNotFinite(NewNet({FillOp("x", -1)}), {"x", "absent"}, ws),
            "all outputs that are still in memory are finite");
}

// The second operator works in place: what the first one wrote is unknown.
TEST(NotFiniteTest, NamesNoOutputThatWasOverwritten) {
  const NetDef net = NewNet({FillOp("x", kInf), NewOp("Negative", {"x"}, {"x"})});
  Workspace ws;
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_NE(
      DescribeNotFinite(net, {}, ws)
          .find(
              "is x of operator 0, ConstantFill (changed in place, last by operator 1, Negative)"),
      std::string::npos);
}

// Blobs that share memory: `y` lies where `x` was.
TEST(NotFiniteTest, KnowsTheMemoryPlan) {
  const NetDef net = NewNet({FillOp("x", 1), NewOp("Negative", {"x"}, {"sum"}), FillOp("y", kInf),
                             NewOp("Add", {"y", "sum"}, {"out"})});
  Workspace ws;
  MemoryPlan plan;
  TensorShape shape;
  shape.add_dims(4);
  shape.set_data_type(TensorProto::FLOAT);
  plan.slots["x"] = plan.slots["y"] = {0, 16, shape};
  plan.arena_bytes = 64;
  ApplyMemoryPlan(plan, Device{}, &ws);
  ASSERT_TRUE(ws.RunNetOnce(net));
  ASSERT_EQ(ws.GetBlob("x")->Get<Tensor>().raw_data(), ws.GetBlob("y")->Get<Tensor>().raw_data());
  EXPECT_NE(DescribeNotFinite(net, {}, ws).find("is y of operator 2, ConstantFill"),
            std::string::npos);
}

class BadLossTest : public TrainerTest {
 protected:
  // The number of the operator that stands after `text` in an error; -1 if there is none.
  static int OperatorAfter(const std::string& text, const std::string& error) {
    std::smatch match;
    const std::regex wanted(text + R"( \S+ of operator (\d+), )");
    return std::regex_search(error, match, wanted) ? std::stoi(match[1].str()) : -1;
  }
};

// A weight of the second of two layers becomes infinite on one shard, which alone has a bad loss.
TEST_F(BadLossTest, TheLineNamesTheShardAndTheLayer) {
  TrainOptions options = Small("mlp");
  errors_expected_ = true;
  int layer = -1;  // the number of its operator
  on_iteration_ = [&layer](Trainer* trainer, int shard) {
    if (shard != 1) return;
    const TrainNets& nets = trainer->nets();
    const std::string weights = nets.scope + nets.params.at(2);
    trainer->workspace()->GetBlob(weights)->GetMutable<Tensor>()->mutable_data<float>()[0] = kInf;
    while (nets.train.op(++layer).input_size() < 2 || nets.train.op(layer).input(1) != weights) {
    }
  };
  const auto results = Run(options, 2);
  for (const ShardResult& shard : results) {
    EXPECT_EQ(shard.exit_code, static_cast<int>(ExitCode::kBadData)) << shard.error;
    EXPECT_EQ(shard.error, results[0].error);
    EXPECT_NE(shard.error.find("the loss of shard 1 ("), std::string::npos) << shard.error;
    EXPECT_NE(shard.error.find(" is not finite in iteration 2 of epoch 0; "), std::string::npos);
    EXPECT_GE(OperatorAfter("of those still in memory, is", shard.error), layer) << shard.error;
    EXPECT_LT(OperatorAfter("the last finite one before it is", shard.error), layer);
    EXPECT_GE(OperatorAfter("the last finite one before it is", shard.error), 0);
    EXPECT_NE(shard.error.find("; parameter cpu_0/fc1_w is not finite now"), std::string::npos);
  }
}

}  // namespace
}  // namespace caffe2
