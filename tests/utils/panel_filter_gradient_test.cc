#include "caffe2/utils/panel_filter_gradient.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "tests/utils/patch_gradients.h"

namespace caffe2::onednn {
namespace {

using testing::PatchCase;

// One block of panels to many, whose number threads do not divide, and one chunk of rows to
// several.
TEST(PanelFilterGradient, IsTheSumOfProductsForAllNumbersOfThreads) {
  const int threads_before = omp_get_max_threads();
  for (const PatchCase& c : {PatchCase{1, 1, 3, 2, 1, 1},
                             {2, 9, 33, 96, 1, 1},
                             {3, 8, 64, 160, 1, 2},
                             {2, 11, 70, 40, 3, 2}}) {
    SCOPED_TRACE(testing::PatchProblem<float>(c).ToString());
    omp_set_num_threads(1);
    const auto alone = testing::PatchGradient<float>(c, PanelFilterGradient);
    const auto expected = testing::ExpectedPatchGradient<float>(c);
    for (size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(alone[i], expected[i], 1e-5) << i;
    for (const int threads : {2, 3, 5, 16}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(testing::PatchGradient<float>(c, PanelFilterGradient), alone) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

}  // namespace
}  // namespace caffe2::onednn
