#include "caffe2/graph/data_parallel.h"

#include <gtest/gtest.h>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/operator_schema.h"
#include "caffe2/graph/gradient.h"

namespace caffe2 {
namespace {

// A net in which operator i writes gradient g<i>.
NetDef GradientNet(int n) {
  NetDef net;
  net.set_name("train");
  for (int i = 0; i < n; ++i) {
    *net.add_op() =
        GradientMakerBase::CreateOperatorDef("Relu", "", {"x"}, {"cpu_0/g" + std::to_string(i)});
  }
  return net;
}

std::map<std::string, TensorShape> Shapes(const std::vector<int64_t>& elements) {
  std::map<std::string, TensorShape> shapes;
  for (size_t i = 0; i < elements.size(); ++i) {
    shapes["cpu_0/g" + std::to_string(i)] = CreateTensorShape({elements[i]}, TensorProto::FLOAT);
  }
  return shapes;
}

std::vector<ReplicatedBlob> Gradients(const std::vector<int>& order) {
  std::vector<ReplicatedBlob> gradients;
  for (int i : order) gradients.push_back({"cpu_0/g" + std::to_string(i)});
  return gradients;
}

TEST(PlanGradientBucketsTest, FillsInOrderOfCompletionWhateverTheOrderGiven) {
  DataParallelOptions options;
  options.num_shards = 2;
  options.first_bucket_bytes = 40;
  options.bucket_bytes = 100;
  const auto shapes = Shapes({10, 10, 15, 30, 1});
  const auto buckets =
      PlanGradientBuckets(GradientNet(5), Gradients({3, 1, 4, 0, 2}), shapes, options);
  // 40 bytes fill the first bucket; 40 + 60 the second; 120 is larger than any bucket.
  ASSERT_EQ(buckets.size(), 4u);
  EXPECT_EQ(buckets[0], Gradients({0}));
  EXPECT_EQ(buckets[1], Gradients({1, 2}));
  EXPECT_EQ(buckets[2], Gradients({3}));
  EXPECT_EQ(buckets[3], Gradients({4}));
}

TEST(PlanGradientBucketsTest, TypesDoNotShareABucket) {
  auto shapes = Shapes({1, 1});
  shapes["cpu_0/g1"].set_data_type(TensorProto::BFLOAT16);
  EXPECT_EQ(PlanGradientBuckets(GradientNet(2), Gradients({0, 1}), shapes, {}).size(), 2u);
}

TEST(PlanGradientBucketsTest, UnknownShapeOrUnwrittenGradientThrows) {
  EXPECT_THROW(PlanGradientBuckets(GradientNet(1), Gradients({0}), {}, {}), EnforceNotMet);
  EXPECT_THROW(PlanGradientBuckets(GradientNet(1), Gradients({1}), Shapes({1, 1}), {}),
               EnforceNotMet);
}

TEST(AddGradientReductionTest, ReducesRightBehindTheLastGradientAndInAFixedOrder) {
  DataParallelOptions options;
  options.num_shards = 2;
  NetDef net = GradientNet(4);
  AddGradientReduction(&net, {Gradients({0, 1}), Gradients({2, 3})}, options);
  ASSERT_EQ(net.op_size(), 6);
  EXPECT_EQ(net.op(2).type(), "AllreduceBucket");
  EXPECT_EQ(net.op(2).input(0), "allreduce_0_cw");
  EXPECT_EQ(net.op(2).input(1), "cpu_0/g0");
  EXPECT_EQ(net.op(2).output(1), "cpu_0/g1");
  EXPECT_EQ(net.op(2).engine(), "GLOO");
  EXPECT_EQ(net.op(5).type(), "AllreduceBucket");
  ASSERT_EQ(net.op(5).control_input_size(), 1);
  EXPECT_EQ(net.op(5).control_input(0), net.op(2).output(1));
}

// The gradient of a Sum is handed through to its inputs: the parameter's is the activation's, which
// the backward pass goes on reading, and may be that of two parameters.
TEST(AddGradientReductionTest, AGradientThatOthersReadIsReducedBehindThemAndOnce) {
  DataParallelOptions options;
  options.num_shards = 2;
  NetDef net;
  const auto add = [&net](const char* type, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    *net.add_op() = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs);
  };
  add("Mul", {"x", "w"}, {"h"});
  add("Sum", {"h", "p", "q"}, {"y"});
  const auto gradients = AddGradientOperators(&net, {{"y", ""}});
  add("Scale", {gradients.at("p").dense}, {"update"});
  EXPECT_EQ(gradients.at("p").dense, gradients.at("q").dense);
  std::vector<ReplicatedBlob> blobs;
  std::map<std::string, TensorShape> shapes;
  for (const char* parameter : {"p", "q", "w"}) {
    blobs.push_back({gradients.at(parameter).dense});
    shapes[blobs.back()[0]] = CreateTensorShape({4}, TensorProto::FLOAT);
  }
  const int backward = net.op_size() - 1;
  AddGradientReduction(&net, PlanGradientBuckets(net, blobs, shapes, options), options);
  int reduced = 0;
  for (int i = 0; i < net.op_size(); ++i) {
    if (net.op(i).type() != "AllreduceBucket") continue;
    EXPECT_GE(i, backward) << "before the operator that reads what it changes";
    EXPECT_LT(i, net.op_size() - 1) << "behind the update";
    reduced += net.op(i).output_size();
  }
  EXPECT_EQ(reduced, 2);
}

TEST(AddGradientReductionTest, SeveralDevicesOfOneShardAreSummedAndCopied) {
  DataParallelOptions options;
  options.devices = {{CUDA, 0}, {CUDA, 2}};
  NetDef net;
  for (const char* blob : {"gpu_0/g", "gpu_2/g"}) {
    *net.add_op() = GradientMakerBase::CreateOperatorDef("Relu", "", {"x"}, {blob});
  }
  AddGradientReduction(&net, {{{"gpu_0/g", "gpu_2/g"}}}, options);
  ASSERT_EQ(net.op_size(), 4);
  EXPECT_EQ(net.op(2).type(), "NCCLReduce");
  EXPECT_EQ(net.op(2).output(0), "gpu_0/g");
  EXPECT_EQ(net.op(3).type(), "Copy");
  EXPECT_EQ(net.op(3).output(0), "gpu_2/g");
  EXPECT_EQ(net.op(3).device_option().device_id(), 2);
}

TEST(AddGradientReductionTest, OnGpusSumsAreAwaitedBeforeTheFirstReader) {
  DataParallelOptions options;
  options.devices = {{CUDA, 0}};
  options.num_shards = 2;
  options.engine = "NCCL";
  NetDef net;
  for (const char* blob : {"a", "b", "other"}) {
    *net.add_op() = GradientMakerBase::CreateOperatorDef("Relu", "", {"x"}, {blob});
  }
  *net.add_op() = GradientMakerBase::CreateOperatorDef("Sum", "", {"w", "a"}, {"w"});
  AddGradientReduction(&net, {{{"a"}}, {{"b"}}}, options);
  std::vector<std::string> types;
  for (const OperatorDef& op : net.op()) types.push_back(op.type());
  EXPECT_EQ(types, (std::vector<std::string>{"Relu", "AllreduceBucket", "Relu", "AllreduceBucket",
                                             "Relu", "AwaitCollectives", "Sum"}));
  EXPECT_TRUE(ArgumentHelper(net.op(1)).GetSingleArgument("async", false));
  EXPECT_EQ(net.op(3).engine(), "NCCL");
  EXPECT_EQ(net.op(5).output(1), "b");
}

TEST(AddGradientReductionTest, OneReplicaNeedsNothing) {
  NetDef net = GradientNet(2);
  AddGradientReduction(&net, {Gradients({0, 1})}, {});
  EXPECT_EQ(net.op_size(), 2);
}

TEST(AddParameterBroadcastTest, CreatesWorldsAndBroadcastsFromShardZero) {
  DataParallelOptions options;
  options.num_shards = 3;
  options.shard_id = 1;
  NetDef net;
  AddParameterBroadcast(&net, {{"cpu_0/w"}, {"cpu_0/b"}}, options);
  ASSERT_EQ(net.op_size(), 4);
  EXPECT_EQ(net.op(0).type(), "CreateCommonWorld");
  EXPECT_EQ(net.op(0).name(), "allreduce_0_cw_op");
  EXPECT_EQ(FindArgument(net.op(0), "size")->i(), 3);
  EXPECT_EQ(FindArgument(net.op(0), "rank")->i(), 1);
  EXPECT_EQ(net.op(1).type(), "CloneCommonWorld");
  EXPECT_EQ(net.op(2).type(), "Broadcast");
  EXPECT_EQ(net.op(2).control_input_size(), 0);
  EXPECT_EQ(net.op(3).input(1), "cpu_0/b");
}

TEST(AddBlobBroadcastTest, AllShardsBroadcastInOneOrder) {
  DataParallelOptions options;
  options.num_shards = 2;
  NetDef net;
  *net.add_op() = GradientMakerBase::CreateOperatorDef("AllreduceBucket", "",
                                                       {"allreduce_0_cw", "cpu_0/g"}, {"cpu_0/g"});
  AddBlobBroadcast(&net, {{"cpu_0/v"}, {"cpu_0/w"}}, options);
  AddBlobBroadcast(&net, {{"cpu_0/b"}}, options);
  std::vector<std::string> waits_for;
  for (int i = 1; i < net.op_size(); ++i) {
    ASSERT_EQ(net.op(i).control_input_size(), 1);
    waits_for.push_back(net.op(i).control_input(0));
  }
  EXPECT_EQ(waits_for, (std::vector<std::string>{"cpu_0/g", "cpu_0/v", "cpu_0/w"}));
}

TEST(DeviceScopeNameTest, FollowsCaffe2) {
  EXPECT_EQ(DeviceScopeName({CPU, 0}, 0), "cpu_0/");
  EXPECT_EQ(DeviceScopeName({CUDA, 3}, 0), "gpu_3/");
}

}  // namespace
}  // namespace caffe2
