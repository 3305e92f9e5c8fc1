// PackSegments and UnpackSegments: convert segments of rows to one padded tensor, and back. The
// host reads the lengths, unless the length of the packed segments is given.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>

#include "caffe2/core/device_backend.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {

inline int64_t LongestOf(const Segments& segments) {
  int64_t longest = 0;
  for (int64_t s = 0; s < segments.count(); ++s) longest = std::max(longest, segments.length(s));
  return longest;
}

// The argument `max_length`; -1: the length of the longest segment.
inline int64_t ReadMaxLength(const OperatorBase& op) {
  const auto length = op.GetSingleArgument<int64_t>("max_length", -1);
  CAFFE_ENFORCE(length == -1 || length > 0,
                "argument max_length must be positive, or -1 for no limit, found ", length);
  return length;
}

template <class Context>
class PackSegmentsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PackSegmentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        max_length_(ReadMaxLength(*this)),
        pad_minf_(this->template GetSingleArgument<bool>("pad_minf", false)),
        presence_(this->template GetSingleArgument<bool>("return_presence_mask", false)) {
    CAFFE_ENFORCE(!presence_ || OutputSize() > 1,
                  "argument return_presence_mask needs a second output, for the mask");
  }

  bool RunOnDevice() override {
    const Tensor &on_any_device = this->template Input<Tensor>(0), &X = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "the data must have at least one axis and hold elements, found ",
                  X.DebugString());
    int64_t length = max_length_;
    if (InputSize() > 2) {
      CAFFE_ENFORCE(Input(2).dim() >= 2,
                    "input 2, the packed tensor that gives the length, must have at least two "
                    "axes, found shape ",
                    ShapeString(Input(2).sizes()));
      length = Input(2).size(1);
    }
    if constexpr (Context::kDeviceType == CUDA) {
      if (length >= 0 && on_any_device.GetDeviceType() == CUDA) {
        return PackOnDevice(on_any_device, length);
      }
    }
    Tensor copy(CPU);
    const Segments segments = Segments::FromLengths(OnHost(on_any_device, &copy), X.size(0));
    if (length < 0) length = LongestOf(segments);
    const int64_t rows = CheckedNumel({segments.count(), length});
    RowCopierFor<Context> copier(X, rows, Output(0), &context_);
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = std::min(length, segments.length(s));
      copier.Append(segments.entry(s, 0), n);
      if (pad_minf_) {
        copier.AppendValue(length - n, -std::numeric_limits<float>::infinity());
      } else {
        copier.AppendZeros(length - n);
      }
    }
    copier.Finish();
    Reshape(segments.count(), length);
    if (presence_) WritePresence(segments, length);
    return true;
  }

 private:
  // The shape does not depend on the lengths, so the host does not read them.
  bool PackOnDevice(const Tensor& lengths, int64_t length) {
    RowCopierFor<Context> copier(Input(1), CheckedNumel({lengths.numel(), length}), Output(0),
                                 &context_);
    constexpr float kMinimum = -std::numeric_limits<float>::infinity();
    copier.FinishSegments(lengths, length, /*cut=*/true, pad_minf_ ? &kMinimum : nullptr,
                          presence_ ? Output(1) : nullptr);
    Reshape(lengths.numel(), length);
    return true;
  }
  void Reshape(int64_t segments, int64_t length) {
    std::vector<int64_t> dims = Input(1).sizes();
    dims[0] = length;
    dims.insert(dims.begin(), segments);
    Output(0)->Reshape(dims);
  }
  void WritePresence(const Segments& segments, int64_t length) {
    std::unique_ptr<bool[]> present(new bool[segments.count() * length]);
    bool* next = present.get();
    for (int64_t s = 0; s < segments.count(); ++s, next += length) {
      const int64_t n = std::min(length, segments.length(s));
      std::fill_n(next, n, true);
      std::fill_n(next + n, length - n, false);
    }
    Tensor* mask = Output(1);
    mask->Resize(segments.count(), length);
    context_.Copy(mask->numel(), present.get(), mask->template mutable_data<bool>());
  }

  int64_t max_length_;
  bool pad_minf_, presence_;
};

template <class Context>
class UnpackSegmentsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UnpackSegmentsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        max_length_(ReadMaxLength(*this)),
        restore_(this->template GetSingleArgument<bool>("restore_cut", false)) {}

  bool RunOnDevice() override {
    Tensor copy(CPU);
    const Tensor &lengths = OnHost(this->template Input<Tensor>(0), &copy), &X = Input(1);
    const Segments segments = Segments::FromLengths(lengths);
    CAFFE_ENFORCE(X.dim() >= 2 && X.size(0) == segments.count() && X.has_data(),
                  "the packed tensor must be [", segments.count(),
                  ", length, ...], one row for each length, found ", X.DebugString());
    const int64_t length = X.size(1);
    CAFFE_ENFORCE(max_length_ < 0 || max_length_ == length, "argument max_length (", max_length_,
                  ") must be the length of the packed tensor, which has shape ",
                  ShapeString(X.sizes()));
    // Longer segments were cut when they were packed with max_length.
    int64_t total = 0;
    for (int64_t s = 0; s < segments.count(); ++s) {
      CAFFE_ENFORCE(max_length_ > 0 || segments.length(s) <= length, "the length of segment ", s,
                    " (", segments.length(s),
                    ") is larger than axis 1 of the packed tensor, which has shape ",
                    ShapeString(X.sizes()));
      total += Unpacked(segments.length(s), length);
    }
    CAFFE_ENFORCE(!restore_ || X.dtype().copy() == nullptr,
                  "restore_cut needs a tensor of numbers, found ", X.dtype().name());
    RowCopierFor<Context> rows(X, total, Output(0), &context_, 2);
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t n = std::min(length, segments.length(s));
      rows.Append(s * length, n);
      rows.AppendZeros(Unpacked(segments.length(s), length) - n);
    }
    rows.Finish();
    return true;
  }

 private:
  int64_t Unpacked(int64_t segment_length, int64_t length) const {
    return restore_ ? segment_length : std::min(segment_length, length);
  }
  int64_t max_length_;
  bool restore_;
};

}  // namespace caffe2
