#include "operators/reduce/top_k_op.h"

#include <algorithm>
#include <vector>

#include "caffe2/utils/parallel.h"
#include "operators/reduce/select_best.h"

namespace caffe2 {
namespace {

constexpr int64_t kTopKGrain = 4096;  // elements per thread
constexpr int64_t kNoElement = -1;    // the index of missing elements, if an axis has fewer than k

}  // namespace

template <>
template <typename T>
bool TopKOp<CPUContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const T* x_data = x.data<T>();
  const TopKOutputs<T> out = PrepareOutputs<T>(x);
  const int64_t n = out.layout.n, inner = out.layout.inner, count = std::min<int64_t>(k_, n);
  if (out.flat != nullptr) std::fill_n(out.flat, out.lines * k_, kNoElement);
  std::fill_n(out.values, out.lines * k_, T{});
  std::fill_n(out.indices, out.lines * k_, kNoElement);
  ParallelFor(out.lines, RowGrain(n, kTopKGrain), [=, this, &out](int64_t begin, int64_t end) {
    BestElements<T> best;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t from = out.layout.First(line);
      const int64_t to = LineLayout{k_, inner}.First(line);
      const std::vector<int64_t>& order = best.Select(x_data + from, n, inner, count);
      for (int64_t j = 0; j < count; ++j) {
        out.values[to + j * inner] = x_data[from + order[j] * inner];
        out.indices[to + j * inner] = order[j];
        if (out.flat != nullptr) out.flat[to + j * inner] = from + order[j] * inner;
      }
    }
  });
  return true;
}

template <>
template <typename T>
bool TopKGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &d_values = Input(0), &indices = Input(1), &x = Input(2);
  const LineLayout layout = CheckInputs();
  const ScatterTopK<T> put{layout, k_, d_values.data<T>(), indices.data<int64_t>(), nullptr};
  for (int64_t at = 0; at < d_values.numel(); ++at) {
    const int64_t index = put.indices[at];
    CAFFE_ENFORCE(index == kNoElement || (index >= 0 && index < layout.n), "index ", index,
                  " is out of range for X ", ShapeString(x.sizes()), " on axis ",
                  x.canonical_axis_index(axis_));
  }
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  T* dx_data = dx->mutable_data<T>();
  std::fill_n(dx_data, dx->numel(), T{});
  for (int64_t at = 0; at < d_values.numel(); ++at) {
    ScatterTopK<T>{layout, k_, put.dy, put.indices, dx_data}(at);
  }
  return true;
}

REGISTER_CPU_OPERATOR(TopK, TopKOp<CPUContext>);
REGISTER_CPU_OPERATOR(TopKGradient, TopKGradientOp<CPUContext>);

OPERATOR_SCHEMA(TopK)
    .NumInputs(1)
    .NumOutputs(2, 3)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const ArgumentHelper arguments(def);
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      const int ndim = static_cast<int>(dims.size());
      const int axis = arguments.GetSingleArgument<int>("axis", -1);
      CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "argument axis (", axis,
                    ") is out of range for shape ", ShapeString(dims));
      dims[axis < 0 ? axis + ndim : axis] = arguments.GetSingleArgument<int>("k", -1);
      std::vector<TensorShape> out{CreateTensorShape(dims, in[0].data_type()),
                                   CreateTensorShape(dims, TensorProto::INT64)};
      if (def.output_size() > 2) {
        out.push_back(CreateTensorShape({CheckedNumel(dims)}, TensorProto::INT64));
      }
      return out;
    })
    .SetDoc(
        "The k largest elements along an axis, in descending order; equal elements keep their "
        "order. If the axis has fewer than k elements, the other results have value 0 and index "
        "-1.")
    .Arg<int>("k", "(> 0) The number of elements.", true)
    .Arg<int>("axis", "(default -1) The axis.")
    .Input(0, "X", "A tensor of numbers, of at least one axis.")
    .Output(0, "values", "The shape of X with size k at the axis.")
    .Output(1, "indices", "int64: the positions of the values along the axis.")
    .Output(2, "flattened_indices", "Optional: int64 vector of their positions in the whole of X.");
OPERATOR_SCHEMA(TopKGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(2)
    .SetDoc("The gradient of TopK: d_values at the positions of the values, zero elsewhere.")
    .Arg<int>("k", "As in TopK.", true)
    .Arg<int>("axis", "As in TopK.")
    .Input(0, "d_values", "The gradient of the values.")
    .Input(1, "indices", "The second output of TopK.")
    .Input(2, "X", "The input of TopK. Only its shape is used.")
    .Output(0, "dX", "The gradient of X, shaped like it.");

class GetTopKGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("TopKGradient", "", std::vector{GO(0), O(1), I(0)},
                             std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(TopK, GetTopKGradient);

}  // namespace caffe2
