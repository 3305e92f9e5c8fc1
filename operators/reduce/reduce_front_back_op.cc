#include "operators/reduce/reduce_front_back_op.h"

#include "operators/common/wide_rows.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {
namespace {

// The reduction of `count` elements.
template <class Reducer, typename T>
ArithmeticType<T> ReduceStrided(int64_t count, const T* x, int64_t stride) {
  auto value = Reducer::template Init<ArithmeticType<T>>();
  for (int64_t k = 0; k < count; ++k) value = Reducer::Combine(value, Widen(x[k * stride]));
  return value;
}

template <class Reducer, typename T>
void ReduceResults(const ReduceSideLayout& layout, const int32_t* lengths, const T* x,
                   ArithmeticType<T>* y) {
  if (lengths == nullptr) {
    const bool front = layout.stride != 1;
    Reduce<Reducer>(MakeBroadcastPlan({front ? layout.count : layout.results,
                                       front ? layout.results : layout.count},
                                      {front ? 1 : layout.results, front ? layout.results : 1}),
                    x, layout.results, y);
    return;
  }
  for (int64_t j = 0; j < layout.results; ++j) {
    y[j] = ReduceStrided<Reducer>(lengths[j], x + j * layout.result_stride, layout.stride);
  }
}

}  // namespace

void CheckLengths(const Tensor& lengths, const ReduceSideLayout& layout, bool needs_elements) {
  CAFFE_ENFORCE(lengths.numel() == layout.results, "there must be one length for each of the ",
                layout.results, " results, found ", lengths.numel());
  const int32_t* length = lengths.data<int32_t>();
  for (int64_t j = 0; j < layout.results; ++j) {
    CAFFE_ENFORCE(length[j] >= 0 && length[j] <= layout.count, "length ", length[j],
                  " at position ", j, " is out of range for ", layout.count, " elements");
    CAFFE_ENFORCE(!needs_elements || length[j] > 0,
                  "the maximum of no elements is not defined: the length at position ", j, " is 0");
  }
}

template <typename T>
void ReduceSideTo(Reduction reduction, const ReduceSideLayout& layout, const int32_t* lengths,
                  const T* x, T* y, CPUContext*) {
  WideOutput<T> wide_y;
  ArithmeticType<T>* results = wide_y.Row(layout.results, y);
  if (reduction == Reduction::kMax) {
    ReduceResults<MaxReducer>(layout, lengths, x, results);
  } else {
    ReduceResults<SumReducer>(layout, lengths, x, results);
  }
  for (int64_t j = 0; reduction == Reduction::kMean && j < layout.results; ++j) {
    const int64_t count = lengths == nullptr ? layout.count : lengths[j];
    results[j] = count == 0 ? 0 : results[j] / static_cast<ArithmeticType<T>>(count);
  }
  wide_y.Store();
}

template <typename T>
void ReduceSideGradientTo(Reduction reduction, const ReduceSideLayout& layout,
                          const int32_t* lengths, const T* dy, const T* x, const T* y, T* dx,
                          CPUContext*) {
  using A = ArithmeticType<T>;
  for (int64_t j = 0; j < layout.results; ++j) {
    const int64_t count = lengths == nullptr ? layout.count : lengths[j];
    const A g = reduction == Reduction::kMean ? Widen(dy[j]) / static_cast<A>(count) : Widen(dy[j]);
    for (int64_t k = 0; k < layout.count; ++k) {
      const int64_t i = j * layout.result_stride + k * layout.stride;
      const bool counts = k < count && (reduction != Reduction::kMax || Widen(x[i]) == Widen(y[j]));
      dx[i] = Narrow<T>(counts ? g : A(0));
    }
  }
}

namespace {

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
  schema.Arg<int>("num_reduce_dim", "Number of dimensions that are reduced. Default 1.")
      .NumInputs(1, 2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const int reduced = ArgumentHelper(def).GetSingleArgument<int>("num_reduce_dim", 1);
        return std::vector<TensorShape>{CreateTensorShape(
            ReducedShape(GetDimsVector(in[0]), reduced, side), in[0].data_type())};
      })
      .Input(0, "X", "A float, 16-bit or double tensor (for sum and maximum int32 or int64 too).")
      .Input(1, "lengths", "Optional int32: the number of elements for each result.")
      .Output(0, "Y", "The reductions, with the shape of the other dimensions.");
}
void DescribeReduceSideGradient(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        const bool is_shape = in[1].data_type() == TensorProto::INT64;
        return std::vector<TensorShape>{is_shape ? UnknownTensorShape() : in[1]};
      })
      .Arg<int>("num_reduce_dim", "As in the forward operator.")
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

}  // namespace

#define REGISTER_REDUCE_SIDE(name, side, kind)                                        \
  REGISTER_CPU_OPERATOR(name, ReduceSideOp<CPUContext, Side::side, Reduction::kind>); \
  REGISTER_CPU_OPERATOR(name##Gradient,                                               \
                        ReduceSideGradientOp<CPUContext, Side::side, Reduction::kind>)
REGISTER_REDUCE_SIDE(ReduceFrontSum, kFront, kSum);
REGISTER_REDUCE_SIDE(ReduceFrontMean, kFront, kMean);
REGISTER_REDUCE_SIDE(ReduceFrontMax, kFront, kMax);
REGISTER_REDUCE_SIDE(ReduceBackSum, kBack, kSum);
REGISTER_REDUCE_SIDE(ReduceBackMean, kBack, kMean);
REGISTER_REDUCE_SIDE(ReduceBackMax, kBack, kMax);

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
