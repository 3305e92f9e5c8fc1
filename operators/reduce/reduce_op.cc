#include "operators/reduce/reduce_op.h"

#include "operators/common/wide_rows.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

std::vector<bool> ReduceAxes::Reduced(const std::vector<int64_t>& shape) const {
  const int dims = static_cast<int>(shape.size());
  std::vector<bool> reduced(dims, axes_.empty());
  for (const int axis : axes_) {
    CAFFE_ENFORCE(axis >= -dims && axis < dims, "axis ", axis, " is out of range for shape ",
                  ShapeString(shape));
    const int i = axis < 0 ? axis + dims : axis;
    CAFFE_ENFORCE(!reduced[i], "axis ", axis, " is named twice");
    reduced[i] = true;
  }
  return reduced;
}

std::vector<int64_t> ReduceAxes::KeptShape(const std::vector<int64_t>& shape) const {
  const std::vector<bool> reduced = Reduced(shape);
  std::vector<int64_t> kept = shape;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (reduced[i]) kept[i] = 1;
  }
  return kept;
}

std::vector<int64_t> ReduceAxes::OutputShape(const std::vector<int64_t>& shape) const {
  if (keepdims_) return KeptShape(shape);
  const std::vector<bool> reduced = Reduced(shape);
  std::vector<int64_t> output;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) output.push_back(shape[i]);
  }
  return output;
}

namespace {

// Y = sum(X): dX = dY.
struct SumRule {
  using Reducer = SumReducer;
  template <typename T>
  static T Finish(T value, int64_t) {
    return value;
  }
  template <typename T>
  static T Derivative(T dy, T, T, int64_t) {
    return dy;
  }
};
// Y = sum(X) / n: dX = dY / n.
struct MeanRule {
  using Reducer = SumReducer;
  template <typename T>
  static T Finish(T value, int64_t count) {
    return value / static_cast<T>(count);
  }
  template <typename T>
  static T Derivative(T dy, T, T, int64_t count) {
    return dy / static_cast<T>(count);
  }
};
// Y = max(X) or min(X): dX = dY where X equals Y.
template <class R>
struct ExtremeRule : SumRule {
  using Reducer = R;
  template <typename T>
  static T Derivative(T dy, T x, T y, int64_t) {
    return x == y ? dy : T(0);
  }
};
// Y = sum(|X|): dX = dY * sign(X).
struct L1Rule : SumRule {
  using Reducer = AbsSumReducer;
  template <typename T>
  static T Derivative(T dy, T x, T, int64_t) {
    return x == T(0) ? T(0) : x > T(0) ? dy : -dy;
  }
};
// Y = sqrt(sum(X^2)): dX = dY * X / Y.
struct L2Rule {
  using Reducer = SquareSumReducer;
  template <typename T>
  static T Finish(T value, int64_t) {
    return static_cast<T>(std::sqrt(value));
  }
  template <typename T>
  static T Derivative(T dy, T x, T y, int64_t) {
    return y == T(0) ? T(0) : dy * x / y;
  }
};

// Calls f with the rule of the reduction.
template <class F>
void WithRule(Reduction reduction, const F& f) {
  switch (reduction) {
    case Reduction::kSum:
      return f(SumRule());
    case Reduction::kMean:
      return f(MeanRule());
    case Reduction::kMax:
      return f(ExtremeRule<MaxReducer>());
    case Reduction::kMin:
      return f(ExtremeRule<MinReducer>());
    case Reduction::kL1:
      return f(L1Rule());
    case Reduction::kL2:
      return f(L2Rule());
  }
}

class GetReduceGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "",
                             std::vector<std::string>{GO(0), I(0), O(0)},
                             std::vector<std::string>{GI(0)});
  }
};

void DescribeAxes(OpSchema& schema) {
  schema
      .ArgList<int>("axes",
                    "The axes that are reduced; negative ones count from the end. Default: all.")
      .Arg<int>("keepdims", "1 (default): reduced axes stay with size 1; 0: they are removed.");
}
void DescribeReduce(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{CreateTensorShape(
            ReduceAxes(ArgumentHelper(def)).OutputShape(GetDimsVector(in[0])), in[0].data_type())};
      })
      .FillUsing(DescribeAxes)
      .Input(0, "data", "A float, bfloat16, float16, double, int32 or int64 tensor.")
      .Output(0, "reduced", "One value for each index of the axes that are kept.");
}
void DescribeReduceGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(1)
      .FillUsing(DescribeAxes)
      .Input(0, "dY", "Gradient of the reduced tensor.")
      .Input(1, "X", "Input of the forward operator.")
      .Input(2, "Y", "Its output.")
      .Output(0, "dX", "Gradient of the input.");
}

}  // namespace

