// ReduceFront* and ReduceBack*: reductions over the first or the last dimensions, for each result
// over all elements or over as many as an input says.
#include "operators/reduction.h"
#include "operators/wide_rows.h"

namespace caffe2 {
namespace {

enum class Side { kFront, kBack };

// A tensor as `results` x `count` elements: element k of result j lies at j * result_stride +
// k * stride.
struct Layout {
  int64_t results, count, result_stride, stride;

  Layout(const std::vector<int64_t>& dims, int reduced, Side side) {
    const int n = static_cast<int>(dims.size());
    CAFFE_ENFORCE(reduced >= 0 && reduced <= n, "num_reduce_dim ", reduced,
                  " is out of range for shape ", ShapeString(dims));
    const int cut = side == Side::kFront ? reduced : n - reduced;
    const int64_t head = CheckedNumel(dims.data(), cut);
    const int64_t tail = CheckedNumel(dims.data() + cut, n - cut);
    results = side == Side::kFront ? tail : head;
    count = side == Side::kFront ? head : tail;
    result_stride = side == Side::kFront ? 1 : count;
    stride = side == Side::kFront ? results : 1;
  }
};

std::vector<int64_t> ReducedShape(const std::vector<int64_t>& dims, int reduced, Side side) {
  CAFFE_ENFORCE(reduced >= 0 && reduced <= static_cast<int>(dims.size()), "num_reduce_dim ",
                reduced, " is out of range for shape ", ShapeString(dims));
  return side == Side::kFront ? std::vector<int64_t>(dims.begin() + reduced, dims.end())
                              : std::vector<int64_t>(dims.begin(), dims.end() - reduced);
}

// The lengths input, one for each result; null if there is none.
const int32_t* Lengths(const OperatorBase& op, int input, const Layout& layout) {
  if (op.InputSize() <= input) return nullptr;
  const Tensor& lengths = op.Input<Tensor>(input);
  CAFFE_ENFORCE_EQ(lengths.numel(), layout.results, "there must be one length for each result");
  const int32_t* length = lengths.data<int32_t>();
  for (int64_t j = 0; j < layout.results; ++j) {
    CAFFE_ENFORCE(length[j] >= 0 && length[j] <= layout.count, "length ", length[j],
                  " at position ", j, " is out of range for ", layout.count, " elements");
  }
  return length;
}

struct SumRule {
  using Reducer = SumReducer;
  using Types = TensorTypes<float, double, bfloat16, int32_t, int64_t>;
  static constexpr bool kReadsValues = false;
  template <typename T>
  static T Finish(T sum, int64_t) {
    return sum;
  }
  template <typename T>
  static T Derivative(T dy, T, T, int64_t) {
    return dy;
  }
};
struct MeanRule : SumRule {
  using Types = TensorTypes<float, double, bfloat16>;
  template <typename T>
  static T Finish(T sum, int64_t count) {
    return count == 0 ? T(0) : sum / static_cast<T>(count);
  }
  template <typename T>
  static T Derivative(T dy, T, T, int64_t count) {
    return dy / static_cast<T>(count);
  }
};
struct MaxRule {
  using Reducer = MaxReducer;
  using Types = TensorTypes<float, double, bfloat16, int32_t, int64_t>;
  static constexpr bool kReadsValues = true;
  template <typename T>
  static T Finish(T max, int64_t count) {
    CAFFE_ENFORCE_GT(count, 0, "the maximum of no elements");
    return max;
  }
  template <typename T>
  static T Derivative(T dy, T x, T y, int64_t) {
    return x == y ? dy : T(0);
  }
};

template <class Context, Side side, class Rule>
class ReduceSideOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceSideOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        reduced_(this->template GetSingleArgument<int>("num_reduce_dim", 1)) {}

  bool RunOnDevice() override { return Rule::Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const Layout layout(X.sizes(), reduced_, side);
    const int32_t* lengths = Lengths(*this, 1, layout);
    Tensor* Y = Output(0);
    Y->Resize(ReducedShape(X.sizes(), reduced_, side));
    WideOutput<T> wide_y;
    ArithmeticType<T>* y = wide_y.Row(layout.results, Y->template mutable_data<T>());
    if (lengths == nullptr) {
      const bool front = side == Side::kFront;
      Reduce<typename Rule::Reducer>(
          MakeBroadcastPlan(
              {front ? layout.count : layout.results, front ? layout.results : layout.count},
              {front ? 1 : layout.results, front ? layout.results : 1}),
          x, layout.results, y);
    }
    for (int64_t j = 0; j < layout.results; ++j) {
      const int64_t count = lengths == nullptr ? layout.count : lengths[j];
      if (lengths != nullptr) y[j] = ReduceStrided(count, x + j * layout.result_stride, layout);
      y[j] = Rule::Finish(y[j], count);
    }
    wide_y.Store();
    return true;
  }

