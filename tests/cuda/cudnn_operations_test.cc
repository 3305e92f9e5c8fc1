// What cuDNN's plans compute, each of those that Convolve may choose, beside sums on the host.
// Needs a GPU.
#include "caffe2/cuda/cudnn_operations.h"

#include <cudnn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"
#include "caffe2/core/tensor.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/scratch.h"

namespace caffe2::cuda {
namespace {

// The one of three things that a direction writes.
template <typename T>
T& WrittenOf(ConvDirection direction, T& x, T& filter, T& y) {
  return direction == ConvDirection::kForward        ? y
         : direction == ConvDirection::kBackwardData ? x
                                                     : filter;
}

// NHWC, two spatial axes.
ConvProblem Problem(int64_t n, int64_t channels, int64_t height, int64_t width, int64_t filters,
                    std::vector<int64_t> kernel, std::vector<int64_t> stride,
                    std::vector<int64_t> pad_begin, std::vector<int64_t> pad_end) {
  const auto size = [&](int64_t in, int axis) {
    return (in + pad_begin[axis] + pad_end[axis] - kernel[axis]) / stride[axis] + 1;
  };
  return {.x = {n, channels, height, width},
          .filter = {filters, channels, kernel[0], kernel[1]},
          .y = {n, filters, size(height, 0), size(width, 1)},
          .stride = stride,
          .dilation = {1, 1},
          .pad_begin = pad_begin,
          .pad_end = pad_end,
          .channels_last = true,
          .type = {}};
}

// Arrays in NHWC order, as double.
using Values = std::vector<double>;

// Calls visit(index in x, index in filter, index in y) for each product of the convolution.
template <typename Visit>
void ForEachProduct(const ConvProblem& p, const Visit& visit) {
  const int64_t channels = p.x[1], filters = p.y[1];
  for (int64_t n = 0; n < p.x[0]; ++n) {
    for (int64_t row = 0; row < p.y[2]; ++row) {
      for (int64_t column = 0; column < p.y[3]; ++column) {
        for (int64_t r = 0; r < p.filter[2]; ++r) {
          for (int64_t s = 0; s < p.filter[3]; ++s) {
            const int64_t i = row * p.stride[0] + r - p.pad_begin[0];
            const int64_t j = column * p.stride[1] + s - p.pad_begin[1];
            if (i < 0 || i >= p.x[2] || j < 0 || j >= p.x[3]) continue;
            for (int64_t m = 0; m < filters; ++m) {
              for (int64_t c = 0; c < channels; ++c) {
                visit(((n * p.x[2] + i) * p.x[3] + j) * channels + c,
                      ((m * p.filter[2] + r) * p.filter[3] + s) * channels + c,
                      ((n * p.y[2] + row) * p.y[3] + column) * filters + m);
              }
            }
          }
        }
      }
    }
  }
}

template <typename T>
T Narrowed(double value) {
  if constexpr (std::is_same_v<T, float16>) return ToFloat16(static_cast<float>(value));
  if constexpr (std::is_same_v<T, bfloat16>) return ToBFloat16(static_cast<float>(value));
  if constexpr (std::is_same_v<T, float>) return static_cast<float>(value);
}

float Wide(float value) { return value; }
template <typename T>
float Wide(T value) {
  return ToFloat(value);
}

// The three arrays of a problem, with random values that T holds exactly.
template <typename T>
struct Arrays {
  Values x, filter, y;

  explicit Arrays(const ConvProblem& problem)
      : x(Random(problem.x, 1)), filter(Random(problem.filter, 2)), y(Random(problem.y, 3)) {}

