// LengthsTile and LengthsGather: rows repeated and picked by lengths, which are read on the host.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/indices.h"
#include "operators/row_copier.h"
#include "operators/segments.h"

namespace caffe2 {

// Each row of a tensor as often as its length says.
template <class Context>
class LengthsTileOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor lengths_copy(CPU);
    const Segments segments =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &lengths_copy));
    CAFFE_ENFORCE(X.dim() >= 1 && X.size(0) == segments.count() && X.has_data(), "there are ",
                  segments.count(), " lengths for DATA ", ShapeString(X.sizes()));
    RowCopierFor<Context> rows(X, segments.size(), Output(0), &context_);
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t k = 0; k < segments.length(s); ++k) rows.Append(s);
    }
    rows.Finish();
    return true;
  }
};

// The entries of the segments that the indices name.
template <class Context>
class LengthsGatherOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(), "ITEMS must have rows");
    Tensor lengths_copy(CPU);
    const Segments segments =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &lengths_copy), X.size(0));
    Tensor indices_copy(CPU);
    const std::vector<int64_t> indices =
        ReadIndices(OnHost(this->template Input<Tensor>(2), &indices_copy), segments.count());
    int64_t total = 0;
    for (const int64_t s : indices) total += segments.length(s);
    RowCopierFor<Context> rows(X, total, Output(0), &context_);
    for (const int64_t s : indices) {
      if (segments.length(s) > 0) rows.Append(segments.entry(s, 0), segments.length(s));
    }
    rows.Finish();
    return true;
  }
};

}  // namespace caffe2
