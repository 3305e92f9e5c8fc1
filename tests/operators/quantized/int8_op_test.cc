// Operators on quantized tensors but for products; those are in int8_conv_op_test.cc.
#include "caffe2/core/blob_serialization.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

constexpr float kScale = 0.25f;
constexpr int kZero = 100;

class Int8Test : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandomLevels(&ws_, "X", {2, 5, 6, 4}, 1, kScale, kZero);
    FeedDequantized(&ws_, "X", "x");
  }
  // The operator on X must give the levels of what `plain` gives of x, within `steps`.
  void ExpectSame(const OperatorDef& op, const OperatorDef& plain, int steps, int least = 0) {
    RunOp(&ws_, op);
    ASSERT_TRUE(ws_.RunOperatorOnce(plain));
    ExpectLevelsOf(ws_, op.output(0), plain.output(0), steps, least);
  }
  static std::vector<Argument> Kept(std::vector<Argument> args = {}) {
    return WithScale(std::move(args), kScale, kZero);
  }
  Workspace ws_;
};

TEST_F(Int8Test, QuantizeRoundsTiesToEvenAndCuts) {
  Feed<float>(&ws_, "a", {8}, {0, 0.25f, 0.75f, -0.25f, -0.3f, 1000, -1000, NAN});
  RunOp(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 0.5f, 3)));
  EXPECT_EQ(FetchLevels(ws_, "Q"), (std::vector<int>{3, 3, 5, 3, 2, 255, 0, 0}));
  EXPECT_EQ(FetchInt8(ws_, "Q").scale, 0.5f);
  EXPECT_EQ(FetchInt8(ws_, "Q").zero_point, 3);
  RunOp(&ws_, Op("Int8Dequantize", {"Q"}, {"b"}));
  ExpectTensor(ws_, "b", {8}, {0, 0, 1, 0, -0.5f, 126, -1.5f, -1.5f}, 0, 0);
  RunOp(&ws_, Op("Int8Quantize", {"a"}, {"Q"}));  // scale 1, zero point 0
  EXPECT_EQ(FetchLevels(ws_, "Q"), (std::vector<int>{0, 0, 1, 0, 0, 255, 0, 0}));
  ExpectThrows(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 0, 3)), "a scale of 0");
  ExpectThrows(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 1, 256)), "zero point of 256");
}

TEST_F(Int8Test, DequantizesBiases) {
  FeedInt8<int32_t>(&ws_, "B", {3}, {-5, 0, 1000000}, 0.5f, 1);
  RunOp(&ws_, Op("Int8Dequantize", {"B"}, {"b"}));
  ExpectTensor(ws_, "b", {3}, {-3, -0.5f, 499999.5f}, 0, 0);
}

TEST_F(Int8Test, GivenValues) {
  const std::vector<Argument> shape =
      WithScale({MakeArgument("shape", std::vector<int>{2, 2})}, kScale, kZero);
  auto bytes = shape, numbers = shape;
  bytes.push_back(MakeArgument("values", std::string("\x00\x01\x7f\xff", 4)));
  RunOp(&ws_, Op("Int8GivenTensorFill", {}, {"Y"}, bytes));
  EXPECT_EQ(FetchLevels(ws_, "Y"), (std::vector<int>{0, 1, 127, 255}));
  EXPECT_EQ(FetchInt8(ws_, "Y").zero_point, kZero);
  numbers.push_back(MakeArgument("values", std::vector<int>{-1, 2, 1 << 30, -7}));
  RunOp(&ws_, Op("Int8GivenIntTensorFill", {}, {"Y"}, numbers));
  EXPECT_EQ(FetchInt8(ws_, "Y").t.data<int32_t>()[2], 1 << 30);
  EXPECT_EQ(FetchInt8(ws_, "Y").scale, kScale);
  numbers.back() = MakeArgument("values", std::vector<int>{1});
  ExpectThrows(&ws_, Op("Int8GivenIntTensorFill", {}, {"Y"}, numbers), "[2, 2]");
}

