// Which operators read tensors of a device on the host, and so wait: the table in
// docs/design/gpu/operators.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// True if starting the operator waits for what the device was given before.
bool Waits(Workspace* ws, const OperatorDef& op) {
  for (const char* blob : {"probe_input", "probe"}) ws->RemoveBlob(blob);
  FeedRandom(ws, "values", {8}, 1);
  BlobGetMutableTensor(ws->CreateBlob("probe_input"), Device{CUDA, 0})
      ->CopyFrom(Fetch(*ws, "values"));
  const auto probe = CreateOperator(
      OnCuda(Op("Scale", {"probe_input"}, {"probe"}, {MakeArgument("scale", 2.f)})), ws);
  const auto asked = CreateOperator(OnCuda(op), ws);
  EXPECT_TRUE(StartOperator(probe.get()) && StartOperator(asked.get())) << op.type();
  // Memory that is emulated can be read; nobody has written it unless somebody has waited.
  const bool waited = !std::isnan(Fetch(*ws, "probe").data<float>()[0]);
  asked->Finish();
  return waited;
}

class DeviceWaitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    NEED_CUDA();
    if (!IsEmulated() || std::getenv("CUDA_EMULATION_ASYNC") == nullptr) {
      GTEST_SKIP() << "the device does not wait to be waited for";
    }
    FeedThere<float>("X", {6, 2}, RandomValues(12, 2));
    FeedThere<float>("packed", {3, 4, 2}, RandomValues(24, 3));
    FeedThere<int32_t>("lengths", {3}, {3, 1, 2});
    FeedThere<int32_t>("four", {4}, {3, 1, 2, 3});
    FeedThere<int32_t>("order", {6}, {5, 3, 1, 0, 2, 4});
    FeedThere<int64_t>("indices", {6}, {5, 3, 1, 0, 5, 4});
    FeedThere<int32_t>("ids", {6}, {0, 0, 1, 1, 2, 3});
    FeedThere<float>("scores", {6}, RandomValues(6, 6));
    FeedThere<float>("labels", {6}, {1, 0, 2, 1, 0, 3});
    FeedThere<bool>("mask", {6}, {true, false, true, true, false, true});
    FeedThere<float>("image", {1, 2, 4, 4}, RandomValues(32, 4));
    FeedThere<float>("regions", {2, 5}, {0, 0, 0, 2, 2, 0, 1, 1, 3, 3});
    FeedThere<float>("turned", {2, 6}, {0, 2, 2, 2, 2, 30, 0, 1, 1, 3, 3, 45});
    FeedThere<float>("cells", {2, 2, 1, 1}, RandomValues(4, 5));
    FeedThere<int>("argmax", {2, 2, 1, 1}, {0, 1, 2, 3});
  }

  template <typename T>
  void FeedThere(const std::string& name, const std::vector<int64_t>& dims, std::vector<T> values) {
    Tensor source(dims, values);
    BlobGetMutableTensor(ws.CreateBlob(name), Device{CUDA, 0})->CopyFrom(source);
  }

  void ExpectThrowsThere(const OperatorDef& op, const std::string& text) {
    try {
      ws.RunOperatorOnce(OnCuda(op));
      ADD_FAILURE() << op.type() << " took what is wrong";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("operator " + op.type()), std::string::npos)
          << error.what();
    }
  }

  Workspace ws;
};

TEST_F(DeviceWaitsTest, ListsThatTheDeviceMakes) {
  for (const OperatorDef& op :
       {Op("PackSegments", {"lengths", "X"}, {"Y"}, {MakeArgument("max_length", 2)}),
        Op("PackSegments", {"lengths", "X", "packed"}, {"Y", "present"},
           {MakeArgument("return_presence_mask", true), MakeArgument("pad_minf", true)}),
        Op("LengthsPad", {"X", "lengths"}, {"Y"},
           {MakeArgument("target_length", 3), MakeArgument("padding_value", 1.f)}),
        Op("ReversePackedSegs", {"packed", "four"}, {"Y"}),
        Op("BatchPermutation", {"X", "order"}, {"Y"}),
        Op("BatchPermutationGradient", {"order", "X"}, {"Y"}),
        Op("RoIAlign", {"image", "regions"}, {"Y"}),
        Op("RoIAlignRotated", {"image", "turned"}, {"Y"}),
        Op("RoIAlignGradient", {"image", "regions", "cells"}, {"Y"}),
        Op("RoIPool", {"image", "regions"}, {"Y", "found"}),
        Op("RoIPoolGradient", {"image", "regions", "argmax", "cells"}, {"Y"}),
        Op("LengthsSum", {"X", "lengths"}, {"Y"}),
        Op("PairWiseLoss", {"scores", "labels", "lengths"}, {"Y"}),
        Op("LambdaRankNdcg", {"scores", "labels", "lengths"}, {"Y", "slopes"}),
        Op("SparseLengthsSum", {"X", "indices", "lengths"}, {"Y"}),
        Op("Gather", {"X", "indices"}, {"Y"})}) {
    EXPECT_FALSE(Waits(&ws, op)) << op.type();
  }
}

TEST_F(DeviceWaitsTest, ShapesThatDependOnValues) {
  for (const OperatorDef& op :
       {Op("PackSegments", {"lengths", "X"}, {"Y"}),
        Op("UnpackSegments", {"lengths", "packed"}, {"Y"}),
        Op("PackRNNSequence", {"X", "lengths"}, {"Y"}),
        Op("LengthsTile", {"packed", "lengths"}, {"Y"}), Op("BooleanMask", {"X", "mask"}, {"Y"}),
        Op("SortedSegmentSum", {"X", "ids"}, {"Y"}),
        Op("RoIAlignRotatedGradient", {"image", "turned", "cells"}, {"Y"})}) {
    EXPECT_TRUE(Waits(&ws, op)) << op.type();
  }
}

TEST_F(DeviceWaitsTest, WrongRowsAreReported) {
  FeedThere<int32_t>("twice", {6}, {5, 3, 1, 3, 2, 4});
  ExpectThrowsThere(Op("BatchPermutation", {"X", "twice"}, {"Y"}),
                    "row 3 occurs twice in the permutation");
  FeedThere<int32_t>("far", {6}, {5, 3, 1, 6, 2, 4});
  ExpectThrowsThere(Op("BatchPermutationGradient", {"far", "X"}, {"Y"}),
                    "index 6 at position 3 is out of range for 6 rows");
  ExpectThrowsThere(Op("PackSegments", {"four", "X"}, {"Y"}, {MakeArgument("max_length", 2)}),
                    "lengths must add up to the");
  ExpectThrowsThere(Op("LengthsPad", {"X", "lengths"}, {"Y"}, {MakeArgument("target_length", 0)}),
                    "the length of segment");
}

TEST_F(DeviceWaitsTest, NoRowsAtAll) {
  FeedThere<float>("none", {0, 2}, {});
  FeedThere<int32_t>("nowhere", {0}, {});
  ws.RunOperatorOnce(OnCuda(Op("BatchPermutation", {"none", "nowhere"}, {"Y"})));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{0, 2}));
}

}  // namespace
}  // namespace caffe2::testing
