#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, Movements) {
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 3}, 2, kInt8Scale, kInt8Zero);
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
  FeedRandomLevels(&ws_, "A", {2, 5, 6, 4}, 2, 0.5f, kInt8Zero);
  ExpectThrows(&ws_, Op("Int8Concat", {"X", "A"}, {"Y"}), "input 1 is not quantized");
  ExpectThrows(&ws_, Op("Int8Slice", {"X"}, {"Y"}, {MakeArgument("dim", 4)}),
               "argument dim (4) is out of range for shape [2, 5, 6, 4]");
  ExpectThrows(&ws_, Op("Int8Reshape", {"X"}, {"Y"}), "new shape");
  ExpectThrows(&ws_, Op("Int8Flatten", {"X"}, {"Y"}, {MakeArgument("axis", 5)}), "axis 5");
  ExpectThrows(&ws_,
               Op("Int8ChannelShuffle", {"X"}, {"Y"},
                  {MakeArgument("order", std::string("NHWC")), MakeArgument("group", 3)}),
               "channels are not a multiple of the argument group (3)");
  FeedInt8<int32_t>(&ws_, "B", {2}, {1, 2}, 1, 0);
  ExpectThrows(&ws_, Op("Int8Relu", {"B"}, {"Y"}), "not of uint8_t");
}

}  // namespace
}  // namespace caffe2::testing
