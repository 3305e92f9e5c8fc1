// Shared by Concat and Split: the axis, and copies of slices along it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/shape_input.h"

namespace caffe2 {

// The arguments `axis`, `add_axis` and `order`. The default axis is the channel axis of `order`.
struct ConcatAxis {
  int axis = 0;           // may be negative
  bool add_axis = false;  // the axis exists on the joined side only

  explicit ConcatAxis(const ArgumentHelper& arguments);
  // The axis as an index into a joined shape of `joined_dims` dimensions. Throws EnforceNotMet if
  // it is out of range.
  int Canonical(int joined_dims) const;
};

// Copies between a joined tensor and one of its pieces: `outer` runs of `run` elements of any type.
// Strides are the distances between the beginnings of runs, in elements.
template <class Context>
void CopySlab(TypeMeta meta, int64_t outer, int64_t run, const void* source, int64_t source_stride,
              void* destination, int64_t destination_stride, Context* context) {
  constexpr int64_t kGrainBytes = 1 << 16;
  const auto size = static_cast<int64_t>(meta.itemsize());
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(destination);
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      context->CopyItems(meta, run, from + i * source_stride * size,
                         to + i * destination_stride * size);
    }
  };
  if (meta.copy() != nullptr) return copy(0, outer);  // may allocate
  ParallelFor(outer, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(run * size, 1)), copy);
}

// The sizes of the pieces of a dimension of `size`: the given lengths, or equal parts if there are
// none. Throws EnforceNotMet if they do not add up to `size`.
std::vector<int64_t> SplitLengths(const std::vector<int64_t>& given, int pieces, int64_t size,
                                  bool add_axis);

// The shape of the joined tensor. Throws EnforceNotMet if the shapes of the pieces do not match.
std::vector<int64_t> JoinedShape(const std::vector<std::vector<int64_t>>& pieces,
                                 const ConcatAxis& concat);
// The shape of a piece of `joined` that has `length` along the axis.
std::vector<int64_t> PieceShape(std::vector<int64_t> joined, int axis, int64_t length,
                                bool add_axis);

// Inputs -> joined tensor, lengths (in host memory).
template <class Context>
class ConcatOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ConcatOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), concat_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override {
    std::vector<std::vector<int64_t>> pieces;
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Input(k).has_data() && Input(k).dtype() == Input(0).dtype(), "input ", k, " (",
                    Input(k).DebugString(), ") does not have the type of input 0 (",
                    Input(0).DebugString(), ") or holds no data");
      pieces.push_back(Input(k).sizes());
    }
    Tensor* Y = Output(0);
    Y->Resize(JoinedShape(pieces, concat_));
    const int axis = concat_.Canonical(Y->dim());
    WriteLengths(axis);

    const TypeMeta meta = Input(0).dtype();
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    const int64_t outer = Y->size_to_dim(axis), y_run = Y->size_from_dim(axis);
    for (int k = 0; k < InputSize(); ++k) {
      const int64_t run = outer == 0 ? 0 : Input(k).numel() / outer;
      CopySlab(meta, outer, run, Input(k).raw_data(), run, y, y_run, &context_);
      y += run * meta.itemsize();
    }
    return true;
  }

 private:
  void WriteLengths(int axis) {
    Tensor* lengths = this->OutputCPU(1);
    lengths->Resize(InputSize());
    int32_t* data = lengths->template mutable_data<int32_t>();
    for (int k = 0; k < InputSize(); ++k) {
      data[k] = concat_.add_axis ? 1 : Input(k).dim32(axis);
    }
  }

  ConcatAxis concat_;
};

// Splits X along an axis into the outputs of an operator, which get the given lengths.
template <class Context>
void WritePieces(const Tensor& X, int axis, const std::vector<int64_t>& lengths, bool add_axis,
                 Operator<Context>* op, Context* context) {
  const TypeMeta meta = X.dtype();
  const char* x = static_cast<const char*>(X.raw_data());
  const int64_t outer = X.size_to_dim(axis), inner = X.size_from_dim(axis + 1);
  for (int k = 0; k < op->OutputSize(); ++k) {
    Tensor* Y = op->Output(k);
    Y->Resize(PieceShape(X.sizes(), axis, lengths[k], add_axis));
    const int64_t run = lengths[k] * inner;
    CopySlab(meta, outer, run, x, X.size(axis) * inner, Y->raw_mutable_data(meta), run, context);
    x += run * meta.itemsize();
  }
}

// X, [lengths] -> pieces.
template <class Context>
class SplitOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SplitOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        concat_(ArgumentHelper(this->debug_def())),
        given_(this->template GetRepeatedArgument<int64_t>("split")) {
    CAFFE_ENFORCE(given_.empty() || InputSize() == 1,
                  "the argument split and the input of lengths cannot be used together");
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const int axis = concat_.Canonical(X.dim());
    if (InputSize() == 2) {
      Tensor copy(CPU);
      const Tensor& lengths = OnHost(this->template Input<Tensor>(1), &copy);
      given_.assign(lengths.data<int32_t>(), lengths.data<int32_t>() + lengths.numel());
      CAFFE_ENFORCE(!given_.empty(), "the input of lengths is empty");
    }
    const std::vector<int64_t> lengths =
        SplitLengths(given_, OutputSize(), X.size(axis), concat_.add_axis);

    WritePieces(X, axis, lengths, concat_.add_axis, this, &context_);
    return true;
  }

 private:
  ConcatAxis concat_;
  std::vector<int64_t> given_;
};

}  // namespace caffe2
