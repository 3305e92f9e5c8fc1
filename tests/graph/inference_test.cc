#include "caffe2/graph/inference.h"

#include <functional>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/quantization.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ImageNetBuilder;
using testing::TypesOf;
using testing::ValuesOf;

class InferenceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(InferenceTest, OptimizedNetComputesTheSame) {
  Workspace ws;
  ImageNetBuilder builder(&ws, GetParam(), /*is_test=*/true);
  std::string x = builder.Input("data", 2, 4, 6);
  x = builder.Relu(builder.Norm(builder.Conv(x, "conv", 4, 8, 3, 1, /*bias=*/true), "bn", 8), "bn");
  x = builder.ResidualBlock(x, "a", 8, 8);
  OperatorDef* dropout = builder.Add("Dropout", {x}, "dropped");
  dropout->add_output("mask");
  SetArgument(dropout, "is_test", 1);
  x = builder.ResidualBlock("dropped", "b", 8, 12);
  builder.Fc(builder.AveragePool(x, "pool"), "fc", 12, 3);
  builder.net().add_external_output("fc");
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> plain = ValuesOf(ws, "fc");
  const std::vector<float> filter = ValuesOf(ws, "a_conv1_w");

  NetDef net = builder.net();
  OptimizeForInference(&net, &ws);
  EXPECT_EQ(CountType(net, "SpatialBN") + CountType(net, "Dropout") + CountType(net, "Relu"), 0);
  EXPECT_EQ(CountType(net, "ConvRelu"), 3);
  EXPECT_EQ(CountType(net, "ConvSumRelu"), 2);
  ASSERT_TRUE(ws.RunNetOnce(net));
  ExpectClose(ValuesOf(ws, "fc"), plain, 1e-5f, "fc");
  EXPECT_EQ(ValuesOf(ws, "a_conv1_w"), filter) << "the old parameters stay";
  for (const std::string& blob : net.external_input()) {
    EXPECT_EQ(blob.find("_riv"), std::string::npos) << blob << " is no input any more";
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, InferenceTest, ::testing::Values("NCHW", "NHWC"));

// Whoever changes one of the returned parameters must optimize again.
TEST(InferenceTest, WeightsOfFullyConnectedLayersAreConstant) {
  for (const char* type : {"FC", "FCTransposed"}) {
    Workspace ws;
    ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
    builder.Add(type, {"x", "w", "b"}, "y");
    builder.Add(type, {"y", "made", "b"}, "z");
    builder.Add("Copy", {"z"}, "made");
    NetDef net = builder.net();
    EXPECT_EQ(OptimizeForInference(&net, &ws), (std::set<std::string>{"b", "w"}));
    const auto is_constant = [](const OperatorDef& op) {
      return ArgumentHelper(op).GetSingleArgument<bool>("constant_filter", false);
    };
    EXPECT_TRUE(is_constant(net.op(0)));
    EXPECT_FALSE(is_constant(net.op(1))) << "the net writes these weights";
    net = builder.net();
    OptimizeForInference(&net, &ws, {.constant_filters = false});
    EXPECT_FALSE(is_constant(net.op(0)));
  }
}

// Two nets of a workspace may share folded filters.
TEST(InferenceTest, FoldedFiltersOfAnotherNetStay) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
  builder.Input("data", 1, 2, 5);
  builder.Norm(builder.Conv("data", "conv", 2, 3, 3), "bn", 3);
  builder.net().add_external_output("bn");
  NetDef plain = builder.net(), moved = builder.net();
  OptimizeForInference(&plain, &ws, {.channels_last = false});
  OptimizeForInference(&moved, &ws);
  ASSERT_TRUE(ws.RunNetOnce(plain));
  const std::vector<float> expected = ValuesOf(ws, "bn");
  ASSERT_TRUE(ws.RunNetOnce(moved));
  ExpectClose(ValuesOf(ws, "bn"), expected, 1e-5f, "bn");

  Workspace other;
  ImageNetBuilder again(&other, "NCHW", /*is_test=*/true);
  again.Input("data", 1, 2, 5);
  again.Norm(again.Conv("data", "conv", 2, 3, 3), "bn", 3);
  NetDef alone = again.net();
  OptimizeForInference(&alone, &other);
  EXPECT_FALSE(other.HasBlob("conv_folded_w")) << "only its copy in NHWC is read";
}

// Whoever gives one of these another rank must optimize again.
TEST(InferenceTest, ValuesForChannelsAreParameters) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
  builder.Parameter("b", {4}, 0, 1);
  OperatorDef* op = builder.Add("Add", {"x", "b"}, "y");
  SetArgument(op, "broadcast", 1);
  SetArgument(op, "axis", 1);
  NetDef net = builder.net();
  EXPECT_EQ(OptimizeForInference(&net, &ws), std::set<std::string>{"b"});
  Workspace empty;  // an input of the net, not a parameter
  net = builder.net();
  EXPECT_TRUE(OptimizeForInference(&net, &empty).empty());
}

