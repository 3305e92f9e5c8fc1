// Where: chooses between two tensors, element by element or row by row.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// Gives z the shape and type of x, which y has, too. Row i of z, of `width` elements, is row i of x
// if choose[i], else row i of y. z may be x or y. The last argument chooses the overload for the
// device. Throws EnforceNotMet if the type cannot be on the device.
void SelectRows(int64_t rows, int64_t width, const bool* choose, const Tensor& x, const Tensor& y,
                Tensor* z, CPUContext* context);

template <class Context>
class WhereOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WhereOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        on_rows_(this->template GetSingleArgument<bool>("broadcast_on_rows", false)) {}

  bool RunOnDevice() override {
    const Tensor &condition = Input(0), &X = Input(1), &Y = Input(2);
    CAFFE_ENFORCE(X.sizes() == Y.sizes() && X.dtype() == Y.dtype() && X.has_data() && Y.has_data(),
                  "X and Y must have the same shape and type, and hold elements: found ",
                  X.DebugString(), " and ", Y.DebugString());
    if (on_rows_) {
      CAFFE_ENFORCE(condition.dim() == 1 && X.dim() >= 1 && condition.numel() == X.size(0),
                    "the condition must have one element for each row, but its shape is ",
                    ShapeString(condition.sizes()), " for rows of ", ShapeString(X.sizes()));
    } else {
      CAFFE_ENFORCE(condition.sizes() == X.sizes(), "the condition has shape ",
                    ShapeString(condition.sizes()), ", X has ", ShapeString(X.sizes()));
    }
    SelectRows(condition.numel(), on_rows_ ? X.size_from_dim(1) : 1, condition.data<bool>(), X, Y,
               Output(0), &context_);
    return true;
  }

 private:
  const bool on_rows_;
};

}  // namespace caffe2
