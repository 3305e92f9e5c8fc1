// SequenceMask: input, [lengths or centres] -> the input, seen as a batch of matrices, in which
// positions that attention must not see have the value fill_val.
#pragma once

#include <limits>
#include <string>

#include "operators/common/host_device_op.h"
#include "operators/sequence/sequence_mask_functions.h"

namespace caffe2 {

inline MaskMode ReadMaskMode(const std::string& mode) {
  if (mode == "sequence") return MaskMode::kSequence;
  if (mode == "window") return MaskMode::kWindow;
  if (mode == "upper") return MaskMode::kUpper;
  if (mode == "lower") return MaskMode::kLower;
  if (mode == "upperdiag") return MaskMode::kUpperDiagonal;
  if (mode == "lowerdiag") return MaskMode::kLowerDiagonal;
  CAFFE_THROW(
      "argument mode must be sequence, window, upper, lower, upperdiag or lowerdiag, found \"",
      mode, "\"");
}

// Writes all `n` elements. An overload for the context does the work.
template <typename T>
void WriteMasked(const MaskElements<T>& elements, int64_t n, CPUContext* context);

template <class Context>
class SequenceMaskOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SequenceMaskOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        mode_(ReadMaskMode(this->template GetSingleArgument<std::string>("mode", ""))),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        radius_(this->template GetSingleArgument<int64_t>("radius", 10)),
        batch_(this->template GetSingleArgument<int>("batch", -1)),
        repeat_from_(this->template GetSingleArgument<int>("repeat_from_axis", 0)),
        has_repeat_(this->HasArgument("repeat_from_axis")),
        backward_(this->template GetSingleArgument<bool>("grad", false)),
        fill_(backward_ ? 0.f
                        : this->template GetSingleArgument<float>(
                              "fill_val", -std::numeric_limits<float>::infinity())) {
    CAFFE_ENFORCE(radius_ >= 0, "argument radius must not be negative, found ", radius_);
    CAFFE_ENFORCE(batch_ >= -1, "argument batch must be -1 (none) or an axis, found ", batch_);
  }

  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const int axis = X.canonical_axis_index(axis_);
    // X is [batches, rows, columns, repeats]; the mask depends on rows and columns only.
    const int end = has_repeat_ ? X.canonical_axis_index(repeat_from_) : X.dim();
    CAFFE_ENFORCE(axis <= end, "argument repeat_from_axis (", end,
                  ") must not be less than argument axis (", axis, ")");
    CAFFE_ENFORCE(batch_ < axis, "argument batch (", batch_, ") must be less than argument axis (",
                  axis, ")");
    const int64_t repeats = X.size_from_dim(end);
    const int64_t columns = repeats == 0 ? 0 : X.size_from_dim(axis) / repeats;
    const int64_t all_rows = X.size_to_dim(axis), batches = X.size_to_dim(batch_ + 1);
    const int64_t rows = batches == 0 ? 0 : all_rows / batches;
    const int* entry = nullptr;
    if (mode_ == MaskMode::kSequence || mode_ == MaskMode::kWindow) {
      CAFFE_ENFORCE(InputSize() == 2, "the modes sequence and window need a second input, found ",
                    InputSize(), " inputs");
      CAFFE_ENFORCE(Input(1).numel() == rows,
                    "the second input must have one element for each of the ", rows,
                    " rows of the data, found ", Input(1).numel(), "; the data has shape ",
                    ShapeString(X.sizes()));
      entry = Input(1).template data<int>();
    }
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    WriteMasked(MaskElements<T>{mode_, rows, columns, repeats, radius_, entry, fill_, x,
                                Y->template mutable_data<T>()},
                X.numel(), &context_);
    return true;
  }

 private:
  MaskMode mode_;
  int axis_;
  int64_t radius_;
  int batch_, repeat_from_;
  bool has_repeat_, backward_;
  float fill_;
};

}  // namespace caffe2