TEST_F(Int8Test, Activations) {
  ExpectSame(Op("Int8Relu", {"X"}, {"Y"}, Kept()), Op("Relu", {"x"}, {"y"}), 0);
  ExpectSame(Op("Int8LeakyRelu", {"X"}, {"Y"}, Kept({MakeArgument("alpha", 0.3f)})),
             Op("LeakyRelu", {"x"}, {"y"}, {MakeArgument("alpha", 0.3f)}), 1);
  const std::vector<Argument> unit = WithScale({}, 1.f / 256, 0);
  ExpectSame(Op("Int8Sigmoid", {"X"}, {"Y"}, unit), Op("Sigmoid", {"x"}, {"y"}), 1);
  EXPECT_EQ(FetchInt8(ws_, "Y").scale, 1.f / 256);
  ExpectSame(Op("Int8Softmax", {"X"}, {"Y"}, unit), Op("Softmax", {"x"}, {"y"}), 1);
  ExpectThrows(&ws_, Op("Int8Softmax", {"X"}, {"Y"}, WithScale({}, 0.5f, 0)), "1 / 256");
  ExpectThrows(&ws_, Op("Int8Relu", {"X"}, {"Y"}, WithScale({}, 0.5f, kZero)),
               "keeps the quantization");
  ExpectThrows(&ws_, Op("Int8LeakyRelu", {"X"}, {"Y"}, Kept({MakeArgument("alpha", 1.5f)})),
               "argument alpha (1.5)");
  RunOp(&ws_, Op("Int8Sigmoid", {"X"}, {"X"}, unit));  // in place
  EXPECT_EQ(FetchInt8(ws_, "X").scale, 1.f / 256);
}

TEST_F(Int8Test, Sums) {
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 4}, 2, 0.125f, 30);
  FeedDequantized(&ws_, "A", "a");
  const OperatorDef sum = Op("Sum", {"x", "a"}, {"y"});
  for (const char* type : {"Int8Add", "Int8Sum"}) {
    ExpectSame(Op(type, {"X", "A"}, {"Y"}, WithScale({}, 0.3f, 90)), sum, 0);
  }
  for (const char* type : {"Int8AddRelu", "Int8SumRelu"}) {
    ExpectSame(Op(type, {"X", "A"}, {"Y"}, WithScale({}, 0.3f, 90)), sum, 0, 90);
  }
  ExpectSame(Op("Int8Sum", {"X", "A", "X"}, {"Y"}, WithScale({}, 0.5f, 120)),
             Op("Sum", {"x", "a", "x"}, {"y"}), 0);
  const std::vector<int> levels = FetchLevels(ws_, "Y");
  RunOp(&ws_, Op("Int8Sum", {"X", "A", "X"}, {"X"}, WithScale({}, 0.5f, 120)));  // in place
  EXPECT_EQ(FetchLevels(ws_, "X"), levels);
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 3}, 2, 0.125f, 30);
  ExpectThrows(&ws_, Op("Int8Add", {"X", "A"}, {"Y"}), "no broadcasting");
  ExpectThrows(&ws_, Op("Int8Add", {"X", "x"}, {"Y"}), "Int8TensorCPU");
}

TEST_F(Int8Test, Pools) {
  const std::vector<Argument> window{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1)};
  ExpectSame(Op("Int8MaxPool", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window), 0);
  ExpectSame(Op("Int8MaxPoolRelu", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window),
             0, kZero);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, Kept(window)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, WithScale(window, 0.1f, 50)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  auto whole = window;
  whole.push_back(MakeArgument("count_include_pad", 1));
  ExpectSame(Op("Int8AveragePoolRelu", {"X"}, {"Y"}, Kept(whole)),
             Op("AveragePool", {"x"}, {"y"}, whole), 1, kZero);
  const std::vector<Argument> global{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("global_pooling", 1)};
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, global), Op("AveragePool", {"x"}, {"y"}, global),
             1);
  ExpectThrows(&ws_, Op("Int8MaxPool", {"X"}, {"Y"}, {MakeArgument("kernel", 2)}), "NHWC only");
}