template <typename T>
void ReduceTo(Reduction reduction, const BroadcastPlan& plan, const T* x, int64_t results,
              int64_t count, T* y, CPUContext*) {
  WideOutput<T> wide_y;
  ArithmeticType<T>* sums = wide_y.Row(results, y);
  WithRule(reduction, [=, &plan]<class Rule>(Rule) {
    Reduce<typename Rule::Reducer>(plan, x, results, sums);
    for (int64_t j = 0; j < results; ++j) sums[j] = Rule::Finish(sums[j], count);
  });
  wide_y.Store();
}

template <typename T>
void ReduceGradientTo(Reduction reduction, const BroadcastPlan& plan, int64_t count, const T* dy,
                      const T* x, const T* y, T* dx, CPUContext*) {
  const int64_t stride = plan.b_inner_stride();
  WithRule(reduction, [=, &plan]<class Rule>(Rule) {
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t iy) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = iy + i * stride;
        dx[row + i] =
            Narrow<T>(Rule::Derivative(Widen(dy[j]), Widen(x[row + i]), Widen(y[j]), count));
      }
    });
  });
}

#define REGISTER_REDUCE(name, kind)                                   \
  REGISTER_CPU_OPERATOR(name, ReduceOp<CPUContext, Reduction::kind>); \
  REGISTER_CPU_OPERATOR(name##Gradient, ReduceGradientOp<CPUContext, Reduction::kind>)
REGISTER_REDUCE(ReduceSum, kSum);
REGISTER_REDUCE(ReduceMean, kMean);
REGISTER_REDUCE(ReduceMax, kMax);
REGISTER_REDUCE(ReduceMin, kMin);
REGISTER_REDUCE(ReduceL1, kL1);
REGISTER_REDUCE(ReduceL2, kL2);

OPERATOR_SCHEMA(ReduceSum).FillUsing(DescribeReduce).SetDoc("The sum over the axes.");
OPERATOR_SCHEMA(ReduceMean).FillUsing(DescribeReduce).SetDoc("The mean over the axes.");
OPERATOR_SCHEMA(ReduceMax).FillUsing(DescribeReduce).SetDoc("The maximum over the axes.");
OPERATOR_SCHEMA(ReduceMin).FillUsing(DescribeReduce).SetDoc("The minimum over the axes.");
OPERATOR_SCHEMA(ReduceL1)
    .FillUsing(DescribeReduce)
    .SetDoc("The sum of absolute values over the axes.");
OPERATOR_SCHEMA(ReduceL2)
    .FillUsing(DescribeReduce)
    .SetDoc("The square root of the sum of squares over the axes.");
OPERATOR_SCHEMA(ReduceSumGradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceSum: dX = dY.");
OPERATOR_SCHEMA(ReduceMeanGradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceMean: dX = dY / n.");
OPERATOR_SCHEMA(ReduceMaxGradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceMax: dX = dY where X equals the maximum.");
OPERATOR_SCHEMA(ReduceMinGradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceMin: dX = dY where X equals the minimum.");
OPERATOR_SCHEMA(ReduceL1Gradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceL1: dX = dY * sign(X).");
OPERATOR_SCHEMA(ReduceL2Gradient)
    .FillUsing(DescribeReduceGradient)
    .SetDoc("Gradient of ReduceL2: dX = dY * X / Y, 0 where Y is 0.");
REGISTER_GRADIENT(ReduceSum, GetReduceGradient);
REGISTER_GRADIENT(ReduceMean, GetReduceGradient);
REGISTER_GRADIENT(ReduceMax, GetReduceGradient);
REGISTER_GRADIENT(ReduceMin, GetReduceGradient);
REGISTER_GRADIENT(ReduceL1, GetReduceGradient);
REGISTER_GRADIENT(ReduceL2, GetReduceGradient);

}  // namespace caffe2
