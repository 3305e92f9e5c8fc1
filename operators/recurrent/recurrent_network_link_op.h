// The operators that RecurrentNetwork and its gradient put into step nets. The number of the step
// lies in host memory, where it is free to read.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/recurrent/recurrent_network.h"

namespace caffe2 {

// The number of the step, from input 0. Throws EnforceNotMet unless it is one int32.
inline int64_t ReadTimestep(const OperatorBase& op) {
  const auto& timestep = op.Input<Tensor>(0);
  CAFFE_ENFORCE(timestep.numel() == 1, "the timestep must be one int32, found shape ",
                ShapeString(timestep.sizes()));
  Tensor copy(CPU);
  return *OnHost(timestep, &copy).data<int32_t>();
}

// Makes the output a view of rows [timestep + offset, timestep + offset + window) of input 1.
template <class Context>
class RNNApplyLinkOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RNNApplyLinkOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        offset_(this->template GetSingleArgument<int>("offset", 0)),
        window_(this->template GetSingleArgument<int>("window", 1)) {
    CAFFE_ENFORCE(window_ > 0, "argument window must be positive, found ", window_);
  }

  bool RunOnDevice() override {
    LinkRows(Input(EXTERNAL), ReadTimestep(*this) + offset_, window_, Output(INTERNAL));
    return true;
  }

 private:
  enum { TIMESTEP, EXTERNAL };
  enum { INTERNAL };
  int offset_, window_;
};

// Adds row `timestep` of input 1 to row timestep + offset of the output. Both are float.
template <class Context>
class AccumulateInputGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AccumulateInputGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), offset_(this->template GetSingleArgument<int>("offset", 0)) {}

  bool RunOnDevice() override {
    const Tensor& outer = Input(OUTER);
    Tensor* gradient = Output(GRADIENT);
    CAFFE_ENFORCE(outer.dim() > 0 && gradient->dim() > 0,
                  "both tensors must have a time axis: their shapes are ",
                  ShapeString(outer.sizes()), " and ", ShapeString(gradient->sizes()));
    const int64_t t = ReadTimestep(*this), row = outer.size_from_dim(1);
    CAFFE_ENFORCE(row == gradient->size_from_dim(1),
                  "a row must have the same size in both tensors: their shapes are ",
                  ShapeString(outer.sizes()), " and ", ShapeString(gradient->sizes()));
    CAFFE_ENFORCE(
        t >= 0 && t < outer.size(0) && t + offset_ >= 0 && t + offset_ < gradient->size(0), "row ",
        t, " of shape ", ShapeString(outer.sizes()), " or row ", t + offset_, " of shape ",
        ShapeString(gradient->sizes()), " does not exist");
    AddTo(row, outer.data<float>() + t * row, gradient->mutable_data<float>() + (t + offset_) * row,
          &context_);
    return true;
  }

 private:
  enum { TIMESTEP, OUTER };
  enum { GRADIENT };
  int offset_;
};

}  // namespace caffe2
