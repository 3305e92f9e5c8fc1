// ReduceFront* and ReduceBack*: reductions over the first or the last dimensions. With an optional
// input of lengths, result j covers only the first lengths[j] of its elements.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/element_type.h"
#include "operators/reduce/reduction_kind.h"

namespace caffe2 {

enum class Side { kFront, kBack };

// A tensor as `results` x `count` elements: element k of result j lies at j * result_stride +
// k * stride.
struct ReduceSideLayout {
  int64_t results, count, result_stride, stride;

  ReduceSideLayout(const std::vector<int64_t>& dims, int reduced, Side side) {
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

inline std::vector<int64_t> ReducedShape(const std::vector<int64_t>& dims, int reduced, Side side) {
  CAFFE_ENFORCE(reduced >= 0 && reduced <= static_cast<int>(dims.size()), "num_reduce_dim ",
                reduced, " is out of range for shape ", ShapeString(dims));
  return side == Side::kFront ? std::vector<int64_t>(dims.begin() + reduced, dims.end())
                              : std::vector<int64_t>(dims.begin(), dims.end() - reduced);
}

// Throws EnforceNotMet unless the lengths, in host memory, fit the layout: one for each result,
// from 0 (with `needs_elements` from 1) to the number of elements.
void CheckLengths(const Tensor& lengths, const ReduceSideLayout& layout, bool needs_elements);

// Sum and maximum take integers, too.
template <Reduction kReduction>
using ReduceSideTypes =
    std::conditional_t<kReduction == Reduction::kMean, FloatTypes,
                       TensorTypes<float, double, float16, bfloat16, int32_t, int64_t>>;

// Shared by both directions.
template <class Context, Side kSide, Reduction kReduction>
class ReduceSideBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceSideBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        reduced_(this->template GetSingleArgument<int>("num_reduce_dim", 1)) {}

 protected:
  // The lengths, one for each result, in memory of the operator's device; null if not given.
  const int32_t* Lengths(int input, const ReduceSideLayout& layout, bool needs_elements) {
    if (InputSize() <= input) {
      CAFFE_ENFORCE(!needs_elements || layout.count > 0 || layout.results == 0,
                    "the maximum of no elements is not defined: the reduced axes are empty");
      return nullptr;
    }
    Tensor copy(CPU);
    CheckLengths(OnHost(Input(input), &copy), layout, needs_elements);
    return Input(input).template data<int32_t>();
  }

  const int reduced_;
};

// An overload of ReduceSideTo, chosen by its last argument, does the work: y[j] = reduction j.
template <class Context, Side kSide, Reduction kReduction>
class ReduceSideOp final : public ReduceSideBase<Context, kSide, kReduction> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ReduceSideBase<Context, kSide, kReduction>::ReduceSideBase;

  bool RunOnDevice() override {
    return ReduceSideTypes<kReduction>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const ReduceSideLayout layout(X.sizes(), this->reduced_, kSide);
    const int32_t* lengths = this->Lengths(1, layout, kReduction == Reduction::kMax);
    Tensor* Y = Output(0);
    Y->Resize(ReducedShape(X.sizes(), this->reduced_, kSide));
    ReduceSideTo(kReduction, layout, lengths, x, Y->template mutable_data<T>(), &context_);
    return true;
  }
};

// Inputs dY, X, for Max also Y, then the lengths. ReduceSideGradientTo of the device: dx = the
// derivative, 0 past the length; x and y are null unless the reduction is the maximum.
template <class Context, Side kSide, Reduction kReduction>
class ReduceSideGradientOp final : public ReduceSideBase<Context, kSide, kReduction> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ReduceSideBase<Context, kSide, kReduction>::ReduceSideBase;

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    constexpr bool kReadsValues = kReduction == Reduction::kMax;
    const Tensor &dY = Input(0), &X = this->template Input<Tensor>(1);
    const std::vector<int64_t> shape = InputShape(X);
    const ReduceSideLayout layout(shape, this->reduced_, kSide);
    CAFFE_ENFORCE(dY.numel() == layout.results, "dY must have one element for each of the ",
                  layout.results, " results, found shape ", ShapeString(dY.sizes()),
                  " for X of shape ", ShapeString(shape));
    const int32_t* lengths = this->Lengths(kReadsValues ? 3 : 2, layout, false);
    const T *x = nullptr, *y = nullptr;
    if constexpr (kReadsValues) {
      x = X.data<T>();
      y = Input(2).template data<T>();
      CAFFE_ENFORCE(Input(2).numel() == dY.numel(), "Y must have one element for each of the ",
                    dY.numel(), " results, found shape ", ShapeString(Input(2).sizes()));
    }
    const T* dy = dY.data<T>();
    Tensor* dX = Output(0);
    dX->Resize(shape);
    ReduceSideGradientTo(kReduction, layout, lengths, dy, x, y, dX->template mutable_data<T>(),
                         &context_);
    return true;
  }

 private:
  // The shape of X. If only the shape matters, X may be a vector of int64 that holds it.
  static std::vector<int64_t> InputShape(const Tensor& X) {
    if (kReduction == Reduction::kMax || X.dim() != 1 || !X.template IsType<int64_t>()) {
      return X.sizes();
    }
    Tensor copy(CPU);
    const auto* dims = OnHost(X, &copy).template data<int64_t>();
    return {dims, dims + X.numel()};
  }
};

}  // namespace caffe2
