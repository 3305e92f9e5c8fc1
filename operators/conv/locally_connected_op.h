// LC, LC1D, LC2D and LC3D: convolution with a filter of its own at every position. host_device_op.h
// or host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/common/host_list.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/conv/local_functions.h"

namespace caffe2 {

// The geometry of a layer.
struct LocalShape {
  LocalLayout layout;
  std::vector<int64_t> y, filter, bias;  // shapes
  // The pixel of X under element k of the window at position p: source[p * window + k]; -1 outside.
  std::vector<int64_t> source;

  // Throws EnforceNotMet, naming shapes, if input and filter do not fit the arguments.
  static LocalShape Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                         const std::vector<int64_t>& filter_dims);
  // Finds the indices in `source` that hold each pixel: for pixel i they are
  // uses[starts[i]], ..., uses[starts[i + 1] - 1].
  void FindUses(std::vector<int64_t>* starts, std::vector<int64_t>* uses) const;
};

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class LocalBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LocalBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), arguments_(ArgumentHelper(def)) {
    CAFFE_ENFORCE(!arguments_.global_pooling(),
                  "a locally connected layer does not take the argument global_pooling");
  }

 protected:
  LocalShape Shape() const {
    return LocalShape::Make(arguments_, Input(0).sizes(), Input(1).sizes());
  }

 private:
  WindowArguments arguments_;
};

// X, filter, [bias] -> Y.
template <class Context>
class LocallyConnectedOp final : public LocalBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LocalBase<Context>::LocalBase;
  bool RunOnDevice() override {
    const LocalShape s = this->Shape();
    const float *x = Input(0).template data<float>(), *filter = Input(1).template data<float>(),
                *bias = nullptr;
    if (InputSize() > 2) {
      CAFFE_ENFORCE(Input(2).sizes() == s.bias, "the bias must have shape ", ShapeString(s.bias),
                    ", found ", ShapeString(Input(2).sizes()));
      bias = Input(2).template data<float>();
    }
    Output(0)->Resize(s.y);
    Tensor list(CPU);
    ForEach(Output(0)->numel(),
            LocalProducts{s.layout, ListFor(s.source, &list, &context_), x, filter, bias,
                          Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

// X, filter, dY -> dfilter, [dbias], [dX].
template <class Context>
class LocallyConnectedGradientOp final : public LocalBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LocallyConnectedGradientOp(const OperatorDef& def, Workspace* ws)
      : LocalBase<Context>(def, ws),
        no_bias_(this->template GetSingleArgument<bool>("no_bias", false)) {
    CAFFE_ENFORCE(OutputSize() <= (no_bias_ ? 2 : 3),
                  "with no_bias there must be at most two outputs, dfilter and dX; found ",
                  OutputSize(), " outputs");
  }
  bool RunOnDevice() override {
    const LocalShape s = this->Shape();
    const Tensor &X = Input(0), &filter = Input(1), &dY = Input(2);
    CAFFE_ENFORCE(dY.sizes() == s.y, "dY must have the shape of Y, ", ShapeString(s.y), "; found ",
                  ShapeString(dY.sizes()));
    const float *x = X.data<float>(), *dy = dY.data<float>();
    Output(0)->ResizeLike(filter);
    Tensor list(CPU);
    ForEach(filter.numel(),
            LocalFilterGradient{s.layout, ListFor(s.source, &list, &context_), x, dy,
                                Output(0)->template mutable_data<float>()},
            &context_);
    if (!no_bias_ && OutputSize() > 1) {
      Output(1)->Resize(s.bias);
      ForEach(Output(1)->numel(),
              LocalBiasGradient{s.layout, dy, Output(1)->template mutable_data<float>()},
              &context_);
    }
    const int dx = no_bias_ ? 1 : 2;
    if (OutputSize() > dx) InputGradient(s, filter.data<float>(), dy, Output(dx));
    return true;
  }

 private:
  void InputGradient(const LocalShape& s, const float* filter, const float* dy, Tensor* dX) {
    std::vector<int64_t> starts, uses;
    s.FindUses(&starts, &uses);
    dX->ResizeLike(Input(0));
    Tensor start_list(CPU), use_list(CPU);
    ForEach(dX->numel(),
            LocalInputGradient{s.layout, ListFor(starts, &start_list, &context_),
                               ListFor(uses, &use_list, &context_), filter, dy,
                               dX->mutable_data<float>()},
            &context_);
  }

  bool no_bias_;
};

}  // namespace caffe2
