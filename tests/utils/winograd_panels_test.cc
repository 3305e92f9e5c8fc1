// Sums, edges, fused operations and NaN are tested through WinogradCorrelation and
// WinogradFilterGradient: see tests/operators/scenarios/conv_winograd_test.cc.
#include "caffe2/utils/winograd_panels.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/utils/float_panels.h"

namespace caffe2::onednn {
namespace {

struct FloatCase {
  int64_t batch, height, width, channels, filters;
};

ConvProblem FloatProblem(const FloatCase& c) {
  ConvProblem problem;
  problem.src = {c.batch, c.channels, c.height, c.width};
  problem.dst = {c.batch, c.filters, c.height, c.width};
  problem.filter = {c.filters, c.channels, 3, 3};
  problem.stride = problem.dilation = problem.pad_begin = {1, 1};
  problem.channels_last = true;
  problem.type = problem.filter_type = TypeMeta::Make<float>();
  return problem;
}

std::vector<float> FloatNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = random.Uniform() - 0.5f;
  return numbers;
}

// The operands and the results.
struct FloatData {
  explicit FloatData(const FloatCase& c)
      : src(FloatNumbers(c.batch * c.height * c.width * c.channels, 1)),
        d_dst(FloatNumbers(c.batch * c.height * c.width * c.filters, 2)),
        filter(FloatNumbers(c.filters * 9 * c.channels, 3)),
        dst(d_dst.size()),
        d_src(src.size()),
        d_filter(filter.size()) {}
  void RunPanels(const ConvProblem& problem) {
    PanelCorrelation(problem, false).Run(src.data(), filter.data(), nullptr, dst.data());
    PanelCorrelation(problem, true).Run(d_dst.data(), filter.data(), nullptr, d_src.data());
    PanelWinogradFilterGradient(problem).Run(src.data(), d_dst.data(), d_filter.data(), nullptr);
  }

  const std::vector<float> src, d_dst, filter;
  std::vector<float> dst, d_src, d_filter;
};

// One tile, few tiles with many filters, and several chunks and segments.
TEST(WinogradPanels, ResultsDoNotDependOnTheNumberOfThreads) {
  const int threads_before = omp_get_max_threads();
  for (const FloatCase& c : {FloatCase{1, 1, 1, 32, 32}, {2, 7, 7, 160, 96}, {3, 41, 37, 32, 64}}) {
    const ConvProblem problem = FloatProblem(c);
    SCOPED_TRACE(problem.ToString());
    omp_set_num_threads(1);
    FloatData expected(c);
    expected.RunPanels(problem);
    for (const int threads : {2, 3, 4, 16}) {
      omp_set_num_threads(threads);
      FloatData actual(c);
      actual.RunPanels(problem);
      EXPECT_EQ(actual.dst, expected.dst) << threads;
      EXPECT_EQ(actual.d_src, expected.d_src) << threads;
      EXPECT_EQ(actual.d_filter, expected.d_filter) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

// Threads divide filters in the first two cases, tiles in the others. Runs may have more threads
// than were there when the object was made.
TEST(WinogradPanels, KeptFiltersGiveTheSameBits) {
  const int threads_before = omp_get_max_threads();
  for (const FloatCase& c : {FloatCase{1, 7, 7, 96, 128},
                             {2, 7, 7, 160, 96},
                             {3, 41, 37, 32, 64},
                             {2, 25, 25, 64, 32}}) {
    ConvProblem problem = FloatProblem(c);
    SCOPED_TRACE(problem.ToString());
    FloatData expected(c);
    expected.RunPanels(problem);
    problem.constant_filter = true;
    for (const int threads : {1, 2, 3, 16}) {
      omp_set_num_threads(threads);
      PanelCorrelation conv(problem, false);
      omp_set_num_threads(2 * threads);
      std::vector<float> filter = expected.filter;
      for (int run = 0; run < 2; ++run) {
        std::vector<float> dst(expected.dst.size());
        conv.Run(expected.src.data(), filter.data(), nullptr, dst.data());
        EXPECT_EQ(dst, expected.dst) << threads << " " << run;
        filter.assign(filter.size(), 0.f);  // the promise was that it does not change
      }
    }
    omp_set_num_threads(threads_before);
  }
}

TEST(WinogradPanels, SupportsFullPanelsOnly) {
  ConvProblem problem = FloatProblem({1, 4, 4, 32, 64});
  EXPECT_EQ(PanelWinogradSupports(problem), FloatPanelsUseAvx512());
  EXPECT_EQ(PanelWinogradSupports(FloatProblem({1, 4, 4, 64, 32})), FloatPanelsUseAvx512());
  EXPECT_FALSE(PanelWinogradSupports(FloatProblem({1, 4, 4, 32, 63})));
  EXPECT_FALSE(PanelWinogradSupports(FloatProblem({1, 4, 4, 33, 64})));
  problem.channels_last = false;
  EXPECT_FALSE(PanelWinogradSupports(problem));
  problem = FloatProblem({1, 4, 4, 32, 64});
  problem.filter_type = TypeMeta::Make<bfloat16>();
  EXPECT_FALSE(PanelWinogradSupports(problem));
}

}  // namespace
}  // namespace caffe2::onednn