 private:
  template <typename T>
  static ArithmeticType<T> ReduceStrided(int64_t count, const T* x, const Layout& layout) {
    auto value = Rule::Reducer::template Init<ArithmeticType<T>>();
    for (int64_t k = 0; k < count; ++k) {
      value = Rule::Reducer::Combine(value, Widen(x[k * layout.stride]));
    }
    return value;
  }

  int reduced_;
};

// Inputs dY, X, for Max also Y, then the lengths.
template <class Context, Side side, class Rule>
class ReduceSideGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceSideGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        reduced_(this->template GetSingleArgument<int>("num_reduce_dim", 1)) {}

  bool RunOnDevice() override {
    return TensorTypes<float, double, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1);
    const std::vector<int64_t> shape = InputShape(X);
    const Layout layout(shape, reduced_, side);
    CAFFE_ENFORCE_EQ(dY.numel(), layout.results, "the gradient's shape ", ShapeString(dY.sizes()),
                     " is not that of the reduction of ", ShapeString(shape));
    const int32_t* lengths = Lengths(*this, Rule::kReadsValues ? 3 : 2, layout);
    const T* dy = dY.data<T>();
    const T *x = nullptr, *y = nullptr;
    if constexpr (Rule::kReadsValues) {
      x = X.data<T>();
      y = Input(2).template data<T>();
      CAFFE_ENFORCE_EQ(Input(2).numel(), dY.numel());
    }
    Tensor* dX = Output(0);
    dX->Resize(shape);
    T* dx = dX->template mutable_data<T>();
    for (int64_t j = 0; j < layout.results; ++j) {
      const int64_t count = lengths == nullptr ? layout.count : lengths[j];
      for (int64_t k = 0; k < layout.count; ++k) {
        const int64_t i = j * layout.result_stride + k * layout.stride;
        ArithmeticType<T> value = 0;
        if (k < count) {
          const auto g = Widen(dy[j]);
          if constexpr (Rule::kReadsValues) {
            value = Rule::Derivative(g, Widen(x[i]), Widen(y[j]), count);
          } else {
            value = Rule::Derivative(g, g, g, count);
          }
        }
        dx[i] = Narrow<T>(value);
      }
    }
    return true;
  }

 private:
  // Where only the shape of X matters, a vector of int64 is the shape.
  static std::vector<int64_t> InputShape(const Tensor& X) {
    if (Rule::kReadsValues || X.dim() != 1 || !X.template IsType<int64_t>()) return X.sizes();
    return {X.template data<int64_t>(), X.template data<int64_t>() + X.numel()};
  }

  int reduced_;
};

// Inputs of the gradient: dY, X (for its shape), for Max also Y, then the lengths.
class GetReduceSideGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs = {GO(0), I(0)};
    const std::string& type = Def().type();
    if (type.find("Max") != std::string::npos) inputs.push_back(O(0));
    if (Def().input_size() == 2) inputs.push_back(I(1));
    return SingleGradientDef(type + "Gradient", "", inputs, std::vector<std::string>{GI(0)});
  }
};

template <Side side>
void DescribeReduceSide(OpSchema& schema) {
  schema.NumInputs(1, 2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const int reduced = ArgumentHelper(def).GetSingleArgument<int>("num_reduce_dim", 1);
        return std::vector<TensorShape>{CreateTensorShape(
            ReducedShape(GetDimsVector(in[0]), reduced, side), in[0].data_type())};
      })
      .Arg("num_reduce_dim", "Number of dimensions that are reduced. Default 1.")
      .Input(0, "X", "A float, bfloat16 or double tensor (for sum and maximum int32 or int64 too).")
      .Input(1, "lengths", "Optional int32: over how many elements each result goes.")
      .Output(0, "Y", "The dimensions that are left.");
}
void DescribeReduceSideGradient(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        const bool is_shape = in[1].data_type() == TensorProto::INT64;
        return std::vector<TensorShape>{is_shape ? UnknownTensorShape() : in[1]};
      })
      .Arg("num_reduce_dim", "As in the forward operator.")
      .Input(0, "dY", "Gradient of the output.")
      .Input(1, "X", "Input of the forward operator, or its shape, one-dimensional int64.")
      .Input(2, "lengths", "Optional: the lengths given to the forward operator.")
      .Output(0, "dX", "Gradient of the input.");
}
void DescribeReduceSideMaxGradient(OpSchema& schema) {
  DescribeReduceSideGradient(schema);
  schema.NumInputs(3, 4)
      .Input(2, "Y", "Output of the forward operator.")
      .Input(3, "lengths", "Optional: the lengths given to the forward operator.");
}

