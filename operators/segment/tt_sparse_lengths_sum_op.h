// The checks of TTSparseLengthsSum and its gradient, for all devices.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/segment/tensor_train_functions.h"

namespace caffe2 {

// The shape of the cores in inputs 0 to 2. Throws EnforceNotMet, naming shapes, unless they match.
template <class Op>
TensorTrainShape ReadTensorTrainShape(const Op& op) {
  TensorTrainShape shape;
  shape.rank[0] = 1;
  for (int k = 0; k < kTensorTrainCores; ++k) {
    const Tensor& core = op.Input(k);
    CAFFE_ENFORCE(core.dim() == 4 && core.size(1) == shape.rank[k], "core ", k, " must be rows x ",
                  shape.rank[k], " x width x rank, found shape ", ShapeString(core.sizes()));
    shape.rows[k] = core.size(0);
    shape.width[k] = core.size(2);
    shape.rank[k + 1] = core.size(3);
  }
  CAFFE_ENFORCE(shape.rank[kTensorTrainCores] == 1,
                "the rank after the last core must be 1, found ", shape.rank[kTensorTrainCores]);
  return shape;
}

// The arguments, which must match the cores.
class TensorTrainArguments {
 public:
  explicit TensorTrainArguments(const OperatorBase& op)
      : rows_(op.GetRepeatedArgument<int64_t>("factor_i")),
        widths_(op.GetRepeatedArgument<int64_t>("factor_j")),
        ranks_(op.GetRepeatedArgument<int64_t>("ranks")),
        embedding_(op.GetSingleArgument<int64_t>("emb_size", 64)) {}

  // Throws EnforceNotMet unless the arguments match the cores.
  void Check(const TensorTrainShape& shape) const {
    Check("factor_i", rows_, shape.rows, kTensorTrainCores);
    Check("factor_j", widths_, shape.width, kTensorTrainCores);
    Check("ranks", ranks_, shape.rank, kTensorTrainCores + 1);
    CAFFE_ENFORCE(embedding_ == shape.embedding(), "argument emb_size (", embedding_,
                  ") must be the width of the cores (", shape.embedding(), ")");
  }

 private:
  static void Check(const char* name, const std::vector<int64_t>& given, const int64_t* own,
                    int count) {
    const std::vector<int64_t> sizes(own, own + count);
    CAFFE_ENFORCE(given.empty() || given == sizes, "argument ", name,
                  " must be the sizes of the cores, ", ShapeString(sizes), "; found ",
                  ShapeString(given));
  }

  std::vector<int64_t> rows_, widths_, ranks_;
  int64_t embedding_;
};

// Throws EnforceNotMet unless inputs 3 to 7 of the gradient (lengths, core0_output, core1_output,
// indices and dY) match the cores. Returns the number of indices.
template <class Op>
int64_t CheckTensorTrainGradient(const Op& op, const TensorTrainShape& shape) {
  const Tensor &lengths = op.Input(3), &first = op.Input(4), &second = op.Input(5),
               &places = op.Input(6), &dY = op.Input(7);
  const int64_t n = places.numel() / kTensorTrainCores;
  CAFFE_ENFORCE(places.dim() == 2 && places.size(1) == kTensorTrainCores &&
                    first.numel() == n * shape.slice(0) && second.numel() == n * shape.second(),
                "core0_output and core1_output must fit the indices: core0_output has shape ",
                ShapeString(first.sizes()), ", core1_output ", ShapeString(second.sizes()),
                ", the indices ", ShapeString(places.sizes()));
  CAFFE_ENFORCE(dY.numel() == lengths.numel() * shape.embedding(), "dY must have ",
                lengths.numel() * shape.embedding(), " elements, found shape ",
                ShapeString(dY.sizes()));
  return n;
}

}  // namespace caffe2