  static Values Random(const std::vector<int64_t>& dims, uint64_t seed) {
    RandomGenerator random(seed);
    Values values(CheckedNumel(dims));
    for (double& value : values) value = Wide(Narrowed<T>(2 * random.Uniform() - 1));
    return values;
  }
  Values& ResultOf(ConvDirection direction) { return WrittenOf(direction, x, filter, y); }
};

class Plans {
 public:
  explicit Plans(const ConvProblem& problem, ConvDirection direction) {
    CheckCudnn(cudnnCreate(&handle_), "start");
    CudnnOperations operations(problem, kFullAlignment);
    operations.Convolve(direction, operations.Array(1, problem.x),
                        operations.Array(2, problem.filter), operations.Array(3, problem.y));
    const CudnnTarget target{.handle = handle_};
    constexpr size_t kMax = 8;  // as Convolve chooses from
    const CudnnPlanRules rules{.tensor_cores = !problem.type.Match<float>()};
    plans_ = ListCudnnPlans(operations.Graph(target), target, rules, problem.ToString(), kMax);
  }
  ~Plans() {
    plans_.clear();
    cudnnDestroy(handle_);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  const std::vector<CudnnPlan>& all() const { return plans_; }
  void Run(const CudnnPlan& plan, const std::vector<void*>& arrays, Stream stream) const {
    CheckCudnn(cudnnSetStream(handle_, stream), "stream");
    const Scratch workspace(plan.workspace_bytes, 0, stream, "workspace");
    if (plan.workspace_bytes > 0) {  // plans may not rely on what is there
      SetBytesAsync(workspace.get(), 0x4b, static_cast<size_t>(plan.workspace_bytes), stream);
    }
    RunCudnnPlan(handle_, plan, {1, 2, 3}, arrays, workspace.get());
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  std::vector<CudnnPlan> plans_;
};

template <typename T>
std::vector<T> RunOnDevice(const Plans& plans, const CudnnPlan& plan, ConvDirection direction,
                           Arrays<T>* arrays) {
  const Stream stream = GetStream(0, kComputeStream);
  std::vector<std::unique_ptr<Scratch>> memory;
  std::vector<void*> data;
  std::vector<std::vector<T>> host;
  for (Values* values : {&arrays->x, &arrays->filter, &arrays->y}) {
    std::vector<T> narrowed;
    const bool is_result = values == &arrays->ResultOf(direction);
    for (const double value : *values) narrowed.push_back(Narrowed<T>(is_result ? 77 : value));
    memory.push_back(std::make_unique<Scratch>(static_cast<int64_t>(values->size() * sizeof(T)), 0,
                                               stream, "an array"));
    data.push_back(memory.back()->get());
    host.push_back(narrowed);
    CopyAsync(data.back(), host.back().data(), values->size() * sizeof(T), stream);
  }
  plans.Run(plan, data, stream);
  std::vector<T> result(arrays->ResultOf(direction).size());
  CopyAsync(result.data(), WrittenOf(direction, data[0], data[1], data[2]),
            result.size() * sizeof(T), stream);
  Synchronize(stream);
  return result;
}

// Every plan gives the sum of products, with the error of one rounding of T and of sums in float.
// In bfloat16, engine 47 of cuDNN 9.19 may round parts of the sums of a filter gradient to
// bfloat16, without CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION. Each plan runs several times:
// plans that sum without order may be right by chance.
template <typename T>
void ExpectEveryPlanIsRight(ConvProblem problem, ConvDirection direction, double unit) {
  problem.type = TypeMeta::Make<T>();
  Arrays<T> arrays(problem);
  Values x = arrays.x, filter = arrays.filter, y = arrays.y;
  std::ranges::fill(WrittenOf(direction, x, filter, y), 1.);  // in products
  Values& expected = arrays.ResultOf(direction);
  Values magnitude(expected.size());
  std::fill(expected.begin(), expected.end(), 0.);
  ForEachProduct(problem, [&](int64_t i, int64_t k, int64_t j) {
    const int64_t at = WrittenOf(direction, i, k, j);
    const double product = x[i] * filter[k] * y[j];
    expected[at] += product;
    magnitude[at] += std::abs(product);
  });
  const Plans plans(problem, direction);
  int number = 0;
  for (const CudnnPlan& plan : plans.all()) {
    const bool in_parts = std::is_same_v<T, bfloat16> &&
                          direction == ConvDirection::kBackwardFilter && plan.engine == 47;
    const double sum_error = in_parts ? unit / 2 : 1e-5;  // of the products' magnitudes
    int wrong = 0;
    double worst = 0;
    for (int repeat = 0; repeat < 8; ++repeat) {
      const std::vector<T> result = RunOnDevice(plans, plan, direction, &arrays);
      for (size_t i = 0; i < result.size(); ++i) {
        const double error = std::abs(Wide(result[i]) - expected[i]);
        if (!(error <= unit * std::abs(expected[i]) + sum_error * magnitude[i] + 1e-7)) ++wrong;
        worst = std::max(worst, error);
      }
    }
    EXPECT_EQ(wrong, 0) << "of 8 x " << expected.size() << " values, the worst by " << worst
                        << ": plan " << number << ", engine " << plan.engine << ", direction "
                        << static_cast<int>(direction) << ", " << problem.ToString();
    ++number;
  }
}

void ExpectAllAreRight(const ConvProblem& problem) {
  if (DeviceCount() == 0) GTEST_SKIP() << DeviceProblem();
  for (const auto direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardFilter}) {
    ExpectEveryPlanIsRight<float16>(problem, direction, 0x1p-10);
    ExpectEveryPlanIsRight<bfloat16>(problem, direction, 0x1p-7);
    // The operators do not ask for others (operators/conv/conv_gradients_cuda.h).
    const bool even_strides = problem.stride[0] == problem.stride[1];
    const bool even_padding = problem.pad_begin == problem.pad_end;
    const bool is_asked =
        direction == ConvDirection::kForward ||
        (even_padding && (even_strides || direction != ConvDirection::kBackwardData));
    if (is_asked) ExpectEveryPlanIsRight<float>(problem, direction, 0x1p-22);
  }
}

// The first layers of nets.
TEST(ConvolutionResultsTest, FewChannels) {
  ExpectAllAreRight(Problem(2, 3, 9, 12, 5, {7, 7}, {2, 2}, {3, 3}, {3, 3}));
  ExpectAllAreRight(Problem(2, 3, 32, 32, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1}));
}

TEST(ConvolutionResultsTest, FewChannelsUnevenStridesAndPadding) {
  ExpectAllAreRight(Problem(2, 3, 9, 12, 5, {7, 7}, {2, 1}, {2, 2}, {3, 3}));
  ExpectAllAreRight(Problem(2, 4, 9, 12, 5, {6, 5}, {3, 2}, {1, 0}, {2, 1}));
  ExpectAllAreRight(Problem(2, 4, 9, 12, 5, {5, 4}, {1, 2}, {2, 1}, {2, 1}));
}

// As ConvInputGradient and ConvFilterGradient make them.
TEST(ConvolutionResultsTest, PaddedImages) {
  ExpectAllAreRight(Problem(2, 3, 13, 17, 5, {7, 7}, {2, 1}, {0, 0}, {0, 0}));
  ExpectAllAreRight(Problem(2, 4, 12, 13, 5, {6, 5}, {3, 2}, {0, 0}, {0, 0}));
  ExpectAllAreRight(Problem(2, 64, 9, 14, 64, {3, 3}, {2, 1}, {0, 0}, {0, 0}));
  ExpectAllAreRight(Problem(2, 64, 11, 13, 64, {3, 3}, {2, 2}, {0, 0}, {0, 0}));
}

// As FewChannelsConv makes them.
TEST(ConvolutionResultsTest, Patches) {
  ExpectAllAreRight(Problem(2, 48, 8, 11, 5, {4, 1}, {1, 1}, {0, 0}, {0, 0}));
  ExpectAllAreRight(Problem(2, 32, 32, 32, 64, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
}

TEST(ConvolutionResultsTest, ManyChannels) {
  ExpectAllAreRight(Problem(2, 64, 9, 11, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1}));
  ExpectAllAreRight(Problem(2, 64, 9, 11, 128, {3, 3}, {2, 2}, {1, 1}, {1, 1}));
  ExpectAllAreRight(Problem(2, 64, 9, 11, 64, {3, 3}, {2, 1}, {0, 1}, {1, 2}));
  ExpectAllAreRight(Problem(2, 64, 9, 11, 128, {1, 1}, {2, 2}, {0, 0}, {0, 0}));
}

}  // namespace
}  // namespace caffe2::cuda
