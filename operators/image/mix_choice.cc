#include "operators/image/mix_choice.h"

#include <algorithm>
#include <cmath>

#include "operators/common/host_device_math.h"

namespace caffe2 {
namespace {

// The logarithm of a variable from Gamma(alpha, 1).
double DrawLogGamma(double alpha, RandomGenerator* random) {
  if (alpha < 1) {
    // Gamma(alpha) is Gamma(alpha + 1) times a uniform variable to the power of 1 / alpha.
    const double log_uniform = std::log(1 - random->UniformDouble());
    return DrawLogGamma(alpha + 1, random) + log_uniform / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random->Normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double log_uniform = std::log(1 - random->UniformDouble());
    if (log_uniform < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

// A box with 1 - lambda of the area around a random pixel, cut off at the border.
MixChoice::Box DrawBox(double lambda, int64_t height, int64_t width, RandomGenerator* random) {
  const double half = 0.5 * std::sqrt(1 - lambda);
  const auto range = [&](int64_t size, uint16_t* begin, uint16_t* end) {
    const auto center = static_cast<int64_t>(random->UniformInt(static_cast<uint64_t>(size)));
    const auto reach = static_cast<int64_t>(half * static_cast<double>(size));
    *begin = static_cast<uint16_t>(std::max<int64_t>(center - reach, 0));
    *end = static_cast<uint16_t>(std::min(center + reach, size));
  };
  MixChoice::Box box;
  range(height, &box.top, &box.bottom);
  range(width, &box.left, &box.right);
  return box;
}

}  // namespace

double DrawBeta(double alpha, RandomGenerator* random) {
  const double a = DrawLogGamma(alpha, random), b = DrawLogGamma(alpha, random);
  return host_device::Sigmoid(a - b);
}

MixChoice DrawMix(const MixOptions& options, int64_t images, int64_t height, int64_t width,
                  RandomGenerator* random) {
  MixChoice choice;
  if (images > 1) {
    choice.shift = 1 + static_cast<int64_t>(random->UniformInt(static_cast<uint64_t>(images - 1)));
  }
  bool cuts = options.cutmix_alpha > 0;
  if (cuts && options.mixup_alpha > 0) cuts = ((*random)() & 1) != 0;
  const double lambda = DrawBeta(cuts ? options.cutmix_alpha : options.mixup_alpha, random);
  if (cuts) {
    choice.box = DrawBox(lambda, height, width, random);
    const int64_t area =
        int64_t{choice.box.bottom - choice.box.top} * int64_t{choice.box.right - choice.box.left};
    choice.shares.label =
        static_cast<float>(1 - static_cast<double>(area) / static_cast<double>(height * width));
  } else {
    choice.shares.pixels = choice.shares.label = static_cast<float>(lambda);
  }
  return choice;
}

}  // namespace caffe2
