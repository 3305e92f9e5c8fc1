#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr char kPreprocess[] = "PackedInt8BGRANHWCToNCHWCStylizerPreprocess";
constexpr char kDeprocess[] = "BRGNCHWCToPackedInt8BGRAStylizerDeprocess";

// Two pictures of 3 x 5 pixels.
std::vector<uint8_t> Pictures() {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 2 * 3 * 5 * 4; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 256));
  return bytes;
}

TEST(StylizerTest, PicturesGoInAndOut) {
  Workspace ws;
  const std::vector<uint8_t> pictures = Pictures();
  Feed(&ws, "X", {2, 3, 5, 4}, pictures);
  Feed(&ws, "mean", {3}, std::vector<float>{10, 20, 30});
  RunOp(&ws, Op(kPreprocess, {"X", "mean"}, {"Y"}, {MakeArgument("noise_std", 0.f)}));
  std::vector<float> planes;
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 15; ++i) {
        planes.push_back(static_cast<float>(pictures[(n * 15 + i) * 4 + c]) -
                         10.f * static_cast<float>(c + 1));
      }
    }
  }
  ExpectTensor(ws, "Y", {2, 3, 3, 5}, planes, 0.f, 0.f);
  RunOp(&ws, Op(kDeprocess, {"Y", "mean"}, {"Z"}));
  std::vector<uint8_t> opaque = pictures;
  for (size_t i = 3; i < opaque.size(); i += 4) opaque[i] = 255;
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Z"), opaque);
}

TEST(StylizerTest, NoiseIsDrawnOnceAndRepeated) {
  Workspace ws;
  Feed(&ws, "X", {1, 1, 900, 4}, std::vector<uint8_t>(3600, 100));
  Feed(&ws, "mean", {3}, std::vector<float>{100, 100, 100});
  OperatorDef def = Op(kPreprocess, {"X", "mean"}, {"Y"},
                       {MakeArgument("noise_std", 2.f), MakeArgument("noise_size", 300)});
  def.mutable_device_option()->set_random_seed(1);
  const auto op = CreateOperator(def, &ws);
  ASSERT_TRUE(op->Run());
  const std::vector<float> first = FetchValues<float>(ws, "Y");
  double squares = 0;
  for (int i = 0; i < 900; ++i) {
    for (int c = 0; c < 3; ++c) {
      const int noise = (3 * i + c) % 300;
      EXPECT_EQ(first[c * 900 + i], first[noise % 3 * 900 + noise / 3]);
      squares += first[c * 900 + i] * first[c * 900 + i] / 2700.;
    }
  }
  EXPECT_NEAR(std::sqrt(squares), 2, 0.5);
  ASSERT_TRUE(op->Run());
  EXPECT_EQ(FetchValues<float>(ws, "Y"), first);
}

TEST(StylizerTest, ColorsAreCutOff) {
  Workspace ws;
  Feed(&ws, "X", {1, 3, 1, 1}, std::vector<float>{-50, 400, NAN});
  Feed(&ws, "mean", {3}, std::vector<float>{1, 1, 1});
  RunOp(&ws, Op(kDeprocess, {"X", "mean"}, {"Y"}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), std::vector<uint8_t>({0, 255, 0, 255}));
}

TEST(StylizerTest, RefusesOtherShapes) {
  Workspace ws;
  Feed(&ws, "mean", {3}, std::vector<float>(3));
  Feed(&ws, "bytes", {1, 2, 2, 3}, std::vector<uint8_t>(12));
  Feed(&ws, "floats", {1, 4, 2, 2}, std::vector<float>(16));
  ExpectThrows(&ws, Op(kPreprocess, {"bytes", "mean"}, {"Y"}), "N x H x W x 4");
  ExpectThrows(&ws, Op(kDeprocess, {"floats", "mean"}, {"Y"}), "N x 3 x H x W");
  Feed(&ws, "bytes", {1, 1, 3, 4}, std::vector<uint8_t>(12));
  Feed(&ws, "mean", {2}, std::vector<float>(2));
  ExpectThrows(&ws, Op(kPreprocess, {"bytes", "mean"}, {"Y"}), "B, G and R");
}

}  // namespace
}  // namespace caffe2::testing
