// UpsampleBilinear: resizes images N x C x H x W by linear interpolation; the corner pixels of X
// and Y coincide.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/common/host_device_op.h"
#include "operators/image/scaled_image.h"
#include "operators/image/upsample_bilinear_functions.h"

namespace caffe2 {

// Shared by the operator and its gradient: the sizes and steps of an interpolation.
template <class Context>
class UpsampleBilinearBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;

 protected:
  // The interpolation of planes of rows.input x columns.input pixels.
  struct Plan {
    int64_t planes = 0;
    ScaledAxis rows, columns;
    std::vector<int64_t> output_dims;
  };

  // `scales` is the index of the optional input that holds the scales.
  Plan MakePlan(const Tensor& x, int scales) const {
    CAFFE_ENFORCE(x.dim() == 4, "X must have four axes, found shape ", ShapeString(x.sizes()));
    Tensor copy(CPU);
    const Tensor* given =
        InputSize() > scales ? &OnHost(this->template Input<Tensor>(scales), &copy) : nullptr;
    const ImageScales by = ImageScales::Read(ArgumentHelper(this->debug_def()), given);
    Plan plan{x.size(0) * x.size(1), {}, {}, x.sizes()};
    plan.output_dims[2] = ScaledSize("height_scale", x.size(2), by.height);
    plan.output_dims[3] = ScaledSize("width_scale", x.size(3), by.width);
    plan.rows = AxisOf(x.size(2), plan.output_dims[2]);
    plan.columns = AxisOf(x.size(3), plan.output_dims[3]);
    return plan;
  }

 private:
  static ScaledAxis AxisOf(int64_t input, int64_t output) {
    CAFFE_ENFORCE(input > 0 || output == 0, "an empty axis cannot be enlarged");
    const float step =
        output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1) : 0.f;
    return {input, output, step};
  }
};

template <class Context>
class UpsampleBilinearOp final : public UpsampleBilinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using UpsampleBilinearBase<Context>::UpsampleBilinearBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const auto plan = this->MakePlan(Input(0), 1);
    const T* x = Input(0).template data<T>();
    Output(0)->Resize(plan.output_dims);
    ForEachRow(plan.planes * plan.rows.output, plan.columns.output,
               BilinearRows<T>{plan.rows, plan.columns, x, Output(0)->template mutable_data<T>()},
               &context_);
    return true;
  }
};

// Writes all rows of dX. An overload for the context does the work.
template <typename T>
void SumShares(const BilinearGradientRows<T>& gradient, int64_t planes, CPUContext* context);

// dY, X, [scales] -> dX
template <class Context>
class UpsampleBilinearGradientOp final : public UpsampleBilinearBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using UpsampleBilinearBase<Context>::UpsampleBilinearBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1);
    const auto plan = this->MakePlan(X, 2);
    CAFFE_ENFORCE(dY.sizes() == plan.output_dims, "dY must have the shape of Y, ",
                  ShapeString(plan.output_dims), "; found ", ShapeString(dY.sizes()));
    const T* dy = dY.data<T>();
    Output(0)->ResizeLike(X);
    SumShares(
        BilinearGradientRows<T>{plan.rows, plan.columns, dy, Output(0)->template mutable_data<T>()},
        plan.planes, &context_);
    return true;
  }
};

}  // namespace caffe2
