#include "operators/fill/random_fill_op.h"

#include <algorithm>

#include "caffe2/core/half.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/vector_math.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

// The range from min to max: arguments, or the values of inputs 1 and 2.
template <typename T>
class Bounds {
 public:
  Bounds(const ArgumentHelper& arguments, T default_max)
      : given_(arguments.HasArgument("min") || arguments.HasArgument("max")),
        min_(arguments.GetSingleArgument<T>("min", 0)),
        max_(arguments.GetSingleArgument<T>("max", default_max)) {}

  // If inputs give an empty range, the output gets no rows, as in Caffe2.
  void Read(const OperatorBase& op, Tensor* output) {
    if (op.InputSize() == 3) {
      CAFFE_ENFORCE(!given_,
                    "the arguments min and max and the inputs min and max cannot be used together");
      const auto &min = op.Input<Tensor>(1), &max = op.Input<Tensor>(2);
      CAFFE_ENFORCE(min.numel() == 1 && max.numel() == 1,
                    "min and max must have one element each: their shapes are ",
                    ShapeString(min.sizes()), " and ", ShapeString(max.sizes()));
      min_ = *min.data<T>();
      max_ = *max.data<T>();
      if (min_ > max_ && std::is_integral_v<T> && output->dim() > 0) {
        std::vector<int64_t> dims = output->sizes();
        dims[0] = 0;
        output->Resize(dims);
        return;
      }
    }
    CAFFE_ENFORCE(min_ <= max_, "min (", min_, ") is larger than max (", max_, ")");
  }
  T min() const { return min_; }
  T max() const { return max_; }

 private:
  bool given_;
  T min_, max_;
};

// Uniform in [min, max); rounding may give max.
class Uniform {
 public:
  using value_type = float;
  explicit Uniform(const ArgumentHelper& arguments) : bounds_(arguments, 1.f) {}
  void Prepare(const OperatorBase& op, Tensor* output) { bounds_.Read(op, output); }
  float Sample(RandomGenerator& random) const {
    return bounds_.min() + (bounds_.max() - bounds_.min()) * random.Uniform();
  }

 private:
  Bounds<float> bounds_;
};

// Uniform in {min, ..., max}.
class UniformInt {
 public:
  using value_type = int32_t;
  explicit UniformInt(const ArgumentHelper& arguments) : bounds_(arguments, 1) {}
  void Prepare(const OperatorBase& op, Tensor* output) { bounds_.Read(op, output); }
  int32_t Sample(RandomGenerator& random) const {
    const int64_t min = bounds_.min(), max = bounds_.max();
    return static_cast<int32_t>(min + static_cast<int64_t>(random.UniformInt(max - min + 1)));
  }

 private:
  Bounds<int32_t> bounds_;
};

class Float16Uniform {
 public:
  using value_type = float16;
  explicit Float16Uniform(const ArgumentHelper& arguments) : floats_(arguments) {}
  void Prepare(const OperatorBase& op, Tensor* output) { floats_.Prepare(op, output); }
  float16 Sample(RandomGenerator& random) const { return ToFloat16(floats_.Sample(random)); }

 private:
  Uniform floats_;
};

// RandomGenerator::Normal of n pairs of words, of which 24 bits are given, if `sure`: then all
// numbers within one part in 10^11 round to the same float, among them its own.
CAFFE2_SIMD_CLONES void NormalOfWords(int64_t n, const int32_t* first, const int32_t* second,
                                      float* z, int32_t* sure) {
  constexpr double kError = 1e-11;
  constexpr double kSmall = 0x1p-8;  // below it the rounding of the angle counts
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double radius = std::sqrt(-2 * LogOfPart(1 - first[i] * 0x1p-24));
    const double cosine = CosOfTurn(second[i] * 0x1p-24), value = radius * cosine;
    const auto low = static_cast<float>(value * (1 - kError)),
               high = static_cast<float>(value * (1 + kError));
    z[i] = low;
    sure[i] = static_cast<int32_t>(low == high) & static_cast<int32_t>(std::fabs(cosine) > kSmall) &
              static_cast<int32_t>(first[i] != 0);
  }
}

// data[i] = f(the i-th call of random.Normal()).
template <typename F>
void FillNormal(RandomGenerator& random, int64_t n, float* data, const F& f) {
  constexpr int64_t kGrain = 2048, kBlock = 512;
  const uint64_t seed = random.seed(), start = random.position();
  ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    int32_t first[kBlock], second[kBlock], sure[kBlock];
    float z[kBlock];
    RandomGenerator part(seed, start + 2 * begin);
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t size = std::min(kBlock, end - i);
      for (int64_t k = 0; k < size; ++k) {
        first[k] = static_cast<int32_t>(part() >> 8);
        second[k] = static_cast<int32_t>(part() >> 8);
      }
      NormalOfWords(size, first, second, z, sure);
      for (int64_t k = 0; k < size; ++k) {
        data[i + k] = f(sure[k] != 0 ? z[k] : RandomGenerator(seed, start + 2 * (i + k)).Normal());
      }
    }
  });
  random.set_position(start + 2 * n);
}

class Gaussian {
 public:
  using value_type = float;
  explicit Gaussian(const ArgumentHelper& arguments)
      : mean_(arguments.GetSingleArgument<float>("mean", 0.f)),
        std_(arguments.GetSingleArgument<float>("std", 1.f)) {
    CAFFE_ENFORCE(std_ >= 0.f, "argument std must not be negative, found ", std_);
  }
  void Prepare(const OperatorBase&, Tensor*) {}
  void Fill(RandomGenerator& random, int64_t n, float* data) const {
    FillNormal(random, n, data, [this](float z) { return mean_ + std_ * z; });
  }

