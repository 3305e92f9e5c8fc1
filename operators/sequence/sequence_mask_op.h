// SequenceMask: fills the positions of a batch of matrices that attention must not see.
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
  CAFFE_THROW("mode is \"", mode, "\"; known: sequence window upper lower upperdiag lowerdiag");
}

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
    CAFFE_ENFORCE_GE(radius_, 0, "the argument radius");
    CAFFE_ENFORCE_GE(batch_, -1, "the argument batch");
  }

  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const int axis = X.canonical_axis_index(axis_);
    // X is [batches, rows, columns, repeats]; the mask depends on rows and columns only.
    const int end = has_repeat_ ? X.canonical_axis_index(repeat_from_) : X.dim();
    CAFFE_ENFORCE_LE(axis, end, "repeat_from_axis must not be before the axis");
    CAFFE_ENFORCE_LT(batch_, axis, "the argument batch must be an axis before ", axis);
    const int64_t repeats = X.size_from_dim(end);
    const int64_t columns = repeats == 0 ? 0 : X.size_from_dim(axis) / repeats;
    const int64_t all_rows = X.size_to_dim(axis), batches = X.size_to_dim(batch_ + 1);
    const int64_t rows = batches == 0 ? 0 : all_rows / batches;
    const int* entry = nullptr;
    if (mode_ == MaskMode::kSequence || mode_ == MaskMode::kWindow) {
      CAFFE_ENFORCE_EQ(InputSize(), 2, "the modes sequence and window need a second input");
      CAFFE_ENFORCE_EQ(Input(1).numel(), rows, "elements of the second input, for data ",
                       ShapeString(X.sizes()));
      entry = Input(1).template data<int>();
    }
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    ForEach(X.numel(),
            MaskElements<T>{mode_, rows, columns, repeats, radius_, entry, fill_, x,
                            Y->template mutable_data<T>()},
            &context_);
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