struct ConvNorm {
  explicit ConvNorm(bool is_test) : builder(&ws, "NCHW", is_test) {
    builder.Input("data", 1, 2, 3);
    builder.Norm(builder.Conv("data", "conv", 2, 2, 1), "bn", 2);
  }
  Workspace ws;
  ImageNetBuilder builder;
};

TEST(FoldBatchNormTest, RefusesWhatIsNotConstantOrReadElsewhere) {
  ConvNorm training(false);
  EXPECT_EQ(FoldBatchNorm(&training.builder.net(), &training.ws), 0);
  ConvNorm plain(true);
  EXPECT_EQ(FoldBatchNorm(&plain.builder.net(), &plain.ws, {"conv"}), 0);
  NetDef writes = plain.builder.net();
  *writes.add_op() = writes.op(1);
  writes.mutable_op(2)->set_output(0, "conv_w");
  EXPECT_EQ(FoldBatchNorm(&writes, &plain.ws), 0);
  NetDef absent = plain.builder.net();
  absent.mutable_op(1)->set_input(4, "elsewhere");
  EXPECT_EQ(FoldBatchNorm(&absent, &plain.ws), 0);
  NetDef collides = plain.builder.net();
  OperatorDef* copy = collides.add_op();
  copy->set_type("Copy");
  copy->add_input("data");
  copy->add_output("conv_folded_w");
  EXPECT_THROW(FoldBatchNorm(&collides, &plain.ws), EnforceNotMet);
  EXPECT_EQ(FoldBatchNorm(&plain.builder.net(), &plain.ws), 1);
  EXPECT_EQ(TypesOf(plain.builder.net()), std::vector<std::string>({"Conv"}));
}

// Blobs may be used again: the parameters of both layers must stay apart.
TEST(FoldBatchNormTest, ConvolutionsThatWriteOneBlob) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
  std::string x = builder.Input("data", 1, 2, 3);
  for (const char* prefix : {"first", "second"}) {
    const std::string y = builder.Conv(x, prefix, 2, 2, 1);
    x = builder.Norm(y, std::string(prefix) + "_bn", 2);
    const int conv = builder.net().op_size() - 2;
    builder.net().mutable_op(conv)->set_output(0, "shared");
    builder.net().mutable_op(conv + 1)->set_input(0, "shared");
  }
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> plain = ValuesOf(ws, x);
  EXPECT_EQ(FoldBatchNorm(&builder.net(), &ws), 2);
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  ExpectClose(ValuesOf(ws, x), plain, 1e-5f, x);
}

// A fused net of two residual blocks: stem, a_out, b_out and pool.
struct ResidualSums {
  ResidualSums() : builder(&ws, "NHWC", /*is_test=*/true) {
    std::string x = builder.Conv(builder.Input("data", 2, 4, 6), "stem", 4, 8, 1);
    for (const char* name : {"a", "b"}) {
      const std::string block = name;
      const std::string y =
          builder.Conv(builder.Conv(x, block + "_conv1", 8, 8, 1), block + "_conv2", 8, 8, 3);
      x = builder.Relu(builder.Sum(y, x, block + "_sum"), block + "_out");
    }
    builder.AveragePool(x, "pool");
    builder.net().add_external_output("pool");
    EXPECT_TRUE(ws.RunNetOnce(builder.net()));
    plain = ValuesOf(ws, "pool");
    FuseOperators(&builder.net(), {});
    EXPECT_EQ(CountType(builder.net(), "ConvSumRelu"), 2);
  }
  // The number of changes; the net must compute the same.
  int WriteInPlace(const std::set<std::string>& keep = {}) {
    NetDef net = builder.net();
    const int count = WriteSumsInPlace(&net, keep);
    EXPECT_TRUE(ws.RunNetOnce(net));
    ExpectClose(ValuesOf(ws, "pool"), plain, 1e-6f, "pool");
    return count;
  }

  Workspace ws;
  ImageNetBuilder builder;
  std::vector<float> plain;
};

TEST(WriteSumsInPlaceTest, WritesOverSummandsThatNobodyReadsLater) {
  ResidualSums sums;
  EXPECT_EQ(sums.WriteInPlace(), 2);
  EXPECT_EQ(sums.WriteInPlace({"stem"}), 1) << "the first term is read from outside";
  EXPECT_EQ(sums.WriteInPlace({"a_out"}), 0) << "the first result is, and is the second term";
  EXPECT_EQ(sums.WriteInPlace({"b_out"}), 1);
}

