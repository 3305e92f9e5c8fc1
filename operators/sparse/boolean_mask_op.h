// BooleanMask, its gradient, and BooleanUnmask choose rows by masks. The host reads the masks.
#pragma once

#include <numeric>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/row_copier.h"

namespace caffe2 {

// The numbers of the rows at which a mask in host memory is true.
inline std::vector<int64_t> RowsOfMask(const Tensor& mask) {
  const bool* keep = mask.data<bool>();
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (keep[i]) rows.push_back(i);
  }
  return rows;
}

// Y = the rows of X with these numbers, which ascend.
template <class Context>
void CopyKeptRows(const Tensor& X, const std::vector<int64_t>& kept, Tensor* Y, Context* context) {
  RowCopierFor<Context> rows(X, static_cast<int64_t>(kept.size()), Y, context);
  for (const int64_t row : kept) rows.Append(row);
  rows.Finish();
}

// dX has `count` rows: the rows of dY at the numbers `kept`, which ascend, and 0 elsewhere.
template <class Context>
void SpreadKeptRows(const Tensor& dY, const std::vector<int64_t>& kept, int64_t count, Tensor* dX,
                    Context* context) {
  CAFFE_ENFORCE(dY.dim() >= 1, "the gradient must have at least one axis, found a scalar");
  CAFFE_ENFORCE(static_cast<int64_t>(kept.size()) == dY.size(0),
                "the gradient must have one row for each of the ", kept.size(),
                " rows that were kept, found shape ", ShapeString(dY.sizes()));
  RowCopierFor<Context> rows(dY, count, dX, context);
  int64_t written = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    rows.AppendZeros(kept[i] - written);
    rows.Append(static_cast<int64_t>(i));
    written = kept[i] + 1;
  }
  rows.AppendZeros(count - written);
  rows.Finish();
}

template <class Context>
class BooleanMaskOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BooleanMaskOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &mask = this->template Input<Tensor>(1);
    CAFFE_ENFORCE(X.dim() >= 1 && mask.dim() == 1 && mask.size(0) == X.size(0) && X.has_data(),
                  "the mask must have one bool for each row of the data: the mask has shape ",
                  ShapeString(mask.sizes()), ", the data ", ShapeString(X.sizes()));
    Tensor copy(CPU);
    const std::vector<int64_t> kept = RowsOfMask(OnHost(mask, &copy));
    CopyKeptRows(X, kept, Output(0), &context_);
    if (OutputSize() > 1) {
      Output(1)->Resize(static_cast<int64_t>(kept.size()));
      context_.Copy(kept.size(), kept.data(), Output(1)->template mutable_data<int64_t>());
    }
    return true;
  }
};

// Inputs mask, dY; output dX: the rows that were kept get the gradient's rows, the others 0.
template <class Context>
class BooleanMaskGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BooleanMaskGradientOp);
  bool RunOnDevice() override {
    const Tensor &mask = this->template Input<Tensor>(0), &dY = Input(1);
    Tensor copy(CPU);
    SpreadKeptRows(dY, RowsOfMask(OnHost(mask, &copy)), mask.numel(), Output(0), &context_);
    return true;
  }
};

// Inverts several BooleanMask operators: each position gets the next value of the first mask that
// is true there.
template <class Context>
class BooleanUnmaskOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BooleanUnmaskOp);
  bool RunOnDevice() override {
    std::vector<int64_t> first;  // index of the first value of each mask among all values
    const Tensor values = JoinValues(&first);
    const std::vector<int64_t> next = PlacesOf(first);
    RowCopierFor<Context> rows(values, Mask(0).numel(), Output(0), &context_);
    for (const int64_t place : next) rows.Append(place);
    rows.Finish();
    return true;
  }

 private:
  int Pairs() const { return InputSize() / 2; }
  const Tensor& Mask(int k) const { return this->template Input<Tensor>(2 * k); }

  // Joins the values of all masks, one list after another.
  Tensor JoinValues(std::vector<int64_t>* first) {
    const TypeMeta meta = Input(1).dtype();
    first->assign(1, 0);
    for (int k = 0; k < Pairs(); ++k) {
      const Tensor &mask = Mask(k), &values = Input(2 * k + 1);
      CAFFE_ENFORCE(mask.dim() == 1 && mask.numel() == Mask(0).numel() && values.dim() == 1,
                    "values ", k, " must be one-dimensional, and mask ", k, " must have ",
                    Mask(0).numel(), " elements like mask 0: values ", k, " has shape ",
                    ShapeString(values.sizes()), ", mask ", k, " ", ShapeString(mask.sizes()));
      CAFFE_ENFORCE(values.dtype() == meta && values.has_data(), "values ", k, " must be ",
                    meta.name(), " like values 0, found ", values.DebugString());
      first->push_back(first->back() + values.numel());
    }
    Tensor joined(context_.device());
    joined.Resize(first->back());
    auto* data = static_cast<char*>(joined.raw_mutable_data(meta));
    for (int k = 0; k < Pairs(); ++k) {
      const Tensor& values = Input(2 * k + 1);
      context_.CopyItems(meta, values.numel(), values.raw_data(),
                         data + (*first)[k] * meta.itemsize());
    }
    return joined;
  }

  // The index of the value of each position among all values.
  std::vector<int64_t> PlacesOf(const std::vector<int64_t>& first) const {
    std::vector<Tensor> copies;
    std::vector<const bool*> masks;
    copies.reserve(Pairs());
    for (int k = 0; k < Pairs(); ++k) {
      copies.emplace_back(CPU);
      masks.push_back(OnHost(Mask(k), &copies.back()).template data<bool>());
    }
    std::vector<int64_t> next = first, places(Mask(0).numel());
    for (size_t i = 0; i < places.size(); ++i) {
      int k = 0;
      while (k < Pairs() && !masks[k][i]) ++k;
      CAFFE_ENFORCE(k < Pairs(), "no mask is true at position ", i);
      CAFFE_ENFORCE(next[k] < first[k + 1], "mask ", k,
                    " is true at more positions than there are values ", k);
      places[i] = next[k]++;
    }
    for (int k = 0; k < Pairs(); ++k) {
      CAFFE_ENFORCE(next[k] - first[k] == first[k + 1] - first[k], "mask ", k, " uses ",
                    next[k] - first[k], " of the ", first[k + 1] - first[k], " values ", k,
                    "; it must use all");
    }
    return places;
  }
};

}  // namespace caffe2
