#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

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

}  // namespace
}  // namespace caffe2::testing
