#include <cmath>
#include <limits>
#include <set>

#include "operators/image/mix_choice.h"
#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int kImages = 6, kChannels = 3, kHeight = 12, kWidth = 20;
const std::vector<int64_t> kDims = {kImages, kChannels, kHeight, kWidth};

OperatorDef Mix(float mixup, float cutmix, bool nhwc, uint32_t seed, float smoothing = 0) {
  OperatorDef op =
      Op("MixImages", {"X", "label"}, {"Y", "P"},
         {MakeArgument("mixup_alpha", mixup), MakeArgument("cutmix_alpha", cutmix),
          MakeArgument("num_labels", int64_t{kImages}), MakeArgument("label_smoothing", smoothing),
          MakeArgument<std::string>("order", OrderName(nhwc))});
  op.mutable_device_option()->set_random_seed(seed);
  return op;
}

// All pixels of image i have the value i + 1 (channel c: plus 8 c), and its label is i. So the
// probabilities tell how images were mixed, and the pixels can be computed from them.
template <typename T = float>
void FeedImages(Workspace* ws, bool nhwc) {
  std::vector<T> x;
  std::vector<int32_t> label;
  for (int n = 0; n < kImages; ++n) {
    label.push_back(n);
    for (int c = 0; c < kChannels; ++c) {
      const auto value = static_cast<float>(n + 1 + 8 * c);
      for (int i = 0; i < kHeight * kWidth; ++i) {
        if constexpr (std::is_same_v<T, float>) {
          x.push_back(value);
        } else if constexpr (std::is_same_v<T, float16>) {
          x.push_back(ToFloat16(value));
        } else {
          x.push_back(caffe2::ToBFloat16(value));
        }
      }
    }
  }
  FeedImage(ws, "X", kDims, x, nhwc);
  Feed(ws, "label", {kImages}, label);
}

// What the probabilities say; checks that one share and one shift explain all of them.
struct Found {
  float share = 0;  // of the own label
  int shift = 0;
};
Found FindMix(const Workspace& ws) {
  const std::vector<float> p = FetchValues<float>(ws, "P");
  NoteCompared(ws, "P");
  Found found;
  found.share = p[0];
  for (int k = 1; k < kImages; ++k) {
    if (p[k] > 0) found.shift = k;
  }
  for (int n = 0; n < kImages; ++n) {
    for (int k = 0; k < kImages; ++k) {
      const bool is_other = found.shift != 0 && k == (n + found.shift) % kImages;
      EXPECT_NEAR(p[n * kImages + k],
                  n == k     ? found.share
                  : is_other ? 1 - found.share
                             : 0,
                  1e-6)
          << n << " " << k;
    }
  }
  return found;
}

std::vector<float> FetchNCHW(const Workspace& ws, bool nhwc) {
  const std::vector<float> y = FetchValues<float>(ws, "Y");
  if (!nhwc) return y;
  std::vector<float> result(y.size());
  for (int n = 0; n < kImages; ++n) {
    for (int i = 0; i < kHeight * kWidth; ++i) {
      for (int c = 0; c < kChannels; ++c) {
        result[(n * kChannels + c) * kHeight * kWidth + i] =
            y[(n * kHeight * kWidth + i) * kChannels + c];
      }
    }
  }
  return result;
}

class MixImagesTest : public ::testing::TestWithParam<bool> {
 protected:
  Workspace ws_;
};

TEST_P(MixImagesTest, MixupBlendsImagesAndLabelsAlike) {
  FeedImages(&ws_, GetParam());
  std::set<int> shifts;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    RunOp(&ws_, Mix(1, 0, GetParam(), seed));
    const Found mix = FindMix(ws_);
    EXPECT_GT(mix.share, 0);
    EXPECT_LT(mix.share, 1);
    shifts.insert(mix.shift);
    std::vector<float> expected;
    for (int n = 0; n < kImages; ++n) {
      const int other = (n + mix.shift) % kImages;
      const float value = mix.share * (n + 1) + (1 - mix.share) * (other + 1);
      for (int c = 0; c < kChannels; ++c) {
        expected.insert(expected.end(), kHeight * kWidth, value + 8 * c);
      }
    }
    ExpectImage(ws_, "Y", kDims, expected, GetParam(), 1e-5f, 1e-5f);
  }
  EXPECT_EQ(shifts, (std::set<int>{1, 2, 3, 4, 5}));  // never with itself
}

// The pixels of the other image are a box, the same in all images, and its share of the area is
// the share of the other label.
TEST_P(MixImagesTest, CutMixPutsOneBoxIntoEachImage) {
  FeedImages(&ws_, GetParam());
  std::set<int> tops, lefts;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    RunOp(&ws_, Mix(0, 1, GetParam(), seed));
    const Found mix = FindMix(ws_);
    const std::vector<float> y = FetchNCHW(ws_, GetParam());
    int top = kHeight, bottom = -1, left = kWidth, right = -1, area = 0;
    for (int i = 0; i < kHeight * kWidth; ++i) {
      if (y[i] == 1) continue;
      ++area;
      top = std::min(top, i / kWidth);
      bottom = std::max(bottom, i / kWidth);
      left = std::min(left, i % kWidth);
      right = std::max(right, i % kWidth);
    }
    if (area > 0) {
      EXPECT_EQ(area, (bottom + 1 - top) * (right + 1 - left));
      tops.insert(top);
      lefts.insert(left);
    }
    EXPECT_NEAR(mix.share, 1 - static_cast<float>(area) / (kHeight * kWidth), 1e-6);
    for (int n = 0; n < kImages; ++n) {
      for (int c = 0; c < kChannels; ++c) {
        for (int i = 0; i < kHeight * kWidth; ++i) {
          const int row = i / kWidth, column = i % kWidth;
          const bool inside = row >= top && row <= bottom && column >= left && column <= right;
          const int source = inside ? (n + mix.shift) % kImages : n;
          ASSERT_EQ(y[(n * kChannels + c) * kHeight * kWidth + i],
                    static_cast<float>(source + 1 + 8 * c));
        }
      }
    }
  }
  EXPECT_GT(tops.size(), 5u);
  EXPECT_GT(lefts.size(), 5u);
}