template <class Rule>
using FrontOp = ReduceSideOp<CPUContext, Side::kFront, Rule>;
template <class Rule>
using BackOp = ReduceSideOp<CPUContext, Side::kBack, Rule>;
template <class Rule>
using FrontGradientOp = ReduceSideGradientOp<CPUContext, Side::kFront, Rule>;
template <class Rule>
using BackGradientOp = ReduceSideGradientOp<CPUContext, Side::kBack, Rule>;

}  // namespace

REGISTER_CPU_OPERATOR(ReduceFrontSum, FrontOp<SumRule>);
REGISTER_CPU_OPERATOR(ReduceFrontMean, FrontOp<MeanRule>);
REGISTER_CPU_OPERATOR(ReduceFrontMax, FrontOp<MaxRule>);
REGISTER_CPU_OPERATOR(ReduceBackSum, BackOp<SumRule>);
REGISTER_CPU_OPERATOR(ReduceBackMean, BackOp<MeanRule>);
REGISTER_CPU_OPERATOR(ReduceBackMax, BackOp<MaxRule>);
REGISTER_CPU_OPERATOR(ReduceFrontSumGradient, FrontGradientOp<SumRule>);
REGISTER_CPU_OPERATOR(ReduceFrontMeanGradient, FrontGradientOp<MeanRule>);
REGISTER_CPU_OPERATOR(ReduceFrontMaxGradient, FrontGradientOp<MaxRule>);
REGISTER_CPU_OPERATOR(ReduceBackSumGradient, BackGradientOp<SumRule>);
REGISTER_CPU_OPERATOR(ReduceBackMeanGradient, BackGradientOp<MeanRule>);
REGISTER_CPU_OPERATOR(ReduceBackMaxGradient, BackGradientOp<MaxRule>);

OPERATOR_SCHEMA(ReduceFrontSum)
    .FillUsing(DescribeReduceSide<Side::kFront>)
    .SetDoc("The sum over the first dimensions.");
OPERATOR_SCHEMA(ReduceFrontMean)
    .FillUsing(DescribeReduceSide<Side::kFront>)
    .SetDoc("The mean over the first dimensions.");
OPERATOR_SCHEMA(ReduceFrontMax)
    .FillUsing(DescribeReduceSide<Side::kFront>)
    .SetDoc("The maximum over the first dimensions.");
OPERATOR_SCHEMA(ReduceBackSum)
    .FillUsing(DescribeReduceSide<Side::kBack>)
    .SetDoc("The sum over the last dimensions.");
OPERATOR_SCHEMA(ReduceBackMean)
    .FillUsing(DescribeReduceSide<Side::kBack>)
    .SetDoc("The mean over the last dimensions.");
OPERATOR_SCHEMA(ReduceBackMax)
    .FillUsing(DescribeReduceSide<Side::kBack>)
    .SetDoc("The maximum over the last dimensions.");
OPERATOR_SCHEMA(ReduceFrontSumGradient)
    .FillUsing(DescribeReduceSideGradient)
    .SetDoc("Gradient of ReduceFrontSum: dX = dY, 0 past the length.");
OPERATOR_SCHEMA(ReduceFrontMeanGradient)
    .FillUsing(DescribeReduceSideGradient)
    .SetDoc("Gradient of ReduceFrontMean: dX = dY / n, 0 past the length.");
OPERATOR_SCHEMA(ReduceFrontMaxGradient)
    .FillUsing(DescribeReduceSideMaxGradient)
    .SetDoc("Gradient of ReduceFrontMax: dX = dY where X equals the maximum.");
OPERATOR_SCHEMA(ReduceBackSumGradient)
    .FillUsing(DescribeReduceSideGradient)
    .SetDoc("Gradient of ReduceBackSum: dX = dY, 0 past the length.");
OPERATOR_SCHEMA(ReduceBackMeanGradient)
    .FillUsing(DescribeReduceSideGradient)
    .SetDoc("Gradient of ReduceBackMean: dX = dY / n, 0 past the length.");
OPERATOR_SCHEMA(ReduceBackMaxGradient)
    .FillUsing(DescribeReduceSideMaxGradient)
    .SetDoc("Gradient of ReduceBackMax: dX = dY where X equals the maximum.");
REGISTER_GRADIENT(ReduceFrontSum, GetReduceSideGradient);
REGISTER_GRADIENT(ReduceFrontMean, GetReduceSideGradient);
REGISTER_GRADIENT(ReduceFrontMax, GetReduceSideGradient);
REGISTER_GRADIENT(ReduceBackSum, GetReduceSideGradient);
REGISTER_GRADIENT(ReduceBackMean, GetReduceSideGradient);
REGISTER_GRADIENT(ReduceBackMax, GetReduceSideGradient);

}  // namespace caffe2
