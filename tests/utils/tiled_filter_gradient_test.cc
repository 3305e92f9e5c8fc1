#include "caffe2/utils/tiled_filter_gradient.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "caffe2/core/half.h"
#include "caffe2/utils/onednn_processor.h"
#include "tests/utils/patch_gradients.h"

namespace caffe2::onednn {
namespace {

using testing::PatchCase;

template <typename T>
void ExpectSums(const PatchCase& c, double tolerance) {
  SCOPED_TRACE(testing::PatchProblem<T>(c).ToString());
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = testing::PatchGradient<T>(c, TiledFilterGradient<T>);
  const auto expected = testing::ExpectedPatchGradient<T>(c);
  for (size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(alone[i], expected[i], tolerance) << i;
  for (const int threads : {2, 3, 5, 16}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(testing::PatchGradient<T>(c, TiledFilterGradient<T>), alone) << threads;
  }
  omp_set_num_threads(threads_before);
}

// One block to many, whose number threads do not divide; fewer filters and channels than a tile,
// and more; one chunk of rows to several, whose number is odd; strides and padding.
constexpr PatchCase kWhole[] = {{1, 1, 3, 2, 1, 1},    {2, 9, 33, 96, 1, 1},  {3, 8, 64, 160, 1, 2},
                                {2, 11, 70, 40, 3, 2}, {1, 5, 128, 5, 1, 1},  {1, 21, 64, 71, 1, 1},
                                {2, 7, 200, 67, 1, 1}, {2, 13, 130, 9, 3, 1}, {1, 6, 64, 64, 5, 3}};
// Divided by patches too: into two parts or more.
constexpr PatchCase kParts[] = {
    {3, 103, 40, 33, 1, 1}, {3, 205, 8, 32, 3, 2}, {1, 81, 64, 70, 1, 1}};

TEST(TiledFilterGradient, IsTheSumOfProductsInFloat) {
  for (const PatchCase& c : kWhole) ExpectSums<float>(c, 1e-5);
  for (const PatchCase& c : kParts) ExpectSums<float>(c, 2e-4);
}

TEST(TiledFilterGradient, IsTheSumOfProductsInBFloat16) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  for (const PatchCase& c : kWhole) ExpectSums<bfloat16>(c, 1e-4);
  for (const PatchCase& c : kParts) ExpectSums<bfloat16>(c, 2e-4);
}

}  // namespace
}  // namespace caffe2::onednn