TEST(WriteSumsInPlaceTest, RefusesWhatChangesResults) {
  {
    ResidualSums sums;  // a term that is read later
    sums.builder.Relu("stem", "later");
    sums.builder.net().add_external_output("later");
    EXPECT_EQ(sums.WriteInPlace(), 1);
    EXPECT_EQ(ValuesOf(sums.ws, "later").size(), ValuesOf(sums.ws, "stem").size());
  }
  {
    ResidualSums sums;  // a term that the net does not write
    NetDef& net = sums.builder.net();
    net.mutable_op()->DeleteSubrange(0, 1);
    net.add_external_input("stem");
    EXPECT_EQ(sums.WriteInPlace(), 1);
  }
  {
    ResidualSums sums;  // an output that is written twice
    sums.builder.Relu("a_out", "a_out");
    EXPECT_EQ(sums.WriteInPlace({"stem"}), 0);
  }
}

// A quantized net of two branches that are joined, pooled, joined with another branch, and read.
struct JoinedBranches {
  explicit JoinedBranches(const std::string& order = "NHWC") : builder(&ws, order, true) {
    builder.Input("data", 2, 4, 7);
    builder.Relu(builder.Conv("data", "left", 4, 5, 1, 1, true), "left_relu");
    builder.Conv("data", "right", 4, 17, 3);
    builder.Add("Concat", {"right", "left_relu"}, "joined")->add_output("joined_sizes");
    OperatorDef* pool = builder.Add("MaxPool", {"joined"}, "pooled");
    SetArgument(pool, "kernel", 2);
    SetArgument(pool, "order", order);
    builder.Conv("pooled", "a", 22, 16, 1);
    builder.Conv("pooled", "b", 22, 16, 3);
    builder.Conv("pooled", "c", 22, 3, 3);
    builder.Add("Concat", {"a", "b", "c"}, "outer")->add_output("outer_sizes");
    for (OperatorDef& op : *builder.net().mutable_op()) {
      if (op.type() == "Concat") SetArgument(&op, "order", order);
    }
    builder.Fc("outer", "fc", 35 * 36, 4);
    builder.net().add_external_output("fc");
    StaticQuantizer quantizer(builder.net(), {"data"}, &ws);
    quantizer.Observe();
    net = quantizer.Finish();
    EXPECT_TRUE(ws.RunNetOnce(net));
    plain = ValuesOf(ws, "fc");
  }
  OperatorDef* Find(const std::string& type, int number = 0) {
    for (OperatorDef& op : *net.mutable_op()) {
      if (op.type() == type && number-- == 0) return &op;
    }
    return nullptr;
  }
  // The number of Int8Concat that are removed. The net must compute the same if it can run.
  int Write(const std::set<std::string>& keep = {}, bool runs = true) {
    const int before = CountType(net, "Int8Concat");
    const int count = WriteJoinsInPlace(&net, ws, keep);
    EXPECT_EQ(CountType(net, "Int8Concat"), before - count);
    if (runs) {
      EXPECT_TRUE(ws.RunNetOnce(net));
      EXPECT_EQ(ValuesOf(ws, "fc"), plain);
    }
    return count;
  }

  Workspace ws;
  ImageNetBuilder builder;
  NetDef net;
  std::vector<float> plain;
};

TEST(WriteJoinsInPlaceTest, ConvolutionsWriteTheirChannels) {
  for (const char* order : {"NHWC", "NCHW"}) {
    JoinedBranches branches(order);
    EXPECT_EQ(branches.Write(), 2);
    EXPECT_EQ(CountType(branches.net, "Int8ConvJoin"), 3);
    EXPECT_EQ(branches.Write(), 0);
  }
  JoinedBranches optimized;
  OptimizeForInference(&optimized.net, &optimized.ws);
  EXPECT_EQ(CountType(optimized.net, "Int8Concat"), 0) << "it is one of the passes";
  EXPECT_EQ(optimized.Write(), 0);
}

void FillInput(Workspace* ws, int64_t images) {
  std::vector<float> values(images * 7 * 7 * 4);
  RandomGenerator random(static_cast<uint64_t>(images));
  for (float& value : values) value = 2 * random.Uniform() - 1;
  *ws->CreateBlob("data")->GetMutable<Tensor>() = Tensor({images, 7, 7, 4}, values);
}

