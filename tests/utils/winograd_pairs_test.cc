// Sums, edges and NaN are tested through ConvForward and its gradients: see
// tests/operators/scenarios/conv_winograd_test.cc.
#include "caffe2/utils/winograd_pairs.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"
#include "caffe2/utils/narrow_float.h"

namespace caffe2::onednn {
namespace {

struct Case {
  int64_t batch, height, width, channels, filters;
};

ConvProblem Problem(const Case& c) {
  ConvProblem problem;
  problem.src = {c.batch, c.channels, c.height, c.width};
  problem.dst = {c.batch, c.filters, c.height, c.width};
  problem.filter = {c.filters, c.channels, 3, 3};
  problem.stride = problem.dilation = problem.pad_begin = {1, 1};
  problem.channels_last = true;
  problem.type = TypeMeta::Make<bfloat16>();
  problem.filter_type = TypeMeta::Make<float>();
  return problem;
}

// The operands, random numbers that bfloat16 holds, and the results.
struct Data {
  explicit Data(const Case& c)
      : src(Random(c.batch * c.height * c.width * c.channels, 1)),
        d_dst(Random(c.batch * c.height * c.width * c.filters, 2)),
        filter(c.filters * 9 * c.channels),
        dst(d_dst.size()),
        d_src(src.size()),
        d_filter(filter.size()) {
    const std::vector<bfloat16> numbers = Random(static_cast<int64_t>(filter.size()), 3);
    for (size_t i = 0; i < filter.size(); ++i) filter[i] = ToFloat(numbers[i]);
  }
  static std::vector<bfloat16> Random(int64_t n, uint64_t seed) {
    RandomGenerator random(seed);
    std::vector<bfloat16> numbers(n);
    for (bfloat16& x : numbers) x = ToBFloat16(random.Uniform() - 0.5f);
    return numbers;
  }
  void RunPairs(const ConvProblem& problem) {
    PairCorrelation(problem, false).Run(src.data(), filter.data(), nullptr, dst.data());
    PairCorrelation(problem, true).Run(d_dst.data(), filter.data(), nullptr, d_src.data());
    PairFilterGradient(problem).Run(src.data(), d_dst.data(), d_filter.data(), nullptr);
  }

  const std::vector<bfloat16> src, d_dst;
  std::vector<float> filter;
  std::vector<bfloat16> dst, d_src;
  std::vector<float> d_filter;
};

// Threads divide blocks of filters where they can, else tiles. Runs may have more threads than were
// there when the object was made.
TEST(WinogradPairs, KeptFiltersGiveTheSameBits) {
  const int threads_before = omp_get_max_threads();
  for (const Case& c : {Case{1, 14, 14, 48, 256}, {1, 7, 7, 96, 100}, {2, 15, 14, 33, 128}}) {
    ConvProblem problem = Problem(c);
    SCOPED_TRACE(problem.ToString());
    Data expected(c);
    expected.RunPairs(problem);
    problem.constant_filter = true;
    for (const int threads : {1, 2, 3, 4}) {
      omp_set_num_threads(threads);
      PairCorrelation conv(problem, false);
      omp_set_num_threads(2 * threads);
      std::vector<float> filter = expected.filter;
      for (int run = 0; run < 2; ++run) {
        std::vector<bfloat16> dst(expected.dst.size());
        conv.Run(expected.src.data(), filter.data(), nullptr, dst.data());
        EXPECT_EQ(dst, expected.dst) << threads << " " << run;
        filter.assign(filter.size(), 0.f);  // the promise was that it does not change
      }
    }
    omp_set_num_threads(threads_before);
  }
}

// From a few tiles, fewer than threads, to several chunks of tiles, blocks of filters and panels.
TEST(WinogradPairs, ResultsDoNotDependOnTheNumberOfThreads) {
  const int threads_before = omp_get_max_threads();
  for (const Case& c : {Case{1, 1, 1, 3, 2}, {1, 5, 4, 33, 31}, {3, 14, 15, 96, 160}}) {
    const ConvProblem problem = Problem(c);
    SCOPED_TRACE(problem.ToString());
    omp_set_num_threads(1);
    Data expected(c);
    expected.RunPairs(problem);
    for (const int threads : {2, 3, 4, 6, 16}) {
      omp_set_num_threads(threads);
      Data actual(c);
      actual.RunPairs(problem);
      EXPECT_EQ(actual.dst, expected.dst) << threads;
      EXPECT_EQ(actual.d_src, expected.d_src) << threads;
      EXPECT_EQ(actual.d_filter, expected.d_filter) << threads;
    }
    omp_set_num_threads(threads_before);
  }
}

// Root mean squares of the differences to convolutions in double.
struct Errors {
  double dst = 0, d_src = 0, d_filter = 0;
};
Errors ErrorsOf(const Case& c, const Data& data) {
  std::vector<double> dst(data.dst.size()), d_src(data.src.size()), d_filter(data.filter.size());
  for (int64_t out = 0; out < c.batch * c.height * c.width; ++out) {
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t y = out / c.width % c.height + tap / 3 - 1, x = out % c.width + tap % 3 - 1;
      if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
      const int64_t in = (out / (c.width * c.height) * c.height + y) * c.width + x;
      for (int64_t m = 0; m < c.filters; ++m) {
        for (int64_t i = 0; i < c.channels; ++i) {
          const int64_t d = out * c.filters + m, s = in * c.channels + i;
          const int64_t f = (m * 9 + tap) * c.channels + i;
          const double pixel = ToFloat(data.src[s]), gradient = ToFloat(data.d_dst[d]);
          dst[d] += pixel * data.filter[f];
          d_src[s] += gradient * data.filter[f];
          d_filter[f] += gradient * pixel;
        }
      }
    }
  }
  const auto error = [](const auto& actual, const std::vector<double>& expected) {
    double sum = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = Widen(actual[i]) - expected[i];
      sum += difference * difference;
    }
    return std::sqrt(sum / static_cast<double>(expected.size()));
  };
  return {error(data.dst, dst), error(data.d_src, d_src), error(data.d_filter, d_filter)};
}

// Direct convolutions round results alone. Here tiles and filters are rounded too, each once.
TEST(WinogradPairs, RoundsTilesAndFiltersOnce) {
  const Case c{4, 12, 12, 64, 64};
  const ConvProblem problem = Problem(c);
  Data pairs(c), direct(c);
  pairs.RunPairs(problem);
  ConvProblem directly = problem;
  directly.algorithm = ConvAlgorithm::kDirect;
  ConvForward(directly).Run(direct.src.data(), direct.filter.data(), nullptr, direct.dst.data());
  ConvBackwardData(directly).Run(direct.d_dst.data(), direct.filter.data(), direct.d_src.data());
  const Errors ours = ErrorsOf(c, pairs), theirs = ErrorsOf(c, direct);
  EXPECT_LT(ours.dst, 3 * theirs.dst);
  EXPECT_LT(ours.d_src, 3 * theirs.d_src);
  // A sum of n products of numbers within 1/2 has a root mean square of sqrt(n) / 12.
  const double products = static_cast<double>(c.batch * c.height * c.width);
  EXPECT_LT(ours.d_filter, std::sqrt(products) / 12 / 128);
}

}  // namespace
}  // namespace caffe2::onednn
