#include "operators/fill/random_fill_op.h"

#include "caffe2/core/half.h"
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

class Gaussian {
 public:
  using value_type = float;
  explicit Gaussian(const ArgumentHelper& arguments)
      : mean_(arguments.GetSingleArgument<float>("mean", 0.f)),
        std_(arguments.GetSingleArgument<float>("std", 1.f)) {
    CAFFE_ENFORCE(std_ >= 0.f, "argument std must not be negative, found ", std_);
  }
  void Prepare(const OperatorBase&, Tensor*) {}
  float Sample(RandomGenerator& random) const { return mean_ + std_ * random.Normal(); }

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
  float Sample(RandomGenerator& random) const { return scale_ * random.Normal(); }

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
    .Arg<float>("min", "Lower bound. Default 0.")
    .Arg<float>("max", "Upper bound. Default 1.");
OPERATOR_SCHEMA(Float16UniformFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT16))
    .SetDoc("UniformFill, rounded to float16: an element may be equal to max.")
    .Arg<float>("min", "Lower bound. Default 0.")
    .Arg<float>("max", "Upper bound. Default 1.")
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
    .Arg<int>("min", "(default 0) Smallest number.")
    .Arg<int>("max", "(default 1) Largest number.");
OPERATOR_SCHEMA(GaussianFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc("Fills the output with normally distributed floats.")
    .Arg<float>("mean", "Default 0.")
    .Arg<float>("std", "Standard deviation. Default 1.");
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
