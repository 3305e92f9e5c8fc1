// AddPadding, RemovePadding, GatherPadding: rows before and after each segment. The host reads the
// lengths. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/host_list.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"
#include "operators/sequence/padding_functions.h"

namespace caffe2 {

// Shared by the operators of this file. Without lengths all rows are one segment.
template <class Context>
class PaddingBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PaddingBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        start_(this->template GetSingleArgument<int>("padding_width", 1)),
        end_(this->template GetSingleArgument<int>("end_padding_width", -1)) {
    CAFFE_ENFORCE(start_ >= 0, "argument padding_width must not be negative, found ", start_);
    if (end_ < 0) end_ = start_;
  }

 protected:
  // The segments of X's rows; lengths are input 1, if there is one.
  Segments ReadSegments(const Tensor& X) const {
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "the data must have at least one axis and hold elements, found ",
                  X.DebugString());
    if (InputSize() == 1) {
      return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{X.size(0)}));
    }
    Tensor copy(CPU);
    return Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &copy), X.size(0));
  }
  // Writes the lengths of all segments, each increased by `more`, to output 1 if there is one, in
  // the type of the input.
  void WriteLengths(const Segments& segments, int64_t more) {
    if (OutputSize() == 1) return;
    const bool wide = InputSize() > 1 && this->template Input<Tensor>(1).template IsType<int64_t>();
    if (wide) return WriteLengthsAs<int64_t>(segments, more);
    WriteLengthsAs<int32_t>(segments, more);
  }

  int64_t start_, end_;

 private:
  template <typename T>
  void WriteLengthsAs(const Segments& segments, int64_t more) {
    std::vector<T> lengths;
    for (int64_t s = 0; s < segments.count(); ++s) {
      lengths.push_back(static_cast<T>(segments.length(s) + more));
    }
    Output(1)->Resize(segments.count());
    context_.Copy(lengths.size(), lengths.data(), Output(1)->template mutable_data<T>());
  }
};

template <class Context>
class AddPaddingOp final : public PaddingBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddingBase<Context>::PaddingBase;
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t, bool>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;
    const Tensor& X = Input(0);
    const Segments segments = this->ReadSegments(X);
    const int64_t width = X.size_from_dim(1);
    const auto* before = static_cast<const Word*>(ReadPad<T>(2, width));
    const auto* after = InputSize() > 3 ? static_cast<const Word*>(ReadPad<T>(3, width)) : before;
    const std::vector<int64_t> source = Sources(segments);
    std::vector<int64_t> dims = X.sizes();
    dims[0] = static_cast<int64_t>(source.size());
    Tensor* Y = Output(0);
    Y->Resize(dims);
    Tensor list(CPU);
    const PadRows<Word> pad{width,
                            ListFor(source, &list, &context_),
                            static_cast<const Word*>(X.raw_data()),
                            before,
                            after,
                            static_cast<Word*>(Y->raw_mutable_data(X.dtype()))};
    ForEachRow(static_cast<int64_t>(source.size()), width, pad, &context_);
    this->WriteLengths(segments, this->start_ + this->end_);
    return true;
  }

 private:
  // The pad in input i; null (zeros) if there is no such input.
  template <typename T>
  const void* ReadPad(int i, int64_t width) const {
    if (InputSize() <= i) return nullptr;
    CAFFE_ENFORCE(Input(i).numel() == width, "input ", i, ", the padding, must have ", width,
                  " elements, as many as a row of the data, found shape ",
                  ShapeString(Input(i).sizes()));
    return Input(i).template data<T>();
  }
  std::vector<int64_t> Sources(const Segments& segments) const {
    std::vector<int64_t> source;
    source.reserve(segments.size() + segments.count() * (this->start_ + this->end_));
    for (int64_t s = 0; s < segments.count(); ++s) {
      source.insert(source.end(), this->start_, kPadBefore);
      for (int64_t k = 0; k < segments.length(s); ++k) source.push_back(segments.entry(s, k));
      source.insert(source.end(), this->end_, kPadAfter);
    }
    return source;
  }
};

template <class Context>
class RemovePaddingOp final : public PaddingBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddingBase<Context>::PaddingBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Segments segments = this->ReadSegments(X);
    const int64_t padding = this->start_ + this->end_;
    for (int64_t s = 0; s < segments.count(); ++s) {
      CAFFE_ENFORCE(segments.length(s) >= padding, "segment ", s,
                    " must be at least as long as its padding: its length is ", segments.length(s),
                    ", the padding ", padding);
    }
    RowCopierFor<Context> rows(X, X.size(0) - segments.count() * padding, Output(0), &context_);
    int64_t begin = this->start_;
    for (int64_t s = 0; s < segments.count(); ++s) {
      rows.Append(begin, segments.length(s) - padding);
      begin += segments.length(s);
    }
    rows.Finish();
    this->WriteLengths(segments, -padding);
    return true;
  }
};

// The sum of all pads before segments and the sum of all pads after them: the gradients of the pads
// of AddPadding.
template <class Context>
class GatherPaddingOp final : public PaddingBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PaddingBase<Context>::PaddingBase;
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const Segments segments = this->ReadSegments(X);
    std::vector<int64_t> before, after;
    int64_t first = 0;
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t end = first + segments.length(s);
      CAFFE_ENFORCE(segments.length(s) >= this->start_ + this->end_, "padded segment ", s,
                    " must be at least as long as its padding: its length is ", segments.length(s),
                    ", the padding ", this->start_ + this->end_);
      for (int64_t k = 0; k < this->start_; ++k) before.push_back(first + k);
      // One output is the sum of both ends.
      std::vector<int64_t>* last = OutputSize() > 1 ? &after : &before;
      for (int64_t k = this->end_; k > 0; --k) last->push_back(end - k);
      first = end;
    }
    SumRows<T>(X, before, Output(0));
    if (OutputSize() > 1) SumRows<T>(X, after, Output(1));
    return true;
  }

 private:
  template <typename T>
  void SumRows(const Tensor& X, const std::vector<int64_t>& rows, Tensor* Y) {
    Y->Resize(std::vector<int64_t>(X.sizes().begin() + 1, X.sizes().end()));
    const auto count = static_cast<int64_t>(rows.size());
    Tensor list(CPU);
    ForEachRow(Y->numel(), count,
               SumListedRows<T>{count, ListFor(rows, &list, &context_), Y->numel(),
                                X.template data<T>(), Y->template mutable_data<T>()},
               &context_);
  }
};

}  // namespace caffe2
