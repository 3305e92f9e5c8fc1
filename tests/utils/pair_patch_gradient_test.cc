#include "caffe2/utils/pair_patch_gradient.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "caffe2/core/half.h"
#include "caffe2/utils/onednn_processor.h"
#include "tests/utils/patch_gradients.h"

namespace caffe2::onednn {
namespace {

using testing::PatchCase;

// Some are divided by filters, the last two by patches, whose number is odd, into several parts.
TEST(PairPatchGradient, IsTheSumOfProductsForAllNumbersOfThreads) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  const int threads_before = omp_get_max_threads();
  for (const PatchCase& c : {PatchCase{1, 1, 3, 2, 1, 1},
                             {2, 9, 33, 96, 1, 1},
                             {3, 8, 64, 160, 1, 2},
                             {2, 11, 70, 40, 3, 2},
                             {5, 67, 40, 33, 1, 1},
                             {3, 135, 8, 32, 3, 2}}) {
    SCOPED_TRACE(testing::PatchProblem<bfloat16>(c).ToString());
    omp_set_num_threads(1);
    const auto alone = testing::PatchGradient<bfloat16>(c, PairPatchGradient);
    const auto expected = testing::ExpectedPatchGradient<bfloat16>(c);
    for (size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(alone[i], expected[i], 1e-4) << i;
    for (const int threads : {2, 3, 5, 16}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(testing::PatchGradient<bfloat16>(c, PairPatchGradient), alone) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

}  // namespace
}  // namespace caffe2::onednn
