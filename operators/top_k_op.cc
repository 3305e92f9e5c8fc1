#include "operators/top_k_op.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace caffe2 {
namespace {

constexpr int64_t kNoElement = -1;  // the index where an axis has fewer than k elements

// The larger first, of equal ones the one that comes first; NaN counts as larger than any number,
// so that the order is a strict one.
template <typename T>
bool Before(T a, int64_t a_index, T b, int64_t b_index) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::isnan(a) && std::isnan(b) ? a_index < b_index : std::isnan(a);
    }
  }
  return a > b || (a == b && a_index < b_index);
}

// Sorts the best `count` of x[0], x[stride], ... (n elements) to the front of `order`.
template <typename T>
void SelectBest(const T* x, int64_t n, int64_t stride, int64_t count, std::vector<int64_t>* order) {
  order->resize(n);
  std::iota(order->begin(), order->end(), int64_t{0});
  std::partial_sort(order->begin(), order->begin() + count, order->end(),
                    [=](int64_t i, int64_t j) {
                      return Before(Widen(x[i * stride]), i, Widen(x[j * stride]), j);
                    });
}

}  // namespace

template <>
template <typename T>
bool TopKOp<CPUContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const int axis = x.canonical_axis_index(axis_);
  const int64_t outer = x.size_to_dim(axis), n = x.size(axis), inner = x.size_from_dim(axis + 1);
  const int64_t count = std::min<int64_t>(k_, n);
  std::vector<int64_t> dims = x.sizes();
  dims[axis] = k_;
  Tensor *values = Output(0), *indices = Output(1);
  values->Resize(dims);
  indices->Resize(dims);
  const T* x_data = x.data<T>();
  T* value_data = values->mutable_data<T>();
  int64_t* index_data = indices->mutable_data<int64_t>();
  int64_t* flat_data = nullptr;
  if (OutputSize() > 2) {
    Output(2)->Resize(values->numel());
    flat_data = Output(2)->mutable_data<int64_t>();
    std::fill_n(flat_data, values->numel(), kNoElement);
  }
  std::fill_n(value_data, values->numel(), T{});
  std::fill_n(index_data, values->numel(), kNoElement);
  std::vector<int64_t> order;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t from = o * n * inner + i, to = o * k_ * inner + i;
      SelectBest(x_data + from, n, inner, count, &order);
      for (int64_t j = 0; j < count; ++j) {
        value_data[to + j * inner] = x_data[from + order[j] * inner];
        index_data[to + j * inner] = order[j];
        if (flat_data != nullptr) flat_data[to + j * inner] = from + order[j] * inner;
      }
    }
  }
  return true;
}

template <>
template <typename T>
bool TopKGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &d_values = Input(0), &indices = Input(1), &x = Input(2);
  const int axis = x.canonical_axis_index(axis_);
  const int64_t outer = x.size_to_dim(axis), n = x.size(axis), inner = x.size_from_dim(axis + 1);
  CAFFE_ENFORCE(d_values.numel() == outer * k_ * inner && indices.numel() == d_values.numel(),
                "gradient ", ShapeString(d_values.sizes()), " and indices ",
                ShapeString(indices.sizes()), " for X ", ShapeString(x.sizes()), " and k ", k_);
  const T* d_value_data = d_values.data<T>();
  const int64_t* index_data = indices.data<int64_t>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  T* dx_data = dx->mutable_data<T>();
  std::fill_n(dx_data, dx->numel(), T{});
  for (int64_t at = 0; at < d_values.numel(); ++at) {
    const int64_t index = index_data[at];
    if (index == kNoElement) continue;
    CAFFE_ENFORCE(index >= 0 && index < n, "index ", index, " is out of range for X ",
                  ShapeString(x.sizes()), " on axis ", axis);
    const int64_t o = at / (k_ * inner), i = at % inner;
    dx_data[(o * n + index) * inner + i] = d_value_data[at];
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
      CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "axis ", axis, " is out of range for ",
                    ShapeString(dims));
      dims[axis < 0 ? axis + ndim : axis] = arguments.GetSingleArgument<int>("k", -1);
      std::vector<TensorShape> out{CreateTensorShape(dims, in[0].data_type()),
                                   CreateTensorShape(dims, TensorProto::INT64)};
      if (def.output_size() > 2) {
        out.push_back(CreateTensorShape({CheckedNumel(dims)}, TensorProto::INT64));
      }
      return out;
    })
    .SetDoc(
        "The k largest elements along an axis, in descending order; of equal ones the first "
        "comes first. Where the axis has fewer than k elements, the rest has value 0 and index "
        "-1.")
    .Arg("k", "(int > 0) How many.", true)
    .Arg("axis", "(int, default -1) The axis.")
    .Input(0, "X", "A tensor of numbers, of at least one axis.")
    .Output(0, "values", "The shape of X with size k at the axis.")
    .Output(1, "indices", "int64: the positions of the values along the axis.")
    .Output(2, "flattened_indices", "Optional: int64 vector of their positions in the whole of X.");
OPERATOR_SCHEMA(TopKGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(2)
    .SetDoc("The gradient of TopK: d_values at the positions they came from, zero elsewhere.")
    .Arg("k", "As in TopK.", true)
    .Arg("axis", "As in TopK.")
    .Input(0, "d_values", "The gradient of the values.")
    .Input(1, "indices", "The second output of TopK.")
    .Input(2, "X", "The input of TopK, of which only the shape is used.")
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
