// SparseToDenseMask: selects feature ids of sparse samples as dense columns. The host reads ids and
// lengths.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// Rows of `width` elements of any type: row r of y is row source[r] of x, or `fallback` if
// source[r] is negative. The last argument chooses the overload for the device.
void PickRows(TypeMeta meta, const std::vector<int64_t>& source, int64_t width, const void* x,
              const void* fallback, void* y, CPUContext* context);

// Shared by the operator and its gradient: the column of each id of the mask.
template <class Context>
class SparseToDenseMaskBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseToDenseMaskBase(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws) {
    const auto mask = this->template GetRepeatedArgument<int64_t>("mask");
    CAFFE_ENFORCE(!mask.empty(), "the argument mask must name at least one feature id");
    for (size_t i = 0; i < mask.size(); ++i) {
      CAFFE_ENFORCE(columns_.emplace(mask[i], static_cast<int64_t>(i)).second, "feature id ",
                    mask[i], " occurs twice in the argument mask");
    }
  }

 protected:
  int64_t num_columns() const { return static_cast<int64_t>(columns_.size()); }
  std::vector<int64_t> ReadIds() const {
    Tensor copy(CPU);
    return ReadIntegers(OnHost(this->template Input<Tensor>(0), &copy), "indices");
  }
  // Without lengths all entries are one sample.
  Segments ReadSamples(int i, int64_t entries) const {
    if (InputSize() <= i) return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{entries}));
    Tensor copy(CPU);
    return Segments::FromLengths(OnHost(this->template Input<Tensor>(i), &copy), entries);
  }
  // The entry of each sample and column, -1 if there is none. If an id occurs twice in a sample,
  // the last entry counts. Calls skip(sample, id) for ids that are not in the mask.
  template <typename Skip>
  std::vector<int64_t> EntriesOfCells(const Segments& samples, const std::vector<int64_t>& ids,
                                      const Skip& skip) const {
    std::vector<int64_t> entries(samples.count() * num_columns(), -1);
    for (int64_t s = 0; s < samples.count(); ++s) {
      for (int64_t k = 0; k < samples.length(s); ++k) {
        const int64_t entry = samples.entry(s, k);
        const auto found = columns_.find(ids[entry]);
        if (found == columns_.end()) {
          skip(s, ids[entry]);
        } else {
          entries[s * num_columns() + found->second] = entry;
        }
      }
    }
    return entries;
  }

 private:
  std::unordered_map<int64_t, int64_t> columns_;
};

// Inputs indices, values, default_value, [lengths].
template <class Context>
class SparseToDenseMaskOp final : public SparseToDenseMaskBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseToDenseMaskOp(const OperatorDef& def, Workspace* ws)
      : SparseToDenseMaskBase<Context>(def, ws),
        presence_(this->template GetSingleArgument<bool>("return_presence_mask", false)),
        max_skipped_(this->template GetSingleArgument<int64_t>("max_skipped_indices", 50)) {
    CAFFE_ENFORCE(!presence_ || OutputSize() > 1,
                  "argument return_presence_mask needs a second output, for the mask");
  }

  bool RunOnDevice() override {
    const Tensor &indices = this->template Input<Tensor>(0), &values = Input(1),
                 &fallback = Input(2);
    const TypeMeta meta = values.dtype();
    const int64_t count = indices.numel(), columns = this->num_columns();
    CAFFE_ENFORCE(
        indices.dim() == 1 && values.dim() >= 1 && values.size(0) == count && values.has_data(),
        "values must have one row for each index: values is ", values.DebugString(),
        ", indices has shape ", ShapeString(indices.sizes()));
    const int64_t width = values.size_from_dim(1);
    CAFFE_ENFORCE(fallback.dtype() == meta && fallback.numel() == width,
                  "the default value must be one row of the type of values: it is ",
                  fallback.DebugString(), ", values is ", values.DebugString());
    const Segments samples = this->ReadSamples(3, count);
    int64_t bad_sample = -1;
    const std::vector<int64_t> entries =
        this->EntriesOfCells(samples, this->ReadIds(), [&](int64_t sample, int64_t id) {
          if (id < 0 && std::exchange(bad_sample, sample) != sample) NoteBadSample(id);
        });
    std::vector<int64_t> dims{samples.count(), columns};
    if (InputSize() <= 3) dims.erase(dims.begin());
    if (presence_) WritePresence(entries, dims);
    dims.insert(dims.end(), values.sizes().begin() + 1, values.sizes().end());
    Output(0)->Resize(dims);
    PickRows(meta, entries, width, values.raw_data(), fallback.raw_data(),
             Output(0)->raw_mutable_data(meta), &context_);
    return true;
  }

 private:
  void WritePresence(const std::vector<int64_t>& entries, const std::vector<int64_t>& dims) {
    std::vector<uint8_t> present;
    for (const int64_t entry : entries) present.push_back(entry >= 0);
    Output(1)->Resize(dims);
    context_.Copy(present.size(), present.data(),
                  reinterpret_cast<uint8_t*>(Output(1)->template mutable_data<bool>()));
  }
  // Counts a sample with a negative id, which is an error in the data. Throws EnforceNotMet at the
  // max_skipped_-th such sample.
  void NoteBadSample(int64_t id) {
    ++skipped_;
    CAFFE_ENFORCE(skipped_ < max_skipped_, "too many samples with negative feature ids (", skipped_,
                  "); in the last one is ", id);
    if (skipped_ == 1) LOG(WARNING) << "SparseToDenseMask skips the feature id " << id;
  }

  bool presence_;
  int64_t max_skipped_, skipped_ = 0;  // samples, in all runs
};

// Inputs indices, dY, [lengths].
template <class Context>
class SparseToDenseMaskGradientOp final : public SparseToDenseMaskBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SparseToDenseMaskBase<Context>::SparseToDenseMaskBase;
  bool RunOnDevice() override {
    const Tensor& dY = Input(1);
    const std::vector<int64_t> ids = this->ReadIds();
    const auto count = static_cast<int64_t>(ids.size());
    const Segments samples = this->ReadSamples(2, count);
    const int axis = InputSize() > 2 ? 1 : 0;
    CAFFE_ENFORCE(dY.dim() > axis && dY.size(axis) == this->num_columns() &&
                      dY.size_to_dim(axis) == samples.count(),
                  "dY must have ", samples.count(), " samples of ", this->num_columns(),
                  " columns, found shape ", ShapeString(dY.sizes()));
    CAFFE_ENFORCE(dY.IsType<float>(), "the gradient must be float, not ", dY.dtype().name());
    const std::vector<int64_t> entries =
        this->EntriesOfCells(samples, ids, [](int64_t, int64_t) {});
    std::vector<int64_t> cells(count, -1);
    for (size_t cell = 0; cell < entries.size(); ++cell) {
      if (entries[cell] >= 0) cells[entries[cell]] = static_cast<int64_t>(cell);
    }
    RowCopierFor<Context> rows(dY, count, Output(0), &context_, axis + 1);
    for (const int64_t cell : cells) {
      if (cell < 0) {
        rows.AppendZeros(1);
      } else {
        rows.Append(cell);
      }
    }
    rows.Finish();
    return true;
  }
};

}  // namespace caffe2
