// Dropout (Srivastava et al., JMLR 2014): in training, zeroes a random share of the elements and
// scales the others; in test, copies.
#pragma once

#include "operators/activation/dropout_functions.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

// The arguments of the forward and the gradient operator.
template <class Context>
class DropoutBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DropoutBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        ratio_(this->template GetSingleArgument<float>("ratio", 0.5f)),
        is_test_(this->template GetSingleArgument<int>("is_test", 0) != 0) {
    CAFFE_ENFORCE(ratio_ >= 0 && ratio_ < 1,
                  "argument ratio must be at least 0 and less than 1, found ", ratio_);
  }

 protected:
  // The factor of kept elements. With it the expected value of Y is X.
  float scale() const { return 1 / (1 - ratio_); }

  float ratio_;
  bool is_test_;
};

template <class Context>
class DropoutOp final : public DropoutBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using DropoutBase<Context>::DropoutBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    if (y != &x) y->ResizeLike(x);
    T* y_data = y->template mutable_data<T>();
    if (this->is_test_) {
      context_.Copy(x.numel(), x_data, y_data);
      return true;
    }
    CAFFE_ENFORCE(OutputSize() == 2,
                  "Dropout in training needs a second output for its mask, found ", OutputSize(),
                  " outputs");
    Tensor* mask = Output(1);
    mask->ResizeLike(x);
    // A random 32-bit word is below this bound with probability `ratio`. It then drops its element.
    const auto bound = static_cast<uint64_t>(static_cast<double>(this->ratio_) * 0x1p32);
    Drop(x.numel(), x_data, bound, mask->template mutable_data<bool>(), y_data);
    return true;
  }

 private:
  // keep[i] = the next random word is at least `bound`. y = x * scale() where keep[i], else 0.
  template <typename T>
  void Drop(int64_t n, const T* x, uint64_t bound, bool* keep, T* y);
};

template <class Context>
class DropoutGradientOp final : public DropoutBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using DropoutBase<Context>::DropoutBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& dy = Input(0);
    const T* dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    if (dx != &dy) dx->ResizeLike(dy);
    T* dx_data = dx->template mutable_data<T>();
    if (this->is_test_) {
      context_.Copy(dy.numel(), dy_data, dx_data);
      return true;
    }
    CAFFE_ENFORCE(InputSize() == 2,
                  "the gradient of Dropout in training needs its mask as input 1, found ",
                  InputSize(), " inputs");
    const Tensor& mask = Input(1);
    CAFFE_ENFORCE(mask.numel() == dy.numel(),
                  "the mask must have as many elements as dY: the mask has shape ",
                  ShapeString(mask.sizes()), ", dY ", ShapeString(dy.sizes()));
    MapElements(KeptElement{this->scale()}, dy.numel(), &context_, dx_data, dy_data,
                mask.data<bool>());
    return true;
  }
};

}  // namespace caffe2