TEST_P(MixImagesTest, ShortTypesMixInFloat) {
  RunOp(&ws_, [&] {
    FeedImages<bfloat16>(&ws_, GetParam());
    return Mix(0.5f, 0, GetParam(), 3);
  }());
  const Found mix = FindMix(ws_);
  const std::vector<bfloat16> y = FetchValues<bfloat16>(ws_, "Y");
  const float value = mix.share * 1 + (1 - mix.share) * static_cast<float>(1 + mix.shift);
  EXPECT_EQ(caffe2::ToFloat(y[0]), caffe2::ToFloat(caffe2::ToBFloat16(value)));
  FeedImages<float16>(&ws_, GetParam());
  RunOp(&ws_, Mix(0.5f, 0, GetParam(), 3));
  EXPECT_NEAR(caffe2::ToFloat(FetchValues<float16>(ws_, "Y")[0]), value, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Orders, MixImagesTest, ::testing::Values(false, true));

TEST(MixImages, IsGivenByItsSeedAndGoesOn) {
  Workspace ws;
  FeedImages(&ws, false);
  const auto run = [&](uint32_t seed) {
    RunOp(&ws, Mix(1, 1, false, seed));
    return FetchValues<float>(ws, "P");
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
  NetDef net;
  net.set_name("mix");
  *net.add_op() = Mix(1, 1, false, 5);
  NetBase* made = ws.CreateNet(net);
  made->Run();
  const std::vector<uint64_t> state = made->RandomState();
  made->Run();
  const std::vector<float> second = FetchValues<float>(ws, "P");
  made->Run();
  EXPECT_NE(FetchValues<float>(ws, "P"), second);
  made->SetRandomState(state);
  made->Run();
  EXPECT_EQ(FetchValues<float>(ws, "P"), second);
}

TEST(MixImages, SmoothsLabels) {
  Workspace ws;
  FeedImages(&ws, false);
  RunOp(&ws, Mix(1, 0, false, 5));
  std::vector<float> expected = FetchValues<float>(ws, "P");
  for (float& p : expected) p = 0.9f * p + 0.1f / kImages;
  RunOp(&ws, Mix(1, 0, false, 5, 0.1f));
  ExpectTensor(ws, "P", {kImages, kImages}, expected);
}

TEST(MixImages, OneImageStaysAsItIs) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 1, 2}, {3, 4});
  Feed<int32_t>(&ws, "label", {1}, {2});
  RunOp(&ws, Mix(1, 1, false, 5));
  ExpectTensor(ws, "Y", {1, 1, 1, 2}, {3, 4});
  ExpectTensor(ws, "P", {1, kImages}, {0, 0, 1, 0, 0, 0});
}

TEST(MixImages, RejectsBadInput) {
  Workspace ws;
  FeedImages(&ws, false);
  ExpectThrows(&ws, Mix(0, 0, false, 1), "one of the arguments mixup_alpha and cutmix_alpha");
  ExpectThrows(&ws, Mix(-1, 1, false, 1), "must not be negative");
  ExpectThrows(&ws, Mix(1, 0, false, 1, 1.f), "label_smoothing");
  OperatorDef in_place = Mix(1, 0, false, 1);
  in_place.set_output(0, "X");
  ExpectThrows(&ws, in_place, "");
  Feed<int32_t>(&ws, "label", {2}, {0, 1});
  ExpectThrows(&ws, Mix(1, 0, false, 1), "one label for each of the 6 images");
  Feed<int32_t>(&ws, "label", {6}, {0, 1, 2, 3, 4, 6});
  if (!TestsCuda()) ExpectThrows(&ws, Mix(1, 0, false, 1), "label 6 of image 5");
  Feed<float>(&ws, "X", {6, 2}, std::vector<float>(12));
  ExpectThrows(&ws, Mix(1, 0, false, 1), "four axes");
}

// Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)).
TEST(MixChoice, DrawsFromTheBetaDistribution) {
  for (const double alpha : {0.2, 1.0, 4.0}) {
    RandomGenerator random(7);
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = DrawBeta(alpha, &random);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / kDraws, variance, 0.03 * variance) << alpha;
  }
  RandomGenerator random(7);
  for (int i = 0; i < 100; ++i) {
    const double x = DrawBeta(1e-4, &random);
    EXPECT_TRUE(x >= 0 && x <= 1) << x;
  }
}

TEST(MixChoice, TakesEachWayHalfOfTheTime) {
  RandomGenerator random(3);
  int cuts = 0;
  for (int i = 0; i < 2000; ++i) {
    const MixChoice choice = DrawMix({.mixup_alpha = 1, .cutmix_alpha = 1}, 8, 32, 32, &random);
    cuts += choice.shares.pixels == 1;
  }
  EXPECT_NEAR(cuts, 1000, 5 * std::sqrt(500.0));
}

}  // namespace
}  // namespace caffe2::testing
