// Moments and BatchMoments: means and variances, or mean squares, over some axes of a tensor.
#include "operators/conv_pool_shape.h"
#include "operators/gradient_rule.h"
#include "operators/reduce_op.h"
#include "operators/reduction.h"

namespace caffe2 {
namespace {

using MomentsTypes = TensorTypes<float, double>;

// What is averaged over. kCentred: the second moment is about the mean, else about 0.
struct OverAxes : ReduceAxes {
  using ReduceAxes::ReduceAxes;
  static constexpr bool kCentred = true;
};
// All but the channels.
class OverBatch {
 public:
  static constexpr bool kCentred = false;
  explicit OverBatch(const ArgumentHelper& arguments) : order_(ReadStorageOrder(arguments)) {}
  std::vector<int64_t> KeptShape(const std::vector<int64_t>& shape) const {
    ImageShape image = ImageShape::FromDims(shape, order_);
    image.batch = 1;
    std::fill(image.spatial.begin(), image.spatial.end(), int64_t{1});
    return image.ToDims(order_);
  }
  std::vector<int64_t> OutputShape(const std::vector<int64_t>& shape) const {
    return {ImageShape::FromDims(shape, order_).channels};
  }

 private:
  StorageOrder order_;
};

// X -> the first and the second moment.
template <class Over>
class MomentsOp final : public Operator<CPUContext> {
 public:
  MomentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), over_(ArgumentHelper(def)) {}
  bool RunOnDevice() override { return MomentsTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), over_.KeptShape(X.sizes()));
    for (int i : {0, 1}) Output(i)->Resize(over_.OutputShape(X.sizes()));
    const int64_t results = Output(0)->numel();
    const T count = static_cast<T>(X.numel()) / static_cast<T>(std::max<int64_t>(1, results));
    T* first = Output(0)->mutable_data<T>();
    T* second = Output(1)->mutable_data<T>();
    Reduce<SumReducer>(plan, x, results, first);
    for (int64_t j = 0; j < results; ++j) first[j] /= count;
    if constexpr (Over::kCentred) x = Distances(plan, x, first);
    Reduce<SquareSumReducer>(plan, x, results, second);
    for (int64_t j = 0; j < results; ++j) second[j] /= count;
    return true;
  }

 private:
  // X less its means.
  template <typename T>
  const T* Distances(const BroadcastPlan& plan, const T* x, const T* mean) {
    distances_.Resize(plan.numel);
    T* to = distances_.mutable_data<T>();
    const int64_t stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t j) {
      for (int64_t i = 0; i < n; ++i) to[row + i] = x[row + i] - mean[j + i * stride];
    });
    return to;
  }

  Over over_;
  Tensor distances_{CPU};
};

// dfirst, dsecond, X and, if the second moment is about it, the first:
//   dX = (dfirst + 2 (X - first) dsecond) / n
template <class Over>
class MomentsGradientOp final : public Operator<CPUContext> {
 public:
  MomentsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), over_(ArgumentHelper(def)) {}
  bool RunOnDevice() override { return MomentsTypes::Dispatch(this, Input(2).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(2);
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), over_.KeptShape(X.sizes()));
    const int64_t results = CheckedNumel(over_.OutputShape(X.sizes()));
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(i == 2 || Input(i).numel() == results, "input ", i, " has shape ",
                    ShapeString(Input(i).sizes()), ", not that of the moments of ",
                    ShapeString(X.sizes()));
    }
    const T share = static_cast<T>(results) / static_cast<T>(std::max<int64_t>(1, X.numel()));
    const T *dfirst = Input(0).data<T>(), *dsecond = Input(1).data<T>(), *x = X.data<T>();
    const T* mean = nullptr;
    if constexpr (Over::kCentred) mean = Input(3).data<T>();
    Output(0)->ResizeLike(X);
    T* dx = Output(0)->mutable_data<T>();
    const int64_t stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t first) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = first + i * stride;
        const T distance = Over::kCentred ? x[row + i] - mean[j] : x[row + i];
        dx[row + i] = share * (dfirst[j] + 2 * distance * dsecond[j]);
      }
    });
    return true;
  }

 private:
  Over over_;
};

template <class Over>
void DescribeMoments(OpSchema& schema) {
  schema.NumInputs(1).NumOutputs(2).TensorInferenceFunction(
      [](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const auto dims = Over(ArgumentHelper(def)).OutputShape(GetDimsVector(in[0]));
        return std::vector<TensorShape>(2, CreateTensorShape(dims, in[0].data_type()));
      });
}
void DescribeAxes(OpSchema& schema) {
  schema.Arg("axes", "The axes that are reduced; negative ones count from the end. Default: all.")
      .Arg("keepdims", "1 (default): reduced axes stay with size 1; 0: they go.");
}
void DescribeOrder(OpSchema& schema) { schema.Arg("order", "NCHW (default) or NHWC."); }

}  // namespace

REGISTER_CPU_OPERATOR(Moments, MomentsOp<OverAxes>);
REGISTER_CPU_OPERATOR(MomentsGradient, MomentsGradientOp<OverAxes>);
REGISTER_CPU_OPERATOR(BatchMoments, MomentsOp<OverBatch>);
REGISTER_CPU_OPERATOR(BatchMomentsGradient, MomentsGradientOp<OverBatch>);

OPERATOR_SCHEMA(Moments)
    .FillUsing(DescribeMoments<OverAxes>)
    .FillUsing(DescribeAxes)
    .SetDoc("The mean over the axes, and the mean square distance from it.")
    .Input(0, "data", "A float or double tensor.")
    .Output(0, "mean", "One mean for each index of the axes that are kept.")
    .Output(1, "variance", "The variances, likewise.");
OPERATOR_SCHEMA(MomentsGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(2)
    .FillUsing(DescribeAxes)
    .SetDoc("Gradient of Moments: dX = (dmean + 2 (X - mean) dvariance) / n.")
    .Input(0, "dmean", "Gradient of the means.")
    .Input(1, "dvariance", "Gradient of the variances.")
    .Input(2, "X", "Input of the forward operator.")
    .Input(3, "mean", "Its first output.")
    .Output(0, "dX", "Gradient of the input.");
REGISTER_GRADIENT(Moments, GradientRule<"GO0 GO1 I0 O0 -> GI0">);

OPERATOR_SCHEMA(BatchMoments)
    .FillUsing(DescribeMoments<OverBatch>)
    .FillUsing(DescribeOrder)
    .SetDoc("The mean and the mean square of each channel, over batch and positions.")
    .Input(0, "X", "N x C x ... (NCHW) or N x ... x C (NHWC), float or double.")
    .Output(0, "mu", "The mean of each channel.")
    .Output(1, "var", "The mean of the squares of each channel, about 0 as in Caffe2.");
OPERATOR_SCHEMA(BatchMomentsGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(2)
    .FillUsing(DescribeOrder)
    .SetDoc("Gradient of BatchMoments: dX = (dmu + 2 X dvar) / n.")
    .Input(0, "dmu", "Gradient of the means.")
    .Input(1, "dvar", "Gradient of the mean squares.")
    .Input(2, "X", "Input of the forward operator.")
    .Output(0, "dX", "Gradient of the input.");
REGISTER_GRADIENT(BatchMoments, GradientRule<"GO0 GO1 I0 -> GI0">);

}  // namespace caffe2