TEST(WriteJoinsInPlaceTest, RunsInParallelAndForOtherBatches) {
  JoinedBranches branches;
  NetDef plain = branches.net;
  EXPECT_EQ(branches.Write(), 2);
  branches.net.set_type("dag");
  branches.net.set_num_workers(4);
  branches.net.set_name("joined");
  NetBase* joined = branches.ws.CreateNet(branches.net);
  for (const int64_t images : {2, 5, 1, 0}) {
    FillInput(&branches.ws, images);
    ASSERT_TRUE(branches.ws.RunNetOnce(plain));
    const std::vector<float> expected = ValuesOf(branches.ws, "fc");
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(joined->Run());
      EXPECT_EQ(ValuesOf(branches.ws, "fc"), expected) << images;
    }
  }
}

TEST(WriteJoinsInPlaceTest, RefusesWhatChangesResults) {
  const auto count = [](const std::function<void(JoinedBranches*)>& change, bool runs = true) {
    JoinedBranches branches;
    change(&branches);
    return branches.Write({}, runs);
  };
  const auto read = [](JoinedBranches* b) {  // a branch that something else reads, too
    OperatorDef* op = b->net.add_op();
    op->set_type("Int8Dequantize");
    op->add_input(b->Find("Int8Concat")->input(0));
    op->add_output("branch");
  };
  EXPECT_EQ(count(read), 1);
  JoinedBranches kept;
  EXPECT_EQ(kept.Write({kept.Find("Int8Concat")->input(1)}), 1);
  EXPECT_EQ(
      count([](JoinedBranches* b) { b->net.add_external_output(b->Find("Int8Concat")->input(0)); }),
      1);
  const auto set = [](const std::string& name, int value) {
    return [=](JoinedBranches* b) { SetArgument(b->Find("Int8Concat"), name, value); };
  };
  EXPECT_EQ(count(set("axis", -1)), 2);
  EXPECT_EQ(count(set("axis", 2), false), 1);
  EXPECT_EQ(count(set("axis", 0), false), 1);
  EXPECT_EQ(count(set("add_axis", 1), false), 1);
  EXPECT_EQ(count([](JoinedBranches* b) { b->Find("Int8Concat")->add_output("sizes"); }), 1);
  EXPECT_EQ(count([](JoinedBranches* b) { b->Find("Int8Concat")->add_control_input("data"); }), 1);
  EXPECT_EQ(count(
                [](JoinedBranches* b) {  // the same branch twice
                  OperatorDef* concat = b->Find("Int8Concat");
                  concat->set_input(1, concat->input(0));
                },
                false),
            1);
  EXPECT_EQ(
      count([](JoinedBranches* b) { SetArgument(b->Find("Int8Conv"), "Y_scale", 3.f); }, false), 1);
  EXPECT_EQ(count([](JoinedBranches* b) { b->Find("Int8Conv")->set_type("Int8ConvSum"); }, false),
            1);
  EXPECT_EQ(count(
                [](JoinedBranches* b) {  // the filter is not known
                  b->net.add_external_input("later_filter");
                  b->Find("Int8Conv")->set_input(1, "later_filter");
                },
                false),
            1);
  EXPECT_EQ(count(
                [](JoinedBranches* b) {  // the result's name is in use before
                  const std::string result = b->Find("Int8Concat")->output(0);
                  OperatorDef* relu = b->Find("Int8ConvRelu");
                  OperatorDef* pool = b->Find("Int8MaxPool");
                  relu->set_input(0, result);
                  EXPECT_EQ(pool->input(0), result);
                },
                false),
            1);
}

// Dropout between two Relu, with what `change` does to the three.
std::vector<std::string> TypesAfter(const std::function<void(NetDef*)>& change) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", true);
  builder.Relu("x", "a");
  OperatorDef* dropout = builder.Add("Dropout", {"a"}, "b");
  SetArgument(dropout, "is_test", 1);
  dropout->add_output("mask");
  builder.Relu("b", "c");
  change(&builder.net());
  RemoveIdentities(&builder.net());
  return TypesOf(builder.net());
}

TEST(RemoveIdentitiesTest, KeepsThoseWhoseOutputIsNeeded) {
  const std::vector<std::string> plain = {"Relu", "Dropout", "Relu"}, removed = {"Relu", "Relu"};
  EXPECT_EQ(TypesAfter([](NetDef*) {}), removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(1)->set_type("StopGradient"); }), removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) {
              net->mutable_op(1)->set_output(0, "a");
              net->mutable_op(2)->set_input(0, "a");
            }),
            removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(1)->clear_arg(); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->add_external_output("b"); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->add_external_output("mask"); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) {
              *net->add_op() = net->op(2);  // reads b after a was overwritten
              net->mutable_op(2)->set_output(0, "a");
            }),
            std::vector<std::string>({"Relu", "Dropout", "Relu", "Relu"}));
  // The reader would write in place of its input, which not all operators can.
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(2)->set_output(0, "a"); }), plain);
}

}  // namespace
}  // namespace caffe2
