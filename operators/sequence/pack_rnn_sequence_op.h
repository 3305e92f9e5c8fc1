// PackRNNSequence, UnpackRNNSequence and ReversePackedSegs: convert sequences to [steps, batch,
// ...] and back, and reverse them. The host reads the lengths for the first two, as shapes depend
// on them.
#pragma once

#include <algorithm>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {

template <class Context>
class PackRNNSequenceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(PackRNNSequenceOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "values must have at least one axis, found a scalar");
    Tensor copy(CPU);
    const Segments sequences =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &copy), X.size(0));
    const int64_t batch = sequences.count();
    int64_t steps = 0;
    for (int64_t b = 0; b < batch; ++b) steps = std::max(steps, sequences.length(b));
    RowCopierFor<Context> rows(X, steps * batch, Output(0), &context_);
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t b = 0; b < batch; ++b) {
        if (t < sequences.length(b)) {
          rows.Append(sequences.entry(b, t));
        } else {
          rows.AppendZeros(1);
        }
      }
    }
    rows.Finish();
    std::vector<int64_t> dims{steps, batch};
    dims.insert(dims.end(), X.sizes().begin() + 1, X.sizes().end());
    Output(0)->Reshape(dims);
    return true;
  }
};

template <class Context>
class UnpackRNNSequenceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(UnpackRNNSequenceOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor copy(CPU);
    const Segments sequences =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &copy));
    const int64_t batch = sequences.count();
    CAFFE_ENFORCE(X.dim() >= 2 && X.size(1) == batch, "the sequences must be [steps, ", batch,
                  ", ...], one for each of the ", batch, " lengths, found shape ",
                  ShapeString(X.sizes()));
    for (int64_t b = 0; b < batch; ++b) {
      CAFFE_ENFORCE(sequences.length(b) <= X.size(0), "the length of sequence ", b,
                    " must be at most ", X.size(0), ", the steps of the data; found ",
                    sequences.length(b));
    }
    RowCopierFor<Context> rows(X, sequences.size(), Output(0), &context_, /*row_axes=*/2);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < sequences.length(b); ++t) rows.Append(t * batch + b);
    }
    rows.Finish();
    return true;
  }
};

// X is [longest, batch, ...]. Reverses the first lengths[b] steps of each sequence b.
template <class Context>
class ReversePackedSegsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ReversePackedSegsOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 2 && X.has_data(), "the data must be [steps, batch, ...], found ",
                  X.DebugString());
    const auto& lengths = this->template Input<Tensor>(1);
    const int64_t steps = X.size(0), batch = X.size(1);
    CAFFE_ENFORCE(lengths.numel() == batch, "there must be one length for each of the ", batch,
                  " sequences in the data, found ", lengths.numel());
    const std::vector<int64_t> dims = X.sizes();
    RowCopierFor<Context> rows(X, steps * batch, Output(0), &context_, /*row_axes=*/2);
    if constexpr (Context::kDeviceType == CUDA) {
      if (lengths.GetDeviceType() == CUDA) {
        rows.FinishReversed(lengths, steps, batch);
        Output(0)->Reshape(dims);
        return true;
      }
    }
    Tensor copy(CPU);
    const std::vector<int64_t> length = ReadIntegers(OnHost(lengths, &copy), "lengths");
    for (int64_t b = 0; b < batch; ++b) {
      CAFFE_ENFORCE(length[b] >= 0 && length[b] <= steps, "the length of sequence ", b,
                    " must be from 0 to ", steps, ", the steps of the data; found ", length[b]);
    }
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t b = 0; b < batch; ++b) {
        rows.Append((t < length[b] ? length[b] - 1 - t : t) * batch + b);
      }
    }
    rows.Finish();
    Output(0)->Reshape(dims);
    return true;
  }
};

}  // namespace caffe2