TEST_F(Int8Test, Movements) {
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 3}, 2, kScale, kZero);
  FeedDequantized(&ws_, "A", "a");
  const std::vector<Argument> nhwc{MakeArgument("order", std::string("NHWC"))};
  ExpectSame(Op("Int8Concat", {"X", "A"}, {"Y"}, Kept(nhwc)),
             Op("Concat", {"x", "a"}, {"y", "s"}, nhwc), 0);
  RunOp(&ws_, Op("Int8Concat", {"X", "A"}, {"Y", "S"}, Kept(nhwc)));
  EXPECT_EQ(FetchValues<int32_t>(ws_, "S"), (std::vector<int32_t>{4, 3}));
  RunOp(&ws_, Op("Int8Concat", {"X", "X"}, {"Y"}));  // along axis 0
  EXPECT_EQ(FetchInt8(ws_, "Y").t.size(0), 4);

  const std::vector<Argument> box{MakeArgument("starts", std::vector<int>{0, 1, 2, 0}),
                                  MakeArgument("ends", std::vector<int>{-1, 4, -1, 3})};
  ExpectSame(Op("Int8Slice", {"X"}, {"Y"}, Kept(box)), Op("Slice", {"x"}, {"y"}, box), 0);
  ExpectSame(
      Op("Int8Slice", {"X"}, {"Y"},
         Kept({MakeArgument("dim", 1), MakeArgument("start_idx", 2), MakeArgument("end_idx", 4)})),
      Op("Slice", {"x"}, {"y"},
         {MakeArgument("starts", std::vector<int>{0, 2}),
          MakeArgument("ends", std::vector<int>{-1, 4})}),
      0);
  Feed<int64_t>(&ws_, "starts", {1}, {1});
  Feed<int64_t>(&ws_, "ends", {1}, {2});
  ExpectSame(Op("Int8Slice", {"X", "starts", "ends"}, {"Y"}),
             Op("Slice", {"x", "starts", "ends"}, {"y"}), 0);

  const std::vector<Argument> shape{MakeArgument("shape", std::vector<int>{0, -1, 8})};
  ExpectSame(Op("Int8Reshape", {"X"}, {"Y", "old"}, Kept(shape)),
             Op("Reshape", {"x"}, {"y", "s"}, shape), 0);
  EXPECT_EQ(FetchValues<int64_t>(ws_, "old"), (std::vector<int64_t>{2, 5, 6, 4}));
  ExpectSame(Op("Int8Flatten", {"X"}, {"Y"}, {MakeArgument("axis", 2)}),
             Op("Flatten", {"x"}, {"y"}, {MakeArgument("axis", 2)}), 0);
  const std::vector<Argument> axes{MakeArgument("axes", std::vector<int>{0, 3, 1, 2})};
  ExpectSame(Op("Int8Transpose", {"X"}, {"Y"}, Kept(axes)), Op("Transpose", {"x"}, {"y"}, axes), 0);
  std::vector<Argument> group = nhwc;
  group.push_back(MakeArgument("group", 2));
  ExpectSame(Op("Int8ChannelShuffle", {"X"}, {"Y"}, Kept(group)),
             Op("ChannelShuffle", {"x"}, {"y"}, group), 0);
  std::vector<Argument> larger = nhwc;
  larger.push_back(MakeArgument("height_scale", 1.5f));
  larger.push_back(MakeArgument("width_scale", 2.f));
  ExpectSame(Op("Int8ResizeNearest", {"X"}, {"Y"}, Kept(larger)),
             Op("ResizeNearest", {"x"}, {"y"}, larger), 0);
  const Tensor& by_scale = Fetch(ws_, "y");
  const std::vector<int64_t> size{by_scale.size(1), by_scale.size(2)};
  ExpectSame(Op("Int8ResizeNearest", {"X"}, {"Y"},
                {MakeArgument("output_size", size), MakeArgument("height_scale", 9.f)}),
             Op("ResizeNearest", {"x"}, {"y"}, larger), 0);
  ExpectThrows(
      &ws_,
      Op("Int8ResizeNearest", {"X"}, {"Y"}, {MakeArgument("output_size", std::vector<int64_t>{3})}),
      "height and width");
  ExpectThrows(&ws_,
               Op("Int8ResizeNearest", {"X"}, {"Y"},
                  {MakeArgument("output_size", std::vector<int64_t>{3, 0})}),
               "3 x 0");
}

