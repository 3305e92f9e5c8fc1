// LengthsTopK: the k largest elements of each segment. For the gradient the host reads the lengths,
// because they determine its size.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/common/copy_elements.h"
#include "operators/common/host_list.h"
#include "operators/reduce/selection_functions.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// The k largest elements of each segment of the n elements of x; missing ones are 0 with index -1.
// The last argument chooses the overload for the device.
void TakeOfSegments(const Tensor& lengths, int64_t n, int64_t k, const float* x, float* values,
                    int32_t* indices, CPUContext* context);

// Reads the argument k, which must be positive.
template <class Context>
class LengthsTopKBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LengthsTopKBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), k_(this->template GetSingleArgument<int64_t>("k", -1)) {
    CAFFE_ENFORCE(k_ > 0, "argument k must be positive, found ", k_);
  }

 protected:
  const int64_t k_;
};

// Inputs DATA, LENGTHS.
template <class Context>
class LengthsTopKOp final : public LengthsTopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LengthsTopKBase<Context>::LengthsTopKBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &lengths = Input(1);
    CAFFE_ENFORCE(X.dim() == 1, "X must be one-dimensional, found shape ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    Output(0)->Resize(lengths.numel(), this->k_);
    Output(1)->Resize(lengths.numel(), this->k_);
    TakeOfSegments(lengths, X.numel(), this->k_, x, Output(0)->template mutable_data<float>(),
                   Output(1)->template mutable_data<int32_t>(), &context_);
    return true;
  }
};

// Inputs LENGTHS, TopKIndices, dTopKValue.
template <class Context>
class LengthsTopKGradientOp final : public LengthsTopKBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using LengthsTopKBase<Context>::LengthsTopKBase;
  bool RunOnDevice() override {
    Tensor lengths_copy(CPU), indices_copy(CPU), list(CPU);
    const Segments segments =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(0), &lengths_copy));
    const Tensor &indices = Input(1), &d_values = Input(2);
    CAFFE_ENFORCE(
        indices.numel() == segments.count() * this->k_ && d_values.numel() == indices.numel(),
        "the indices and the gradient must have ", this->k_, " elements for each of the ",
        segments.count(), " segments: the indices have shape ", ShapeString(indices.sizes()),
        ", the gradient ", ShapeString(d_values.sizes()));
    const auto* index = indices.data<int32_t>();
    const float* dy = d_values.data<float>();
    CheckPositions(segments, OnHost(indices, &indices_copy));
    Output(0)->Resize(segments.size());
    float* dx = Output(0)->template mutable_data<float>();
    ClearBytes(Output(0)->nbytes(), dx, &context_);
    ForEach(
        indices.numel(),
        ScatterLengthsTopK{this->k_, ListFor(segments.Offsets(), &list, &context_), dy, index, dx},
        &context_);
    return true;
  }

 private:
  void CheckPositions(const Segments& segments, const Tensor& indices) const {
    const auto* index = indices.data<int32_t>();
    for (int64_t i = 0; i < indices.numel(); ++i) {
      const int64_t s = i / this->k_;
      CAFFE_ENFORCE(index[i] >= -1 && index[i] < segments.length(s), "index ", index[i],
                    " is out of range for segment ", s, " of ", segments.length(s), " elements");
    }
  }
};

}  // namespace caffe2
