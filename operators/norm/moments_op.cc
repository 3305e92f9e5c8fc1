#include "operators/norm/moments_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

template <typename T>
void MomentsTo(bool centred, const BroadcastPlan& plan, int64_t results, const T* x, T* first,
               T* second, CPUContext* /*context*/) {
  const T count = static_cast<T>(plan.numel) / static_cast<T>(std::max<int64_t>(1, results));
  Reduce<SumReducer>(plan, x, results, first);
  for (int64_t j = 0; j < results; ++j) first[j] /= count;
  Tensor distances(CPU);  // of X from its means
  if (centred) {
    distances.Resize(plan.numel);
    T* to = distances.mutable_data<T>();
    const int64_t stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t j) {
      for (int64_t i = 0; i < n; ++i) to[row + i] = x[row + i] - first[j + i * stride];
    });
    x = to;
  }
  Reduce<SquareSumReducer>(plan, x, results, second);
  for (int64_t j = 0; j < results; ++j) second[j] /= count;
}

template <typename T>
void MomentsGradientTo(const BroadcastPlan& plan, T share, const T* dfirst, const T* dsecond,
                       const T* x, const T* mean, T* dx, CPUContext* /*context*/) {
  const int64_t stride = plan.b_inner_stride();
  ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = first + i * stride;
      const T distance = mean != nullptr ? x[row + i] - mean[j] : x[row + i];
      dx[row + i] = share * (dfirst[j] + 2 * distance * dsecond[j]);
    }
  });
}

namespace {

template <class Over>
using CpuMomentsOp = MomentsOp<CPUContext, Over>;
template <class Over>
using CpuMomentsGradientOp = MomentsGradientOp<CPUContext, Over>;

template <class Over>
void DescribeMoments(OpSchema& schema) {
  schema.NumInputs(1).NumOutputs(2).TensorInferenceFunction(
      [](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const auto dims = Over(ArgumentHelper(def)).OutputShape(GetDimsVector(in[0]));
        return std::vector<TensorShape>(2, CreateTensorShape(dims, in[0].data_type()));
      });
}
void DescribeAxes(OpSchema& schema) {
  schema
      .ArgList<int>("axes",
                    "The axes that are reduced; negative ones count from the end. Default: all.")
      .Arg<int>("keepdims", "1 (default): reduced axes stay with size 1; 0: they are removed.");
}
void DescribeOrder(OpSchema& schema) { schema.ArgOrder(); }

}  // namespace

REGISTER_CPU_OPERATOR(Moments, CpuMomentsOp<OverAxes>);
REGISTER_CPU_OPERATOR(MomentsGradient, CpuMomentsGradientOp<OverAxes>);
REGISTER_CPU_OPERATOR(BatchMoments, CpuMomentsOp<OverBatch>);
REGISTER_CPU_OPERATOR(BatchMomentsGradient, CpuMomentsGradientOp<OverBatch>);

OPERATOR_SCHEMA(Moments)
    .FillUsing(DescribeMoments<OverAxes>)
    .FillUsing(DescribeAxes)
    .SetDoc("The mean over the axes, and the variance: the mean square distance from it.")
    .Input(0, "data", "A float or double tensor.")
    .Output(0, "mean", "One mean for each index of the axes that are kept.")
    .Output(1, "variance", "The variances, of the same shape.");
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
