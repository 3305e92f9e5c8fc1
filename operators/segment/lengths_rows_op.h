// LengthsTile, LengthsGather and LengthsPad repeat, select and pad rows by lengths. For the first
// two the host reads the lengths, because they determine the number of rows of the output.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// Repeats row i of a tensor lengths[i] times.
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
    CAFFE_ENFORCE(X.dim() >= 1 && X.size(0) == segments.count() && X.has_data(),
                  "DATA must have one row for each of the ", segments.count(), " lengths, found ",
                  X.DebugString());
    RowCopierFor<Context> rows(X, segments.size(), Output(0), &context_);
    // Rows without elements may be repeated very often.
    for (int64_t s = 0; X.numel() > 0 && s < segments.count(); ++s) {
      for (int64_t k = 0; k < segments.length(s); ++k) rows.Append(s);
    }
    rows.Finish();
    return true;
  }
};

// Selects the entries of the segments that the indices name.
template <class Context>
class LengthsGatherOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "ITEMS must have at least one axis and hold elements, found ", X.DebugString());
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

// Pads segments to one length, with rows of a value after each segment.
template <class Context>
class LengthsPadOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LengthsPadOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        value_(this->template GetSingleArgument<double>("padding_value", -1)),
        length_(this->template GetSingleArgument<int64_t>("target_length", -1)) {
    CAFFE_ENFORCE(length_ >= 0, "argument target_length must not be negative, found ", length_);
  }
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1, "DATA must have at least one axis, found a scalar");
    const auto value = static_cast<T>(value_);
    const auto& lengths = this->template Input<Tensor>(1);
    if constexpr (Context::kDeviceType == CUDA) {
      if (lengths.GetDeviceType() == CUDA) {
        RowCopierFor<Context> rows(X, CheckedNumel({lengths.numel(), length_}), Output(0),
                                   &context_);
        rows.FinishSegments(lengths, length_, /*cut=*/false, &value, nullptr);
        return true;
      }
    }
    Tensor copy(CPU);
    const Segments segments = Segments::FromLengths(OnHost(lengths, &copy), X.size(0));
    RowCopierFor<Context> rows(X, CheckedNumel({segments.count(), length_}), Output(0), &context_);
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = segments.length(s);
      CAFFE_ENFORCE(n <= length_, "the length of segment ", s, " (", n,
                    ") is larger than target_length (", length_, ")");
      if (n > 0) rows.Append(segments.entry(s, 0), n);
      rows.AppendValue(length_ - n, value);
    }
    rows.Finish();
    return true;
  }

 private:
  double value_;
  int64_t length_;
};

}  // namespace caffe2