 private:
  float mean_, std_;
};

// The number of elements for each index of dimension `dim`, a fan of a weight tensor.
float Fan(const Tensor& output, int dim) {
  CAFFE_ENFORCE(output.dim() > dim, "the output must have more than ", dim,
                " axes, so that its fan is known; found shape ", ShapeString(output.sizes()));
  if (output.numel() == 0) return 1.f;
  const int64_t fan = output.numel() / output.size(dim);
  return static_cast<float>(fan);
}

// Uniform in [-s, s), s = sqrt(3 / fan_in).
class Xavier {
 public:
  using value_type = float;
  explicit Xavier(const ArgumentHelper&) {}
  void Prepare(const OperatorBase&, Tensor* output) { scale_ = std::sqrt(3.f / Fan(*output, 0)); }
  float Sample(RandomGenerator& random) const { return scale_ * (2.f * random.Uniform() - 1.f); }

 private:
  float scale_ = 0;
};

// Normal with mean 0 and variance 2 / fan_out.
class Msra {
 public:
  using value_type = float;
  explicit Msra(const ArgumentHelper& arguments)
      : channels_last_(arguments.GetSingleArgument<std::string>("order", "NCHW") == "NHWC") {}
  void Prepare(const OperatorBase&, Tensor* output) {
    scale_ = std::sqrt(2.f / Fan(*output, channels_last_ ? std::max(output->dim() - 1, 1) : 1));
  }
  void Fill(RandomGenerator& random, int64_t n, float* data) const {
    FillNormal(random, n, data, [this](float z) { return scale_ * z; });
  }

 private:
  bool channels_last_;
  float scale_ = 0;
};

// The range may come as two more inputs.
void DescribeRange(OpSchema& schema) {
  DescribeFiller(schema);
  schema.NumInputs({0, 1, 3})
      .Input(1, "min", "Optional, with max: the lower bound, one element.")
      .Input(2, "max", "Optional, with min: the upper bound, one element.");
}

}  // namespace

REGISTER_CPU_OPERATOR(UniformFill, RandomFillOp<CPUContext, Uniform>);
REGISTER_CPU_OPERATOR(Float16UniformFill, RandomFillOp<CPUContext, Float16Uniform>);
REGISTER_CPU_OPERATOR(UniformIntFill, RandomFillOp<CPUContext, UniformInt>);
REGISTER_CPU_OPERATOR(GaussianFill, RandomFillOp<CPUContext, Gaussian>);
REGISTER_CPU_OPERATOR(XavierFill, RandomFillOp<CPUContext, Xavier>);
REGISTER_CPU_OPERATOR(MSRAFill, RandomFillOp<CPUContext, Msra>);

OPERATOR_SCHEMA(UniformFill)
    .FillUsing(DescribeRange)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc("Fills the output with floats drawn uniformly from [min, max). Rounding may give max.")
    .Arg<float>("min", "(<= max, default 0) Lower bound.")
    .Arg<float>("max", "(default 1) Upper bound.");
OPERATOR_SCHEMA(Float16UniformFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT16))
    .SetDoc("UniformFill, rounded to float16: an element may be equal to max.")
    .Arg<float>("min", "(<= max, default 0) Lower bound.")
    .Arg<float>("max", "(default 1) Upper bound.")
    .CpuOnly(cpu_only::kOnce);
OPERATOR_SCHEMA(UniformIntFill)
    .FillUsing(DescribeRange)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in.size() == 3) return std::vector<TensorShape>{UnknownTensorShape()};
      return InferFiller(TensorProto::INT32)(def, in);
    })
    .SetDoc(
        "Fills the output with int32 numbers drawn uniformly from min to max, both included. If "
        "they are inputs and min is above max, the output has no rows.")
    .Arg<int>("min", "(<= max, default 0) Smallest number.")
    .Arg<int>("max", "(default 1) Largest number.");
OPERATOR_SCHEMA(GaussianFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc("Fills the output with normally distributed floats.")
    .Arg<float>("mean", "Default 0.")
    .Arg<float>("std", "(>= 0, default 1) Standard deviation.");
OPERATOR_SCHEMA(XavierFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc(
        "Fills a weight with floats drawn uniformly from [-s, s), s = sqrt(3 / fan_in), where "
        "fan_in is the number of elements for each index of dimension 0 (Glorot and Bengio, "
        "\"Understanding the difficulty of training deep feedforward neural networks\", 2010, "
        "in the form that depends on the inputs only).");
OPERATOR_SCHEMA(MSRAFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc(
        "Fills a weight with normally distributed floats of mean 0 and variance 2 / fan_out, "
        "where fan_out is the number of elements for each index of the input channels: dimension "
        "1, or the last one with order NHWC (He et al., \"Delving deep into rectifiers\", 2015).")
    .ArgOrder("(default NCHW) Storage order of the filter.");
NO_GRADIENT(UniformFill);
NO_GRADIENT(Float16UniformFill);
NO_GRADIENT(UniformIntFill);
NO_GRADIENT(GaussianFill);
NO_GRADIENT(XavierFill);
NO_GRADIENT(MSRAFill);

}  // namespace caffe2