TEST_F(Int8Test, MovementsRejectBadInput) {
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 4}, 2, 0.5f, kZero);
  ExpectThrows(&ws_, Op("Int8Concat", {"X", "A"}, {"Y"}), "input 1 is not quantized");
  ExpectThrows(&ws_, Op("Int8Slice", {"X"}, {"Y"}, {MakeArgument("dim", 4)}), "dim 4");
  ExpectThrows(&ws_, Op("Int8Reshape", {"X"}, {"Y"}), "new shape");
  ExpectThrows(&ws_, Op("Int8Flatten", {"X"}, {"Y"}, {MakeArgument("axis", 5)}), "axis 5");
  ExpectThrows(&ws_,
               Op("Int8ChannelShuffle", {"X"}, {"Y"},
                  {MakeArgument("order", std::string("NHWC")), MakeArgument("group", 3)}),
               "channels are not a multiple of the argument group (3)");
  FeedInt8<int32_t>(&ws_, "B", {2}, {1, 2}, 1, 0);
  ExpectThrows(&ws_, Op("Int8Relu", {"B"}, {"Y"}), "not of uint8_t");
}

TEST_F(Int8Test, RoIAlign) {
  Feed<float>(&ws_, "R", {3, 5}, {0, 1, 1, 9, 8, 1, -3, 2, 30, 7, 1, 4, 4, 4, 4});
  const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                   MakeArgument("pooled_h", 2), MakeArgument("pooled_w", 3),
                                   MakeArgument("spatial_scale", 0.5f),
                                   MakeArgument("sampling_ratio", 2)};
  ExpectSame(Op("Int8RoIAlign", {"X", "R"}, {"Y"}, WithScale(args, 0.2f, 140)),
             Op("RoIAlign", {"x", "R"}, {"y"}, args), 1);
  Feed<float>(&ws_, "R", {0, 5}, {});
  RunOp(&ws_, Op("Int8RoIAlign", {"X", "R"}, {"Y"}, args));
  EXPECT_EQ(FetchInt8(ws_, "Y").t.sizes(), (std::vector<int64_t>{0, 2, 3, 4}));
}

TEST_F(Int8Test, IsWrittenAndReadAgain) {
  FeedInt8<int32_t>(&ws_, "B", {2, 1}, {-70000, 3}, 0.5f, 0);
  for (const char* name : {"X", "B"}) {
    const std::string bytes = SerializeBlob(*ws_.GetBlob(name), name);
    BlobProto proto;
    ASSERT_TRUE(proto.ParseFromString(bytes));
    EXPECT_EQ(proto.type(), "Int8TensorCPU");
    EXPECT_EQ(proto.qtensor().precision(), 8);
    EXPECT_EQ(proto.qtensor().bias(), FetchInt8(ws_, name).zero_point);
    DeserializeBlob(bytes, ws_.CreateBlob("read"));
    const Int8TensorCPU &read = FetchInt8(ws_, "read"), &written = FetchInt8(ws_, name);
    EXPECT_EQ(read.scale, written.scale);
    EXPECT_EQ(read.zero_point, written.zero_point);
    EXPECT_EQ(read.t.sizes(), written.t.sizes());
    ASSERT_EQ(read.t.dtype(), written.t.dtype());
    EXPECT_EQ(std::memcmp(read.t.raw_data(), written.t.raw_data(), read.t.nbytes()), 0);
    proto.mutable_qtensor()->mutable_data()->RemoveLast();
    EXPECT_THROW(DeserializeBlob(proto, ws_.CreateBlob("read")), EnforceNotMet);
  }
}

}  // namespace
}  // namespace caffe2::testing
